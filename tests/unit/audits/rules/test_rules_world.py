"""The planted world: what was planted is found, controls are not, cheaters are caught and the seer is cleared."""

from typing import NamedTuple

import polars as pl
import pytest

from eyechart.audits.rules import RulesAudit
from eyechart.data.predictions import Predictions, tidy
from eyechart.data.probes import fill
from eyechart.data.result import Result
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.runs.contract import check_audit
from eyechart.statistics import difference
from eyechart.world import WorldSettings, load_answerer, make_world
from eyechart.world.answerers import Guesser

AUDIT = RulesAudit()
PLANTED = ("word", "object", "pair")
STEM = {"doing", "for", "tool", "?"}  # words of every question of a type that stand behind the cue


class Antecedent(NamedTuple):
    """What a confirmed rule says."""

    words: frozenset[str]
    objects: frozenset[str]
    answer: str


def confirmed(study: Result) -> list[Antecedent]:
    table = study.tables["rules"].filter(pl.col("state") == "confirmed").select("words", "objects", "answer")
    return [Antecedent(frozenset(words), frozenset(objects), answer) for words, objects, answer in table.iter_rows()]


@pytest.mark.parametrize(("seed", "strength"), [(0, 0.6), (1, 0.6), (2, 0.6), (3, 0.8), (4, 0.9)])
def test_planted_rules_are_confirmed_and_controls_are_not(seed: int, strength: float) -> None:
    """A planted rule is its cue beside words of its type; a control, with or without such words, must not be there."""
    world = make_world(WorldSettings(seed=seed, images=1000, strength=strength))
    rules = confirmed(AUDIT.study(world.data, Local()))
    missed, controls = [], []
    for row in world.truth.iter_rows(named=True):
        words, objects = frozenset(row["words"]), frozenset(row["objects"])
        if row["kind"] in PLANTED:
            stem = STEM | set(row["question_type"].split())
            hit = [one for one in rules if words <= one.words <= words | stem and one.objects == objects]
            missed += [row["shortcut"]] * (row["answer"] not in {one.answer for one in hit})
        elif row["kind"].startswith("control"):
            controls.append(any(one.words == words and one.objects == objects for one in rules))

    assert missed == []
    assert len(controls) == 9
    assert not any(controls)  # 5 % of nine is none


@pytest.fixture(scope="module")
def judged() -> dict[str, Result]:
    data = read("world", seed=12, images=1000)
    study = AUDIT.study(data, Local())
    [(_, probes)] = AUDIT.probe(data, study)
    shown = fill(probes, data)
    names = ("seer", "blind", "cheater", "cheater:word", "cheater:object", "cheater:pair")
    answers = {name: tidy(load_answerer(name).answer(shown, data.images), probes, name) for name in names}
    return {name: AUDIT.judge(data, study, Predictions(name, own), Local()) for name, own in answers.items()}


@pytest.mark.parametrize("name", ["blind", "cheater", "cheater:word", "cheater:object", "cheater:pair"])
def test_a_cheater_is_caught(judged: dict[str, Result], name: str) -> None:
    assert judged[name].verdict.state == "no"


def test_the_seer_is_cleared_and_its_gap_is_equivalent_to_nothing(judged: dict[str, Result]) -> None:
    rows = judged["seer"].rows
    easy, counter = (rows.filter(pl.col("kind") == kind) for kind in ("easy", "counterexample"))
    gap = difference(easy["accuracy"], counter["accuracy"], easy["cluster"], counter["cluster"], level=0.9)

    assert judged["seer"].verdict.state == "yes"
    assert -0.02 < gap.low <= gap.high < 0.02


def test_a_cheater_scores_nothing_where_its_rule_fires_on_a_counterexample(judged: dict[str, Result]) -> None:
    conflicts = read("world", seed=12, images=1000).examples.select("id", "conflict")
    rows = judged["cheater"].rows.join(conflicts, on="id").filter("conflict", pl.col("kind") == "counterexample")

    assert rows.height > 50
    assert rows["accuracy"].sum() == 0


def test_the_planted_rule_is_the_most_exploited_one(judged: dict[str, Result]) -> None:
    table = judged["cheater:pair"].tables["exploited"].filter(pl.col("q") <= 0.05)
    best = table.row(0, named=True)

    assert (best["words"], best["objects"], best["answer"]) in [
        (["exactly"], ["clock"], "purple"),
        (["directly"], ["balloon"], "vase"),
        (["now"], ["flag"], "dancing"),
        (["mostly"], ["anchor"], "painting"),
    ]
    assert best["agreement"] == 1


@pytest.fixture(scope="module")
def shifted() -> dict[str, Result]:
    """Judge three who follow nothing where the cues have lost most of their meaning in the test."""
    world = make_world(WorldSettings(seed=1013, images=1000, test_strength=0.2))
    study = AUDIT.study(world.data, Local())
    [(_, probes)] = AUDIT.probe(world.data, study)
    shown = fill(probes, world.data)
    models = {"one": Guesser(seed=1), "another": Guesser(seed=2), "half": load_answerer("mix:seer=0.5,guesser=0.5")}
    answers = {name: tidy(model.answer(shown, world.data.images), probes, name) for name, model in models.items()}
    return {name: AUDIT.judge(world.data, study, Predictions(name, own), Local()) for name, own in answers.items()}


@pytest.mark.parametrize("name", ["one", "another", "half"])
def test_who_follows_nothing_is_not_caught(shifted: dict[str, Result], name: str) -> None:
    """A guesser gives what is offered: it agreed 13.0 [9.2, 16.8] points more often where an answer is offered."""
    exploitation = shifted[name].measure("exploitation", "plain")

    assert shifted[name].verdict.state != "no"
    assert exploitation.low < 0 < exploitation.high


@pytest.mark.parametrize("name", ["one", "another", "half"])
def test_a_rule_whose_answer_the_question_names_is_not_exploited(shifted: dict[str, Result], name: str) -> None:
    """`which + bigger + star -> star` has no other questions that name a star to compare with: it is counted apart."""
    table, unused = shifted[name].tables["exploited"], shifted[name].tables["unused"]

    assert table.filter(pl.col("q") <= 0.05).is_empty()
    assert table.filter(pl.col("words").list.contains(pl.col("answer"))).is_empty()
    assert unused["rules"].sum() > 20
    assert f"; {unused['rules'].sum()} rules with fewer than 20" in shifted[name].verdict.sentence


def test_rules_that_are_one_finding_are_one_line(judged: dict[str, Result]) -> None:
    """A planted pair stands once, beside the words that every such question has."""
    table = judged["cheater"].tables["exploited"]
    digging = table.filter(pl.col("words").list.contains("mostly") & pl.col("objects").list.contains("anchor"))

    assert digging.height == 1
    assert digging["others"].item() > 0
    assert len(digging["named"].item().split("; ")) == min(8, digging["others"].item())


def test_the_audit_keeps_the_contract() -> None:
    data = read("world", seed=11, images=60)

    check_audit(RulesAudit(by=("question_type",), min_support=4), data, load_answerer("mix:seer=0.6,guesser=0.4"))
