"""Model strings open models, and functions answer batches."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.base.errors import FileFormatError, ModelError, SettingError, UnknownNameError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.predictions import Predictions
from eyechart.data.probes import Prober, fill
from eyechart.engines import Local
from eyechart.formats.predictions import PredictionFile
from eyechart.models import load, load_all
from eyechart.models.asking import AnswerStep, ask
from eyechart.models.file import PredictionFiles
from eyechart.models.function import Function

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
    with pytest.raises(ModelError, match="a model or function"):
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


@pytest.fixture
def asked(tiny: Dataset) -> pl.DataFrame:
    return Prober(tiny).plain(tiny.examples["id"])


def test_a_file_answers_by_id_whatever_its_order(tiny: Dataset, asked: pl.DataFrame, tmp_path: Path) -> None:
    answers = {f"0{n}": f"answer {n}" for n in (3, 1, 7)}
    (tmp_path / "gpt.v2.json").write_text(json.dumps(answers))
    model = load(f"predictions:{tmp_path / 'gpt.v2.json'}")
    found = model.answer(fill(asked, tiny), tiny.images)

    assert model.name == "gpt.v2"
    assert dict(found.select("id", "answer").rows()) == answers


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("llava-1.5.json", "llava-1.5"),
        ("a.b.jsonl.gz", "a.b"),
        ("it.CSV,id=x", "it"),
        ("it.csv,name=me", "me"),
    ],
)
def test_a_model_is_called_as_its_file_or_as_is_said(file: str, name: str, tmp_path: Path) -> None:
    (tmp_path / file.partition(",")[0]).write_text("{}")

    assert load(f"predictions:{tmp_path / file}").name == name


def test_a_misspelt_column_is_not_taken_for_a_condition(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,answer\n")

    with pytest.raises(UnknownNameError, match="did you mean 'answer'"):
        load(f"predictions:{tmp_path / 'a.csv'},anwser=prediction")


def test_a_condition_without_a_file_is_asked_for(asked: pl.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"00": "red"}')
    model = load(f"predictions:evidence={tmp_path / 'a.json'}")

    with pytest.raises(ModelError, match=r"'plain'; found evidence; add it: predictions:FILE$"):
        model.stock(asked)  # type: ignore[attr-defined]  # of this kind of model


def test_models_of_one_name_are_refused(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "results.json").write_text("{}")
    specs = [f"predictions:{tmp_path / folder / 'results.json'}" for folder in ("a", "b")]

    with pytest.raises(SettingError, match="2 called 'results'"):
        load_all(specs, {})
    assert [model.name for model in load_all([specs[0], f"{specs[1]},name=b"], {})] == ["results", "b"]


def test_functions_of_one_name_are_not_taken_for_each_other(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text("def answer(rows):\n    return [None for _ in rows]\n")
    one, other = (load(f"python:{tmp_path / name}.py:answer") for name in ("a", "b"))

    assert one.name == other.name
    assert one.identity != other.identity  # type: ignore[attr-defined]  # of this kind of model


def test_a_file_none_of_whose_ids_was_asked_shows_one_of_each(asked: pl.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"x100": "red"}')
    model = load(f"predictions:{tmp_path / 'a.json'}")

    with pytest.raises(ModelError, match=r"none: 'x100' and the like, where '0\d' was asked.*id=COLUMN"):
        model.stock(asked)  # type: ignore[attr-defined]  # of this kind of model


@settings(deadline=None, max_examples=60)
@given(
    known=st.lists(st.tuples(st.text("aé 0\x00", max_size=3), st.integers(0, 2)), unique=True, max_size=30),
    asked=st.lists(st.text("aé 0\x00", max_size=3), unique=True, min_size=1, max_size=12),
)
def test_a_file_gives_all_draws_of_a_batch_and_no_others(known: list[tuple[str, int]], asked: list[str]) -> None:
    """Whatever the ids, as by a comparison of each with each."""
    rows = [(name, draw, f"{name}{draw}") for name, draw in known]
    answers = pl.DataFrame(rows, schema={"id": pl.String, "draw": pl.Int64, "answer": pl.String}, orient="row")
    model = PredictionFiles("mine", {})
    vars(model)["files"] = {"plain": PredictionFile(answers.sort("id", maintain_order=True), pl.DataFrame())}
    probes = pl.DataFrame({"id": asked, "condition": "plain"})

    found = model.answer(probes, Images.named(pl.Series([], dtype=pl.String)))

    assert sorted(found.rows()) == sorted(row for row in rows if row[0] in asked)


def test_a_file_alone_is_taken_for_predictions(tmp_path: Path) -> None:
    (tmp_path / "it.json").write_text('{"1": "a"}')

    assert load(str(tmp_path / "it.json")).name == "it"


def test_missing_extra_and_repeated_ids_are_counted(asked: pl.DataFrame, tmp_path: Path) -> None:
    rows = [("00", "a"), ("00", "a"), ("01", "b"), ("01", "c"), ("99", "d")]
    (tmp_path / "it.jsonl").write_text("\n".join(json.dumps({"question_id": i, "answer": a}) for i, a in rows))
    stock = load(f"predictions:{tmp_path / 'it.jsonl'}").stock(asked)

    assert {row["reason"]: row["n"] for row in stock.to_dicts()} == {
        None: 3,
        "id answered before, same answer": 1,
        "id answered before, other answer": 1,
        "asked, but not in the file": 6,
        "in the file, but not asked": 1,
    }


def test_a_file_for_each_condition(tiny: Dataset, asked: pl.DataFrame, tmp_path: Path) -> None:
    for name in ("all", "rest"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"00": name}))
    model = load(f"predictions:plain={tmp_path}/all.json,rest={tmp_path}/rest.json")
    shown = fill(asked, tiny)

    assert model.answer(shown, tiny.images)["answer"].to_list() == ["all"]
    assert model.answer(shown.with_columns(condition=pl.lit("rest")), tiny.images)["answer"].to_list() == ["rest"]
    with pytest.raises(ModelError, match=r"condition 'evidence'; found plain, rest; add it"):
        model.answer(shown.with_columns(condition=pl.lit("evidence")), tiny.images)


def test_a_column_can_name_the_condition(tiny: Dataset, asked: pl.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "it.csv").write_text("id,condition,answer\n00,plain,a\n00,rest,b\n")
    model = load(f"predictions:{tmp_path}/it.csv")
    shown = fill(asked, tiny).with_columns(condition=pl.lit("rest"))

    assert model.answer(shown, tiny.images)["answer"].to_list() == ["b"]


def test_columns_can_be_named(tiny: Dataset, asked: pl.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "it.csv").write_text("which,said\n00,a\n")
    model = load(f"predictions:{tmp_path}/it.csv,id=which,answer=said")

    assert model.answer(fill(asked, tiny), tiny.images)["answer"].to_list() == ["a"]


@pytest.mark.parametrize("spec", ["predictions:nowhere.json", "predictions:id=which", "predictions:"])
def test_predictions_that_are_not_there_are_one_clear_error(spec: str) -> None:
    with pytest.raises(ModelError):
        load(spec)


def test_three_files_of_gqa_are_three_conditions(tiny: Dataset, asked: pl.DataFrame, tmp_path: Path) -> None:
    for name in ("all", "rel", "irrel"):
        answers = [{"questionId": key, "prediction": name} for key in asked["id"]]
        (tmp_path / f"{name}.json").write_text(json.dumps(answers))
    paths = {"plain": "all", "evidence": "rel", "rest": "irrel"}
    model = load("predictions:" + ",".join(f"{condition}={tmp_path}/{name}.json" for condition, name in paths.items()))

    for condition, name in paths.items():
        shown = fill(asked, tiny).with_columns(condition=pl.lit(condition))
        assert set(model.answer(shown, tiny.images)["answer"]) == {name}


def log(folder: Path, status: str = "success") -> Path:
    scores = {"match": {"value": "C", "answer": "a"}, "judge": {"value": "C", "answer": "b"}}
    samples = [{"id": f"0{n}", "epoch": epoch, "output": {}, "scores": scores} for n in range(8) for epoch in (1, 2)]
    path = folder / "log.json"
    path.write_text(json.dumps({"version": 2, "status": status, "eval": {}, "samples": samples}))
    return path


def test_a_log_is_a_model_with_its_settings(tiny: Dataset, asked: pl.DataFrame, tmp_path: Path) -> None:
    path = log(tmp_path, "cancelled")
    model = load(f"predictions:{path},format=inspect,scorer=judge,unfinished=yes")

    assert set(model.answer(fill(asked, tiny), tiny.images)["answer"]) == {"b"}
    with pytest.raises(FileFormatError, match="unfinished=yes"):
        load(f"predictions:{path}").answer(fill(asked, tiny), tiny.images)


def test_draws_of_a_log_reach_the_answers_table(tiny: Dataset, asked: pl.DataFrame, tmp_path: Path) -> None:
    model = load(f"predictions:{log(tmp_path)}")
    (answers,) = ask(AnswerStep(model, tiny.images), asked, tiny, Local(), batch=100)

    assert Predictions("log", answers).answers["draw"].to_list() == [0, 1] * 8
    assert model.stock(asked.head(3)).filter(status="extra")["n"].to_list() == [5]


def test_a_setting_out_of_form_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="unfinished as yes or no"):
        load(f"predictions:{log(tmp_path)},unfinished=perhaps")
