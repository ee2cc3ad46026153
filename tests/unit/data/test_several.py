"""Lists of pictures become rows of the images table, and examples that share a picture one cluster."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.base.errors import TableError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.probes import Prober, fill
from eyechart.data.several import choose_pictures
from eyechart.data.tables import PICTURE

NAMES = ["a", "b", "c", "d", "e", "f"]


def dataset(*shown: tuple[str | None, list[str] | None]) -> Dataset:
    """Make examples from their image and their list of pictures."""
    examples = pl.DataFrame(
        {
            "id": [str(n) for n in range(len(shown))],
            "image": [image for image, _ in shown],
            "question": "what?",
            "answer": "x",
            "images": [names for _, names in shown],
        },
        schema_overrides={"image": pl.String, "images": pl.List(pl.String)},
    )
    table = pl.DataFrame({"image": NAMES, "path": [f"{name}.png" for name in NAMES], "width": range(6)})
    return Dataset("several", examples, Images(table, Path("pictures")))


def pictures(data: Dataset) -> list[list[str] | None]:
    return data.images.list_pictures(data.examples["image"]).to_list()


def test_lists_of_pictures_become_rows_that_keep_the_name_of_their_first() -> None:
    data = dataset(("a", ["a", "b", "c"]), ("d", ["d"]), ("e", None), (None, None), ("a", ["a", "b", "c"]))

    assert data.examples["image"].to_list() == ["a", "d", "e", None, "a"]
    assert pictures(data) == [["a", "b", "c"], ["d"], ["e"], None, ["a", "b", "c"]]
    assert data.count_pictures().to_list() == [3, 1, 1, None, 3]
    assert data.images.table["image"].to_list() == NAMES


def test_a_first_picture_that_others_show_otherwise_gets_a_row_for_each_list() -> None:
    data = dataset(("a", ["a", "b"]), ("a", None), ("a", ["a", "c"]), ("d", ["d"]), ("d", ["d", "a"]))
    table = data.images.table.filter(pl.col("image").is_in(data.examples["image"].implode()))

    assert pictures(data) == [["a", "b"], ["a"], ["a", "c"], ["d"], ["d", "a"]]
    assert data.examples["image"].n_unique() == 5
    assert set(table["path"]) == {"a.png", "d.png"}  # what only knows of one picture sees the first
    assert data.images.table["image"].is_unique().all()


def test_a_list_that_does_not_begin_with_the_image_is_a_column_like_any_other() -> None:
    data = dataset(("b", ["a", "b"]), (None, ["a", "b"]), ("c", ["c"]))

    assert not data.images.has_several
    assert pictures(data) == [["b"], None, ["c"]]


def test_a_saved_folder_with_lists_is_folded_without_reading_the_examples(tmp_path: Path) -> None:
    """And saving it again changes nothing more."""
    whole = dataset(("a", ["a", "b"]), ("a", None), ("c", ["c", "d"]))
    plain = Dataset("several", whole.examples.drop("images").with_columns(image=pl.Series(["a", "a", "c"])), bare())
    plain.save(tmp_path / "old")
    dataset_file = tmp_path / "old" / "examples.parquet"
    plain.examples.with_columns(whole.examples["images"]).write_parquet(dataset_file)

    opened = Dataset.load(tmp_path / "old")
    assert opened.kept.stored is not None
    opened.save(tmp_path / "new")
    again = Dataset.load(tmp_path / "new")

    assert pictures(opened) == pictures(again) == [["a", "b"], ["a"], ["c", "d"]]
    assert opened.examples.equals(again.examples)
    assert opened.images.table.equals(again.images.table)


def bare() -> Images:
    return Images(pl.DataFrame({"image": NAMES}))


def test_examples_that_share_a_picture_are_one_cluster_also_through_others() -> None:
    """Clusters have the name that the first picture gives them, as they had when only that counted."""
    data = dataset(("a", ["a", "b"]), ("c", ["c", "b"]), ("c", ["c", "b"]), ("d", ["d", "e"]), ("e", None), ("f", None))

    assert data.clusters().to_list() == ["a", "a", "a", "d", "d", "f"]
    assert data.take(pl.col("id") == "1").clusters().to_list() == ["a"]  # whichever examples are looked at


@given(lists=st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True), min_size=1, max_size=6))
def test_clusters_are_the_components_that_a_walk_finds(lists: list[list[str]]) -> None:
    data = dataset(*((names[0], names) for names in lists))
    groups: list[set[str]] = []
    for names in lists:
        met = [group for group in groups if group & set(names)]
        groups = [group for group in groups if group not in met] + [set(names).union(*met)]
    found = data.clusters().to_list()

    for one, names in zip(found, lists, strict=True):
        for other, theirs in zip(found, lists, strict=True):
            assert (one == other) == any({names[0], theirs[0]} <= group for group in groups)


def test_a_listed_picture_without_a_row_is_one_clear_error() -> None:
    shown = pl.Series([[{"image": "a", "time": 0.5}, {"image": "z", "time": 1.5}]], dtype=pl.List(PICTURE))
    images = Images(pl.DataFrame({"image": ["a", "v"]}).with_columns(pictures=shown.extend_constant(None, 1).reverse()))
    examples = pl.DataFrame({"id": ["1"], "image": ["v"], "question": ["?"], "answer": ["x"]})

    with pytest.raises(TableError, match="each of the listed pictures as a row of the images table; found 'z'"):
        Dataset("video", examples, images)


def test_another_order_is_never_the_own_one_and_hangs_on_id_and_seed_alone() -> None:
    ids = pl.Series([f"{n:03}" for n in range(200)])
    counts = pl.Series(np.arange(200) % 5 + 2)
    orders = choose_pictures(ids, counts, "shuffled", 0)
    backwards = choose_pictures(ids.reverse(), counts.reverse(), "shuffled", 0).reverse()

    assert orders.to_list() == backwards.to_list()
    assert orders.to_list() != choose_pictures(ids, counts, "shuffled", 1).to_list()
    for order, n in zip(orders.to_list(), counts, strict=True):
        assert sorted(order) == list(range(n))
        assert order != sorted(order)
    assert len({tuple(order) for order in orders.to_list() if len(order) == 3}) == 5  # every other order occurs


def test_probes_choose_among_the_pictures_and_are_hashed_accordingly() -> None:
    data = dataset(("a", ["a", "b", "c"]), ("d", ["d", "e"]))
    prober, ids = Prober(data), pl.Series(["0", "1"])
    probes = {
        name: prober.complete(prober.choose(ids, name, 0), name) for name in ("first", "single-frame", "shuffled")
    }
    seen = {name: fill(table, data)["images"].to_list() for name, table in probes.items()}

    assert seen["first"] == [["a"], ["d"]]
    assert seen["single-frame"] == [["b"], ["e"]]
    assert [sorted(each) for each in seen["shuffled"]] == [["a", "b", "c"], ["d", "e"]]
    hashes = [*prober.plain(ids)["probe"], *(one for table in probes.values() for one in table["probe"])]
    assert len(set(hashes)) == 8
