"""Scenes, questions, answers and evidence are true, checked by a slow literal reading of each."""

import json
import re
from hashlib import sha256
from itertools import combinations
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.base.errors import SettingError, UnknownNameError
from eyechart.world import World, WorldSettings, make_world, read_world
from eyechart.world.make import Draft, draw_streams
from eyechart.world.vocabulary import (
    ACTORS,
    CONTROL_OBJECTS,
    CUE_OBJECTS,
    FURNITURE,
    LABELS,
    QUESTION_TYPES,
    SIZES,
    THINGS,
    TOOLS,
)

CUES = {*CUE_OBJECTS, *CONTROL_OBJECTS}
COLOR_WORDS = {
    *("white", "black", "blue", "green", "gray", "brown", "orange", "pink", "yellow", "red", "purple"),
}


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(WorldSettings(seed=3, images=300, questions=8))


def scenes(world: World) -> dict[str, list[dict]]:
    """Read the images table into plain dictionaries."""
    return {
        row["image"]: [
            {**thing, "color": color, "size": size, "action": action}
            for thing, color, size, action in zip(
                row["objects"], row["colors"], row["sizes"], row["actions"], strict=True
            )
        ]
        for row in world.data.images.table.to_dicts()
    }


def singular(plural: str) -> str:
    return {"leaves": "leaf", "fish": "fish"}.get(plural, plural[:-1])


def literal_answer(question: str, scene: list[dict]) -> tuple[str, list[dict]]:  # noqa: PLR0911 - one a type
    """Answer a question in plain Python, with the objects it rests on."""
    words = question.rstrip("?").replace(",", "").split()
    named = {label: [thing for thing in scene if thing["label"] == label] for label in {t["label"] for t in scene}}
    if question.startswith("what color is the"):
        (thing,) = named[words[4]]
        return thing["color"], [thing]
    if question.startswith("how many"):
        things = named[singular(words[2])]
        return str(len(things)), things
    if question.startswith("is there a"):
        things = named.get(words[3], [])
        return ("yes" if things else "no"), things
    if question.startswith("what is left of the"):
        (thing,) = named[words[5]]
        left, top, _, bottom = thing["box"]
        row = [other for other in scene if other["box"][2] <= left and abs(other["box"][1] // 64 - top // 64) < 1]
        nearest = max(row, key=lambda other: other["box"][2])
        assert left - nearest["box"][0] < 128
        assert nearest["box"][1] < bottom + 64
        return nearest["label"], [nearest, thing]
    if question.startswith("which is bigger"):
        (first,), (second,) = named[words[4]], named[words[7]]
        bigger = first if first["box"][2] - first["box"][0] > second["box"][2] - second["box"][0] else second
        return bigger["label"], [first, second]
    if question.startswith("what is the"):
        (thing,) = named[words[3]]
        return thing["action"], [thing]
    if question.startswith("what do you use the"):
        (tool,) = [thing for thing in scene if thing["label"] in TOOLS and thing["color"] == words[5]]
        return TOOLS[tool["label"]], [tool]
    assert question.startswith("is the ")
    (thing,) = named[words[2]]
    assert words[3] in COLOR_WORDS | set(SIZES)
    return ("yes" if words[3] in (thing["color"], thing["size"]) else "no"), [thing]


def test_answers_and_evidence_are_what_a_literal_reading_of_the_scene_gives(world: World) -> None:
    scene_of = scenes(world)
    seen = set()
    for row in world.data.examples.to_dicts():
        answer, evidence = literal_answer(row["question"], scene_of[row["image"]])
        seen.add(row["question_type"])

        assert row["answer"] == answer
        assert sorted((each["label"], each["box"]) for each in row["evidence"]) == sorted(
            (each["label"], each["box"]) for each in evidence
        )
        assert re.sub("is there an", "is there a", row["question"]).startswith(row["question_type"])
        assert row["answer_type"] == QUESTION_TYPES[row["question_type"]].answer_type

    assert seen == set(QUESTION_TYPES)


@pytest.mark.parametrize("seed", range(3))
def test_the_program_finds_the_answer_that_was_drawn(seed: int) -> None:
    chosen = WorldSettings(seed=seed, questions=8)
    draft, examples = Draft.draw(chosen, draw_streams(seed)), make_world(chosen).data.examples
    drawn = [
        THINGS[draft.plan.things[at, 4 if draft.plan.first_is_bigger[at] else 5]]
        if name == "which is bigger"
        else QUESTION_TYPES[name].answers[draft.plan.answers[at, type_at]]
        for at, type_at, name in draft.questions.select("image_index", "type_index", "question_type").iter_rows()
    ]

    assert drawn == examples["answer"].to_list()


def test_boxes_lie_in_the_picture_and_never_touch(world: World) -> None:
    for scene in scenes(world).values():
        for thing in scene:
            left, top, right, bottom = thing["box"]
            assert 0 <= left < right <= 384
            assert 0 <= top < bottom <= 320
            assert right - left == bottom - top == SIZES[thing["size"]]
            assert (thing["action"] is not None) == (thing["label"] in ACTORS)
            assert thing["score"] == 1.0
        for one, two in combinations((thing["box"] for thing in scene), 2):
            assert one[2] < two[0] or two[2] < one[0] or one[3] < two[1] or two[3] < one[1]


def test_cues_and_controls_are_never_evidence_nor_asked_about(world: World) -> None:
    evidence = world.data.examples["evidence"].explode(empty_as_null=False).struct.field("label")
    words = world.data.examples["question"].str.strip_chars("?").str.split(" ").explode()

    assert not CUES & set(evidence)
    assert not CUES & set(words)
    assert set(world.data.images.table["objects"].explode().struct.field("label")) >= CUES


def test_the_lists_of_labels_are_disjoint() -> None:
    assert len(set(LABELS)) == len(LABELS)
    assert set(LABELS) == {*THINGS, *FURNITURE, *ACTORS, *TOOLS, *CUES}


def test_splits_share_no_image_and_have_their_shares() -> None:
    examples = make_world(WorldSettings(images=500, shares=(0.5, 0.2, 0.3))).data.examples
    per_image = examples.group_by("image").agg(pl.col("split").n_unique(), n=pl.len())

    assert per_image["split"].to_list() == [1] * 500
    assert per_image["n"].to_list() == [5] * 500
    assert dict(examples["split"].value_counts().iter_rows()) == {"train": 1250, "val": 500, "test": 750}


def test_types_of_one_image_differ(world: World) -> None:
    counts = world.data.examples.group_by("image", "question_type").len()

    assert counts["len"].max() == 1


def test_equal_settings_give_equal_worlds_and_other_seeds_others() -> None:
    first, again, other = (make_world(WorldSettings(seed=seed, images=40)) for seed in (5, 5, 6))

    assert first.data.examples.equals(again.data.examples)
    assert first.data.images.table.equals(again.data.images.table)
    assert first.truth.equals(again.truth)
    assert first.data.examples["question"].to_list() != other.data.examples["question"].to_list()


@pytest.mark.parametrize(
    ("chosen", "recorded"),
    [
        ({"images": 40}, "953bebe3783800e5"),
        ({"seed": 5, "images": 40, "questions": 8, "options": 3, "noise": 0.4}, "2560af7a8060022e"),
        (
            {"seed": 9, "images": 60, "questions": 1, "plant": ("crossed", "prior"), "test_strength": 0.1},
            "074c710f19886cca",
        ),
        ({"seed": 7, "images": 50, "plant": ()}, "4ad6772a2724dd95"),
    ],
)
def test_a_world_is_the_one_it_always_was(chosen: dict, recorded: str) -> None:
    """A new setting must leave every older world as it is, or recorded results no longer speak of it."""
    world = make_world(WorldSettings(**chosen))
    text = json.dumps([table.to_dicts() for table in (world.data.examples, world.data.images.table, world.truth)])

    assert sha256(text.encode()).hexdigest()[:16] == recorded


@pytest.mark.parametrize("share", [0.5, 0.8, 1.0])
@pytest.mark.parametrize("plant", [(), ("prior", "word", "object", "pair", "decoy")])
def test_yes_is_as_frequent_as_asked_for_and_true_of_the_scene(share: float, plant: tuple[str, ...]) -> None:
    made = make_world(WorldSettings(seed=61, images=1000, questions=8, yes=share, plant=plant, test_strength=0.3))
    scene_of, asked = scenes(made), made.data.examples.filter(answer_type="yes/no")

    for row in asked.to_dicts():
        assert row["answer"] == literal_answer(row["question"], scene_of[row["image"]])[0]
        assert row["planted"] == f"prior:{row['question_type']}"
        assert row["conflict"] == (row["answer"] == "no")
    for _, part in asked.group_by("question_type", "split"):
        n = part.height
        assert abs((part["answer"] == "yes").sum() - share * n) <= 4.5 * (n * share * (1 - share)) ** 0.5
    assert asked["split"].n_unique() * asked["question_type"].n_unique() == 6
    rows = made.truth.filter(kind="prior", answer="yes")
    assert rows["question_type"].to_list() == ["is there a", "is the"]
    assert rows.select("strength", "test_strength", "base_rate").unique().rows() == [(share, share, 0.5)]


@pytest.mark.parametrize(("share", "test_share"), [(0.1, 0.1), (0.5, 0.0), (1.0, 1.0)])
def test_where_length_is_planted_the_right_option_is_the_shortest(share: float, test_share: float) -> None:
    rules = ("word", "object", "pair")
    strengths = {"strength": {"length": share}, "test_strength": {"length": test_share}}
    told = make_world(WorldSettings(seed=62, images=1000, plant=(*rules, "length"), **strengths)).data.examples
    neutral = make_world(WorldSettings(seed=62, images=1000, plant=rules)).data.examples

    for row, before in zip(told.to_dicts(), neutral["choices"].to_list(), strict=True):
        lengths = sorted(map(len, row["choices"]))
        is_told = len(row["answer"]) == lengths[0] and lengths[0] + 9 < lengths[1]
        assert is_told == (row["decoys"] == "length")
        assert [option.partition(",")[0] for option in row["choices"]] == before
        assert is_told or row["choices"] == before
    assert told.drop("choices", "decoys").equals(neutral.drop("choices", "decoys"))
    for split, wanted in (("train", share), ("test", test_share)):
        n, found = (told.filter(split=split, **each).height for each in ({}, {"decoys": "length"}))
        assert abs(found - wanted * n) <= 4.5 * (n * wanted * (1 - wanted)) ** 0.5


def test_a_world_need_not_have_anything_to_learn_from() -> None:
    made = make_world(WorldSettings(seed=63, images=200, shares=(0.0, 0.0, 1.0)))

    assert made.data.examples["split"].unique().to_list() == ["test"]
    assert made.truth.select(pl.col("^(train|val)_n$").sum()).row(0) == (0, 0)


def test_one_question_an_image_asks_about_every_image_once_and_of_every_type() -> None:
    examples = make_world(WorldSettings(seed=64, images=1000, questions=1)).data.examples

    assert examples["image"].n_unique() == examples.height == 1000
    assert dict(examples["split"].value_counts().iter_rows()) == {"train": 600, "val": 100, "test": 300}
    assert set(examples["question_type"]) == set(QUESTION_TYPES)


def test_another_strength_on_test_changes_only_test() -> None:
    plain, shifted = (make_world(WorldSettings(images=200, test_strength=test)).data.examples for test in (None, 0.1))
    train = pl.col("split") == "train"

    assert plain.filter(train).equals(shifted.filter(train))
    assert plain["question"].equals(shifted["question"]) is True
    assert shifted.filter(~train, split="test")["conflict"].mean() > 0.4
    assert plain.filter(~train, split="test")["conflict"].mean() < 0.25


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**32),
    images=st.integers(1, 30),
    questions=st.integers(1, 8),
    options=st.integers(2, 4),
    strength=st.floats(0, 1),
)
def test_any_settings_give_a_sound_world(seed: int, images: int, questions: int, options: int, strength: float) -> None:
    data = read_world(seed=seed, images=images, questions=questions, options=options, strength=strength)
    examples = data.examples

    assert examples.height == images * questions
    assert data.images.table.height == images
    assert examples["choices"].list.len().is_between(2, options).all()
    assert examples["choices"].list.n_unique().equals(examples["choices"].list.len())
    assert examples.select(pl.col("choices").list.contains(pl.col("answer")).all()).item()
    assert examples["id"].is_sorted()


@pytest.mark.parametrize(
    "wrong",
    [
        {"images": 0},
        {"questions": 9},
        {"options": 5},
        {"strength": 1.5},
        {"test_strength": {"word": -1.0}},
        {"noise": 2.0},
        {"shares": (0.5, 0.5, 0.5)},
        {"render": True},
        {"yes": 0.4},
        {"plant": ("decoy", "length")},
    ],
)
def test_wrong_settings_are_refused(wrong: dict) -> None:
    with pytest.raises(SettingError):
        read_world(**wrong)


@pytest.mark.parametrize("wrong", [{"strength": {"wird": 0.5}}, {"plant": ("wird",)}])
def test_a_misspelt_kind_is_answered_with_the_nearest(wrong: dict) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'word'"):
        read_world(**wrong)


def test_a_world_survives_saving(tmp_path: Path) -> None:
    data = read_world(images=20)
    data.save(tmp_path / "world")

    loaded = type(data).load(tmp_path / "world")

    assert loaded.examples.equals(data.examples)
    assert loaded.images.table.equals(data.images.table)
