"""Drawn decoys: what must hold of them whatever the data, where they come from, and data with little to draw from."""

import os
import subprocess
import sys
from typing import get_args

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.audits.decoys.draw import DrawnDecoys, draw_decoys
from eyechart.audits.decoys.settings import JUDGED, LEARNED, SOURCES, DecoysSettings, Drawing, Published
from eyechart.audits.decoys.study import label_parts
from eyechart.base.text import clean_answer, normalize_answer
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images

ANSWERS = ["dog", "A dog.", "DOG", "old dog", "puppy", "cat", "yes", "no", "2", "two", "red", "blue car", "a", "犬", ""]
QUESTIONS = ["what is it?", "what is this?", "is it big?", "how many?", "what color?", "何?", ""]


def make(rows: list[tuple[str | None, str | None, str | None, list[str]]]) -> Dataset:
    """Make data of (image, question, answer, what people said)."""
    schema = {"image": pl.String, "question": pl.String, "answer": pl.String, "answers": pl.List(pl.String)}
    examples = pl.DataFrame(rows, schema=schema, orient="row").with_row_index("id")
    examples = examples.with_columns(pl.col("id").cast(pl.String))
    return Dataset("made up", examples, Images.named(examples["image"]))


def draw(data: Dataset, recipe: DecoysSettings | None = None, parts: tuple[str | None, ...] = (None,)) -> DrawnDecoys:
    """Draw for all examples, which are in the parts in turn."""
    turn = pl.col("id").cast(pl.Int64) % len(parts)
    asked = data.examples.select("id", part=turn.replace_strict(dict(enumerate(parts)), return_dtype=pl.String))
    return draw_decoys(data, asked, recipe or DecoysSettings())


def draw_divided(data: Dataset, recipe: DecoysSettings) -> DrawnDecoys:
    """Draw in the parts of the division, as the audit does."""
    return draw_decoys(data, label_parts(data), recipe)


def decoys_of(drawn: DrawnDecoys, source: str, which: str) -> list[str]:
    return drawn.decoys.filter(source=source, id=which)["decoy"].to_list()


def normal(text: str) -> str:
    cleaned = pl.select(clean_answer(pl.lit(text))).item()
    return str(pl.select(normalize_answer(pl.lit(cleaned))).item() or cleaned.lower())


ROW = st.tuples(
    st.sampled_from(["i", "j", "k", None]),
    st.sampled_from([*QUESTIONS, None]),
    st.sampled_from([*ANSWERS, None]),
    st.lists(st.sampled_from(ANSWERS), max_size=3),
)
RECIPES = st.builds(
    DecoysSettings,
    k=st.integers(1, 3),
    drawing=st.sampled_from(get_args(Drawing)),
    published=st.sampled_from(get_args(Published)),
    guards=st.booleans(),
    seed=st.integers(0, 3),
    threshold=st.just(0.9),
    similarity=st.just("corpus"),
    near=st.sampled_from([1, 5, 50]),
    leave_out=st.booleans(),
)


PARTS = st.sampled_from([(None,), (LEARNED, JUDGED), (JUDGED, None, LEARNED)])


@settings(deadline=None, max_examples=40)
@given(st.lists(ROW, min_size=1, max_size=25), RECIPES, PARTS)
def test_no_decoy_is_an_accepted_answer_or_occurs_twice(
    rows: list[tuple[str | None, str | None, str | None, list[str]]],
    recipe: DecoysSettings,
    parts: tuple[str | None, ...],
) -> None:
    data = make(rows)
    drawn = draw(data, recipe, parts)
    answer = {example["id"]: example for example in data.examples.to_dicts()}

    for (which, _), part in drawn.decoys.group_by("id", "source", maintain_order=True):
        shown = [normal(text) for text in part["decoy"]]
        accepted = {normal(text) for text in [answer[which]["answer"], *(answer[which]["answers"] or [])]}
        assert not accepted & set(shown)
        assert len(set(shown)) == len(shown) <= recipe.k
        assert part["place"].to_list() == list(range(len(shown)))
        assert part["donor"].is_null().equals(part["filler"])
        for decoy, donor in part.filter(pl.col("donor").is_not_null()).select("decoy", "donor").iter_rows():
            assert normal(answer[donor]["answer"]) == normal(decoy)
    assert drawn.decoys.equals(drawn.decoys.sort("id", "source", "place"))


@settings(deadline=None, max_examples=15)
@given(st.lists(ROW, min_size=2, max_size=25), RECIPES, PARTS, st.integers(0, 100))
def test_the_order_of_the_examples_makes_no_difference(
    rows: list[tuple[str | None, str | None, str | None, list[str]]],
    recipe: DecoysSettings,
    parts: tuple[str | None, ...],
    seed: int,
) -> None:
    data = make(rows)
    mixed = Dataset("mixed", data.examples.sample(fraction=1, shuffle=True, seed=seed), data.images)

    forward, backward = draw(data, recipe, parts), draw(mixed, recipe, parts)

    assert forward.decoys.equals(backward.decoys)
    assert forward.counts.equals(backward.counts)


SCENES = [
    ("i", "what color is the car?", "red", []),
    ("i", "what animal is there?", "horse", []),
    ("i", "where is it?", "street", []),
    ("j", "what color is the car?", "blue", []),
    ("j", "what animal is there?", "tiger", []),
    ("k", "what color is the bus?", "green", []),
    ("l", "what color is the truck?", "yellow", []),
    ("m", "what animal is that?", "spider", []),
]


def test_decoys_for_the_question_are_answers_to_the_nearest_questions() -> None:
    drawn = draw(make(SCENES))

    assert decoys_of(drawn, "qou", "0")[0] == "blue"  # the same question on another image
    assert set(decoys_of(drawn, "qou", "0")) == {"blue", "green", "yellow"}
    assert "tiger" in decoys_of(drawn, "qou", "7")


def test_decoys_for_the_image_are_answers_to_its_other_questions() -> None:
    drawn = draw(make(SCENES), DecoysSettings(k=2))

    assert set(decoys_of(drawn, "iou", "0")) == {"horse", "street"}
    assert drawn.decoys.filter(source="iou", id="0")["donor"].sort().to_list() == ["1", "2"]


def test_an_image_with_one_question_is_filled_up_with_frequent_answers_of_the_kind() -> None:
    drawn = draw(make([*SCENES, ("n", "how many cars?", "2", []), ("o", "how many men?", "3", [])]))

    assert drawn.decoys.filter(source="iou", id="8").select("decoy", "donor", "filler").rows() == [("3", None, True)]


def test_the_answer_type_of_the_data_decides_what_fills_up() -> None:
    data = make([("i", "a?", "red", []), ("j", "b?", "green", []), ("k", "c?", "horse", []), ("l", "d?", "truck", [])])
    typed = data.examples.with_columns(answer_type=pl.Series(["color", "color", "thing", "thing"]))

    drawn = draw(Dataset("typed", typed, data.images))

    assert [decoys_of(drawn, "iou", which) for which in "0123"] == [["green"], ["red"], ["truck"], ["horse"]]


def test_a_question_asked_twice_of_an_image_accepts_both_answers() -> None:
    drawn = draw(make([*SCENES, ("i", "What color is the car", "maroon", [])]))

    assert "maroon" not in {decoy for source in SOURCES for decoy in decoys_of(drawn, source, "0")}


def test_yes_and_no_questions_have_one_decoy() -> None:
    rows = [(str(at), f"is it {word}?", ["yes", "no"][at % 2], []) for at, word in enumerate(["big", "red", "old"] * 2)]
    drawn = draw(make([*rows, *SCENES]))

    found = {tuple(decoys_of(drawn, source, str(at))) for source in SOURCES for at in range(0, 6, 2)}
    assert found == {("no",)}
    assert drawn.counts.filter(source="qou", filter="missing")["n"].item() >= 12


@pytest.mark.parametrize("drawing", get_args(Drawing))
def test_equal_answers_have_no_decoys_and_all_are_counted(drawing: str) -> None:
    drawn = draw(make([(str(at), "what?", "red", []) for at in range(4)]), DecoysSettings(drawing=drawing))

    assert drawn.decoys.is_empty()
    assert drawn.counts.filter(filter="missing")["n"].to_list() == [12, 12, 12]


@pytest.mark.parametrize("drawing", get_args(Drawing))
def test_data_without_answers_or_examples_give_no_decoys(drawing: str) -> None:
    unanswered = make([("i", "what?", None, []), ("i", "who?", None, [])])
    nothing = Dataset("nothing", unanswered.examples.clear(), unanswered.images)

    assert draw(unanswered, DecoysSettings(drawing=drawing)).decoys.is_empty()
    assert draw(nothing, DecoysSettings(drawing=drawing)).decoys.is_empty()
    assert draw(nothing).decoys.schema == draw(make(SCENES)).decoys.schema


def test_only_the_asked_examples_get_decoys_though_all_give_some() -> None:
    data = make(SCENES)

    asked = pl.DataFrame({"id": ["0", "7", "not there"]}).with_columns(part=pl.lit(None, pl.String))

    drawn = draw_decoys(data, asked, DecoysSettings())

    assert drawn.decoys["id"].unique().sort().to_list() == ["0", "7"]
    assert drawn.decoys.equals(draw(data).decoys.filter(pl.col("id").is_in(["0", "7"])))


def test_the_seed_changes_what_is_drawn_at_random() -> None:
    one, two = (draw(make(SCENES), DecoysSettings(seed=seed)).decoys.filter(source="random") for seed in range(2))

    assert not one.equals(two)


def test_the_smallest_recipe_for_questions_in_another_script() -> None:
    drawn = draw(
        make([("i", "何色?", "赤", []), ("j", "何色?", "青", []), ("i", "何?", "車", [])]), DecoysSettings(k=1)
    )

    assert decoys_of(drawn, "qou", "0") == ["青"]
    assert decoys_of(drawn, "iou", "0") == ["車"]


def test_neutral_decoys_are_used_as_often_as_they_are_targets() -> None:
    """Colours with very different frequencies, asked of many images: the paper's drawing is the contrast."""
    colours = ["red"] * 300 + ["blue"] * 150 + ["green"] * 75 + ["yellow"] * 40 + ["purple"] * 20 + ["pink"] * 15
    rows = [(str(at), f"what color is thing {at % 7}?", colour, []) for at, colour in enumerate(colours)]
    data = make(rows)
    targets = pl.Series("text", colours).value_counts(name="targets")

    drawn = draw_divided(data, DecoysSettings(drawing="neutral", k=1))
    used = drawn.decoys.filter(source="qou")["decoy"].value_counts(name="uses")
    both = targets.join(used, left_on="text", right_on="decoy")

    # Half of the targets are red, so that red must be the decoy of all others and nothing else can be.
    assert both.filter(text="red")["uses"].item() == pytest.approx(300, abs=2)
    assert both["uses"].to_list() == pytest.approx(both["targets"].to_list(), abs=2)


YES_OR_NO = [(str(at), f"is it {at % 9}?", "no" if at % 3 == 0 else "yes", []) for at in range(600)]


def test_neutral_drawing_keeps_every_example_unless_told_otherwise() -> None:
    drawn = draw_divided(make(YES_OR_NO), DecoysSettings(drawing="neutral"))

    assert drawn.decoys.filter(source="qou")["id"].n_unique() == 600
    assert drawn.counts.filter(filter="left out for balance").is_empty()


def test_neutral_drawing_leaves_out_what_cannot_be_balanced_and_counts_it() -> None:
    """Twice as many yes as no: half of the former go, in the part that is learned from and in the judged one."""
    drawn = draw_divided(make(YES_OR_NO), DecoysSettings(drawing="neutral", leave_out=True))
    uses = dict(drawn.decoys.filter(source="qou")["decoy"].value_counts().iter_rows())

    assert uses["yes"] == pytest.approx(200, abs=2)
    assert uses["no"] == pytest.approx(200, rel=0.05)
    assert (
        drawn.counts.filter(source="qou", filter="left out for balance")["n"].item() == 600 - uses["yes"] - uses["no"]
    )
    assert "get no decoys" in drawn.notes[-1]


UNCOMPILED = """
import polars as pl
from eyechart.audits.decoys.draw import draw_decoys
from eyechart.audits.decoys.settings import DecoysSettings
from eyechart.data.dataset import Dataset, Images
answers = ["red", "blue", "old dog", "puppy", "yes", "no", "2", "several"] * 2
examples = pl.DataFrame({"id": [str(at) for at in range(16)], "image": list("abcd") * 4, "answer": answers})
examples = examples.with_columns(question=pl.lit("what is ") + pl.col("id"), answers=pl.concat_list("answer"))
data = Dataset("small", examples, Images.named(examples["image"]))
asked = examples.select("id", part=pl.lit(["learned", "judged"] * 8).explode())
for drawing in ("nearest", "neutral"):
    print(draw_decoys(data, asked, DecoysSettings(drawing=drawing)).decoys.rows())
"""


def test_the_kernels_draw_the_same_uncompiled() -> None:
    command = [sys.executable, "-W", "error", "-c", UNCOMPILED]
    compiled, uncompiled = (
        subprocess.run(command, env=os.environ | {"NUMBA_DISABLE_JIT": off}, capture_output=True, text=True, check=True)
        for off in "01"
    )

    assert compiled.stdout == uncompiled.stdout
    assert "puppy" in compiled.stdout
