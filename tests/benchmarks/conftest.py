"""The scripts, where they may write, and stand-ins for the real data that some of them read."""

import gzip
import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from eyechart.data.dataset import Dataset
from eyechart.formats import read

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SOURCES = {"train": "nlp1_train", "val": "vqa_vs_val", "test": "vqa_vs_val"}
FEELINGS = ("He is happy", "She is sad", "They are angry at him", "He is calm and kind")


@pytest.fixture(scope="session")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the scripts without their results, and what they read: `scale.py` and `zoo.py` write beside themselves."""
    place = tmp_path_factory.mktemp("project")
    (place / "docs").mkdir()
    shutil.copy(BENCHMARKS.parent / "docs" / "truth.md", place / "docs")
    results = shutil.ignore_patterns("__pycache__", "*.json")
    return Path(shutil.copytree(BENCHMARKS, place / "benchmarks", ignore=results))


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a planted world in the forms of other data, and a few questions in that of Social-IQ."""
    place, world = tmp_path_factory.mktemp("data"), read("world", seed=1, images=24)
    for name in ("vqa2", "aokvqa", "socialiq2", "videomme", "mmmu_pro"):
        (place / name).mkdir()
    _write_vqa2(world, place / "vqa2")
    _write_aokvqa(world, place / "aokvqa")
    _write_socialiq(place / "socialiq2")
    _write_options(world, place)
    return place


def _write_vqa2(world: Dataset, folder: Path) -> None:
    labels = pl.col("objects").list.eval(pl.element().struct.field("label"))
    seen = world.images.table.select("image", labels)
    whole = world.examples.join(seen, on="image", validate="m:1", maintain_order="left")
    kept = ("question", "question_type", "answer", "answers", "objects")
    source = pl.col("split").replace_strict(SOURCES)
    table = whole.select(*kept, question_id="id", image_id="image", source=source, answer_type=pl.lit("other"))
    table.write_parquet(folder / "vqa2_89710_with_objects.parquet")
    _pack(dict(seen.iter_rows()), folder / "coco2014_objects.json.gz")
    (folder / "predictions").mkdir()
    said = {row["id"]: row["answer"].split() for row in world.examples.iter_rows(named=True)}
    for model in ("gpt2", "vqa_baseline", "vggpt2"):
        _pack(said, folder / "predictions" / f"pred_{model}.json.gz")


def _write_aokvqa(world: Dataset, folder: Path) -> None:
    asked = [
        {
            "question_id": row["id"],
            "image_id": row["image"],
            "question": row["question"],
            "choices": row["choices"],
            "correct_choice_idx": row["choices"].index(row["answer"]),
            "direct_answers": row["answers"],
            "split": "val",
        }
        for row in world.examples.iter_rows(named=True)
    ]
    _pack(asked, folder / "aokvqa_v1p0_val.json.gz")


def _write_options(world: Dataset, place: Path) -> None:
    """Write the examples with four options as Video-MME and as MMMU-Pro do."""
    four = world.examples.filter(pl.col("choices").list.len() == 4)
    asked = [row | {"letter": "ABCD"[row["choices"].index(row["answer"])]} for row in four.iter_rows(named=True)]
    listed = [[f"{letter}. {text}" for letter, text in zip("ABCD", row["choices"], strict=True)] for row in asked]
    table = four.select("question", question_id="id", videoID="image", options=pl.Series(listed))
    answers = pl.Series("answer", [row["letter"] for row in asked])
    table.with_columns(answers).write_parquet(place / "videomme" / "test-00000-of-00001.parquet")
    said = {"response": "B", "pred_indexs": "A"}  # a parser that errs
    lines = (
        json.dumps(
            {"id": row["id"], "question": row["question"], "options": str(row["choices"]), "answer": row["letter"]}
            | said
        )
        for row in asked
    )
    packed = gzip.compress("\n".join(lines).encode())
    (place / "mmmu_pro" / "gpt-4o_standard10_options_direct.jsonl.gz").write_bytes(packed)


def _write_socialiq(folder: Path) -> None:
    for split in ("train", "val"):
        lines = [json.dumps(_question(split, at)) for at in range(24)]
        (folder / f"qa_{split}.json").write_text("\n".join(lines), encoding="utf-8")


def _question(split: str, at: int) -> dict[str, object]:
    asked = ("How does he feel?", "Why does she laugh?")[at % 2]
    told = {"qid": f"{split}{at}", "vid_name": f"{split}{at // 3}", "q": asked, "ts": ""}
    options = {f"a{place}": feeling for place, feeling in enumerate(FEELINGS)}
    return {**told, **options, "answer_idx": at % 4, "idx_types": ["corr", "matched", "rewrite", "matched"]}


def _pack(content: object, file: Path) -> None:
    file.write_bytes(gzip.compress(json.dumps(content).encode()))
