"""Each cheater of the planted world loses most in its own splits, and the seer in none.

A shortcut shows in the split of its cue, and in finer ones, which hold the cue together with something else. Cheaters
give the usual answer of the type where their rules are silent, so losses are compared among examples of the same type
and answer (matched gap): there the habit of the type alone loses nothing. Leaners look where their rules are silent:
theirs is the plain drop, on groups that are chosen without regard to the answer.
"""

from functools import cache

import polars as pl
import pytest

from eyechart.audits.splits import SplitsAudit
from eyechart.audits.splits.settings import FAMILIES, NINE
from eyechart.data.dataset import Dataset
from eyechart.data.predictions import Predictions, tidy
from eyechart.data.probes import fill
from eyechart.data.result import Measure, Result
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.world import load_answerer

AUDIT = SplitsAudit()
MODELS = ("seer", "guesser", "cheater:prior", "cheater:word", "cheater:object", "cheater:pair", "blind")
SEEDS = (21, 22, 23)
IMAGES = 8000
# The splits that hold the cue of each cheater and not much else.
OWN = {
    "cheater:object": ("KO", "KOP"),
    "cheater:crossed": ("KW+KO", "QT+KW+KO"),
}
# All splits that hold the cue of each leaner; the rule is one of a type of question, which may be part of it.
HELD = {
    "leaner:prior": ("QT",),
    "leaner:word": ("KW", "KWP", "QT+KW", "KW+KO", "QT+KW+KO"),
    "leaner:object": ("KO", "KOP", "QT+KO", "KW+KO", "QT+KW+KO"),
    "leaner:crossed": ("KW+KO", "QT+KW+KO"),
}


def judge(data: Dataset, models: tuple[str, ...], audit: SplitsAudit = AUDIT) -> dict[str, Result]:
    study = audit.study(data, Local())
    [(_, probes)] = audit.probe(data, study)
    shown = fill(probes, data)
    results = {}
    for name in models:
        answers = tidy(load_answerer(name).answer(shown, data.images), probes, name)
        results[name] = audit.judge(data, study, Predictions(name, answers), Local())
    return results


@cache
def apart(seed: int) -> dict[str, Result]:
    """Judge on a world of words, objects and pairs."""
    return judge(read("world", seed=seed, images=IMAGES), MODELS)


@cache
def crossed(seed: int) -> dict[str, Result]:
    """Judge on a world of crossed pairs."""
    data = read("world", seed=seed, images=IMAGES // 2, plant=("crossed", "prior", "decoy"))
    return judge(data, ("seer", "guesser", "cheater:prior", "cheater:crossed"))


@cache
def leaning(seed: int) -> dict[str, Result]:
    """Judge those who look where no rule fires, by concepts that do not depend on the answer."""
    audit, pairs = SplitsAudit(telling="all"), ("crossed", "prior", "decoy")
    results = judge(read("world", seed=seed, images=IMAGES), ("seer", *list(HELD)[:3]), audit)
    crossed = read("world", seed=seed, images=IMAGES // 2, plant=pairs)
    return results | judge(crossed, ("leaner:crossed",), audit)


def matched(result: Result) -> dict[str, Measure]:
    names = {f"matched gap, {concept}": concept for concept in NINE}
    found = result.measures.filter(pl.col("name").is_in(list(names)))["name"]
    return {names[name]: result.measure(name, "plain") for name in found}


def largest(found: dict[str, Measure]) -> str:
    return max(found, key=lambda concept: found[concept].value)


@pytest.mark.parametrize("seed", SEEDS)
def test_cheaters_are_caught_and_those_without_shortcuts_are_not(seed: int) -> None:
    states = {name: result.verdict.state for name, result in apart(seed).items()}

    assert states == {name: "yes" if name in ("seer", "guesser") else "no" for name in MODELS}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_follower_of_crossed_pairs_is_caught_and_others_are_not(seed: int) -> None:
    states = {name: result.verdict.state for name, result in crossed(seed).items()}

    assert states == {"seer": "yes", "guesser": "yes", "cheater:prior": "no", "cheater:crossed": "no"}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_seer_drops_nowhere(seed: int) -> None:
    for results in (apart(seed), crossed(seed)):
        for column in ("drop", "gap", "matched"):
            assert (results["seer"].tables["sets"][column].drop_nulls() == 0).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_answering_by_type_drops_most_on_question_types_and_nowhere_beyond_them(seed: int) -> None:
    sets = apart(seed)["cheater:prior"].tables["sets"]

    for column in ("gap", "drop"):
        first, second = sets.sort(column, descending=True).head(2).iter_rows(named=True)
        assert first["concept"] == "QT"
        assert first[f"{column}_low"] > second[f"{column}"]
    assert max(abs(one.value) for one in matched(apart(seed)["cheater:prior"]).values()) < 0.02


@pytest.mark.parametrize("seed", SEEDS)
def test_a_follower_of_words_loses_most_by_words(seed: int) -> None:
    for name in ("cheater:word", "blind"):
        found = matched(apart(seed)[name])
        assert largest(found) == "QT+KW"
        assert found["QT+KW"].low > 0.1
        others = (*FAMILIES["visual"], *FAMILIES["multimodal"])
        assert max(found[concept].value for concept in others) < found["KW"].value


@pytest.mark.parametrize("seed", SEEDS)
def test_a_follower_of_objects_loses_most_by_objects(seed: int) -> None:
    found = matched(apart(seed)["cheater:object"])

    assert largest(found) in OWN["cheater:object"]
    assert found["KO"].low > 0.03
    others = (*FAMILIES["language"], *FAMILIES["multimodal"])
    assert max(found[concept].value for concept in others if concept in found) < found["KO"].value


@pytest.mark.parametrize("seed", SEEDS)
def test_a_follower_of_crossed_pairs_loses_most_by_words_and_objects_together(seed: int) -> None:
    """Half a pair tells nothing, so that no other split comes near; KOP has the things that a word names."""
    found = matched(crossed(seed)["cheater:crossed"])
    own = [found[concept] for concept in OWN["cheater:crossed"]]
    others = [one for concept, one in found.items() if concept not in OWN["cheater:crossed"]]

    assert min(one.low for one in own) > 0.4
    assert min(one.low for one in own) > max(one.high for one in others)
    assert max(abs(one.value) for one in matched(crossed(seed)["cheater:prior"]).values()) < 0.02


@pytest.mark.parametrize("name", HELD)
@pytest.mark.parametrize("seed", SEEDS[:2])
def test_a_leaning_model_drops_most_where_the_cue_is_held(seed: int, name: str) -> None:
    """The plain drop of the paper, and its interval above every set without the cue; the seer drops nowhere."""
    results = leaning(seed)
    drops = {row["concept"]: row for row in results[name].tables["sets"].iter_rows(named=True)}
    own = [drops[concept] for concept in HELD[name]]
    others = [row["drop"] for concept, row in drops.items() if concept not in HELD[name]]

    assert results[name].verdict.label == "worse on rare answers at times"  # it looks where its rules are silent
    assert max(own, key=lambda row: row["drop"])["drop_low"] > max(others)
    assert min(row["drop"] for row in own) > max(others)
    assert (results["seer"].tables["sets"]["drop"] == 0).all()


def test_only_a_follower_of_pairs_loses_on_type_and_object_together() -> None:
    """The word of a pair that is not crossed tells much by itself: the loss shows there too; in QT+KO it is alone."""
    seed = SEEDS[0]
    others = [matched(apart(seed)[name])["QT+KO"].value for name in ("cheater:prior", "cheater:word", "cheater:object")]

    assert apart(seed)["cheater:pair"].measure("matched gap, QT+KO", "plain").low > 0.04
    assert max(others) < 0.04


@pytest.mark.parametrize("seed", SEEDS)
def test_the_tables_of_the_paper_are_laid_out(seed: int) -> None:
    sets = apart(seed)["blind"].tables["sets"]

    assert tuple(sets["concept"]) == NINE
    assert sets.null_count().select(pl.exclude("matched", "^matched_.*$", "^.*_q$")).sum_horizontal().item() == 0
