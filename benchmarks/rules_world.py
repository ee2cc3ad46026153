"""Count over many planted worlds which planted rules and controls are confirmed, and who follows nothing but is caught.

    python benchmarks/rules_world.py [--seeds 20] [--shifted 20] [--images 1000] [--record]

A planted rule must be confirmed: its cue, alone or beside words that every question of its type has. A control is a
word or an object that was put in like a cue and means nothing; none of more than 5 % may be confirmed. In shifted
worlds the cues have lost most of their meaning in the test: who guesses, or looks and guesses by halves, follows
nothing and must not be told `no`.
"""

import argparse
from collections import Counter
from collections.abc import Iterator

import polars as pl

from eyechart.audits.rules import RulesAudit
from eyechart.data.predictions import Predictions, tidy
from eyechart.data.probes import fill
from eyechart.data.result import Result
from eyechart.engines import Local
from eyechart.world import World, WorldSettings, load_answerer, make_world
from record import Row, add_flag
from tables import Layout, lay_out, report

AUDIT = RulesAudit()
STATES = ("yes", "no", "cannot tell")
PLANTED = ("word", "object", "pair")
KINDS = (*PLANTED, "control")
STRENGTHS = (0.6, 0.8)
SHIFTED = 0.2  # the strength in the test of a shifted world
FIRST_SHIFTED = 3000  # its first seed
FOLLOW_NOTHING = ("seer", "guesser", "mix:seer=0.5,guesser=0.5")
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


def measure(strength: float, seed: int, images: int) -> Row:
    """Count in one world the planted rules, the controls and those of them that are confirmed."""
    world = make_world(WorldSettings(seed=seed, images=images, strength=strength))
    study = AUDIT.study(world.data, Local())
    found = list(confirmed(study, world))
    planted, hits = Counter(kind for kind, _ in found), Counter(kind for kind, hit in found if hit)
    counts = {kind: [hits[kind], planted[kind]] for kind in KINDS}
    return {"strength": strength, "seed": seed} | counts


def measure_shifted(seed: int, images: int) -> Row:
    """Judge those who follow nothing in one shifted world."""
    world = make_world(WorldSettings(seed=seed, images=images, test_strength=SHIFTED))
    study, states = AUDIT.study(world.data, Local()), {}
    [(_, probes)] = AUDIT.probe(world.data, study)
    shown = fill(probes, world.data)
    for name in FOLLOW_NOTHING:
        answers = tidy(load_answerer(name).answer(shown, world.data.images), probes, name)
        states[name] = AUDIT.judge(world.data, study, Predictions(name, answers), Local()).verdict.state
    return {"shifted": SHIFTED, "seed": seed} | states


def lay_out_rules(rows: list[Row]) -> Iterator[str]:
    """Write a row for each strength."""
    rows = [row for row in rows if "strength" in row]
    head = "| strength | word rules confirmed | object rules | word + object rules | controls |"
    for_each = [
        {"strength": strength}
        | {kind: _of([row[kind] for row in rows if row["strength"] == strength]) for kind in KINDS}
        for strength in dict.fromkeys(row["strength"] for row in rows)
    ]
    return lay_out(head, "| {strength} | " + " | ".join(f"{{{kind}}}" for kind in KINDS) + " |", for_each)


def _of(counts: list[list[int]]) -> str:
    hits, n = (sum(each) for each in zip(*counts, strict=True))
    return f"{hits} of {n}"


def lay_out_shifted(rows: list[Row]) -> Iterator[str]:
    """Write a row for each of those who follow nothing."""
    judged = [row for row in rows if "shifted" in row]
    counts = {name: Counter(row[name] for row in judged) for name in FOLLOW_NOTHING}
    found = [{"name": name} | {state: counts[name][state] for state in STATES} for name in FOLLOW_NOTHING]
    head = f"| answerer | {' | '.join(f'`{state}`' for state in STATES)} |"
    return lay_out(head, "| `{name}` | " + " | ".join(f"{{{state}}}" for state in STATES) + " |", found)


LAYOUTS: dict[str, Layout] = {"rules": lay_out_rules, "shifted": lay_out_shifted}


def main() -> None:
    """Print a table of rules and one of answerers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--shifted", type=int, default=20)
    parser.add_argument("--images", type=int, default=1000)
    add_flag(parser)
    given = parser.parse_args()
    rows = [measure(strength, seed, given.images) for strength in STRENGTHS for seed in range(given.seeds)]
    rows += [measure_shifted(FIRST_SHIFTED + n, given.images) for n in range(given.shifted)]
    report("rules_world", LAYOUTS, rows, kept=given.record)


if __name__ == "__main__":
    main()
