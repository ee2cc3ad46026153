"""Every result says how many answers could be read, and what the others could change."""

from pathlib import Path

import polars as pl
import pytest

from eyechart.audits.accuracy import Accuracy
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.result import Result
from eyechart.data.store import Store
from eyechart.runs.interview import Asking
from eyechart.runs.run import Run

N = 8


class Mumbling:
    """Answer right, wrong, unreadably and not at all, in turn."""

    name = "mumbling"
    replies = (("red", "ok"), ("blue", "ok"), (None, "unparsed"), (None, "failed"))

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        told = [self.replies[int(key) % 4] for key in probes["id"]]
        answers, statuses = zip(*told, strict=True)
        return pl.DataFrame(
            {"id": probes["id"], "answer": pl.Series(answers, dtype=pl.String), "status": pl.Series(statuses)}
        )


def judge(folder: Path, choices: list[list[str]] | None) -> Result:
    columns = {
        "id": list(map(str, range(N))),
        "image": ["a"] * N,
        "question": ["what color?"] * N,
        "answer": ["red"] * N,
    }
    examples = pl.DataFrame(columns if choices is None else columns | {"choices": choices})
    run = Run(Store(folder), asking=Asking(allow_partial=True))
    run.start(Dataset("quiz", examples, Images.named(examples["image"])))
    run.study([Accuracy()])
    run.audit(Mumbling())
    return run.store.results()["mumbling"]["accuracy"]


def test_accuracy_is_reported_with_lost_answers_left_out_wrong_and_by_chance(tmp_path: Path) -> None:
    """Two right, two wrong, four lost: 2/4, 2/8, and (2 + what chance gives the four lost) / 8."""
    choices = [["red", "blue"]] * 4 + [["red", "blue", "green", "grey"]] * 4
    (row,) = judge(tmp_path, choices).tables["parsing"].to_dicts()

    assert row == {
        "condition": "plain",
        "asked": 8,
        "unparsed": 2,
        "failed": 2,
        "missing": 0,
        "parsed": pytest.approx(4 / 6),
        "left_out": 0.5,
        "as_wrong": 0.25,
        "as_chance": pytest.approx((2 + 2 / 2 + 2 / 4) / 8),
    }


def test_without_options_chance_gives_nothing(tmp_path: Path) -> None:
    result = judge(tmp_path, None)
    (row,) = result.tables["parsing"].to_dicts()

    assert row["as_chance"] == row["as_wrong"] == 0.25
    assert row["as_wrong"] == result.measure("accuracy", "plain").value
    assert "parsing" in [view.table for view in result.views]


def test_where_nothing_is_lost_there_is_nothing_to_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mumbling, "replies", (("red", "ok"), ("blue", "refused")) * 2)
    result = judge(tmp_path, None)
    (row,) = result.tables["parsing"].to_dicts()

    assert (row["asked"], row["parsed"], row["left_out"]) == (8, 1.0, None)
    assert "parsing" not in [view.table for view in result.views]
