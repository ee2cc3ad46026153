"""Count over many planted worlds how often each audit says of each answerer what docs/truth.md says it must.

    python benchmarks/verdicts.py [--worlds 20] [--first 50000] [--minutes 8] [--workers 2] [--forms 20] [--record]

A world of 1,000 images, with cues that go with their answer in 60 or in 80 % of examples, is judged by all audits but
`decoys`; a second one of 300 images by `decoys`, which needs fewer. Of each world form of docs/truth.md as many are
made: `decoys` judges the data, and all audits those answerers who show whether the form misleads them. Worlds are
judged one after the other until the time is up: with --record every world is kept as it is done, and the same command
goes on where it stopped. Rows of another commit are not continued but replaced. The seeds were never used to tune
anything.
"""

import argparse
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import polars as pl

import eyechart
from eyechart import Dataset
from eyechart.audits import AUDITS
from eyechart.data.furniture import furniture_of
from eyechart.data.result import Result
from eyechart.data.store import Store
from eyechart.reporting.overall import combine
from eyechart.runs.run import Run
from record import Row, add_flag, commit, keep, load
from tables import Layout, lay_out, report

TRUTH = Path(__file__).parent.parent / "docs" / "truth.md"
STRENGTHS = (0.6, 0.8)
FEWER = 0.3  # of the images, in the second world
FEWEST = 100  # judged counterexamples, or questions with evidence, from which an audit must find what there is
MIXTURES = {"mix:seer=0.7,blind=0.3": "seer", "mix:seer=0.3,blind=0.7": "not yes"}
ON_OWN_OPTIONS = {"sets": ("orig",), "ask": ("orig",)}
LIKE_FORM = {"length cue": ("cheater:length",)}  # who follows what only this form plants
OVERALL = "overall"
UNPLANTED = "nothing planted"
LETTERS = {"yes": "y", "no": "n", "cannot tell": "?", "not tested": "-"}
MOST_WRONG, LEAST_RIGHT = 0.05, 0.8


class Task(NamedTuple):
    """A world to make, of the plain form if none is named, and who is judged on it: all of them if nobody is named."""

    seed: int
    strength: float
    form: str = ""
    images: int = 1000
    answerers: tuple[str, ...] = ()

    def key(self) -> tuple[int, float, str]:
        """Return what tells this world from others."""
        return self.seed, self.strength, self.form


def read_table(part: int) -> dict[str, dict[str, str]]:
    """Read the table of one part of the truth, by row and column."""
    lines = TRUTH.read_text(encoding="utf-8").split("## World forms")[part].splitlines()
    head, *rows = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def read_truth() -> dict[str, dict[str, str]]:
    """Read the right verdicts by answerer and audit; the rows of mixtures follow from that of the seer."""
    right = read_table(0)
    for mixture, like in MIXTURES.items():
        # Whoever looks at some questions may well beat guessing.
        right[mixture] = {audit: cell if like == "seer" else like for audit, cell in right["seer"].items()}
        right[mixture]["accuracy"] = "open"
    return right


def judge(task: Task) -> list[Row]:
    """Judge every answerer on a world; a row for each, with a letter for each audit."""
    if task.form:
        return judge_form(task)
    answerers, plant = task.answerers or tuple(read_truth()), {"strength": task.strength, "seed": task.seed}
    others = [name for name in AUDITS.names() if name != "decoys"]
    with tempfile.TemporaryDirectory() as folder:
        worlds = [eyechart.read("world", images=n, **plant) for n in (task.images, int(FEWER * task.images))]
        large = _judge_all(worlds[0], answerers, others, f"{folder}/large")
        few = _judge_all(worlds[1], answerers, ["decoys"], f"{folder}/few")
        return [plant | row | _sizes(large[row["answerer"]]) for row in _letters(large, few)]


def judge_form(task: Task) -> list[Row]:
    """Judge the data of a world form, and a few answerers on them; the data have the answerer None."""
    settings = read_table(1)[task.form]["settings"].split()
    given = {"images": str(task.images)} | dict(part.split("=", 1) for part in settings)
    made = eyechart.read("world", seed=task.seed, strength=task.strength, **given)
    made = made.take(pl.col("answer_type") == "yes/no") if "only" in task.form else made
    with tempfile.TemporaryDirectory() as folder:
        found = _judge_all(made, ("seer", "blind", *LIKE_FORM.get(task.form, ())), AUDITS.names(), folder)
        study = Store(Path(folder)).studies()["decoys"]
        data = {verdict.question.lower(): LETTERS[verdict.state] for verdict in study.verdicts}
    about = {"form": task.form, "strength": task.strength, "seed": task.seed}
    return [about | {"answerer": None} | data, *(about | row for row in _letters(found, found))]


def _letters(found: dict[str, dict[str, Result]], few: dict[str, dict[str, Result]]) -> Iterator[Row]:
    """Write each answerer's verdicts as letters, that of `decoys` on fewer images, with the line that sums them up."""
    furniture = {name: furniture_of(AUDITS.get(name)).about for name in AUDITS.names()}
    looking = [name for name, about in furniture.items() if about == "looking"]
    for answerer, results in found.items():
        states = {name: result.verdict.state for name, result in (results | few[answerer]).items()}
        overall, _ = combine({name: [states[name]] for name in states if furniture[name] != "other"}, looking)
        letters = {name: LETTERS[state] for name, state in states.items()}
        yield {"answerer": answerer} | letters | {OVERALL: LETTERS[overall]}


def _judge_all(
    data: Dataset, answerers: Iterable[str], audits: Iterable[str], folder: str
) -> dict[str, dict[str, Result]]:
    """Judge answerers in one run, so that they share the studies of the data."""
    run = Run(Store(Path(folder))).start(data)
    run.study([eyechart.make_audit(name, ON_OWN_OPTIONS if name == "decoys" else {}) for name in audits])
    models = [eyechart.load(f"world:{answerer}") for answerer in answerers]
    return dict(zip(answerers, map(dict, run.audit_each(models)), strict=True))


def _sizes(results: dict[str, Result]) -> Row:
    """Count the examples that verdicts on rules and on grounding rest on."""
    headlines = {name: results[name].headline for name in ("rules", "grounding")}
    return {f"n {name}": headline.n if headline else 0 for name, headline in headlines.items()}


class Cell(NamedTuple):
    """How often an audit was right, wrong, or open about an answerer at one strength."""

    audit: str
    answerer: str
    strength: float
    right: str
    worlds: int
    enough: int  # worlds with enough examples to find what there is
    hits: int  # right, of these
    errors: int  # wrong and sure, of all

    def misses(self) -> bool:
        """Return whether the cell is beyond its bounds."""
        is_pure = self.answerer == "seer" or self.answerer.startswith(("cheater", "blind"))
        is_weak = is_pure and self.enough > 0 and self.hits < LEAST_RIGHT * self.enough
        return is_weak or self.errors > MOST_WRONG * self.worlds

    def limit(self) -> float:
        """Return the one-sided 95 % limit of the share of errors (Clopper and Pearson)."""
        from scipy.stats import beta

        return 1.0 if self.errors == self.worlds else float(beta.ppf(0.95, self.errors + 1, self.worlds - self.errors))


def cells(rows: list[Row]) -> Iterator[Cell]:
    """Count the outcomes of each cell of the truth table that is not open, in worlds of the plain form."""
    rows = [row for row in rows if "form" not in row]
    for answerer, by_audit in read_truth().items():
        for audit, right in by_audit.items():
            for strength in STRENGTHS:
                own = [row for row in rows if (row["answerer"], row["strength"]) == (answerer, strength)]
                if right == "open" or not own:
                    continue
                wrong = {"yes": "n", "no": "y", "not yes": "y"}[right]
                enough = [row for row in own if row.get(f"n {audit}", FEWEST) >= FEWEST]
                hits = sum(row[audit] != "y" if right == "not yes" else row[audit] == right[0] for row in enough)
                errors = sum(row[audit] == wrong for row in own)
                yield Cell(audit, answerer, strength, right, len(own), len(enough), hits, errors)


def _lay_out_at(strength: float) -> Layout:
    """Lay out a row for each answerer: right of those with enough examples, and errors if there are any."""

    def lay_out_cells(rows: list[Row]) -> Iterator[str]:
        by_answerer: dict[str, Row] = {}
        for cell in cells(rows):
            if cell.strength == strength:
                errors = f", {cell.errors} wrong" if cell.errors else ""
                text = f"{cell.hits}/{cell.enough}{errors}"
                by_answerer.setdefault(cell.answerer, {})[cell.audit] = f"**{text}**" if cell.misses() else text
        audits = [*AUDITS.names(), OVERALL]
        line = "| `{answerer}` | " + " | ".join(f"{{{audit}}}" for audit in audits) + " |"
        named = ({"answerer": answerer} | found for answerer, found in by_answerer.items())
        return lay_out(f"| answerer | {' | '.join(audits)} |", line, named)

    return lay_out_cells


def lay_out_bounds(rows: list[Row]) -> Iterator[str]:
    """List the cells beyond their bounds."""
    found = [cell._asdict() | {"limit": cell.limit()} for cell in cells(rows) if cell.misses()]
    head = "| audit | answerer | strength | must be | right | wrong | wrong at most |"
    counts = "{hits} of {enough} | {errors} of {worlds} | {limit:points}"
    return lay_out(head, f"| {{audit}} | `{{answerer}}` | {{strength}} | {{right}} | {counts} |", found)


def lay_out_sizes(rows: list[Row]) -> Iterator[str]:
    """Say in how many worlds the studies found few examples, and how many sure answers were wrong in all."""
    found = []
    for strength in STRENGTHS:
        own = [row for row in rows if (row["strength"], row["answerer"]) == (strength, "seer") and "form" not in row]
        few = {name: sum(row[f"n {name}"] < FEWEST for row in own) for name in ("rules", "grounding")}
        listed = [cell for cell in cells(rows) if cell.strength == strength]
        sums = {"errors": sum(cell.errors for cell in listed), "judged": sum(cell.worlds for cell in listed)}
        found.append({"strength": strength, "worlds": len(own)} | few | sums)
    head = f"| strength | worlds with fewer than {FEWEST} counterexamples | with less evidence | wrong sure answers |"
    return lay_out(
        head, "| {strength} | {rules} of {worlds} | {grounding} of {worlds} | {errors:,} of {judged:,} |", found
    )


def _tally(pairs: Iterable[tuple[str, str]]) -> str:
    """Count of verdicts beside what is right how many are right, and how many sure and wrong."""
    known = [(letter, right[0]) for letter, right in pairs if right != "open"]
    hits, wrong = sum(letter == right for letter, right in known), sum({*pair} == {"y", "n"} for pair in known)
    return f"{hits}/{len(known)}{f', {wrong} wrong' if wrong else ''}" if known else ""


def lay_out_forms(rows: list[Row]) -> Iterator[str]:
    """Say of each form how often the verdicts on the data and on each answerer were right, and how often wrong."""
    found, of_models = [], read_truth()
    for form, of_data in read_table(1).items():
        own = [row for row in rows if row.get("form") == form]
        truths = {None: {name: right for name, right in of_data.items() if name != "settings"}} | of_models
        tallies = {
            str(answerer): _tally(
                (row[name], right)
                for row in own
                if row["answerer"] == answerer
                for name, right in truths[answerer].items()
                # Who follows rules of words follows none where none are planted.
                if not (form == UNPLANTED and answerer == "blind" and name in {"rules", "splits"})
            )
            for answerer in (None, "seer", "blind", "cheater:length")
        }
        found.append({"form": form, "length": tallies.pop("cheater:length")} | tallies)
    head = "| form | the data | `seer` | `blind` | `cheater:length` |"
    return lay_out(head, "| {form} | {None} | {seer} | {blind} | {length} |", found)


LAYOUTS: dict[str, Layout] = {
    **{f"at-{100 * strength:.0f}": _lay_out_at(strength) for strength in STRENGTHS},
    "bounds": lay_out_bounds,
    "forms": lay_out_forms,
    "sizes": lay_out_sizes,
}


def tasks_of(given: argparse.Namespace) -> Iterator[Task]:
    """List the worlds to make, those of every strength and form beside each other."""
    seeds = range(given.first, given.first + max(given.worlds, given.forms))
    for n, seed in enumerate(seeds):
        if n < given.worlds:
            yield from (Task(seed, each, "", given.images, tuple(given.answerers)) for each in STRENGTHS)
        if n < given.forms:
            yield from (Task(seed, STRENGTHS[-1], form, given.images) for form in read_table(1))


def main() -> None:
    """Judge worlds until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=20, help="worlds of each strength")
    parser.add_argument("--forms", type=int, default=20, help="worlds of each form")
    parser.add_argument("--first", type=int, default=50_000, help="the first seed")
    parser.add_argument("--minutes", type=float, default=8, help="no world is begun after this time")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--answerers", nargs="+", default=(), help="all of the truth table, if not given")
    add_flag(parser)
    given = parser.parse_args()
    end, before = time.monotonic() + 60 * given.minutes, load("verdicts")
    rows: list[Row] = list(before["rows"]) if given.record and before.get("commit") == commit() else []
    done = {(row["seed"], row["strength"], row.get("form", "")) for row in rows}
    left = iter([task for task in tasks_of(given) if task.key() not in done])
    with ProcessPoolExecutor(given.workers, get_context("spawn")) as pool:
        running = {pool.submit(judge, task) for task in islice(left, given.workers)}
        while running:
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for each in finished:
                rows += each.result()
                if given.record:
                    keep("verdicts", sorted(rows, key=_order))
                if time.monotonic() < end and (task := next(left, None)) is not None:
                    running.add(pool.submit(judge, task))
            print(f"{len({_order(row) for row in rows})} worlds", flush=True)
    report("verdicts", LAYOUTS, rows, kept=False)


def _order(row: Row) -> tuple[str, float, int]:
    return row.get("form", ""), row["strength"], row["seed"]


if __name__ == "__main__":
    main()
