"""Draw neutral decoys in planted worlds and see what still gives the answer away: docs/audits/decoys-results.md.

    python benchmarks/decoys_world.py [--images 1000] [--record]

Only decoys are planted. One world is studied by every solver; in the others, which the drawing was tuned on (seeds 1 to
4) or not, the prior rule picks among the drawn options, with and without examples that are left out. A small world is
studied by the network of the paper as well.
"""

import argparse
from collections.abc import Iterator, Sequence
from typing import Final

import polars as pl

import eyechart
from eyechart.audits.decoys import DecoysAudit
from eyechart.audits.decoys.draw import draw_decoys
from eyechart.audits.decoys.options import chance, lay_out, offer, pick
from eyechart.audits.decoys.settings import JUDGED, LEARNED, DecoysSettings, OptionSet
from eyechart.audits.decoys.study import label_parts
from eyechart.audits.decoys.usage import count_uses, prior_of
from eyechart.engines import Local
from record import Row, add_flag
from tables import Layout, pivot, report
from tables import lay_out as lay_out_table

STUDIED, SMALL = 12, 300  # a seed; images of the world that the network learns
SETS: tuple[OptionSet, ...] = ("orig", "iou", "qou", "iou+qou", "all")
MADE = ("iou", "qou", "iou+qou")
SHOWN = (*SETS, "random")
FIRST: Final = "prior rule"
SOLVERS = (FIRST, "A", "I+A", "Q+A", "I+Q+A", "control")
TUNED, OTHERS, LATER = range(1, 5), range(5, 10), (10, 11, 13, 14, 15)
NEUTRAL: Final = "neutral"


def study_world(images: int, scorer: str, sets: tuple[OptionSet, ...]) -> Iterator[Row]:
    """Let every solver choose, and compare how often texts are targets and decoys."""
    world = eyechart.read("world", seed=STUDIED, images=images, plant=("decoy",))
    study = DecoysAudit(drawing=NEUTRAL, sets=sets, scorer=scorer).study(world, Local())
    about = {"images": images, "seed": STUDIED, "scorer": scorer}
    for row in study.tables["solvers"].filter(pl.col("solver").is_in(SOLVERS)).iter_rows(named=True):
        found = {key: row[key] for key in ("solver", "options", "accuracy", "chance", "n")}
        yield {"table": "solvers"} | about | found
    for row in study.tables["neutrality"].iter_rows(named=True):
        found = {key: row[key] for key in ("options", "imbalance", "imbalance_by_chance", "p")}
        yield {"table": "neutrality"} | about | found


def draw_in(seed: int, images: int, *, leave_out: bool) -> Row:
    """Measure how far the prior rule is above chance on drawn options of one world."""
    world = eyechart.read("world", seed=seed, images=images, plant=("decoy",))
    examples = label_parts(world)
    drawn = draw_decoys(world, examples, DecoysSettings(drawing=NEUTRAL, leave_out=leave_out))
    found = {name: over_chance(examples, drawn.decoys, name) for name in MADE}
    return {"table": "seeds", "seed": seed, "leave_out": leave_out, "n": drawn.decoys["id"].n_unique()} | found


def over_chance(examples: pl.DataFrame, decoys: pl.DataFrame, options: str) -> float:
    """Learn how often each text is a target, and choose by that among the options of judged examples."""
    about = examples.select("id", "part")
    offers = offer(examples, decoys, options, 0).join(about, on="id", how="left", maintain_order="left")
    prior = prior_of(offers["text"], count_uses(lay_out(offers.filter(pl.col("part") == LEARNED))))
    judged = offers["part"] == JUDGED
    scores = pick(offers.filter(judged), prior.filter(judged)).join(chance(offers), on="id", validate="1:1")
    return float(scores.select((pl.col("score") - pl.col("chance")).mean()).item())


def lay_out_solvers(rows: list[Row]) -> Iterator[str]:
    """Write the accuracy of each solver on each set of options, chance, and the imbalance of the texts."""
    images = max(row["images"] for row in rows if row["table"] == "solvers")
    own = [row for row in rows if row["table"] != "seeds" and row["images"] == images]
    found = pivot((row for row in own if row["table"] == "solvers"), "solver", "options", "accuracy")
    firsts = [row for row in own if row["table"] == "solvers" and row["solver"] == FIRST]
    found.append({"solver": "chance"} | {row["options"]: row["chance"] for row in firsts})
    balance = {row["options"]: _say(row) for row in own if row["table"] == "neutrality"}
    found.append({"solver": "imbalance, redrawn targets, p"} | balance)
    line = "| {solver} | " + " | ".join(f"{{{name}:points}}" for name in SHOWN) + " |"
    return lay_out_table(f"| | {' | '.join(SHOWN)} |", line, found)


def _say(row: Row) -> str:
    return f"{100 * row['imbalance']:.1f}, {100 * row['imbalance_by_chance']:.1f}, {row['p']:.1g}"


def lay_out_scorers(rows: list[Row]) -> Iterator[str]:
    """Write what the regression and the network find on the options of the small world, in points above chance."""
    images = min(row["images"] for row in rows if row["table"] == "solvers")
    own = [
        row | {"solver": f"{row['solver']}, {row['scorer']}", "over": row["accuracy"] - row["chance"]}
        for row in rows
        if row["table"] == "solvers" and row["images"] == images and row["solver"] != FIRST
    ]
    found = sorted(pivot(own, "solver", "options", "over"), key=lambda row: row["solver"])
    return lay_out_table("| | orig | iou+qou |", "| {solver} | {orig:points} | {iou+qou:points} |", found)


def lay_out_seeds(rows: list[Row]) -> Iterator[str]:
    """Write from where to where the prior rule is above chance in each group of worlds."""
    found: list[Row] = []
    for leave_out in (False, True):
        for seeds in (TUNED, OTHERS, LATER):
            own = [row for row in rows if row.get("leave_out") == leave_out and row["seed"] in seeds]
            if own:
                name = f"seeds {', '.join(map(str, seeds))}{', `leave_out`' if leave_out else ''}"
                found.append({"name": name} | {key: _range(own, key) for key in MADE} | {"n": _examples(own)})
    return lay_out_table("| | iou | qou | iou+qou | examples |", "| {name} | {iou} | {qou} | {iou+qou} | {n} |", found)


def _range(rows: Sequence[Row], key: str) -> str:
    values = [100 * row[key] for row in rows]
    return f"{min(values):z.1f} to {max(values):z.1f}"


def _examples(rows: Sequence[Row]) -> str:
    return " to ".join(f"{n:,}" for n in sorted({min(row["n"] for row in rows), max(row["n"] for row in rows)}))


LAYOUTS: dict[str, Layout] = {"solvers": lay_out_solvers, "seeds": lay_out_seeds, "scorers": lay_out_scorers}


def main() -> None:
    """Print a table of one world, one of many worlds, and one of the scorers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--seeds", type=int, nargs="*", default=[*TUNED, *OTHERS, *LATER])
    parser.add_argument("--small", type=int, default=SMALL, help="images of the world that the network learns")
    add_flag(parser)
    given = parser.parse_args()
    rows = list(study_world(given.images, "logistic", SETS))
    for leave_out in (False, True):
        rows += [draw_in(seed, given.images, leave_out=leave_out) for seed in given.seeds]
    for scorer in ("logistic", "mlp"):
        rows += study_world(given.small, scorer, ("orig", "iou+qou"))
    report("decoys_world", LAYOUTS, rows, kept=given.record)


if __name__ == "__main__":
    main()
