"""The reader knows the picture and the question, and nothing else."""

import polars as pl
import pytest

from eyechart.base.errors import DataError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.tables import BOX
from eyechart.world import load_answerer, read_world

READER = load_answerer("reader")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return read_world(tmp_path_factory.mktemp("drawn"), seed=31, images=40, questions=8, render=True)


def plain(drawn: Dataset) -> pl.DataFrame:
    return drawn.examples.select("id", "image", "question")


def test_every_question_about_a_whole_picture_is_answered_right(drawn: Dataset) -> None:
    assert READER.answer(plain(drawn), drawn.images)["answer"].to_list() == drawn.examples["answer"].to_list()


def test_objects_and_references_are_not_looked_at(drawn: Dataset) -> None:
    """Without the scene, and with lies beside the question, the answers stay."""
    bare = Images(drawn.images.table.select("image", "path"), drawn.images.root)
    lies = plain(drawn).with_columns(answer=pl.lit("poison"), visible=pl.lit([], pl.List(pl.Int64)))

    assert READER.answer(lies, bare).equals(READER.answer(plain(drawn), drawn.images))


def test_neither_order_nor_batches_matter(drawn: Dataset) -> None:
    mixed = plain(drawn).sample(fraction=1, shuffle=True, seed=1)
    halves = pl.concat(READER.answer(part, drawn.images) for part in (mixed[:7], mixed[7:]))

    assert halves.sort("id").equals(READER.answer(plain(drawn), drawn.images).sort("id"))


def test_it_says_no_only_about_a_whole_picture(drawn: Dataset) -> None:
    corner = pl.lit([[0.0, 0.0, 8.0, 8.0]], pl.List(BOX))
    absent = drawn.examples.filter(pl.col("evidence").list.len() == 0).select("id", "image", "question")

    assert set(READER.answer(absent, drawn.images)["answer"]) == {"no"}
    assert set(READER.answer(absent.with_columns(hidden=corner), drawn.images)["answer"]) == {"unknown"}


def test_what_is_hidden_in_part_is_not_recognised(drawn: Dataset) -> None:
    """A corner of each lone piece of evidence is hidden, so that its shape is no known one."""
    lone = drawn.examples.filter(pl.col("evidence").list.len() == 1)
    left, top, right, bottom = (pl.col("evidence").list.first().struct.field("box").arr.get(at) for at in range(4))
    half = pl.concat_arr(left, top, (left + right) / 2, bottom).implode().over(pl.int_range(pl.len()))
    covered = lone.select("id", "image", "question", hidden=half)

    assert covered.height > 50
    assert set(READER.answer(covered, drawn.images)["answer"]) == {"unknown"}


def test_of_a_part_of_a_picture_it_cannot_say_that_something_is_nowhere(drawn: Dataset) -> None:
    strip = pl.lit([[0.0, 0.0, 384.0, 20.0]], pl.List(BOX))
    cropped = plain(drawn).with_columns(hidden=strip, removal=pl.lit("hidden=crop"))
    said = READER.answer(cropped, drawn.images)
    absent = drawn.examples.filter(pl.col("question_type") == "is there a", pl.col("answer") == "no")

    assert (said["answer"] != "unknown").sum() > 50
    assert set(said.join(absent, on="id", how="semi")["answer"]) == {"unknown"}


@pytest.mark.parametrize("how", ["none", "blank", "noise"])
def test_without_a_picture_it_knows_nothing(drawn: Dataset, how: str) -> None:
    gone = plain(drawn)[:50].with_columns(removal=pl.lit(f"image={how}"))
    null = plain(drawn)[:50].with_columns(image=pl.lit(None, pl.String))

    assert set(READER.answer(gone, drawn.images)["answer"]) == {"unknown"}
    assert set(READER.answer(null, drawn.images)["answer"]) == {"unknown"}


def test_a_world_that_was_not_drawn_is_refused(drawn: Dataset) -> None:
    with pytest.raises(DataError, match="path of a picture"):
        READER.answer(plain(drawn), Images(drawn.images.table.drop("path")))
