"""Every probe is asked once, and a crash loses at most one batch."""

from pathlib import Path

import polars as pl
import pytest

from eyechart.base.errors import ModelError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.probes import Prober
from eyechart.engines import Local
from eyechart.models.asking import AnswerLog, AnswerStep, ask, lock_model, select_unanswered


class Echo:
    """Answer every question with itself, and remember the sizes of the batches."""

    name = "echo"

    def __init__(self) -> None:
        self.batches: list[int] = []

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        self.batches.append(probes.height)
        return probes.select("id", pl.col("question").alias("answer"))


@pytest.fixture
def probes(tiny: Dataset) -> pl.DataFrame:
    return Prober(tiny).plain(tiny.examples["id"])


@pytest.mark.parametrize(("batch", "sizes"), [(3, [3, 3, 2]), (8, [8]), (100, [8])])
def test_batches_have_their_size_and_answers_their_question(
    tiny: Dataset, probes: pl.DataFrame, batch: int, sizes: list[int]
) -> None:
    model = Echo()
    answers = pl.concat(ask(AnswerStep(model, tiny.images), probes, tiny, Local(), batch))

    assert model.batches == sizes
    assert answers.sort("id")["answer"].to_list() == tiny.examples["question"].to_list()


def test_an_answer_to_other_content_does_not_count(probes: pl.DataFrame) -> None:
    answers = probes.select("id", pl.when(pl.col("id") != "03").then("probe").otherwise(pl.lit("1")).alias("probe"))

    assert select_unanswered(probes, answers.with_columns(status=pl.lit("ok")))["id"].to_list() == ["03"]


def test_failures_and_missing_draws_are_asked_for(probes: pl.DataFrame) -> None:
    status = pl.when(pl.col("id") == "03").then(pl.lit("failed")).otherwise(pl.lit("unparsed"))
    once = probes.select("id", "probe", status.alias("status"))
    twice = pl.concat([once, once.filter(pl.col("id") != "05")])

    assert select_unanswered(probes, once)["id"].to_list() == ["03"]
    assert select_unanswered(probes, twice, draws=2)["id"].to_list() == ["03", "05"]


def test_a_model_is_asked_by_one_process_at_a_time(tmp_path: Path) -> None:
    with (
        lock_model(tmp_path / "a.lock", "it"),
        lock_model(tmp_path / "b.lock", "other"),
        pytest.raises(ModelError, match="only one process asking it; found another one"),
        lock_model(tmp_path / "a.lock", "it"),
    ):
        pytest.fail("two ask at once")
    with lock_model(tmp_path / "a.lock", "it"):
        pass


def test_a_log_cut_anywhere_keeps_every_whole_line(tiny: Dataset, probes: pl.DataFrame, tmp_path: Path) -> None:
    log = AnswerLog(tmp_path / "plain.jsonl")
    for answers in ask(AnswerStep(Echo(), tiny.images), probes, tiny, Local(), 4):
        log.append(answers)
    content = log.path.read_bytes()
    for length in range(0, len(content) + 1, 7):
        log.path.write_bytes(content[:length])

        assert log.read().height == content[:length].count(b"\n")


def test_a_cut_log_can_be_continued(tiny: Dataset, probes: pl.DataFrame, tmp_path: Path) -> None:
    log = AnswerLog(tmp_path / "plain.jsonl")
    first, second = ask(AnswerStep(Echo(), tiny.images), probes, tiny, Local(), 4)
    log.append(first)
    log.path.write_bytes(log.path.read_bytes()[:-5])
    kept = log.read()
    log.append(second)

    assert kept.height == 3
    assert log.read().height == 7


def test_odd_answers_survive_the_log(tiny: Dataset, probes: pl.DataFrame, tmp_path: Path) -> None:
    class Odd(Echo):
        def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
            odd = ["line\nbreak", '"quoted"', "\u2028", "", "\\", "é🙂", None, " "]
            scores = [[{"answer": "a", "score": 0.5}]] * 8
            return probes.select("id").with_columns(pl.Series("answer", odd), pl.Series("scores", scores))

    log = AnswerLog(tmp_path / "plain.jsonl")
    (answers,) = ask(AnswerStep(Odd(), tiny.images), probes, tiny, Local(), 8)
    log.append(answers)

    assert log.read().select(answers.columns).equals(answers)
