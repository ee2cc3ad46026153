"""Write the multiple-choice form of VQA: a file of questions with their options and a file of annotations a split."""

import json
from pathlib import Path

import polars as pl

from eyechart.audits.decoys.export.repaired import Repaired, by_split, export_with
from eyechart.files import replacing
from eyechart.store import Store

_NUMBER = r"^(0|[1-9][0-9]{0,17})$"  # what comes back the same from a number


def export_vqa(store: Store, folder: Path) -> dict[str, int]:
    """Write questions and annotations of each split, from the study of audit `decoys` in a run."""
    return export_with(write_vqa, store, folder)


def write_vqa(repaired: Repaired, folder: Path) -> dict[str, int]:
    """Write the files, and count the questions of each."""
    written = {}
    for split, examples in by_split(_keyed(repaired.examples)).items():
        about = {"info": {"description": f"{repaired.name}, options {repaired.options}"}, "data_subtype": split}
        files = {
            f"MultipleChoice_{split}_questions.json": about
            | {"task_type": "Multiple-Choice", "questions": _ask(examples)},
            f"{split}_annotations.json": about | {"annotations": _annotate(examples)},
        }
        for name, content in files.items():
            with replacing(folder / name) as draft:
                draft.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
            written[name] = examples.height
    return written


def _keyed(examples: pl.DataFrame) -> pl.DataFrame:
    """Write ids as numbers where all are, as the official files have them."""
    names = [name for name in ("id", "image") if examples[name].str.contains(_NUMBER).fill_null(value=False).all()]
    return examples.with_columns(pl.col(names).cast(pl.Int64))


def _ask(examples: pl.DataFrame) -> list[dict[str, object]]:
    return examples.select(
        question_id="id", image_id="image", question="question", multiple_choices="choices"
    ).to_dicts()


def _annotate(examples: pl.DataFrame) -> list[dict[str, object]]:
    given = pl.coalesce(pl.when(pl.col("answers").list.len() > 0).then("answers"), pl.concat_list("answer"))
    said = given.list.eval(
        pl.struct(answer=pl.element(), answer_confidence=pl.lit("yes"), answer_id=pl.int_range(1, pl.len() + 1))
    )
    return examples.select(
        pl.col("id").alias("question_id"),
        pl.col("image").alias("image_id"),
        "question_type",
        "answer_type",
        pl.col("answer").alias("multiple_choice_answer"),
        said.alias("answers"),
    ).to_dicts()
