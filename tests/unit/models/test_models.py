"""Model strings open models, and functions answer batches."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest

from eyechart.dataset import Dataset, Images
from eyechart.errors import ModelError, SettingError, UnknownNameError
from eyechart.models import load
from eyechart.models.function import Function
from eyechart.probes import Prober, fill

SCRIPT = """
import polars as pl

class Parrot:
    name = "parrot"
    def answer(self, probes, images):
        return probes.select("id", pl.lit("hello").alias("answer"))

def first_word(rows):
    return [row["question"].split()[0] for row in rows]

number = 3
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(SCRIPT)
    return tmp_path / "mine.py"


@pytest.fixture
def shown(tiny: Dataset) -> pl.DataFrame:
    return fill(Prober(tiny).plain(tiny.examples["id"]), tiny)


def test_a_class_in_a_file_is_a_model(script: Path, tiny: Dataset, shown: pl.DataFrame) -> None:
    model = load(f"python:{script}:Parrot")

    assert model.name == "parrot"
    assert set(model.answer(shown, tiny.images)["answer"]) == {"hello"}


def test_a_function_in_a_file_is_a_model(script: Path, tiny: Dataset, shown: pl.DataFrame) -> None:
    model = load(f"python:{script}:first_word")

    assert model.name == "first_word"
    assert model.answer(shown, tiny.images)["answer"].to_list() == ["what", "is"] * 4


def test_something_that_cannot_answer_is_refused(script: Path) -> None:
    with pytest.raises(ModelError, match="something that answers"):
        load(f"python:{script}:number")


@pytest.mark.parametrize("kind", ["wrld:seer", "hello", "predictions"])
def test_an_unknown_kind_of_model_is_one_clear_error(kind: str) -> None:
    with pytest.raises((UnknownNameError, ModelError)):
        load(kind)


def test_a_near_kind_is_suggested() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'world'"):
        load("wrld:seer")


def test_a_missing_file_is_one_clear_error() -> None:
    with pytest.raises(SettingError, match=r"a Python file at nowhere\.py"):
        load("python:nowhere.py:it")


def test_a_function_sees_where_the_picture_lies(tiny: Dataset, shown: pl.DataFrame, tmp_path: Path) -> None:
    table = tiny.images.table.with_columns((pl.col("image") + ".png").alias("path"))
    seen: list[Mapping[str, object]] = []

    def look(rows: Sequence[Mapping[str, object]]) -> list[str]:
        seen.extend(rows)
        return [""] * len(rows)

    Function("look", look).answer(shown, Images(table, root=tmp_path))

    assert [row["image_path"] for row in seen[::2]] == [f"{tmp_path}/{name}.png" for name in "abcd"]
    assert "answer" not in seen[0]


@pytest.mark.parametrize("answers", [["one"], "eight it", []])
def test_a_function_must_answer_every_probe(tiny: Dataset, shown: pl.DataFrame, answers: object) -> None:
    with pytest.raises(ModelError, match="8 answers from short"):
        Function("short", lambda rows: answers).answer(shown, tiny.images)
