"""A run folder is opened lazily: names without loading, each table once while its file stays the same."""

import os
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from eyechart.audits.accuracy import Accuracy
from eyechart.base.errors import DataError, FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.data.result import OUTDATED, Result
from eyechart.data.store import Store
from eyechart.data.stored import TableCache
from eyechart.formats import read
from eyechart.models import load
from eyechart.runs.run import NamedSplits, Run

OLDER = Path(__file__).parents[2] / "data" / "run_of_format_1.tar.xz"  # made by eyechart 0.1.0 before format 2


@pytest.fixture
def run(tmp_path: Path, tiny: Dataset) -> Run:
    started = Run(Store(tmp_path / "run")).start(tiny)
    started.study([Accuracy()])
    started.audit(load("world:guesser"))
    return started


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """Unpack a run of accuracy, perception, rules and splits on two models, made in format 1."""
    with tarfile.open(OLDER) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "RUN"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Count how often each table is read."""
    counted: Counter[str] = Counter()
    whole = pl.read_parquet

    def reading(path: Path, *rest: object, **more: object) -> pl.DataFrame:
        counted["/".join(Path(path).parts[-3:])] += 1
        return whole(path, *rest, **more)  # type: ignore[arg-type]  # handed on as it came

    monkeypatch.setattr(pl, "read_parquet", reading)
    return counted


def test_names_are_known_without_a_look_at_any_table(run: Run, reads: Counter[str]) -> None:
    store = Store(run.store.folder)

    assert list(store.studies()) == ["accuracy"]
    assert {model: list(audits) for model, audits in store.results().items()} == {"guesser": ["accuracy"]}
    assert store.models() == ["guesser"]
    assert store.conditions() == store.answered("guesser") == ["plain"]
    assert store.results()["guesser"]["accuracy"].verdict.question == "Better than guessing?"
    assert not reads


def test_a_table_is_read_once_while_its_file_stays_the_same(run: Run, reads: Counter[str]) -> None:
    store = Store(run.store.folder)
    for _ in range(3):
        assert store.results()["guesser"]["accuracy"].rows.height
        assert store.probes("plain").height

    assert reads == {"guesser/accuracy/rows.parquet": 1, "run/probes/plain.parquet": 1}


def test_a_table_that_was_written_anew_is_read_anew(run: Run) -> None:
    store = Store(run.store.folder)
    before = store.probes("plain").height
    store.probes("plain").head(1).write_parquet(store.probe_file("plain"))

    assert store.probes("plain").height == 1 != before


def test_what_was_asked_for_least_lately_is_forgotten_first(tmp_path: Path) -> None:
    for name in "abc":
        pl.DataFrame({"x": range(1000)}).write_parquet(tmp_path / f"{name}.parquet")
    read: list[str] = []

    def reading(path: Path) -> pl.DataFrame:
        read.append(path.stem)
        return pl.read_parquet(path)

    remembered = TableCache(most=2 * pl.DataFrame({"x": range(1000)}).estimated_size())
    for name in "abacab":
        remembered.table(tmp_path / f"{name}.parquet", reading)

    assert read == ["a", "b", "c", "b"]


def test_the_division_is_stored_with_its_sizes(run: Run) -> None:
    divided = Store(run.store.folder).divided

    assert divided is not None
    assert (divided.division.learn, divided.division.judge) == (("train",), ("test",))
    assert Store(run.store.folder).data.division == divided.division
    assert (divided.sizes.learned, divided.sizes.judged) == (4, 4)


def test_who_goes_on_with_a_run_divides_as_it_does(tmp_path: Path) -> None:
    data = read("world", seed=0, images=20)
    Run(Store(tmp_path / "run")).start(data, parts=NamedSplits(judge=["val"]))
    again = Run(Store(tmp_path / "run"))

    assert (
        again.start(data).store.data.division == again.start(data, parts=NamedSplits(judge=["val"])).store.data.division
    )
    with pytest.raises(FileFormatError, match=r"that divides the data as requested; found .* judged on val"):
        again.start(data, parts=NamedSplits(judge=["test"]))


def test_data_that_were_divided_before_stay_so(tmp_path: Path) -> None:
    data = read("world", seed=0, images=20)
    first = Run(Store(tmp_path / "run")).start(data.decide(judge=["val"]))

    assert first.store.data.division == data.decide(judge=["val"]).division
    with pytest.raises(FileFormatError, match=r"found .* judged on val"):
        Run(Store(tmp_path / "run")).start(data.decide(judge=["test"]))


def test_another_division_makes_another_study(tmp_path: Path) -> None:
    """The same audit on the same folder of data, once divided anew, is not taken for studied."""
    data = read("world", seed=0, images=20)
    run = Run(Store(tmp_path / "run")).start(data)
    run.study([Accuracy()])
    before = set(run.store.studies()["accuracy"].rows["id"])
    run.store.division_file.unlink()
    other = Run(Store(tmp_path / "run")).start(data, parts=NamedSplits(judge=["val"]))
    other.study([Accuracy()])

    assert before.isdisjoint(set(other.store.studies()["accuracy"].rows["id"]))


def test_data_that_leave_nothing_to_judge_leave_no_folder(tmp_path: Path) -> None:
    data = read("world", seed=0, images=20)

    with pytest.raises(DataError, match="examples to judge"):
        Run(Store(tmp_path / "run")).start(data.take(pl.col("split") == "train"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda file: file.unlink(), r"a file .*rows\.parquet; found none"),
        (lambda file: os.truncate(file, 100), r"rows\.parquet to be intact; found a damaged file"),
    ],
)
def test_a_table_that_is_missing_or_torn_is_one_clear_error(run: Run, damage, told: str) -> None:  # noqa: ANN001
    damage(run.store.result_folder("guesser", "accuracy") / "rows.parquet")

    with pytest.raises(FileFormatError, match=told):
        _ = Store(run.store.folder).results()["guesser"]["accuracy"].rows


def test_of_an_older_run_all_is_read_but_the_verdicts(older: Path) -> None:
    store = Store(older)
    verdicts = {name: result.verdict for name, result in store.results()["cheater"].items()}

    assert verdicts["accuracy"] == verdicts["perception"] == OUTDATED
    assert (verdicts["rules"].state, verdicts["rules"].label) == ("not tested", "describes")  # it was no verdict before
    assert store.divided is None
    assert store.data.height == 120
    assert store.results()["cheater"]["perception"].measure("perception", "image").unit == "points"


def test_an_older_run_is_judged_anew_on_what_it_studied(older: Path) -> None:
    run = Run(Store(older))
    before = {name: result.read() for name, result in run.store.results()["cheater"].items()}
    run.judge("cheater")
    after = run.store.results()["cheater"]

    for name, result in before.items():
        key = ["name", "condition", "by", "group"]
        both = result.measures.join(after[name].measures, on=key, how="full", nulls_equal=True, suffix="_now")
        known = both.drop_nulls(["value", "value_now"]) if name == "rules" else both
        assert (known["value"] - known["value_now"]).abs().max() < 1e-12, name
        assert set(result.rows["id"]) == set(after[name].rows["id"])
        assert after[name].verdict.question


def test_an_older_run_goes_on_as_one_of_today(older: Path) -> None:
    """Its studies are made anew, of a division that is stored now; the answers stay."""
    data = Dataset.load(older / "data")
    run = Run(Store(older)).start(data)
    run.study([Accuracy()])

    assert run.calls(load("world:cheater"))["plain"] == 0
    assert run.store.divided is not None
    assert run.store.plan("accuracy").reference == "accuracy"
    assert isinstance(run.store.studies()["accuracy"], Result)
