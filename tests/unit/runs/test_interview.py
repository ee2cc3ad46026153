"""What is wrong with a model is noticed at its first replies, and what its service says of itself is recorded."""

import logging
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pytest

from eyechart.audits import make_audit
from eyechart.base.errors import CoverageError, ModelError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.store import Store
from eyechart.models import load
from eyechart.models.function import Function
from eyechart.runs.interview import Asking
from eyechart.runs.run import Run
from servers.starting import Served, misbehaving

N = 100


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a run of a hundred questions, up to the probes."""
    ids = [f"{n:03}" for n in range(N)]
    questions = [f"what is {n}?" for n in range(N)]
    examples = pl.DataFrame(
        {"id": ids, "image": pl.Series([None] * N, dtype=pl.String), "question": questions, "answer": ["red"] * N}
    )
    run = Run(Store(tmp_path_factory.mktemp("replies") / "run"))
    run.start(Dataset("many", examples.with_columns(split=pl.lit("test")), Images.named(examples["image"])))
    run.study([make_audit("accuracy")])
    run.probe()
    return run.store.folder


@pytest.fixture
def run(probed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("EYECHART_CACHE", str(tmp_path / "cache.sqlite"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    shutil.copytree(probed, tmp_path / "run")
    return Run(Store(tmp_path / "run"))


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with misbehaving() as served:
        yield served


@dataclass
class Failing:
    """Fail for all ids but some, and count what was asked."""

    good: tuple[str, ...] = ()
    asked: int = 0
    name: str = "failing"

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        self.asked += probes.height
        return probes.select("id", answer=pl.when(pl.col("id").is_in(self.good)).then(pl.lit("red")))


def test_a_model_whose_first_twenty_calls_all_fail_is_asked_no_more(run: Run) -> None:
    model = Failing()
    with pytest.raises(ModelError, match=r"first 20 calls that all failed, .*; nothing more was asked"):
        run.predict(model)

    assert model.asked == 20


def test_one_reply_among_the_first_is_enough_to_go_on(run: Run) -> None:
    model = Failing(good=("019",))
    run.predict(model)

    assert model.asked == N


def test_what_fails_again_later_does_not_stop_a_model_that_has_answered(run: Run) -> None:
    """Or a run with some pictures that are refused could never be judged."""
    run.predict(Failing(good=tuple(f"{n:03}" for n in range(70))))
    model = Failing()
    run.predict(model)

    assert model.asked == 30


def test_small_batches_are_counted_together(run: Run) -> None:
    model = Failing()
    with pytest.raises(ModelError, match="first 20 calls"):
        replace(run, asking=Asking(batch=4)).predict(model)

    assert model.asked <= 24


def test_a_batch_that_breaks_the_model_is_no_proof_against_it(run: Run) -> None:
    def answer(rows: list[dict[str, object]]) -> list[str]:
        if any(row["id"] == "003" for row in rows):
            raise RuntimeError("not this one")
        return ["red"] * len(rows)

    run.predict(Function("fragile", answer))  # type: ignore[arg-type]

    assert (run.store.answers("fragile").answers["status"] == "failed").sum() == 20


def test_fifty_unparsed_replies_are_shown_before_the_rest_is_asked(
    run: Run, server: Served, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[int] = []
    handler = logging.Handler()
    handler.emit = lambda record: seen.append(len(server.seen("mumbling")))  # type: ignore[method-assign]
    logging.getLogger("eyechart.models").addHandler(handler)
    run.predict(load(f"openai:mumbling,base_url={server.url}"))
    logging.getLogger("eyechart.models").removeHandler(handler)

    (message,) = (line for line in caplog.messages if "unparsed" in line)
    assert message.startswith("the first 50 responses of mumbling are all unparsed")
    assert "<think>hmm" in message
    assert seen == [50]


def test_cut_answers_are_told_counted_by_their_reason_and_stay_unparsed(
    run: Run, server: Served, caplog: pytest.LogCaptureFixture
) -> None:
    [result] = run.audit(load(f"openai:cut,base_url={server.url}")).values()
    answers = run.store.answers("cut").answers

    assert result.tables["counts"].select("status", "reason", "n").rows() == [("unparsed", "cut off", N)]
    assert answers["stop_reason"].unique().to_list() == ["length"]
    assert answers["answer"].null_count() == N, "judging reads stored texts anew, but not those"
    assert f"{N} of the {N} answers of cut were cut off, so they are unparsed: raise max_new_tokens" in caplog.messages
    assert any("the last is cut off: raise max_new_tokens" in line for line in caplog.messages)


@pytest.mark.parametrize(
    ("model", "warning"),
    [
        ("other", f"'other' was asked, and 'another-model' ({N} answers) answered"),
        (
            "changing",
            "its name changed within the run: 'changing-2026-08-01' (90 answers), 'changing-2026-08-02' (10 answers)",
        ),
        ("dated", None),
        ("echo", None),
    ],
)
def test_a_service_that_answers_with_another_model_is_a_warning(
    run: Run, server: Served, caplog: pytest.LogCaptureFixture, model: str, warning: str | None
) -> None:
    run.predict(load(f"openai:{model},base_url={server.url}"))
    told = [line for line in caplog.messages if "may be those of another model" in line]

    names = run.store.answers(model).answers["model_name"]
    assert told == [f"the answers of {model} may be those of another model: {warning}"] * (warning is not None)
    assert names.null_count() == 0
    assert warning is None or all(name in warning for name in names)


def test_failed_and_missing_replies_count_against_coverage_and_unparsed_ones_do_not(run: Run) -> None:
    good = tuple(f"{n:03}" for n in range(98))
    run.predict(Failing(good=good))

    with pytest.raises(CoverageError, match=r"found 98 \(98\.0%\), and 2 that failed, the first with no reason"):
        run.judge("failing")
    run.predict(Failing(good=(*good, "098")))
    assert run.judge("failing")
    file = run.store.answer_file("failing", "plain")
    answers = run.store.answers("failing").answers
    run.store.write(answers.with_columns(status=pl.lit("unparsed"), answer=pl.lit(None, pl.String)), file)
    assert run.judge("failing"), "an unparsed reply is a reply"
    run.store.write(answers.head(98), file)
    with pytest.raises(CoverageError, match=r"found 98 \(98\.0%\);"):
        run.judge("failing")


def test_answers_of_older_runs_have_neither_column_and_are_judged(run: Run) -> None:
    model = Failing(good=tuple(f"{n:03}" for n in range(N)))
    run.predict(model)
    file = run.store.answer_file("failing", "plain")
    run.store.write(run.store.answers("failing").answers.drop("stop_reason", "model_name", strict=False), file)

    assert Run(Store(run.store.folder)).judge("failing")["accuracy"].measure("accuracy", "plain").value == 1.0
