"""Answers are joined by key, counted, and refused where they belong to something else."""

import polars as pl
import pytest

from eyechart.base.errors import AnswerMismatchError, CoverageError, ModelError, TableError
from eyechart.data.dataset import Dataset
from eyechart.data.predictions import Predictions, tidy
from eyechart.data.probes import Prober


def answers(rows: list[dict[str, object]], asked: pl.DataFrame) -> Predictions:
    return Predictions("m", tidy(pl.DataFrame(rows), asked, "m"))


@pytest.fixture
def asked(tiny: Dataset) -> pl.DataFrame:
    return Prober(tiny).plain(tiny.examples["id"])


def test_a_bare_reply_becomes_whole_answers(asked: pl.DataFrame) -> None:
    table = tidy(pl.DataFrame({"id": ["01", "00"], "answer": ["yes", None]}), asked, "m")

    assert table["id"].to_list() == ["00", "01"]
    assert table["status"].to_list() == ["failed", "ok"]
    assert table["raw"].to_list() == [None, "yes"]
    assert table["probe"].to_list() == asked["probe"].to_list()[:2]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("yes", "found str"),
        (pl.DataFrame({"id": ["00"]}), "found columns id"),
        (pl.DataFrame({"id": ["99"], "answer": ["yes"]}), "found an answer to '99'"),
    ],
)
def test_a_reply_out_of_form_is_refused(asked: pl.DataFrame, reply: object, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        tidy(reply, asked, "m")


def test_two_answers_to_one_probe_are_refused(asked: pl.DataFrame) -> None:
    with pytest.raises(TableError, match=r"each id \+ condition \+ draw once"):
        answers([{"id": "00", "answer": "red"}, {"id": "00", "answer": "blue"}], asked)


def test_answers_stand_beside_their_own_examples_whatever_the_order(tiny: Dataset, asked: pl.DataFrame) -> None:
    given = [{"id": f"0{n}", "answer": f"answer {n}"} for n in (5, 2, 7, 0)]
    table = answers(given, asked).beside(tiny.examples.reverse(), "plain").table

    assert dict(zip(table["id"], table["given"], strict=True)) == {f"0{n}": f"answer {n}" for n in (0, 2, 5, 7)}


def test_every_example_is_counted_once(tiny: Dataset, asked: pl.DataFrame) -> None:
    given = [
        {"id": "00", "draw": 0, "answer": "red", "status": "ok"},
        {"id": "00", "draw": 1, "answer": "blue", "status": "ok"},
        {"id": "01", "draw": 0, "answer": None, "status": "failed"},
        {"id": "01", "draw": 1, "answer": "yes", "status": "ok"},
        {"id": "02", "draw": 0, "answer": None, "status": "refused"},
        {"id": "03", "draw": 0, "answer": None, "status": "unparsed"},
    ]
    found = answers(given, asked).beside(tiny.examples, "plain")

    assert dict(found.counts.select("status", "n").rows()) == {"ok": 2, "refused": 1, "unparsed": 1, "missing": 4}
    assert found.lost["id"].to_list() == ["03"]
    assert found.table["id"].to_list() == ["00", "00", "01", "02"]


def test_answers_to_other_content_are_refused(tiny: Dataset, asked: pl.DataFrame) -> None:
    changed = asked.with_columns(pl.when(pl.col("id") == "03").then(pl.lit("1")).otherwise("probe").alias("probe"))
    predictions = answers([{"id": name, "answer": "x"} for name in asked["id"]], changed)

    with pytest.raises(AnswerMismatchError, match="found 1 answers to other probes, the first for id '03'"):
        predictions.check_against(asked, "plain")


def test_answers_from_elsewhere_carry_no_hash_and_are_trusted(asked: pl.DataFrame) -> None:
    table = tidy(pl.DataFrame({"id": asked["id"], "answer": ["x"] * 8}), asked, "m")
    foreign = Predictions("m", table.with_columns(pl.lit(None, pl.String).alias("probe")))

    assert foreign.check_against(asked, "plain") is foreign


def test_low_coverage_is_an_error_unless_allowed(asked: pl.DataFrame) -> None:
    predictions = answers([{"id": "00", "answer": "red"}], asked)

    with pytest.raises(CoverageError, match=r"99% of the 8 probes of 'plain'; found 1 \(12\.5%\); .*--allow-partial"):
        predictions.check_against(asked, "plain")
    assert predictions.check_against(asked, "plain", allow_partial=True) is predictions
