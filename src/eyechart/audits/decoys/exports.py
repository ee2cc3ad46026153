"""Write repaired options in the forms of other tools: qaVG, VQA, VLMEvalKit, lmms-eval and Inspect.

qaVG         `VG_<split>_decoys.json`: lists of questions with their QoU and IoU decoys
VQA          multiple choice: a file of questions with their options and a file of annotations for each split
VLMEvalKit   a TSV with `index`, `image_path`, `question`, options `A`, `B`, ... and `answer`
lmms-eval    a task, which scores the letter of the option
Inspect      samples as JSON lines with `id`, `input`, `choices`, `target` (a letter) and `metadata`, and a task

In a sample of Inspect, the input is a message with the picture and the question if the picture's file is known, else
the question alone; `question` and `image`, which Inspect ignores, allow the file to be read again as a table.
"""

import json
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import polars as pl

from eyechart.audits.decoys.repaired import Repaired, export_with
from eyechart.audits.decoys.settings import IOU, QOU
from eyechart.base.files import replacing
from eyechart.data.store import Store
from eyechart.formats.inspect_ai import message_parts
from eyechart.formats.lmms_eval import FUNCTIONS, LmmsEvalTask, write_functions, write_task
from eyechart.formats.vlmeval import our_ids, picture_cell, text_cell, write_table

TYPES = ("how", "what", "why", "who", "where", "when")  # of qaVG
TASK = "task.py"  # of Inspect
_NUMBER = r"^(0|[1-9][0-9]{0,17})$"  # what comes back the same from a number
_LMMS_FUNCTIONS = '''\
"""What the task needs: the question with lettered options, and whether the letter is right."""

import re
from string import ascii_uppercase


def doc_to_text(doc, lmms_eval_specific_kwargs=None):
    """Ask for the letter of the right option."""
    options = "\\n".join(f"{letter}. {text}" for letter, text in zip(ascii_uppercase, doc["options"]))
    return f"{doc['question']}\\n{options}\\nAnswer with the option's letter from the given choices directly."


def process_results(doc, results):
    """Compare the first letter of an option that stands alone."""
    letters = ascii_uppercase[: len(doc["options"])]
    found = re.search(rf"\\b([{letters}])\\b", results[0])
    return {"accuracy": {"question_id": doc["id"], "score": float(bool(found) and found[1] == doc["answer"])}}
'''
_INSPECT_TASK = '''\
"""Repaired options as a task of Inspect, which scores the letter that is said: inspect eval task.py --model MODEL."""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice


@task
def repaired_{name}():
    """Ask for the letter of the right option."""
    dataset = json_dataset(str(Path(__file__).parent / "{file}"))
    return Task(dataset=dataset, solver=multiple_choice(), scorer=choice())
'''


def export_qavg(store: Store, folder: Path) -> dict[str, int]:
    """Write a file for each split, from the study of audit `decoys` in a run."""
    return export_with(write_qavg, store, folder)


def write_qavg(repaired: Repaired, folder: Path) -> dict[str, int]:
    """Write the lists of decoys, and count the questions of each file."""
    written = {}
    for split, examples in _by_split(repaired.examples).items():
        name = f"VG_{split}_decoys.json"
        with replacing(folder / name) as draft:
            draft.write_text(json.dumps(_qavg_entries(examples), ensure_ascii=False), encoding="utf-8")
        written[name] = examples.height
    return written


def _qavg_entries(examples: pl.DataFrame) -> list[dict[str, object]]:
    first = pl.col("question").str.to_lowercase().str.extract(r"^\W*(\w+)")
    kind = pl.when(first.is_in(TYPES)).then(first).otherwise(pl.lit("other"))
    return examples.select(
        pl.col(QOU).fill_null([]).alias("QoU_decoys"),
        pl.col(IOU).fill_null([]).alias("IoU_decoys"),
        pl.col("image").alias("Img_id"),
        pl.col("id").alias("QA_id"),
        "question",
        "answer",
        kind.alias("Type"),
    ).to_dicts()


def export_vqa(store: Store, folder: Path) -> dict[str, int]:
    """Write questions and annotations of each split, from the study of audit `decoys` in a run."""
    return export_with(write_vqa, store, folder)


def write_vqa(repaired: Repaired, folder: Path) -> dict[str, int]:
    """Write the files, and count the questions of each."""
    written = {}
    for split, examples in _by_split(_numeric_ids(repaired.examples)).items():
        header = {"info": {"description": f"{repaired.name}, options {repaired.options}"}, "data_subtype": split}
        files = {
            f"MultipleChoice_{split}_questions.json": header
            | {"task_type": "Multiple-Choice", "questions": _vqa_questions(examples)},
            f"{split}_annotations.json": header | {"annotations": _vqa_annotations(examples)},
        }
        for name, content in files.items():
            with replacing(folder / name) as draft:
                draft.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
            written[name] = examples.height
    return written


def _by_split(examples: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Divide the examples by split; those without one are `all`."""
    labelled = examples.with_columns(pl.col("split").fill_null("all").alias("split"))
    return {str(part["split"][0]): part for part in labelled.partition_by("split", maintain_order=True)}


def _numeric_ids(examples: pl.DataFrame) -> pl.DataFrame:
    """Write ids as numbers if all of them are numbers, as the official files do."""
    names = [name for name in ("id", "image") if examples[name].str.contains(_NUMBER).fill_null(value=False).all()]
    return examples.with_columns(pl.col(names).cast(pl.Int64))


def _vqa_questions(examples: pl.DataFrame) -> list[dict[str, object]]:
    return examples.select(
        question_id="id", image_id="image", question="question", multiple_choices="choices"
    ).to_dicts()


def _vqa_annotations(examples: pl.DataFrame) -> list[dict[str, object]]:
    human = pl.coalesce(pl.when(pl.col("answers").list.len() > 0).then("answers"), pl.concat_list("answer"))
    answers = human.list.eval(
        pl.struct(answer=pl.element(), answer_confidence=pl.lit("yes"), answer_id=pl.int_range(1, pl.len() + 1))
    )
    return examples.select(
        pl.col("id").alias("question_id"),
        pl.col("image").alias("image_id"),
        "question_type",
        "answer_type",
        pl.col("answer").alias("multiple_choice_answer"),
        answers.alias("answers"),
    ).to_dicts()


def export_vlmeval(store: Store, folder: Path) -> dict[str, int]:
    """Write one table of all splits, from the study of audit `decoys` in a run."""
    return export_with(write_vlmeval, store, folder)


def write_vlmeval(repaired: Repaired, folder: Path) -> dict[str, int]:
    """Write the table, and count its rows."""
    examples = repaired.examples
    most = int(examples["choices"].list.len().max() or 0)  # type: ignore[arg-type]  # a whole number
    options = (pl.col("choices").list.get(i, null_on_oob=True) for i in range(most))
    table = examples.select(
        pl.col("id").alias("index"),
        picture_cell(pl.when(pl.col("pictures").list.len() > 0).then("pictures").otherwise(_image_name())),
        text_cell(pl.col("question")),
        *(text_cell(option).alias(letter) for letter, option in zip(ascii_uppercase, options, strict=False)),
        repaired.letters().alias("answer"),
        pl.col("question_type").alias("category"),
        "split",
        our_ids(),
    )
    name = write_table(table, folder / f"{repaired.file_stem}.tsv")
    return {name: table.height}


def export_lmms_eval(store: Store, folder: Path) -> dict[str, int]:
    """Write the task of all splits, from the study of audit `decoys` in a run."""
    return export_with(write_lmms_eval, store, folder)


def write_lmms_eval(repaired: Repaired, folder: Path) -> dict[str, int]:
    """Write the three files, and count the rows of the table."""
    examples = repaired.examples
    stem = repaired.file_stem
    table = examples.select(
        "id",
        "image",
        "pictures",
        "question",
        pl.col("choices").alias("options"),
        repaired.letters().alias("answer"),
        "question_type",
        "split",
    )
    metadata = {"version": 1.0, "seed": repaired.study.settings["seed"], "options": repaired.options}
    name = write_task(LmmsEvalTask(stem, table, "accuracy", "answer", metadata), folder)
    write_functions(_LMMS_FUNCTIONS, folder)
    return {name: table.height, f"{stem}.yaml": 1, FUNCTIONS: 1}


def export_inspect(store: Store, folder: Path) -> dict[str, int]:
    """Write the samples of all splits, from the study of audit `decoys` in a run."""
    return export_with(write_inspect, store, folder)


def write_inspect(repaired: Repaired, folder: Path) -> dict[str, int]:
    """Write the samples, and count them."""
    examples = repaired.examples
    table = examples.select(
        "id",
        "image",
        "question",
        "pictures",
        "choices",
        repaired.letters().alias("target"),
        pl.struct("answer", "split", "question_type").alias("metadata"),
    )
    name = f"{repaired.file_stem}.jsonl"
    with replacing(folder / name) as draft:
        lines = (json.dumps(_inspect_sample(row), ensure_ascii=False) for row in table.iter_rows(named=True))
        draft.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    with replacing(folder / TASK) as draft:
        draft.write_text(_INSPECT_TASK.format(name=repaired.file_stem, file=name), encoding="utf-8")
    return {name: table.height, TASK: 1}


def _inspect_sample(row: dict[str, Any]) -> dict[str, Any]:
    question, paths = row["question"], row.pop("pictures") or ()
    prompt = [{"role": "user", "content": message_parts(question, paths)}] if paths else question
    return {"input": prompt, **row}


def _image_name() -> pl.Expr:
    return pl.when(pl.col("image").is_not_null()).then(pl.concat_list("image"))
