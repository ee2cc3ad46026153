"""The repaired data of a run: every example with its new options, and the study they come from."""

import re
from collections.abc import Callable
from pathlib import Path
from string import ascii_uppercase
from typing import NamedTuple

import polars as pl

from eyechart.audits.decoys.export.card import write_card
from eyechart.audits.decoys.recipes import IOU, QOU
from eyechart.audits.decoys.sets import REPAIRED, choices_of, offer, sets_of
from eyechart.dataset import Dataset, Images
from eyechart.errors import DataError
from eyechart.files import replacing
from eyechart.pictures import picture_paths
from eyechart.result import Result
from eyechart.store import Store
from eyechart.web import is_address

CARD = "README.md"
_OPTIONAL: dict[str, pl.DataType] = {
    "answers": pl.List(pl.String),
    "question_type": pl.String(),
    "answer_type": pl.String(),
    "split": pl.String(),
}

_Write = Callable[["Repaired", Path], dict[str, int]]


class Repaired(NamedTuple):
    """Examples with their new `choices`, `path` and decoys by source; which set of options that is, and the study."""

    name: str
    options: str
    examples: pl.DataFrame
    study: Result


def export_with(write: _Write, store: Store, folder: Path) -> dict[str, int]:
    """Write the repaired data of a run in one form, with the card beside it."""
    studies = store.studies()
    if "decoys" not in studies:
        found = f"studies of {', '.join(studies) or 'none'}"
        raise DataError(f"a study of the audit 'decoys' in {store.folder}", found, "run `eyechart study -a decoys`")
    repaired = repair(store.data, studies["decoys"])
    folder.mkdir(parents=True, exist_ok=True)
    written = write(repaired, folder)
    card = write_card(repaired.study, repaired.options, repaired.examples, store.data.division)
    with replacing(folder / CARD) as draft:
        draft.write_text(card, encoding="utf-8")
    return written | {CARD: 1}


def repair(data: Dataset, study: Result) -> Repaired:
    """Give the examples the options of the study, those from questions and image where there are both."""
    decoys = study.tables["decoys"]
    there = [name for name in (REPAIRED, QOU, IOU) if name in sets_of(data.examples, decoys)]
    if not there:
        found = "only the options of the data"
        raise DataError("decoys in the study of the audit 'decoys'", found, "study sets such as iou+qou")
    offers = offer(data.examples, decoys, there[0], int(study.settings["seed"]))
    right = offers.filter("target").select("id", right="place")
    shown = choices_of(offers).join(right, on="id", validate="1:1")
    examples = data.examples.drop("choices", strict=False).join(shown, on="id", validate="1:1")
    for source in (IOU, QOU):
        examples = examples.join(_drawn(decoys, offers, source), on="id", how="left", validate="1:1")
    located = examples.join(_whole_paths(data.images), on="image", how="left", validate="m:1")
    return Repaired(data.name, there[0], _complete(located).sort("id"), study)


def _whole_paths(images: Images) -> pl.DataFrame:
    """Write the paths of pictures in full, since a tool may be started anywhere."""
    known = picture_paths(images)
    full = [path if path is None or is_address(path) else str(Path(path).absolute()) for path in known["path"]]
    return known.with_columns(path=pl.Series(full, dtype=pl.String))


def by_split(examples: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Take the splits apart; examples without one are `all`."""
    named = examples.with_columns(pl.col("split").fill_null("all").alias("split"))
    return {str(part["split"][0]): part for part in named.partition_by("split", maintain_order=True)}


def file_stem(repaired: Repaired) -> str:
    """Name files by the data and their options, with nothing that a file or task name would not hold."""
    return re.sub(r"[^A-Za-z0-9]+", "_", f"{repaired.name}_{repaired.options}").strip("_")


def letters(examples: pl.DataFrame) -> pl.Series:
    """Name the right option of each example by its letter."""
    sizes = examples["choices"].list.len()
    if (sizes > len(ascii_uppercase)).any():
        found = f"up to {max(sizes)}"
        raise DataError(f"at most {len(ascii_uppercase)} options to name by letters", found, "study with a smaller k")
    return pl.Series("letter", list(ascii_uppercase)).gather(examples["right"])


def _drawn(decoys: pl.DataFrame, offers: pl.DataFrame, source: str) -> pl.DataFrame:
    """Gather the decoys of one source that are offered."""
    own = decoys.filter(pl.col("source") == source).rename({"decoy": "text"})
    kept = own.join(offers.filter(~pl.col("target")), on=("id", "text"), how="semi").sort("id", "place")
    return kept.group_by("id", maintain_order=True).agg(pl.col("text").alias(source))


def _complete(examples: pl.DataFrame) -> pl.DataFrame:
    lost = {name: dtype for name, dtype in _OPTIONAL.items() if name not in examples.columns}
    return examples.with_columns(pl.lit(None, dtype).alias(name) for name, dtype in lost.items())
