"""Data become arrays: regions by image, words and answers by number, soft targets, hints, what a probe shows."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from eyechart.base.errors import DataError, FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.world import WorldSettings, make_world
from eyechart.world.program import scene_of
from eyechart.world.vocabulary import COLORS, LABELS
from eyechart.zoo.arrays import Regions, load_questions, read_arrays, save_questions
from eyechart.zoo.features import PARTS, Features, check_features, open_features, read_features, write_features
from eyechart.zoo.prepare import divide, encode_examples, hints, make_arrays, open_words, soft_targets
from eyechart.zoo.train.model import encode_probes
from eyechart.zoo.vocabulary import NetworkVocabulary


@pytest.fixture(scope="module")
def world() -> Dataset:
    return make_world(WorldSettings(images=60)).data


@pytest.fixture(scope="module")
def features(world: Dataset) -> Features:
    return open_features(world.images)


@pytest.fixture(scope="module")
def vocabulary(world: Dataset) -> NetworkVocabulary:
    return NetworkVocabulary.of(world)


def test_regions_are_padded_to_the_longest_image_and_no_image_has_none() -> None:
    regions = Regions(np.arange(12.0).reshape(6, 2), np.array([0, 2, 2, 6]), np.ones((6, 4)))

    found = regions.take(np.array([2, -1, 0, 1]))

    assert found.v.shape == (4, 4, 2)
    assert found.seen.sum(1).tolist() == [4, 0, 2, 0]
    assert found.v[0].tolist() == regions.values[2:].tolist()
    assert found.v[2, :2].tolist() == regions.values[:2].tolist()
    assert not found.v[~found.seen].any()
    assert not found.boxes[~found.seen].any()


def test_questions_come_back_from_a_file_as_they_were(
    world: Dataset, features: Features, vocabulary: NetworkVocabulary, tmp_path: Path
) -> None:
    splits = {name: encode_examples(part, vocabulary, features) for name, part in divide(world, 0).items()}
    np.savez(tmp_path / "a.npz", **save_questions(splits))

    again = load_questions(read_arrays(tmp_path / "a.npz"))

    assert list(again) == list(splits)
    for name, each in splits.items():
        for key, value in vars(each).items():
            assert np.array_equal(getattr(again[name], key), value) if value is not None else key == "seen"


def test_a_damaged_file_of_arrays_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_text("no")

    with pytest.raises(FileFormatError, match=r"a\.npz"):
        read_arrays(tmp_path / "a.npz")


def test_objects_can_be_read_off_the_features_of_a_world(world: Dataset, features: Features) -> None:
    """The largest number of each part of a region is its label and its colour, under noise of 0.1."""
    scene = scene_of(world.images.table)
    labels, colors = len(LABELS), len(COLORS)

    values = features.regions.values

    assert values.shape == (scene.height, sum(map(len, PARTS.values())) + 4)
    assert [LABELS[at] for at in values[:, :labels].argmax(1)] == scene["label"].to_list()
    shown = [list(COLORS)[at] for at in values[:, labels : labels + colors].argmax(1)]
    assert shown == scene["color"].to_list()


def test_an_image_looks_the_same_in_any_order_of_images(world: Dataset, features: Features) -> None:
    turned = open_features(Images(world.images.table.reverse()))
    names = world.images.table["image"]

    one, other = (found.regions.take(found.number(names)) for found in (features, turned))

    assert np.array_equal(one.v, other.v)


def test_an_image_without_features_is_named(features: Features) -> None:
    with pytest.raises(DataError, match="'nowhere' and 1 more"):
        features.number(pl.Series(["w0-000001", "nowhere", "yonder", None]))


def test_data_without_features_are_refused() -> None:
    with pytest.raises(DataError, match="region features"):
        open_features(Images.named(pl.Series(["a"])))


def test_features_come_back_from_a_folder_mapped_into_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    blocks = [(name, rng.random((n, 5)), rng.random((n, 4))) for name, n in (("b", 3), ("a", 1), ("c", 4))]
    write_features(blocks, tmp_path / "f")

    found = read_features(tmp_path / "f")
    taken = found.regions.take(found.number(pl.Series(["c", "b"])))

    assert isinstance(found.regions.values, np.memmap)
    assert np.allclose(taken.v[0], blocks[2][1], atol=1e-3)
    assert np.allclose(taken.v[1, :3], blocks[0][1], atol=1e-3)
    assert np.allclose(taken.boxes[0], blocks[2][2], atol=1e-6)


def test_features_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    write_features([("a", np.ones((2, 3)), None)], tmp_path / "f")
    np.save(tmp_path / "f" / "starts.npy", np.array([0, 5]))

    with pytest.raises(FileFormatError, match="consistent features"):
        read_features(tmp_path / "f")


def test_words_beyond_the_vocabulary_are_unknown_and_nothing_follows_the_last(vocabulary: NetworkVocabulary) -> None:
    found = vocabulary.read(pl.Series(["Is there a zebra?", None]))

    assert [vocabulary.words[at] for at in found[0, :4]] == ["is", "there", "a", "<unknown>"]
    assert not found[0, 4:].any()
    assert not found[1].any()


def test_targets_are_the_official_scores_of_few_people() -> None:
    """One person is worth 0.3, two 0.6, three 0.9, more 1; answers beyond the vocabulary have no place."""
    said = [*["red"] * 4, *["blue"] * 3, "green", "green", "pink"]
    examples = pl.DataFrame({"answers": [said, ["blue"] * 10], "answer": ["red", "blue"]})

    answers, scores = soft_targets(examples, NetworkVocabulary((), ("blue", "green", "red"), ()))

    assert answers[0].tolist() == [2, 0, 1]
    assert scores[0].tolist() == pytest.approx([1.0, 0.9, 0.6])
    assert (answers[1, 0], scores[1].tolist()) == (0, [1.0, 0.0, 0.0])


def test_one_answer_alone_scores_one() -> None:
    answers, scores = soft_targets(pl.DataFrame({"answer": ["b", "a", "c"]}), NetworkVocabulary((), ("a", "b"), ()))

    assert scores.tolist() == [[1.0], [1.0], [0.0]]
    assert answers[:2].tolist() == [[1], [0]]


def test_where_no_people_are_known_the_one_answer_scores_one() -> None:
    examples = pl.DataFrame({"answer": ["yes", "no", "yes"], "answers": [["yes"] * 2 + ["no"], None, []]})
    answers, scores = soft_targets(examples, NetworkVocabulary(("",), ("yes", "no"), ("",)))

    assert answers[:, 0].tolist() == [0, 1, 0]
    assert scores == pytest.approx(np.array([[0.6, 0.3], [1, 0], [1, 0]]))


def test_types_are_those_of_the_data_or_what_a_question_begins_with() -> None:
    vocabulary = NetworkVocabulary(("",), ("yes",), ("", "what", "What color", "verify"))
    questions = pl.Series(["What color is it?", "what is it?", "Is it red?", "Why?"])
    known = pl.Series([None, "What color", "verify", "unheard of"])

    assert vocabulary.number_types(questions).tolist() == [2, 1, 0, 0]
    assert vocabulary.number_types(questions, known).tolist() == [2, 2, 3, 0]
    assert NetworkVocabulary(("",), ("yes",), ("",)).number_types(questions).tolist() == [0] * 4


def test_words_of_a_type_are_found_whatever_their_case(vocabulary: NetworkVocabulary) -> None:
    examples = pl.DataFrame({"question": ["What color is the dog?"], "question_type": ["what color is the"]})

    assert open_words(examples, vocabulary)[0, :6].tolist() == [False] * 4 + [True, False]


@pytest.mark.parametrize("lacking", ["answers", "others to validate on"])
def test_data_that_leave_nothing_to_learn_from_or_to_validate_on_are_refused(world: Dataset, lacking: str) -> None:
    few = world.take(pl.col("split") == "train").examples.head(60 if lacking == "answers" else 1)
    if lacking == "answers":
        few = few.with_columns(answer=pl.lit(None, pl.String))

    with pytest.raises(DataError, match="training examples with answers"):
        divide(replace(world, examples=few), 0)


def test_without_boxes_there_are_no_hints(world: Dataset, features: Features) -> None:
    bare = features._replace(regions=replace(features.regions, boxes=None))

    assert hints(world, bare, bare.number(world.examples["image"])) is None


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([("a", (2, 3), (2, 4)), ("b", (2, 5), (2, 4))], "3 numbers and a box"),
        ([("a", (2, 3), (3, 4))], "3 numbers and a box"),
    ],
)
def test_features_of_several_widths_or_without_their_boxes_are_not_written(
    blocks: list[tuple[str, tuple[int, int], tuple[int, int]]], message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=message):
        write_features([(name, np.ones(v), np.ones(box)) for name, v, box in blocks], tmp_path / "out")

    assert not list(tmp_path.iterdir())


def test_features_that_half_precision_cannot_hold_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="65504"):
        write_features([("a", np.full((1, 2), 1e5), None)], tmp_path / "out")


def test_features_with_an_image_twice_are_refused(tmp_path: Path) -> None:
    write_features([("a", np.ones((1, 2)), None)] * 2, tmp_path / "out")

    with pytest.raises(FileFormatError, match="every image once"):
        read_features(tmp_path / "out")


def test_hints_are_one_exactly_on_the_evidence(world: Dataset, features: Features) -> None:
    found = hints(world, features, features.number(world.examples["image"]))

    objects = world.examples.join(world.images.table, on="image", how="left", maintain_order="left")["objects"]
    for row, listed, evidence in zip(found, objects.to_list(), world.examples["evidence"].to_list(), strict=True):
        marked = [each["box"] for each in evidence]
        assert [at for at, one in enumerate(listed) if one["box"] in marked] == np.flatnonzero(row > 0.99).tolist()


def test_words_of_the_type_cannot_be_critical(world: Dataset, vocabulary: NetworkVocabulary) -> None:
    some = world.examples.filter(pl.col("question_type") == "what color is the")

    found = open_words(some, vocabulary)

    assert not found[:, :4].any()
    assert found[:, 4].all()


def test_validation_is_held_out_by_image_where_there_is_none(world: Dataset) -> None:
    data = world.take(pl.col("split") != "val")

    parts = divide(data, 0)

    held, learned = (set(parts[name].examples["image"]) for name in ("val", "train"))
    assert held
    assert not held & learned
    assert len(held | learned) == data.take(pl.col("split") == "train").examples["image"].n_unique()


def test_arrays_count_what_networks_are_made_for(
    world: Dataset, features: Features, vocabulary: NetworkVocabulary
) -> None:
    arrays = make_arrays(divide(world, 0), vocabulary, features)

    assert arrays.watched == ("val", "test")
    assert arrays.splits["train"].q.max() < arrays.words
    assert arrays.splits["train"].answers.max() < arrays.answers
    assert arrays.splits["train"].qtype.max() < arrays.types == 9


def test_a_probe_shows_listed_regions_that_are_not_covered(
    world: Dataset, features: Features, vocabulary: NetworkVocabulary
) -> None:
    table = world.images.table
    image, objects = table["image"][0], table["objects"][0].to_list()
    shown = pl.DataFrame(
        {
            "image": [image, image, image, None],
            "question": ["is there a cat?", "is there a cat?", None, "is there a cat?"],
            "visible": [[0, 2], None, None, None],
            "hidden": [None, [objects[1]["box"]], None, None],
            "removal": [None, None, "image=blank", None],
        },
        schema_overrides={"visible": pl.List(pl.Int64), "hidden": pl.List(pl.Array(pl.Float64, 4))},
    )

    found = encode_probes(shown, world.images, vocabulary, features)

    n = len(objects)
    assert found.seen is not None
    assert np.flatnonzero(found.seen[0]).tolist() == [0, 2]
    assert np.flatnonzero(~found.seen[1, :n]).tolist() == [1]
    assert (found.image >= 0).tolist() == [True, True, False, False]
    assert not found.q[2].any()


def test_regions_are_not_counted_by_other_objects(
    world: Dataset, features: Features, vocabulary: NetworkVocabulary
) -> None:
    """A list of visible objects says nothing of regions that another detector found."""
    images = replace(world.images, table=world.images.table.with_columns(pl.col("objects").list.head(1)))
    shown = pl.DataFrame({"image": images.table["image"].head(1), "question": ["is there a cat?"], "visible": [[0]]})

    with pytest.raises(DataError, match=r"as many regions as objects in image .*; found \d+ and 1; use"):
        encode_probes(shown, images, vocabulary, features)


@pytest.mark.parametrize("listed", [True, False])
def test_hidden_boxes_want_the_sizes_of_images_unless_regions_are_listed(
    world: Dataset, features: Features, vocabulary: NetworkVocabulary, *, listed: bool
) -> None:
    images = replace(world.images, table=world.images.table.drop("width", "height"))
    row = {"image": images.table["image"].head(1), "question": ["is there a cat?"], "hidden": [[[0, 0, 9, 9]]]}
    shown = pl.DataFrame(row | ({"visible": [[0]]} if listed else {}))

    if listed:
        assert encode_probes(shown, images, vocabulary, features).seen.sum() == 1
        return
    with pytest.raises(DataError, match="sizes of images and boxes of regions"):
        encode_probes(shown, images, vocabulary, features)


def test_without_the_sizes_of_images_there_are_no_hints(world: Dataset, features: Features) -> None:
    images = replace(world.images, table=world.images.table.drop("width", "height"))

    assert hints(replace(world, images=images), features, features.number(world.examples["image"])) is None


def test_other_answers_change_nothing_but_the_targets(
    world: Dataset, features: Features, vocabulary: NetworkVocabulary
) -> None:
    """Nothing of the reference answer reaches what a network is shown."""
    other = replace(world, examples=world.examples.with_columns(answers=pl.lit([["no"] * 10]).list.first()))

    one, two = (encode_examples(data, vocabulary, features) for data in (world, other))

    assert not np.array_equal(one.answers, two.answers) or not np.array_equal(one.scores, two.scores)
    for name in ("q", "image", "qtype", "qmask", "program", "hints", "cand"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


ODD_ARRAYS = {
    "starts 0-d": ("starts", np.int64(3), "1 dimension"),
    "starts of text": ("starts", np.array(["0", "2", "2", "5"]), "whole numbers"),
    "starts that are objects": ("starts", np.array([0, 2, 2, None]), "an array in"),
    "decreasing starts": ("starts", np.array([0, 3, 2, 5]), "starts decrease"),
    "negative starts": ("starts", np.array([-5, 2, 2, 5]), "consistent"),
    "features of text": ("features", np.array([["a"] * 4] * 5), "numbers in 2 dimensions"),
    "features in one row": ("features", np.zeros(5, np.float32), "numbers in 2 dimensions"),
    "NaN features": ("features", np.full((5, 4), np.nan, np.float16), "20 that are NaN or infinite"),
    "infinite features": ("features", np.full((5, 4), np.inf, np.float32), "finite numbers"),
    "NaN boxes": ("boxes", np.full((5, 4), np.nan, np.float32), "finite numbers"),
    "names that are no text": ("images", np.array([b"a", b"b", b"\xff"]), "names in images.npy"),
}


@pytest.mark.parametrize("fault", ODD_ARRAYS)
def test_regions_that_are_no_regions_are_refused_in_one_line(tmp_path: Path, fault: str) -> None:
    name, array, reason = ODD_ARRAYS[fault]
    sound = {
        "features": np.ones((5, 4), np.float16),
        "starts": np.array([0, 2, 2, 5]),
        "images": np.array(["a", "b", "c"]),
    }
    for file, values in (sound | {name: array}).items():
        np.save(tmp_path / f"{file}.npy", values, allow_pickle=True)

    with pytest.raises(FileFormatError, match=reason) as error:
        check_features(tmp_path)
    assert "\n" not in str(error.value)


def test_features_that_became_nan_after_they_were_read_are_not_learned_from() -> None:
    values = np.ones((5, 4), np.float32)
    regions = Regions(values, np.array([0, 2, 2, 5]))
    values[3, 1] = np.nan

    assert regions.take(np.array([0])).v.shape == (1, 3, 4)
    with pytest.raises(FileFormatError, match="1 that are NaN or infinite"):
        regions.take(np.array([0, 2]))
