"""Count over many planted worlds what `splits` says of whom, and where cheaters lose.

    python benchmarks/splits_world.py [--first 6000] [--worlds 20] [--draws 5] [--forms default,small] [--record]

Whoever looks or guesses by lot is as good on rare answers and must not be told `no`; guessers are drawn several times
a world. Cheaters must be told `no` where what they follow is planted; elsewhere nobody cheats. The second table names
the set on which each cheater loses most among examples of the same type and answer (matched gap; gap for whoever
answers by type alone, who loses nothing there), and the third how many intervals of the gaps of guessers, who have
none, leave 0 out. The last has the plain drops of leaners, who look where their rules are silent, on groups that are
chosen without regard to the answer.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import polars as pl

from eyechart.audits.splits import SplitsAudit
from eyechart.audits.splits.settings import NINE
from eyechart.data.predictions import Predictions, tidy
from eyechart.data.probes import fill
from eyechart.data.protocols import Model
from eyechart.data.result import Result
from eyechart.engines import Local
from eyechart.world import World, WorldSettings, load_answerer, make_world
from eyechart.world.answerers import Guesser, Mixture
from record import Row, add_flag
from tables import Layout, lay_out, report

AUDIT = SplitsAudit()
STATES = ("no", "yes", "cannot tell")
CHEATERS = ("cheater:prior", "cheater:word", "cheater:object", "cheater:pair", "blind", "cheater")


class Form(NamedTuple):
    """The settings of a world beside its seed, and who cheats in it."""

    settings: dict[str, Any]
    cheaters: tuple[str, ...] = ()


CROSSED = ("crossed", "prior", "decoy")
FORMS = {
    "default": Form({"images": 8000}, CHEATERS),
    "small": Form({"images": 1000}, CHEATERS),
    "weak": Form({"images": 3000, "strength": 0.6}, CHEATERS),
    "crossed": Form({"images": 8000, "plant": CROSSED}, ("cheater:crossed",)),
    "shifted": Form({"images": 3000, "test_strength": 0.2}),
    "nothing planted": Form({"images": 3000, "plant": ()}),
}
LOOKING = ("seer", "guesser", "half seer, half guesser")
LEANING = 21  # the seed of the world of leaners
HELD = {  # all sets that hold the cue of each leaner; the rule is one of a type of question, which may be part of it
    "prior": ("QT",),
    "word": ("KW", "KWP", "QT+KW", "KW+KO", "QT+KW+KO"),
    "object": ("KO", "KOP", "QT+KO", "KW+KO", "QT+KW+KO"),
    "crossed": ("KW+KO", "QT+KW+KO"),
}


def answerers(cheaters: tuple[str, ...], draws: int) -> Iterator[tuple[str, Model]]:
    """Name those who follow no shortcut, some of them drawn anew, and the cheaters."""
    seer = load_answerer("seer")
    yield "seer", seer
    for seed in range(draws):
        guesser = Guesser(seed=seed)
        yield "guesser", guesser
        yield "half seer, half guesser", Mixture("half", (seer, guesser), (0.5, 0.5))
    yield from ((name, load_answerer(name)) for name in cheaters)


def judge(world: World, models: list[tuple[str, Model]], audit: SplitsAudit = AUDIT) -> Iterator[tuple[str, Result]]:
    """Judge every model on one world."""
    study = audit.study(world.data, Local())
    [(_, probes)] = audit.probe(world.data, study)
    shown = fill(probes, world.data)
    for name, model in models:
        answers = tidy(model.answer(shown, world.data.images), probes, name)
        yield name, audit.judge(world.data, study, Predictions(name, answers), Local())


def loses_most(name: str, result: Result) -> str:
    """Name the concept of the largest gap among examples alike."""
    column = "gap" if name == "cheater:prior" else "matched"
    table = result.tables["sets"].drop_nulls(column).sort(column, descending=True)
    return str(table["concept"][0]) if table.height else "none"


def count_gaps(result: Result) -> Row:
    """Count the intervals of gaps of somebody who has none, and those that leave 0 out."""
    found: Row = {}
    for column in ("gap", "matched"):
        known = result.tables["sets"].drop_nulls(column)
        out = (known[f"{column}_low"] > 0) | (known[f"{column}_high"] < 0)
        found[column] = [int(out.sum()), known.height]
    return found


def measure(form: str, seed: int, draws: int) -> Iterator[Row]:
    """Judge everybody on one world: a row for each draw of an answerer."""
    world = make_world(WorldSettings(seed=seed, **FORMS[form].settings))
    for name, result in judge(world, list(answerers(FORMS[form].cheaters, draws))):
        row = {"form": form, "seed": seed, "answerer": name, "verdict": result.verdict.state}
        if name == "guesser":
            row |= count_gaps(result)
        yield row | ({"loses most on": loses_most(name, result)} if name in FORMS[form].cheaters else {})


def measure_leaners(seed: int, images: int) -> Iterator[Row]:
    """Take the drop of each leaner, and of the seer, on every set."""
    audit = SplitsAudit(telling="all")
    usual, crossed = (
        make_world(WorldSettings(seed=seed, images=images)),
        make_world(WorldSettings(seed=seed, images=images // 2, plant=CROSSED)),
    )
    for world, names in ((usual, ("prior", "word", "object", "seer")), (crossed, ("crossed",))):
        models = [(name, load_answerer(name if name == "seer" else f"leaner:{name}")) for name in names]
        for name, result in judge(world, models, audit):
            drops = result.tables["sets"].select("concept", pl.col("drop").fill_null(0.0)).iter_rows()
            yield {"form": "leaning", "seed": seed, "answerer": name} | dict(drops)


def lay_out_states(rows: list[Row]) -> Iterator[str]:
    """Write how often nobody, and how often everybody who cheats, was told `no`: a row for each form of world."""
    head = "| world | images | seer no / yes / cannot tell | guesser | half seer, half guesser | cheaters caught |"
    found = []
    for form in _forms(rows):
        own = [row for row in rows if row["form"] == form]
        caught = [row["verdict"] == "no" for row in own if row["answerer"] in FORMS[form].cheaters]
        states = {name: Counter(row["verdict"] for row in own if row["answerer"] == name) for name in LOOKING}
        cells = {name: " / ".join(str(counts[state]) for state in STATES) for name, counts in states.items()}
        ends = {"caught": f"{sum(caught)} of {len(caught)}" if caught else ""}
        found.append({"form": form, "images": FORMS[form].settings["images"]} | cells | ends)
    line = " | ".join(f"{{{name}}}" for name in LOOKING)
    return lay_out(head, f"| {{form}} | {{images:,}} | {line} | {{caught}} |", found)


def _forms(rows: list[Row]) -> list[str]:
    return [form for form in dict.fromkeys(row["form"] for row in rows) if form in FORMS]


def lay_out_lost(rows: list[Row]) -> Iterator[str]:
    """Write on which sets each cheater loses most, in how many worlds."""
    lost: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        if "loses most on" in row:
            lost.setdefault((row["form"], row["answerer"]), Counter())[row["loses most on"]] += 1
    found: list[Row] = [
        {"form": form, "name": name, "sets": ", ".join(f"{concept} {n}" for concept, n in counts.most_common())}
        for (form, name), counts in lost.items()
    ]
    return lay_out("| world | answerer | loses most on |", "| {form} | `{name}` | {sets} |", found)


def lay_out_gaps(rows: list[Row]) -> Iterator[str]:
    """Write how many intervals of the gaps of guessers leave 0 out."""
    found = []
    for form in _forms(rows):
        own = [row for row in rows if row["form"] == form and row["answerer"] == "guesser"]
        found.append({"form": form} | {column: _share([row[column] for row in own]) for column in ("gap", "matched")})
    head = "| world | gaps of guessers, intervals without 0 | matched gaps, intervals without 0 |"
    return lay_out(head, "| {form} | {gap} | {matched} |", found)


def _share(counts: list[list[int]]) -> str:
    out, n = (sum(each) for each in zip(*counts, strict=True))
    return f"{out} of {n:,} ({out / n:.1%})" if n else "none"


def lay_out_leaners(rows: list[Row]) -> Iterator[str]:
    """Write the drops of each leaner in points, those on sets that hold its cue in bold."""
    found: list[Row] = []
    for row in rows:
        if row["form"] == "leaning":
            held = HELD.get(row["answerer"], ())
            points = {concept: f"{100 * row[concept]:z.1f}" for concept in NINE}
            cells = (f"**{points[concept]}**" if concept in held else points[concept] for concept in NINE)
            found.append({"name": f"`{row['answerer']}`", "cells": " | ".join(cells)})
    return lay_out(f"| follows | {' | '.join(NINE)} |", "| {name} | {cells} |", found)


LAYOUTS: dict[str, Layout] = {
    "states": lay_out_states,
    "lost": lay_out_lost,
    "gaps": lay_out_gaps,
    "leaners": lay_out_leaners,
}


def main() -> None:
    """Print a table of verdicts, one of the sets, one of the intervals of guessers, and one of leaners."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=6000)
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--leaners", type=int, default=8000, help="images of the world of leaners; 0: none")
    add_flag(parser)
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.worlds)
    rows = [row for form in given.forms.split(",") for seed in seeds for row in measure(form, seed, given.draws)]
    rows += measure_leaners(LEANING, given.leaners) if given.leaners else ()
    report("splits_world", LAYOUTS, rows, kept=given.record)


if __name__ == "__main__":
    main()
