"""Count over many planted worlds how often each audit says of each answerer what docs/truth.md says it must.

    python benchmarks/verdicts.py [--worlds 20] [--first 50000] [--minutes 8] [--workers 2] [--record]

A world of 1,000 images, with cues that go with their answer in 60 or in 80 % of examples, is judged by all audits; a
second one of 300 images by `decoys`, which needs fewer. Worlds are judged one after the other until the time is up:
with --record every world is kept as it is done, and the same command goes on where it stopped. Rows of another commit
are not continued but replaced. The seeds were never used to tune anything.
"""

import argparse
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import eyechart
from eyechart import Dataset
from eyechart.audits import AUDITS
from eyechart.data.furniture import furniture_of
from eyechart.data.result import Result
from eyechart.reporting.overall import combine
from record import Row, add_flag, commit, keep, load
from tables import Layout, lay_out, report

TRUTH = Path(__file__).parent.parent / "docs" / "truth.md"
STRENGTHS = (0.6, 0.8)
FEWER = 0.3  # of the images, in the second world
FEWEST = 100  # judged counterexamples, or questions with evidence, from which an audit must find what there is
MIXTURES = {"mix:seer=0.7,blind=0.3": "seer", "mix:seer=0.3,blind=0.7": "not yes"}
ON_OWN_OPTIONS = {"sets": ("orig",), "ask": ("orig",)}
OVERALL = "overall"
LETTERS = {"yes": "y", "no": "n", "cannot tell": "?", "not tested": "-"}
MOST_WRONG, LEAST_RIGHT = 0.05, 0.8


class Task(NamedTuple):
    """A world to make, and who is judged on it; all of them if nobody is named."""

    seed: int
    strength: float
    images: int = 1000
    answerers: tuple[str, ...] = ()


def read_truth() -> dict[str, dict[str, str]]:
    """Read the right verdicts by answerer and audit; the rows of mixtures follow from that of the seer."""
    lines = TRUTH.read_text(encoding="utf-8").split("## World forms")[0].splitlines()
    head, *rows = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]
    right = {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}
    for mixture, like in MIXTURES.items():
        # Whoever looks at some questions may well beat guessing.
        right[mixture] = {audit: cell if like == "seer" else like for audit, cell in right["seer"].items()}
        right[mixture]["accuracy"] = "open"
    return right


def judge(task: Task) -> list[Row]:
    """Judge every answerer on a world; a row for each, with a letter for each audit."""
    answerers, plant = task.answerers or tuple(read_truth()), {"strength": task.strength, "seed": task.seed}
    with tempfile.TemporaryDirectory() as folder:
        worlds = [eyechart.read("world", images=n, **plant) for n in (task.images, int(FEWER * task.images))]
        large = _judge_all(worlds[0], answerers, AUDITS.names(), f"{folder}/large")
        few = _judge_all(worlds[1], answerers, ["decoys"], f"{folder}/few")
    looking = [name for name in AUDITS.names() if furniture_of(AUDITS.get(name)).about == "looking"]
    about = [name for name in AUDITS.names() if furniture_of(AUDITS.get(name)).about != "other"]
    rows = []
    for answerer in answerers:
        found = {audit: result.verdict.state for audit, result in large[answerer].items()}
        overall, _ = combine({audit: [found[audit]] for audit in about}, looking)
        states = found | {"decoys": few[answerer]["decoys"].verdict.state, OVERALL: overall}
        said = {audit: LETTERS[state] for audit, state in states.items()}
        who = {"seed": task.seed, "strength": task.strength, "answerer": answerer}
        rows.append(who | said | _sizes(large[answerer]))
    return rows


def _judge_all(
    data: Dataset, answerers: Iterable[str], audits: Iterable[str], folder: str
) -> dict[str, dict[str, Result]]:
    """Judge answerers in one run, so that they share the studies of the data."""
    chosen = [eyechart.make_audit(name, ON_OWN_OPTIONS if name == "decoys" else {}) for name in audits]
    found = {answerer: eyechart.audit(data, f"world:{answerer}", chosen, to=folder) for answerer in answerers}
    return {answerer: {name: one.read() for name, one in results.items()} for answerer, results in found.items()}


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
    """Count the outcomes of each cell of the truth table that is not open."""
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
        own = [row for row in rows if row["strength"] == strength and row["answerer"] == "seer"]
        few = {name: sum(row[f"n {name}"] < FEWEST for row in own) for name in ("rules", "grounding")}
        listed = [cell for cell in cells(rows) if cell.strength == strength]
        sums = {"errors": sum(cell.errors for cell in listed), "judged": sum(cell.worlds for cell in listed)}
        found.append({"strength": strength, "worlds": len(own)} | few | sums)
    head = f"| strength | worlds with fewer than {FEWEST} counterexamples | with less evidence | wrong sure answers |"
    return lay_out(
        head, "| {strength} | {rules} of {worlds} | {grounding} of {worlds} | {errors:,} of {judged:,} |", found
    )


LAYOUTS: dict[str, Layout] = {
    **{f"at-{100 * strength:.0f}": _lay_out_at(strength) for strength in STRENGTHS},
    "bounds": lay_out_bounds,
    "sizes": lay_out_sizes,
}


def main() -> None:
    """Judge worlds until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=20, help="worlds of each strength")
    parser.add_argument("--first", type=int, default=50_000, help="the first seed")
    parser.add_argument("--minutes", type=float, default=8, help="no world is begun after this time")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--answerers", nargs="+", default=(), help="all of the truth table, if not given")
    add_flag(parser)
    given = parser.parse_args()
    end, before = time.monotonic() + 60 * given.minutes, load("verdicts")
    rows: list[Row] = list(before["rows"]) if given.record and before.get("commit") == commit() else []
    done = {(row["seed"], row["strength"]) for row in rows}
    seeds, who = range(given.first, given.first + given.worlds), tuple(given.answerers)
    pairs = ((seed, strength) for seed in seeds for strength in STRENGTHS)
    tasks = [Task(*pair, given.images, who) for pair in pairs if pair not in done]
    with ProcessPoolExecutor(given.workers, get_context("spawn")) as pool:
        running = {pool.submit(judge, task) for task in tasks[: given.workers]}
        left = iter(tasks[given.workers :])
        while running:
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for each in finished:
                rows += each.result()
                judged = {(row["seed"], row["strength"]) for row in rows}
                print(f"{len(judged)} of {2 * given.worlds} worlds", flush=True)
                if given.record:
                    keep("verdicts", sorted(rows, key=lambda row: (row["strength"], row["seed"])))
                if time.monotonic() < end and (task := next(left, None)) is not None:
                    running.add(pool.submit(judge, task))
    report("verdicts", LAYOUTS, rows, kept=False)


if __name__ == "__main__":
    main()
