"""Count over many planted worlds what `splits` says of whom, and where cheaters lose.

    python benchmarks/splits_world.py [--first 6000] [--worlds 20] [--draws 5] [--forms default,small]

Whoever looks or guesses by lot is as good on rare answers and must not be told `no`; guessers are drawn several times
a world. Cheaters must be told `no` where what they follow is planted; elsewhere nobody cheats. The second table names
the set on which each cheater loses most among examples of the same type and answer (matched gap; gap for whoever
answers by type alone, who loses nothing there), and the third how many intervals of the gaps of guessers, who have
none, leave 0 out.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple, get_args

from eyechart.audits.splits import SplitsAudit
from eyechart.data.predictions import Predictions, tidy
from eyechart.data.probes import fill
from eyechart.data.protocols import Model
from eyechart.data.result import Result, State
from eyechart.engines.local import Local
from eyechart.statistics import wilson
from eyechart.world import World, WorldSettings, load_answerer, make_world
from eyechart.world.answerers import Guesser, Mixture

AUDIT = SplitsAudit()
STATES = get_args(State)
CHEATERS = ("cheater:prior", "cheater:word", "cheater:object", "cheater:pair", "blind", "cheater")


class Form(NamedTuple):
    """The settings of a world beside its seed, and who cheats in it."""

    settings: dict[str, Any]
    cheaters: tuple[str, ...] = ()


FORMS = {
    "default": Form({"images": 8000}, CHEATERS),
    "small": Form({"images": 1000}, CHEATERS),
    "weak": Form({"images": 3000, "strength": 0.6}, CHEATERS),
    "crossed": Form({"images": 8000, "plant": ("crossed", "prior", "decoy")}, ("cheater:crossed",)),
    "shifted": Form({"images": 3000, "test_strength": 0.2}),
    "nothing planted": Form({"images": 3000, "plant": ()}),
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


def judge(world: World, models: list[tuple[str, Model]]) -> Iterator[tuple[str, Result]]:
    """Judge every model on one world."""
    study = AUDIT.study(world.data, Local())
    [(_, probes)] = AUDIT.probe(world.data, study)
    shown = fill(probes, world.data)
    for name, model in models:
        answers = tidy(model.answer(shown, world.data.images), probes, name)
        yield name, AUDIT.judge(world.data, study, Predictions(name, answers), Local())


def loses_most(name: str, result: Result) -> str:
    """Name the concept of the largest gap among examples alike."""
    column = "gap" if name == "cheater:prior" else "matched"
    table = result.tables["sets"].drop_nulls(column).sort(column, descending=True)
    return str(table["concept"][0]) if table.height else "none"


def without_zero(result: Result) -> Counter[str]:
    """Count the intervals of gaps of somebody who has none, and those that leave 0 out."""
    found: Counter[str] = Counter()
    for column in ("gap", "matched"):
        known = result.tables["sets"].drop_nulls(column)
        out = (known[f"{column}_low"] > 0) | (known[f"{column}_high"] < 0)
        found.update({column: known.height, f"{column} out": int(out.sum())})
    return found


class Counts(NamedTuple):
    """What was found in the worlds of one form: verdicts and sets of the largest loss by answerer, and intervals."""

    states: dict[str, Counter[str]]
    lost: dict[str, Counter[str]]
    missed: Counter[str]


def count(form: Form, seeds: range, draws: int) -> Counts:
    """Judge everybody on the worlds of all seeds."""
    found = Counts({}, {}, Counter())
    for seed in seeds:
        world = make_world(WorldSettings(seed=seed, **form.settings))
        for name, result in judge(world, list(answerers(form.cheaters, draws))):
            found.states.setdefault(name, Counter())[result.verdict.state] += 1
            if name in form.cheaters:
                found.lost.setdefault(name, Counter())[loses_most(name, result)] += 1
            if name == "guesser":
                found.missed.update(without_zero(result))
    return found


def print_states(form: str, states: dict[str, Counter[str]]) -> None:
    """Print a row of verdicts for each answerer."""
    for name, counts in states.items():
        low, high = wilson(counts["no"], counts.total())
        cells = " | ".join(str(counts[state]) for state in STATES)
        share = f"{counts['no'] / counts.total():.1%} [{low:.1%}, {high:.1%}]"
        print(f"| {form} | {name} | {cells} | {share} |", flush=True)


def main() -> None:
    """Print a table of verdicts, one of the sets, and one of the intervals of guessers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=6000)
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--forms", default=",".join(FORMS))
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.worlds)
    found = {}
    print(f"| form | answerer | {' | '.join(STATES)} | no, share [95 %] |\n|---|---|---|---|---|---|---|")
    for form in options.forms.split(","):
        found[form] = count(FORMS[form], seeds, options.draws)
        print_states(form, found[form].states)
    print("\n| form | answerer | loses most on |\n|---|---|---|")
    for form, counts in found.items():
        for name, lost in counts.lost.items():
            print(f"| {form} | {name} | {', '.join(f'{concept} {n}' for concept, n in lost.most_common())} |")
    print("\n| form | gaps of guessers, intervals without 0 | matched gaps, intervals without 0 |\n|---|---|---|")
    for form, counts in found.items():
        cells = " | ".join(f"{counts.missed[f'{name} out']} of {counts.missed[name]}" for name in ("gap", "matched"))
        print(f"| {form} | {cells} |")


if __name__ == "__main__":
    main()
