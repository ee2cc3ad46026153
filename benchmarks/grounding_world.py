"""Ask who looks and who cheats on planted worlds: the table of docs/audits/grounding-results.md.

    python benchmarks/grounding_world.py [--seeds 5] [--images 300] [--drawn 60] [--record]

The seer and the cheaters are given lists of objects. The reader is given rendered and edited pictures alone, of worlds
that are smaller.
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

import eyechart
from eyechart import Dataset
from eyechart.audits.grounding import GroundingAudit
from record import Row, add_flag
from tables import Layout, lay_out, report

CHEATERS = ("blind", "cheater", "cheater:prior", "cheater:word", "cheater:object", "cheater:pair", "cheater:decoy")
BY_OBJECTS = ("seer", *CHEATERS)
FIRST = 20  # of the seeds


def measure(data: Dataset, seed: int, names: tuple[str, ...]) -> Iterator[Row]:
    """Measure accuracy and the share of grounded answers of each answerer."""
    for name in names:
        result = eyechart.audit(data, f"world:{name}", [GroundingAudit()])["grounding"]
        shares = {key: result.measure(key, "plain").value for key in ("accuracy", "grounded")}
        verdict = {"n": result.measure("grounded", "plain").n, "verdict": result.verdict.state}
        yield {"answerer": name, "seed": seed} | shares | verdict


def lay_out_answerers(rows: list[Row]) -> Iterator[str]:
    """Write the range over the seeds of each answerer."""
    found: list[Row] = []
    for name in dict.fromkeys(row["answerer"] for row in rows):
        own = [row for row in rows if row["answerer"] == name]
        shares = {key: _range([100 * row[key] for row in own]) for key in ("accuracy", "grounded")}
        states = ", ".join(dict.fromkeys(row["verdict"] for row in own))
        found.append({"name": name, "worlds": len(own), "states": states} | shares)
    head = "| answerer | worlds | accuracy | grounded | verdict |"
    return lay_out(head, "| `{name}` | {worlds} | {accuracy} | {grounded} | {states} |", found)


def _range(values: list[float]) -> str:
    return " to ".join(dict.fromkeys(f"{each:.1f}" for each in (min(values), max(values))))


LAYOUTS: dict[str, Layout] = {"": lay_out_answerers}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--images", type=int, default=300, help="of the worlds that are listed")
    parser.add_argument("--drawn", type=int, default=60, help="images of the worlds that are rendered")
    add_flag(parser)
    given = parser.parse_args()
    rows: list[Row] = []
    seeds = range(FIRST, FIRST + given.seeds)
    for seed in seeds:
        rows += measure(eyechart.read("world", seed=seed, images=given.images), seed, BY_OBJECTS)
    for seed in seeds:
        with tempfile.TemporaryDirectory() as place:
            rows += measure(
                eyechart.read("world", Path(place), seed=seed, images=given.drawn, render=True), seed, ("reader",)
            )
    report("grounding_world", LAYOUTS, rows, kept=given.record)


if __name__ == "__main__":
    main()
