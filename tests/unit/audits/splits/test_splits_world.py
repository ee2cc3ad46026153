"""Each cheater of the planted world shows in its own splits, and the seer in none."""

import polars as pl
import pytest

from eyechart.audits.splits import SplitsAudit
from eyechart.audits.splits.names import FAMILIES, NINE
from eyechart.engines.local import Local
from eyechart.predictions import Predictions, tidy
from eyechart.probes import fill
from eyechart.readers import read
from eyechart.result import Result
from eyechart.world import load_answerer

AUDIT = SplitsAudit()
MODELS = ("seer", "guesser", "cheater:prior", "cheater:word", "cheater:object", "cheater:pair", "blind")


@pytest.fixture(scope="module")
def judged() -> dict[str, Result]:
    data = read("world", seed=21, images=8000)
    study = AUDIT.study(data, Local())
    [(_, probes)] = AUDIT.probe(data, study)
    shown = fill(probes, data)
    results = {}
    for name in MODELS:
        answers = tidy(load_answerer(name).answer(shown, data.images), probes, name)
        results[name] = AUDIT.judge(data, study, Predictions(name, answers), Local())
    return results


def matched(result: Result) -> dict[str, float]:
    found = result.tables["sets"].select("concept", "matched").drop_nulls()
    return dict(found.iter_rows())


def test_cheaters_are_caught_and_those_without_shortcuts_are_not(judged: dict[str, Result]) -> None:
    states = {name: result.verdict.state for name, result in judged.items()}

    assert states == {name: "clear" if name in ("seer", "guesser") else "caught" for name in MODELS}


def test_the_seer_drops_nowhere(judged: dict[str, Result]) -> None:
    for column in ("drop", "gap", "matched"):
        assert (judged["seer"].tables["sets"][column].drop_nulls() == 0).all()


def test_whoever_answers_by_type_drops_most_on_question_types_and_nowhere_beyond_them(
    judged: dict[str, Result],
) -> None:
    sets = judged["cheater:prior"].tables["sets"]

    assert sets.sort("gap", descending=True)["concept"][0] == "QT"
    assert sets.sort("drop", descending=True)["concept"][0] == "QT"
    assert max(map(abs, matched(judged["cheater:prior"]).values())) < 0.02


def test_whoever_follows_words_loses_most_by_words(judged: dict[str, Result]) -> None:
    """The same answer to the same type of question, frequent or rare under its keyword."""
    for name in ("cheater:word", "blind"):
        found = matched(judged[name])
        assert max(found, key=lambda concept: found[concept]) == "QT+KW"
        assert judged[name].measure("matched gap, QT+KW", "plain").low > 0.1
        assert max(found[concept] for concept in (*FAMILIES["visual"], *FAMILIES["multimodal"])) < found["KW"]


def test_whoever_follows_objects_loses_most_by_objects(judged: dict[str, Result]) -> None:
    found = matched(judged["cheater:object"])

    assert max(found, key=lambda concept: found[concept]) in FAMILIES["visual"]
    assert judged["cheater:object"].measure("matched gap, KO", "plain").low > 0.03


def test_only_whoever_follows_pairs_loses_on_type_and_object_together(judged: dict[str, Result]) -> None:
    """It loses by its words as well; in QT+KO it is alone."""
    others = [matched(judged[name])["QT+KO"] for name in ("cheater:prior", "cheater:word", "cheater:object")]

    assert judged["cheater:pair"].measure("matched gap, QT+KO", "plain").low > 0.04
    assert max(others) < 0.04


def test_the_tables_of_the_paper_are_laid_out(judged: dict[str, Result]) -> None:
    sets = judged["blind"].tables["sets"]

    assert tuple(sets["concept"]) == NINE
    assert sets.null_count().select(pl.exclude("matched", "^matched_.*$", "^.*_q$")).sum_horizontal().item() == 0
