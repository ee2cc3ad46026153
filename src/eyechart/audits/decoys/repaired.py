"""The repaired data of a run: every example with its new options, and a card that describes them.

The card says what was drawn and how, and what solves the options before and after.
"""

import re
from collections.abc import Callable
from pathlib import Path
from string import ascii_uppercase
from typing import NamedTuple

import polars as pl

from eyechart.audits.decoys.options import choices_of, offer, sets_of
from eyechart.audits.decoys.settings import DRAWING_SETTINGS, IOU, ORIG, QOU, REPAIRS, SOUND, DecoysSettings
from eyechart.base.errors import DataError
from eyechart.base.files import our_version, replacing
from eyechart.data.dataset import Dataset
from eyechart.data.division import Division
from eyechart.data.images import Images, shown_path_lists
from eyechart.data.result import Result
from eyechart.data.store import Store
from eyechart.data.web import is_address

CARD = "README.md"
_OPTIONAL: dict[str, pl.DataType] = {
    "answers": pl.List(pl.String),
    "question_type": pl.String(),
    "answer_type": pl.String(),
    "split": pl.String(),
}
_CARD = """\
# {subject}: repaired options

Options `{options}` drawn by eyechart {version}, audit `decoys` (Chao, Hu and Sha 2018). Ids, questions and
answers are those of the data; the wrong options are answers to other questions of the same data.
{n:,} examples: {sizes}.{left_out}

## What solves the options, before and after

Accuracy in points, and its distance from chance with a 95 % interval. A: the options alone; I: the objects of the
image; Q: the question. `prior rule` is Eq. 2 of the paper; `control` learned from random targets and must be at chance.

{solvers}

## Recipe

| setting | value |
|---|---|
{settings}

{filter_head}
{filters}

{notes}

Decoys are drawn and checked by rules, not by people: some will be right for the image too. Look at a sample before use.
"""


class Repaired(NamedTuple):
    """Examples with their new `choices`, `pictures` and decoys by source; which set that is, and the study."""

    name: str
    options: str
    examples: pl.DataFrame
    study: Result

    @property
    def file_stem(self) -> str:
        """Name files after the data and their options, without characters that file or task names do not allow."""
        return re.sub(r"[^A-Za-z0-9]+", "_", f"{self.name}_{self.options}").strip("_")

    def letters(self) -> pl.Series:
        """Name the right option of each example by its letter."""
        sizes = self.examples["choices"].list.len()
        if (sizes > len(ascii_uppercase)).any():
            expected = f"at most {len(ascii_uppercase)} options to name by letters"
            raise DataError(expected, f"up to {max(sizes)}", "study with a smaller k")
        return pl.Series("letter", list(ascii_uppercase)).gather(self.examples["right"])

    def card(self, division: Division | None) -> str:
        """Return the card as Markdown."""
        filters, sizes = self.study.tables["filters"], self.examples["choices"].list.len()
        notes = ([] if division is None else [str(division)]) + self.study.tables["notes"]["note"].to_list()
        counts = sizes.value_counts(name="n").sort("choices")
        settings = DecoysSettings.upgrade_plan(self.study.settings)
        return _CARD.format(
            subject=self.study.subject,
            options=self.options,
            version=our_version(),
            n=self.examples.height,
            sizes=", ".join(f"{n:,} with {size} options" for size, n in counts.iter_rows()),
            left_out=describe_left_out(self.study.tables["counts"], self.options),
            solvers=_before_and_after(self.study.tables["solvers"], self.options),
            settings="\n".join(f"| `{name}` | {settings[name]} |" for name in DRAWING_SETTINGS),
            filter_head=f"| {' | '.join(filters.columns)} |\n|{'---|' * filters.width}",
            filters="\n".join(f"| {' | '.join(map(str, row))} |" for row in filters.iter_rows()),
            notes="\n".join(f"- {note}" for note in notes),
        )


_Write = Callable[[Repaired, Path], dict[str, int]]


def export_with(write: _Write, store: Store, folder: Path) -> dict[str, int]:
    """Write the repaired data of a run in one form, together with the card."""
    studies = store.studies()
    if "decoys" not in studies:
        found = f"studies of {', '.join(studies) or 'none'}"
        raise DataError(f"a study of the audit 'decoys' in {store.folder}", found, "run `eyechart study -a decoys`")
    repaired = repair(store.data, studies["decoys"])
    folder.mkdir(parents=True, exist_ok=True)
    written = write(repaired, folder)
    with replacing(folder / CARD) as draft:
        draft.write_text(repaired.card(store.data.division), encoding="utf-8")
    return written | {CARD: 1}


def repair(data: Dataset, study: Result) -> Repaired:
    """Give the examples the options of the study: those that are sound, or that its setting `repair` names."""
    decoys, options = study.tables["decoys"], _choose_set(data, study)
    offers = offer(data.examples, decoys, options, int(study.settings["seed"]))
    right = offers.filter("target").select("id", right="place")
    new_options = choices_of(offers).join(right, on="id", validate="1:1")
    examples = data.examples.drop("choices", strict=False).join(new_options, on="id", validate="1:1")
    for source in (IOU, QOU):
        examples = examples.join(_drawn(decoys, offers, source), on="id", how="left", validate="1:1")
    located = examples.with_columns(_whole_paths(examples, data.images))
    return Repaired(data.name, options, _complete(located).sort("id"), study)


def _choose_set(data: Dataset, study: Result) -> str:
    """Choose the set of options to write, and say why there is none."""
    made = [name for name in REPAIRS if name in sets_of(data.examples, study.tables["decoys"])]
    wanted = DecoysSettings.upgrade_plan(study.settings).get("repair", SOUND)
    reasons: dict[str, str] = {}
    if "repairs" in study.tables:  # studies by older versions have none
        made = study.tables["repairs"]["options"].to_list()
        reasons = dict(study.tables["repairs"].filter(~pl.col("sound")).select("options", "reason").iter_rows())
    for name in made:
        if name == wanted or (wanted == SOUND and name not in reasons):
            return name
    expected = "decoys in the study of the audit 'decoys'" if wanted == SOUND else f"decoys {wanted!r} in the study"
    if wanted != SOUND or not made:
        found = f"the sets {', '.join(made)}" if made else "only the options of the data"
        raise DataError(expected, found, "study sets such as iou+qou")
    why = "; ".join(f"{name!r}: {reason}" for name, reason in reasons.items())
    raise DataError(
        "made options that are no worse than those of the data", why, f"study with repair={made[0]} to export these"
    )


def _whole_paths(examples: pl.DataFrame, images: Images) -> pl.Series:
    """List the paths of the pictures of examples in full, since a tool may be started anywhere."""
    paths = shown_path_lists(examples.select("image"), images)
    flat = paths.explode().drop_nulls().unique()
    full = [path if is_address(path) else str(Path(path).absolute()) for path in flat]
    return paths.list.drop_nulls().list.eval(pl.element().replace(flat, full)).alias("pictures")


def _drawn(decoys: pl.DataFrame, offers: pl.DataFrame, source: str) -> pl.DataFrame:
    """Gather the decoys of one source that are offered."""
    own = decoys.filter(pl.col("source") == source).rename({"decoy": "text"})
    offered = own.join(offers.filter(~pl.col("target")), on=("id", "text"), how="semi").sort("id", "place")
    return offered.group_by("id", maintain_order=True).agg(pl.col("text").alias(source))


def _complete(examples: pl.DataFrame) -> pl.DataFrame:
    missing = {name: dtype for name, dtype in _OPTIONAL.items() if name not in examples.columns}
    return examples.with_columns(pl.lit(None, dtype).alias(name) for name, dtype in missing.items())


def describe_left_out(counts: pl.DataFrame, options: str) -> str:
    """Describe how many examples have no such options, and why."""
    of_all_or_these = pl.col("condition").is_null() | (pl.col("condition") == options)
    left_out = counts.filter((pl.col("status") == "left out") & (pl.col("n") > 0) & of_all_or_these)
    reasons = ", ".join(f"{n:,} ({reason})" for reason, n in left_out.select("reason", "n").iter_rows())
    return f" Left out: {reasons}." if reasons else ""


def _before_and_after(solvers: pl.DataFrame, options: str) -> str:
    sets = [name for name in (ORIG, options) if name in solvers["options"].to_list()]
    head = f"| solver | {' | '.join(sets)} |\n|---|{'---|' * len(sets)}"
    lines = [
        f"| {solver} | {' | '.join(_cell(solvers, solver, name) for name in sets)} |"
        for solver in solvers["solver"].unique(maintain_order=True)
    ]
    return "\n".join([head, *lines])


def _cell(solvers: pl.DataFrame, solver: str, options: str) -> str:
    results = solvers.filter((pl.col("solver") == solver) & (pl.col("options") == options))
    if not results.height:
        return "-"
    row = results.row(0, named=True)
    accuracy, over, low, high = (100 * row[name] for name in ("accuracy", "over_chance", "over_low", "over_high"))
    return f"{accuracy:.1f} ({over:+.1f} [{low:.1f}, {high:.1f}])"
