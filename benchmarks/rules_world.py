"""Count over many planted worlds which planted rules and which controls are confirmed, and what is said of whom.

    python benchmarks/rules_world.py [--seeds 20] [--images 1000]

A planted rule must be confirmed: its cue, alone or beside words that every question of its type has. A control is a
word or an object that was put in like a cue and means nothing; none of more than 5 % may be confirmed.
"""

import argparse
from collections import Counter
from collections.abc import Iterator

import polars as pl

from eyechart.audits.rules import RulesAudit
from eyechart.data.predictions import Predictions, tidy
from eyechart.data.probes import fill
from eyechart.data.result import Result
from eyechart.engines.local import Local
from eyechart.statistics import wilson
from eyechart.world import World, WorldSettings, load_answerer, make_world

AUDIT = RulesAudit()
STATES = ("yes", "no", "cannot tell")
PLANTED = ("word", "object", "pair")
ANSWERERS = ("seer", "blind", "cheater", "cheater:word", "cheater:object", "cheater:pair")
STEM = {"doing", "for", "tool", "?"}  # words of every question of a type that stand behind the cue


def confirmed(study: Result, world: World) -> Iterator[tuple[str, bool]]:
    """Say of each planted rule and each control whether a rule of its cue is confirmed."""
    sure = study.tables["rules"].filter(pl.col("state") == "confirmed").select("words", "objects", "answer")
    rules = [(set(words), set(objects), answer) for words, objects, answer in sure.iter_rows()]
    for row in world.truth.iter_rows(named=True):
        cue, objects, answer = set(row["words"]), set(row["objects"]), row["answer"]
        if row["kind"] in PLANTED:
            stem = cue | STEM | set(row["question_type"].split())
            yield (
                row["kind"],
                any(cue <= words <= stem and (seen, answered) == (objects, answer) for words, seen, answered in rules),
            )
        elif row["kind"].startswith("control"):
            yield "control", any((words, seen) == (cue, objects) for words, seen, _ in rules)


def verdicts(study: Result, world: World) -> Iterator[tuple[str, str]]:
    """Judge every answerer."""
    [(_, probes)] = AUDIT.probe(world.data, study)
    shown = fill(probes, world.data)
    for name in ANSWERERS:
        answers = tidy(load_answerer(name).answer(shown, world.data.images), probes, name)
        yield name, AUDIT.judge(world.data, study, Predictions(name, answers), Local()).verdict.state


def main() -> None:
    """Print a table of rules and one of answerers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--images", type=int, default=1000)
    options = parser.parse_args()
    print("| strength | what | confirmed | of | share [95 %] |\n|---|---|---|---|---|")
    states: Counter[tuple[str, str]] = Counter()
    for strength in (0.6, 0.8):
        found: Counter[str] = Counter()
        hits: Counter[str] = Counter()
        for seed in range(options.seeds):
            world = make_world(WorldSettings(seed=seed, images=options.images, strength=strength))
            study = AUDIT.study(world.data, Local())
            for kind, hit in confirmed(study, world):
                found[kind] += 1
                hits[kind] += hit
            if strength == 0.8:
                states.update(verdicts(study, world))
        for kind, n in found.items():
            low, high = wilson(hits[kind], n)
            print(
                f"| {strength} | {kind} | {hits[kind]} | {n} | {hits[kind] / n:.1%} [{low:.1%}, {high:.1%}] |",
                flush=True,
            )
    print(f"\n| answerer | {' | '.join(STATES)} |\n|{'---|' * (len(STATES) + 1)}")
    for name in ANSWERERS:
        print(f"| {name} | " + " | ".join(str(states[name, state]) for state in STATES) + " |")


if __name__ == "__main__":
    main()
