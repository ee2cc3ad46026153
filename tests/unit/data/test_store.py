"""A run folder is opened lazily: names without loading, each table once while its file stays the same."""

import os
import re
import shutil
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from eyechart.audits.accuracy import Accuracy
from eyechart.base.errors import DataError, FileFormatError
from eyechart.base.files import write_record
from eyechart.data.dataset import Dataset
from eyechart.data.records import DivisionRecord, WantedConditions
from eyechart.data.result import OUTDATED, Result
from eyechart.data.store import Store
from eyechart.data.stored import TableCache
from eyechart.formats import read
from eyechart.models import load
from eyechart.runs.run import NamedSplits, Run

OLDER = Path(__file__).parents[2] / "data" / "run_of_format_1.tar.xz"  # made by eyechart 0.1.0 before format 2


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, tiny: Dataset) -> Path:
    started = Run(Store(tmp_path_factory.mktemp("made") / "run")).start(tiny)
    started.study([Accuracy()])
    started.audit(load("world:guesser"))
    return started.store.folder


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Run:
    """Give a copy, which a test may damage."""
    return Run(Store(shutil.copytree(made, tmp_path / "run")))


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


def test_a_table_that_is_written_again_takes_no_more_room(tmp_path: Path) -> None:
    table = pl.DataFrame({"x": range(1000)})
    for name in "ab":
        table.write_parquet(tmp_path / f"{name}.parquet")
    read: list[Path] = []
    remembered = TableCache(most=2 * table.estimated_size())

    remembered.table(tmp_path / "a.parquet")
    for _ in range(5):
        remembered.keep(tmp_path / "b.parquet", table)
    remembered.table(tmp_path / "a.parquet", lambda path: read.append(path) or pl.read_parquet(path))

    assert read == []


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
    """The same audit on the same folder of data, divided in another way, is not taken for studied."""
    data = read("world", seed=0, images=20)
    run = Run(Store(tmp_path / "run")).start(data)
    run.study([Accuracy()])
    before = set(run.store.studies()["accuracy"].rows["id"])
    write_record(DivisionRecord.of(data.decide(judge=["val"])), run.store.division_file)
    other = Run(Store(tmp_path / "run")).start(data, parts=NamedSplits(judge=["val"]))
    other.study([Accuracy()])

    assert before.isdisjoint(set(other.store.studies()["accuracy"].rows["id"]))


def test_data_that_leave_nothing_to_judge_leave_no_folder(tmp_path: Path) -> None:
    data = read("world", seed=0, images=20)

    with pytest.raises(DataError, match="examples to judge"):
        Run(Store(tmp_path / "run")).start(data.take(pl.col("split") == "train"))
    assert not (tmp_path / "run").exists()


FILES = (
    "manifest.json",
    "division.json",
    "data/manifest.json",
    "data/examples.parquet",
    "data/images.parquet",
    "data/counts.parquet",
    "studies/accuracy.json",
    "studies/accuracy/settings.json",
    "studies/accuracy/views.json",
    "studies/accuracy/measures.parquet",
    "studies/accuracy/rows.parquet",
    "studies/accuracy/counts.parquet",
    "studies/accuracy/majority.parquet",
    "studies/accuracy/guesses.parquet",
    "probes/wanted.json",
    "probes/plain.parquet",
    "answers/guesser.json",
    "answers/guesser.parquet",
    "answers/guesser/plain.parquet",
    "results/guesser/accuracy/settings.json",
    "results/guesser/accuracy/views.json",
    "results/guesser/accuracy/measures.parquet",
    "results/guesser/accuracy/rows.parquet",
    "results/guesser/accuracy/counts.parquet",
    "results/guesser/accuracy/parsing.parquet",
)
# Models that are asked have no counts of a file, and not all say who they are.
MAY_BE_MISSING = {"answers/guesser.json", "answers/guesser.parquet"}
SAID = {  # where one line says more than which file there is none of
    "manifest.json": r"a run in .*; found no manifest\.json there; make one",
    "probes/wanted.json": r"probes in .*; found no wanted\.json; run `eyechart probe` first",
    "answers/guesser/plain.parquet": r"answers of guesser in .*; found none; run `eyechart predict` first",
}


def read_everything(folder: Path) -> None:
    store = Store(folder)
    _ = (
        store.manifest,
        store.divided,
        store.data.examples,
        store.data.images.table,
        store.stock("guesser"),
        store.identity("guesser"),
    )
    for name, study in store.studies().items():
        _ = store.plan(name), study.read()
    for result in store.results()["guesser"].values():
        result.read()
    for condition in store.wanted().every:
        store.probes(condition)
    store.answers("guesser")


def test_these_are_the_files_of_a_run(run: Run) -> None:
    folder = run.store.folder
    found = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.suffix in {".json", ".parquet"}}

    assert found == set(FILES)


@pytest.mark.parametrize("name", sorted({*FILES} - MAY_BE_MISSING))
def test_a_file_that_is_missing_is_one_clear_error(run: Run, name: str) -> None:
    (run.store.folder / name).unlink()

    with pytest.raises(FileFormatError, match=SAID.get(name, rf"a file .*{re.escape(name)}; found none; \w+")):
        read_everything(run.store.folder)


@pytest.mark.parametrize("size", [0, 25])
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_torn_is_one_clear_error(run: Run, name: str, size: int) -> None:
    os.truncate(run.store.folder / name, size)

    with pytest.raises(FileFormatError, match=rf"{re.escape(name)} to be intact; found a damaged file \(.+\)"):
        read_everything(run.store.folder)


def test_without_the_list_of_conditions_nothing_is_judged(run: Run) -> None:
    run.store.wanted_file.unlink()

    with pytest.raises(FileFormatError, match=r"found no wanted\.json; run `eyechart probe` first"):
        Run(Store(run.store.folder)).judge("guesser")


def test_an_empty_list_of_conditions_is_no_list(run: Run) -> None:
    write_record(WantedConditions("wanted", {}), run.store.wanted_file)

    with pytest.raises(FileFormatError, match=r"conditions in .*; found none, though there are studies"):
        Run(Store(run.store.folder)).judge("guesser")


def test_answers_are_not_judged_without_the_probes_they_belong_to(run: Run) -> None:
    run.store.probe_file("plain").unlink()

    with pytest.raises(FileFormatError, match=r"plain\.parquet; found none; run `eyechart probe` again"):
        Run(Store(run.store.folder)).judge("guesser")


def test_a_division_that_is_gone_is_not_replaced_by_another(run: Run, tiny: Dataset) -> None:
    run.store.division_file.unlink()

    with pytest.raises(FileFormatError, match=r"division\.json; found none; restore it, or start another run"):
        Run(Store(run.store.folder)).start(tiny)


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


def test_all_its_verdicts_are_of_an_older_version(older: Path) -> None:
    results = [result for by_audit in Store(older).results().values() for result in by_audit.values()]

    assert len(results) == 8
    assert all(result.verdict.is_outdated for result in results)


def test_an_older_run_goes_on_as_one_of_today(older: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its studies are made anew, of a division that is stored now; the answers stay."""
    data = Dataset.load(older / "data")
    run = Run(Store(older)).start(data)
    run.study([Accuracy()])

    told = "removed the results of audit 'accuracy' for cheater, guesser: an older version studied the data;"
    assert told in caplog.text

    assert run.calls(load("world:cheater"))["plain"] == 0
    assert run.store.divided is not None
    assert run.store.plan("accuracy").reference == "accuracy"
    assert isinstance(run.store.studies()["accuracy"], Result)
