"""A run keeps what it has, goes on where it stopped, and refuses what does not belong to it."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pytest

from eyechart.audits import make_audit
from eyechart.audits.accuracy import Accuracy
from eyechart.base.errors import CoverageError, DataError, FileFormatError, ModelError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.probes import Prober
from eyechart.data.result import Result
from eyechart.data.store import Store
from eyechart.data.tables import COUNTS, empty
from eyechart.formats import read
from eyechart.models import load
from eyechart.models.function import Function
from eyechart.runs.run import Asking, Run, _merge


class Counting:
    """Answer red, counting the probes; break down at a given one."""

    name = "org/red:1"

    def __init__(self, breaks_at: int | None = None) -> None:
        self.asked: list[str] = []
        self.breaks_at = breaks_at

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        if self.breaks_at is not None and len(self.asked) >= self.breaks_at:
            raise InterruptedError
        self.asked += probes["id"].to_list()
        return probes.select("id", pl.lit("red").alias("answer"))


@pytest.fixture
def run(tiny: Dataset, tmp_path: Path) -> Run:
    started = Run(Store(tmp_path / "run"), asking=Asking(batch=1)).start(tiny, "eyechart test")
    started.study([Accuracy(by=("question_type",))])
    return started


def test_a_run_goes_all_the_way(run: Run) -> None:
    result = run.audit(Counting())["accuracy"]

    assert result.measure("accuracy", "plain").value == 0.25
    assert result.measure("accuracy", "plain", "question_type", "what color").value == 0.5
    assert run.store.results()["org/red:1"]["accuracy"].rows.equals(result.rows)


def test_a_broken_run_asks_only_the_rest(run: Run) -> None:
    run.probe()
    broken = Counting(breaks_at=2)
    with pytest.raises(InterruptedError):
        run.predict(broken)
    second = Counting()
    run.predict(second)

    assert len(broken.asked) == 2
    assert sorted(broken.asked + second.asked) == ["04", "05", "06", "07"]
    assert not list(run.store.folder.rglob("*.jsonl"))


def test_a_finished_model_is_not_asked_again_unless_fresh(run: Run) -> None:
    run.audit(Counting())
    again, anew = Counting(), Counting()
    run.audit(again)
    replace(run, asking=Asking(fresh=True)).audit(anew)

    assert again.asked == []
    assert len(anew.asked) == 4


def test_the_calls_to_come_are_counted_before_they_are_made(run: Run) -> None:
    run.probe()
    before = run.calls(Counting())
    run.predict(Counting())

    assert (before, run.calls(Counting())) == ({"plain": 4}, {"plain": 0})


def test_a_budget_is_kept(run: Run) -> None:
    run.probe()
    model = Counting()

    with pytest.raises(ModelError, match="at most 3 calls of org/red:1; found 4 to make"):
        replace(run, asking=Asking(max_calls=3)).predict(model)
    assert model.asked == []


def test_a_run_on_other_data_is_refused(run: Run, tiny: Dataset) -> None:
    other = replace(tiny, examples=tiny.examples.with_columns(pl.lit("green").alias("answer")))

    with pytest.raises(FileFormatError, match="one on other data; choose another folder"):
        Run(run.store).start(other)
    assert Run(run.store).start(tiny).store.manifest.command == "eyechart test"


def test_a_limit_takes_a_seeded_sample(tiny: Dataset, tmp_path: Path) -> None:
    sampled = Run(Store(tmp_path / "small")).start(tiny, limit=3, seed=1)

    assert sampled.store.data.examples.height == 3
    assert set(sampled.store.data.examples["id"]) == set(tiny.sample(3, 1).examples["id"])


def test_a_study_with_the_same_settings_is_kept(run: Run) -> None:
    file = run.store.study_folder("accuracy") / "measures.parquet"
    os.utime(file, (1, 1))  # long ago, since clocks of disks may tick slowly
    run.study([Accuracy(by=("question_type",))])
    kept = file.stat().st_mtime
    run.study([Accuracy(by=())])

    assert kept == 1 < file.stat().st_mtime


def test_missing_columns_are_named_before_anything_runs(run: Run) -> None:
    class Needy(Accuracy):
        needs = ("answer", "evidence")

    with pytest.raises(DataError, match="found no evidence in tiny"):
        run.study([Needy()])


def test_too_few_answers_are_an_error_unless_allowed(run: Run) -> None:
    half = Function("half", lambda rows: [None if row["id"] > "05" else "red" for row in rows])
    run.probe()
    run.predict(half)
    with pytest.raises(CoverageError, match=r"found 2 \(50\.0%\), and 2 that failed"):
        run.judge("half")
    run.store.answer_file("half", "plain").unlink()
    answers = pl.DataFrame({"id": ["04"], "answer": ["red"]})
    from eyechart.data.predictions import tidy

    tidy(answers, run.store.probes("plain"), "half").write_parquet(run.store.answer_file("half", "plain"))

    with pytest.raises(CoverageError, match=r"found 1 \(25\.0%\)"):
        run.judge("half")
    partial = replace(run, asking=Asking(allow_partial=True)).judge("half")["accuracy"]
    assert partial.measure("accuracy", "plain").n == 1


def test_failed_answers_count_as_wrong_and_accuracy_without_them_stands_beside(run: Run) -> None:
    half = Function("half", lambda rows: [None if row["id"] > "05" else "red" for row in rows])
    result = replace(run, asking=Asking(allow_partial=True)).audit(half)["accuracy"]

    assert dict(result.tables["counts"].select("status", "n").rows()) == {"failed": 2, "ok": 2}
    assert result.measure("accuracy", "plain").value == 0.25
    assert result.measure("accuracy, parsed only", "plain").value == 0.5


def test_a_study_with_other_settings_forgets_what_models_were_found_to_be(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("one", "two"):
        run.audit(Function(name, lambda rows: ["red"] * len(rows)))
    run.study([make_audit("accuracy", {"score": "exact-normalized"})])

    assert run.store.results() == {"one": {}, "two": {}}
    assert "removed the results of audit 'accuracy' for one, two" in caplog.text


def test_every_command_that_went_on_with_a_run_is_kept(tiny: Dataset, tmp_path: Path) -> None:
    run = Run(Store(tmp_path / "run"))
    for command in ("eyechart audit -m one", "eyechart audit -m two", "eyechart audit -m one"):
        run.start(tiny, command)

    assert run.store.manifest.commands == ["eyechart audit -m one", "eyechart audit -m two"]


@pytest.mark.parametrize("skip", [True, False])
def test_data_in_which_no_example_has_an_answer_are_refused(tiny: Dataset, tmp_path: Path, *, skip: bool) -> None:
    bare = replace(tiny, examples=tiny.examples.with_columns(answer=pl.lit(None, pl.String)))
    run = Run(Store(tmp_path / "run"), asking=Asking(skip=skip)).start(bare)

    with pytest.raises(DataError, match="no answer in"):
        run.study([make_audit("accuracy")])


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (["B", "1", "it is a bird", "Bird."], "3 of the first 4 answers of said name none of the options, such as '1'"),
        (["dog", "cat", "B", "a dog"], ""),
    ],
)
def test_answers_that_name_no_option_are_told_of(
    answers: list[str], message: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [{"id": str(at), "question": "what?", "answer": "cat", "choices": ["dog", "cat"]} for at in range(4)]
    (tmp_path / "data.json").write_text(json.dumps(rows))
    (tmp_path / "said.json").write_text(json.dumps(dict(zip("0123", answers, strict=True))))
    run = Run(Store(tmp_path / "run")).start(read(tmp_path / "data.json"))
    run.study([make_audit("accuracy")])
    run.audit(load(f"predictions:{tmp_path / 'said.json'}"))

    assert message in caplog.text
    assert bool(message) == ("name none of the options" in caplog.text)


def test_a_study_that_is_no_longer_asked_for_leaves_no_probes_behind(run: Run) -> None:
    run.probe()
    run.store.probes("plain").write_parquet(run.store.probe_file("image#0"))

    assert run.probe() == {"plain": 4}


def test_conditions_that_mean_two_things_are_refused(tiny: Dataset) -> None:
    prober = Prober(tiny)
    plain = prober.plain(tiny.examples["id"])
    other = prober.complete(pl.DataFrame({"id": ["00"], "image_from": ["05"]}), "plain")

    assert _merge(plain, plain, "plain").equals(plain)
    with pytest.raises(DataError, match="two for id '00'"):
        _merge(plain, other, "plain")


@pytest.mark.parametrize(
    ("file", "damage", "message"),
    [
        ("manifest.json", lambda text: text[:-10], "manifest"),
        ("manifest.json", lambda text: json.dumps(json.loads(text) | {"format": 99}), "manifest"),
        ("studies/accuracy/settings.json", lambda text: "{}", "settings"),
        ("studies/accuracy.json", lambda text: text.replace("settings", "sttings"), "accuracy"),
        ("data/manifest.json", lambda text: text.replace("dataset", "run"), "a dataset at .*data; found a run"),
    ],
)
def test_a_newer_or_damaged_run_is_one_clear_error(run: Run, file: str, damage, message: str) -> None:  # noqa: ANN001
    path = run.store.folder / file
    path.write_text(damage(path.read_text()))
    fresh = Run(Store(run.store.folder))

    with pytest.raises(FileFormatError, match=message):
        assert fresh.store.manifest
        fresh.probe()


def test_answers_nobody_gave_are_one_clear_error(run: Run) -> None:
    with pytest.raises(FileFormatError, match=r"answers of nobody in .*; found none"):
        run.judge("nobody")


def test_a_folder_that_is_no_run_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"a run in .*; found no manifest\.json there"):
        assert Store(tmp_path).manifest


def test_rounds_go_on_until_no_audit_wants_more(tiny: Dataset, tmp_path: Path) -> None:
    """An audit that wants two more rounds gets their probes, and the earlier ones stay."""
    run = Run(Store(tmp_path / "run")).start(tiny)
    script = tmp_path / "greedy.py"
    script.write_text(
        "from dataclasses import dataclass, replace\n"
        "from eyechart.audits.accuracy import Accuracy\n"
        "from eyechart.data.probes import Prober\n"
        "@dataclass(frozen=True)\n"
        "class Greedy(Accuracy):\n"
        "    name = 'greedy'\n"
        "    def probe(self, data, study, round=0):\n"
        "        yield f'plain' if round == 0 else f'again#{round}', Prober(data).complete(study.rows.select('id'),"
        " 'plain' if round == 0 else f'again#{round}')\n"
        "    def judge(self, data, study, predictions, engine):\n"
        "        result = super().judge(data, study, predictions, engine)\n"
        "        return replace(result, wants_more=predictions.answers['condition'].n_unique() < 3)\n"
    )
    run.study([make_audit(f"{script}:Greedy")])
    run.audit(Counting())

    assert run.store.conditions() == ["again#1", "again#2", "plain"]


def test_an_audit_is_broken_down_by_what_another_study_found(tmp_path: Path) -> None:
    started = Run(Store(tmp_path / "run")).start(read("world", seed=3, images=60))
    started.study([Accuracy(by=("rules.kind",)), make_audit("rules")])
    result = started.audit(load("world:blind"))["accuracy"]
    kinds = Store(tmp_path / "run").studies()["rules"].rows.select("id", "kind")
    by_hand = result.rows.join(kinds, on="id").group_by("kind").agg(pl.col("accuracy").mean())

    for kind, value in by_hand.iter_rows():
        assert result.measure("accuracy", "plain", "rules.kind", kind).value == pytest.approx(value)
    assert "rules.kind" not in Store(tmp_path / "run").data.examples.columns


def test_a_column_that_no_study_lends_is_one_clear_error(run: Run) -> None:
    run.study([Accuracy(by=("rules.kind",))])

    with pytest.raises(DataError, match=r"a column 'rules\.kind'"):
        run.audit(Counting())


class Twice(Accuracy):
    """Ask the same again under another name."""

    def probe(self, data: Dataset, study: Result, round: int = 0) -> Iterator[tuple[str, pl.DataFrame]]:  # noqa: A002
        for condition, probes in super().probe(data, study, round):
            yield condition, probes
            yield "again", probes.with_columns(condition=pl.lit("again"))


def test_the_same_content_is_asked_once_under_all_conditions(tiny: Dataset, tmp_path: Path) -> None:
    started = Run(Store(tmp_path / "run")).start(tiny)
    started.study([Twice()])
    started.probe()
    model = Counting()
    started.predict(model)
    answers = started.store.answers(model.name)

    assert len(model.asked) == 4
    assert answers.under("again").drop("condition").equals(answers.under("plain").drop("condition"))


@dataclass(frozen=True)
class OnlyPlain:
    """Answers from a file that knows the examples only as they are."""

    name: str = "file"

    def holds(self, condition: str) -> bool:
        return condition == "plain"

    def stock(self, probes: pl.DataFrame) -> pl.DataFrame:
        return empty(COUNTS)

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        return probes.select("id", pl.lit("red").alias("answer"))


def test_files_of_answers_are_judged_by_the_audits_they_serve(
    tiny: Dataset, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    started = Run(Store(tmp_path / "run"), asking=Asking(skip=True)).start(tiny)
    started.study([Accuracy(), make_audit("perception")])
    results = started.audit(OnlyPlain())

    assert list(results) == ["accuracy"]
    assert "audit 'perception' left out: file has no answers" in caplog.text


def test_an_audit_that_was_named_is_never_left_out(tiny: Dataset, tmp_path: Path) -> None:
    started = Run(Store(tmp_path / "run")).start(tiny)
    started.study([Accuracy(), make_audit("perception")])
    started.probe()
    with pytest.raises(ModelError, match="image#0"):
        started.predict(load(f"predictions:{_plain_file(tmp_path)}"))


def test_answers_that_serve_no_audit_are_one_clear_error(tiny: Dataset, tmp_path: Path) -> None:
    started = Run(Store(tmp_path / "run"), asking=Asking(skip=True)).start(tiny)
    started.study([make_audit("perception")])

    with pytest.raises(ModelError, match="name a file for each condition"):
        started.audit(OnlyPlain())


def test_an_audit_that_the_data_do_not_allow_is_left_out_unless_it_was_named(
    tiny: Dataset, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one = replace(tiny, examples=tiny.examples.filter(pl.col("split") != "train").head(1))
    audits = [Accuracy(), make_audit("perception")]

    assert list(Run(Store(tmp_path / "a"), asking=Asking(skip=True)).start(one).study(audits)) == ["accuracy"]
    assert "audit 'perception' left out: expected at least two judged examples" in caplog.text
    assert Store(tmp_path / "a").left_out()["perception"].startswith("expected at least two judged examples")
    with pytest.raises(DataError, match="at least two judged examples"):
        Run(Store(tmp_path / "b")).start(one).study(audits)


def _plain_file(folder: Path) -> Path:
    file = folder / "answers.csv"
    file.write_text("id,answer\n04,red\n05,red\n06,red\n07,red\n", encoding="utf-8")
    return file
