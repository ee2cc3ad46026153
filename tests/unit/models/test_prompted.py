"""From probes to what is shown, and from what is said to a table of answers."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from eyechart.base.errors import ModelError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.pictures import GRAY
from eyechart.data.predictions import Predictions, tidy
from eyechart.data.probes import Prober, fill, source
from eyechart.data.tables import BOX
from eyechart.language.prompts import PromptBatch, build_prompts, choose_template, place_pictures
from eyechart.models.backend import Response
from eyechart.models.prompted import Prompted, read_responses

COLORS = {"a": 0, "b": 60, "c": 120, "d": 180}


@dataclass
class Parrot:
    """An asker that says what it was told to, and remembers what it was shown."""

    said: list[Response]
    identity: str = '{"kind": "parrot"}'
    seen: list[PromptBatch] = field(default_factory=list)

    def respond(self, batch: PromptBatch) -> list[Response]:
        self.seen.append(batch)
        return self.said


@pytest.fixture
def seen(tiny: Dataset, tmp_path: Path) -> Dataset:
    """Give each image a picture of one colour, and the first two examples options."""
    for name, color in COLORS.items():
        Image.fromarray(np.full((4, 4, 3), color, np.uint8)).save(tmp_path / f"{name}.png")
    table = tiny.images.table.with_columns((pl.col("image") + ".png").alias("path"))
    choices = pl.Series([["red", "blue"], ["yes", "no"], *[None] * 6], dtype=pl.List(pl.String))
    return Dataset("seen", tiny.examples.with_columns(choices=choices), Images(table, tmp_path))


def filled(data: Dataset, **columns: pl.Expr) -> pl.DataFrame:
    keys = data.examples.select("id").with_columns(**columns)
    return fill(Prober(data).complete(keys, "plain"), data)


def colors(shown: PromptBatch) -> list[list[int]]:
    return [[int(each.pixels[0, 0, 0]) for each in pictures] for pictures in shown.all_pictures()]


def test_each_prompt_has_its_own_picture(seen: Dataset) -> None:
    shown = build_prompts(filled(seen), seen.images, choose_template(None))

    assert colors(shown) == [[COLORS[name]] for name in seen.examples["image"]]
    assert [prompt.split("\n")[0] for prompt in shown.prompts] == seen.examples["question"].to_list()
    assert shown.choices == [["A", "B"], ["A", "B"], *[None] * 6]


def test_a_donor_brings_its_picture_and_the_question_stays(seen: Dataset) -> None:
    shown = build_prompts(filled(seen, image_from=pl.lit("06")), seen.images, choose_template(None))

    assert colors(shown) == [[COLORS["d"]]] * 8
    assert shown.prompts == build_prompts(filled(seen), seen.images, choose_template(None)).prompts


def test_a_removed_picture_is_not_shown(seen: Dataset) -> None:
    nothing = {source("image"): pl.lit(None, pl.String), "removal": pl.lit("image=guess")}
    shown = build_prompts(filled(seen, **nothing), seen.images, choose_template(None))

    assert colors(shown) == [[]] * 8
    assert all(prompt.startswith("There is no image.") for prompt in shown.prompts)


def test_several_pictures_are_shown_in_order(seen: Dataset) -> None:
    several = pl.Series([["a", "c", "d"], None, *[["b"]] * 2, *[None] * 4], dtype=pl.List(pl.String))
    data = Dataset("several", seen.examples.with_columns(images=several), seen.images)
    shown = build_prompts(filled(data), data.images, choose_template(None))

    assert colors(shown) == [[0, 120, 180], [0], [60], [60], [120], [120], [180], [180]]
    assert shown.take([1, 0]).all_pictures() == shown.all_pictures()[1::-1]


def test_donors_bring_all_their_pictures(seen: Dataset) -> None:
    """And the probe is another one where only a further picture differs."""
    several = pl.Series([["a", "c"], *[None] * 7], dtype=pl.List(pl.String))
    data = Dataset("several", seen.examples.with_columns(images=several), seen.images)
    shown = build_prompts(filled(data, image_from=pl.lit("00")), data.images, choose_template(None))
    ids = data.examples["id"]
    changed = pl.Series([["a", "d"], *[None] * 7], dtype=pl.List(pl.String))
    other = Dataset("several", seen.examples.with_columns(images=changed), seen.images)

    assert colors(shown) == [[0, 120]] * 8
    assert (Prober(data).plain(ids)["probe"] == Prober(other).plain(ids)["probe"]).to_list() == [False, *[True] * 7]


def test_a_removal_is_of_all_pictures_and_boxes_are_hidden_in_the_first(seen: Dataset) -> None:
    several = pl.Series([["a", "c"], *[None] * 7], dtype=pl.List(pl.String))
    data = Dataset("several", seen.examples.with_columns(images=several), seen.images)
    box = pl.lit([[0.0, 0.0, 2.0, 2.0]]).cast(pl.List(BOX))
    hidden = {"hidden": box, "removal": pl.lit("hidden=blank")}
    masked = build_prompts(filled(data, **hidden), data.images, choose_template(None)).all_pictures()[0]
    gray = build_prompts(filled(data, removal=pl.lit("image=blank")), data.images, choose_template(None))

    assert [(int(each.pixels[0, 0, 0]), int(each.pixels[3, 3, 0])) for each in masked] == [(GRAY, 0), (120, 120)]
    assert colors(gray)[0] == [GRAY, GRAY]


def test_a_condition_may_show_some_pictures_in_its_own_order(seen: Dataset) -> None:
    several = pl.Series([["a", "c", "d"], *[None] * 7], dtype=pl.List(pl.String))
    data = Dataset("several", seen.examples.with_columns(images=several), seen.images)
    chosen = pl.Series([[2, 0], *[None] * 7], dtype=pl.List(pl.Int64))
    shown = build_prompts(filled(data, pictures=pl.lit(chosen)), data.images, choose_template(None))

    assert colors(shown)[:2] == [[180, 0], [0]]


@pytest.mark.parametrize(
    ("prompt", "n", "parts"),
    [
        ("What is it?", 2, [0, 1, "What is it?"]),
        ("<image 1> or <image 2>?", 2, [0, " or ", 1, "?"]),
        ("<image 2> before <image 1>", 3, [2, 1, " before ", 0]),
        ("In <image 1>, is <image 1> red?", 1, ["In ", 0, ", is <image 1> red?"]),
        ("<image 1> <image 3> <image 0>", 2, [1, 0, " <image 3> <image 0>"]),
        ("<image 1>", 1, [0]),
        ("<image 1>", 0, ["<image 1>"]),
        ("", 1, [0, ""]),
    ],
)
def test_pictures_stand_where_the_prompt_names_them(prompt: str, n: int, parts: list[str | int]) -> None:
    """Each at its first mention, and those not mentioned in front."""
    assert place_pictures(prompt, n) == parts


def test_what_is_said_becomes_a_table_of_answers(seen: Dataset) -> None:
    said = [
        Response("B", [("A", -2.0), ("B", -0.5)]),
        Response("<think>yes?</think>\n(B)"),
        Response("Red."),
        Response(None, failed="timed out"),
        Response("I'm sorry, I can't."),
        Response(""),
        Response("blue", refused=True),
        Response(None),
    ]
    probes = filled(seen)
    answers = read_responses(said, probes, choose_template(None))

    assert answers["id"].to_list() == probes["id"].to_list()
    assert answers["answer"].to_list() == ["blue", "no", "Red", *[None] * 5]
    expected = ["ok", "ok", "ok", "failed", "refused", "unparsed", "refused", "failed"]
    assert answers["status"].to_list() == expected
    assert answers["raw"].to_list() == [
        "B",
        "<think>yes?</think>\n(B)",
        "Red.",
        "timed out",
        said[4].raw,
        "",
        "blue",
        None,
    ]
    assert answers["scores"].to_list()[0] == [{"answer": "red", "score": -2.0}, {"answer": "blue", "score": -0.5}]
    assert answers["score_kind"].to_list() == ["logprob", *[None] * 7]
    Predictions("it", tidy(answers, probes, "it"))


def test_a_blind_model_is_shown_no_picture_of_any_kind(seen: Dataset) -> None:
    parrot = Parrot([Response("x")] * 8)
    Prompted("blind", parrot, blind=True).answer(filled(seen, removal=pl.lit("image=blank")), seen.images)

    assert colors(parrot.seen[0]) == [[]] * 8


def test_an_asker_must_answer_everything(seen: Dataset) -> None:
    with pytest.raises(ModelError, match="8 answers from short; found 1"):
        Prompted("short", Parrot([Response("x")])).answer(filled(seen), seen.images)


def test_the_words_of_the_template_are_in_the_identity() -> None:
    one, other = (Prompted("it", Parrot([]), choose_template(name)).identity for name in ("short", "bare"))

    assert json.loads(one)["prompt"] == "short@1"
    assert one != other
