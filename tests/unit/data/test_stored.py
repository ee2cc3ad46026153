"""Tables on disk are read when asked for, no more of them than is asked for, and mean the same as in memory."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.audits import make_audit
from eyechart.base.errors import FileFormatError, TableError
from eyechart.data.dataset import Dataset
from eyechart.data.store import Store, fingerprint
from eyechart.data.stored import StoredTable
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.runs.run import Run


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", images=150, seed=5)


@pytest.fixture(scope="module")
def saved(world: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "data"
    world.save(folder)
    return folder


def unreadable(folder: Path, column: str) -> None:
    """Overwrite the values of a text column in a file, so that whoever reads them notices."""
    file = folder / "examples.parquet"
    table = pl.read_parquet(file).with_columns(pl.lit("unmistakable " * 9).alias(column))
    table.write_parquet(file, compression="uncompressed", use_pyarrow=False)
    file.write_bytes(file.read_bytes().replace(b"unmistakable", b"\xff" * 12))


def test_a_saved_dataset_is_not_read_before_it_is_asked_for(tiny: Dataset, tmp_path: Path) -> None:
    replace(tiny, examples=tiny.examples.with_columns(history=pl.lit("h"))).save(tmp_path / "data")
    unreadable(tmp_path / "data", "history")
    data = Dataset.load(tmp_path / "data")

    assert data.height == 8
    assert "history" in data.columns
    assert data.only("split").examples.equals(tiny.examples.drop("question_type"))
    with pytest.raises(FileFormatError, match=r"examples.parquet to be intact"):
        _ = data.examples


def test_a_file_that_is_gone_is_missed_when_it_is_asked_for(tiny: Dataset, tmp_path: Path) -> None:
    tiny.save(tmp_path / "data")
    data = Dataset.load(tmp_path / "data")
    (tmp_path / "data" / "examples.parquet").unlink()

    with pytest.raises(FileFormatError, match=r"a file .*examples.parquet; found none"):
        _ = data.examples


def test_columns_of_a_wrong_type_are_refused_without_a_look_at_the_rows(tiny: Dataset, tmp_path: Path) -> None:
    tiny.save(tmp_path / "data")
    pl.DataFrame({"image": [1, 2, 3, 4]}).write_parquet(tmp_path / "data" / "images.parquet")

    with pytest.raises(TableError, match=r"column 'image' of images to hold String; found Int64"):
        Dataset.load(tmp_path / "data")


def test_rows_that_break_a_rule_are_refused_when_they_are_read(tiny: Dataset, tmp_path: Path) -> None:
    tiny.save(tmp_path / "data")
    file = tmp_path / "data" / "examples.parquet"
    pl.read_parquet(file).with_columns(id=pl.lit("same")).write_parquet(file)

    with pytest.raises(TableError, match="each id once"):
        _ = Dataset.load(tmp_path / "data").examples


@settings(deadline=None, max_examples=25)
@given(st.sets(st.sampled_from(["question_type", "answers", "choices", "split"])), st.integers(1, 800), st.data())
def test_stored_examples_are_taken_apart_like_those_in_memory(
    saved: Path, world: Dataset, columns: set[str], n: int, data: st.DataObject
) -> None:
    kind = data.draw(st.sampled_from(world.examples["question_type"].unique().sort().to_list()))
    keep = pl.col("question_type") == kind
    stored = Dataset.load(saved)

    assert stored.only(*columns).examples.equals(world.only(*columns).examples)
    assert stored.take(keep).examples.equals(world.examples.filter(keep))
    assert stored.sample(n, seed=2).examples.equals(world.sample(n, seed=2).examples)
    assert stored.take(keep).height == world.examples.filter(keep).height


def test_stored_examples_are_divided_like_those_in_memory(saved: Path, world: Dataset) -> None:
    unsplit = replace(world, examples=world.examples.drop("split"))
    unsplit.save(saved.parent / "unsplit")
    for folder, data in ((saved, world), (saved.parent / "unsplit", unsplit)):
        for ours, theirs in zip(Dataset.load(folder).divided(learns=True), data.divided(learns=True), strict=True):
            assert ours.examples.equals(theirs.examples)
    assert Dataset.load(saved).clusters().equals(world.clusters())
    assert Dataset.load(saved).splits() == world.splits()


def test_a_mask_of_its_own_takes_stored_rows_by_their_place(saved: Path, world: Dataset) -> None:
    mask = pl.Series([at % 3 == 0 for at in range(world.height)])

    assert Dataset.load(saved).take(pl.lit(mask)).examples.equals(world.examples.filter(mask))


def test_what_was_not_changed_is_copied_byte_for_byte(saved: Path, tmp_path: Path) -> None:
    Dataset.load(saved).save(tmp_path / "copy")

    assert fingerprint(tmp_path / "copy") == fingerprint(saved)


def test_what_was_changed_is_streamed_into_a_file_of_the_same_rows(saved: Path, world: Dataset, tmp_path: Path) -> None:
    keep = pl.col("split") == "test"
    Dataset.load(saved).take(keep).save(tmp_path / "part")

    assert Dataset.load(tmp_path / "part").examples.equals(world.examples.filter(keep))


def test_small_row_groups_hold_the_same_table(world: Dataset, tmp_path: Path) -> None:
    world.examples.write_parquet(tmp_path / "whole.parquet")
    stored = StoredTable(pl.scan_parquet(tmp_path / "whole.parquet"), tmp_path, group=50)
    stored.write(tmp_path / "copy.parquet")

    assert pl.read_parquet(tmp_path / "copy.parquet").equals(world.examples)


def test_a_run_goes_on_with_stored_data_and_refuses_others(saved: Path, tmp_path: Path) -> None:
    run = Run(Store(tmp_path / "run")).start(Dataset.load(saved))

    assert run.store.manifest.inputs == fingerprint(saved)
    run.start(Dataset.load(saved))
    with pytest.raises(FileFormatError, match="one on other data"):
        run.start(Dataset.load(saved).take(pl.col("split") != "val"))


@pytest.mark.parametrize("audit", ["rules", "splits"])
def test_audits_that_read_few_columns_find_the_same_in_all_of_them(audit: str, saved: Path, world: Dataset) -> None:
    chosen = make_audit(audit)
    stored, whole = (chosen.study(data, Local()) for data in (Dataset.load(saved), world))

    assert stored.rows.equals(whole.rows)
    assert stored.measures.equals(whole.measures)
    assert stored.tables.keys() == whole.tables.keys()
    for name, table in stored.tables.items():
        assert table.equals(whole.tables[name]), name
