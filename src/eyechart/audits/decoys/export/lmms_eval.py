"""Write repaired data as a task of lmms-eval, which scores the letter that is said."""

from pathlib import Path

import polars as pl

from eyechart.audits.decoys.export.repaired import Repaired, export_with, file_stem, letters
from eyechart.store import Store
from eyechart.writers.lmms_task import FUNCTIONS, Task, write_functions, write_task

_FUNCTIONS = '''\
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


def export_lmms_eval(store: Store, folder: Path) -> dict[str, int]:
    """Write the task of all splits, from the study of audit `decoys` in a run."""
    return export_with(write_lmms_eval, store, folder)


def write_lmms_eval(repaired: Repaired, folder: Path) -> dict[str, int]:
    """Write the three files, and count the rows of the table."""
    examples = repaired.examples
    stem = file_stem(repaired)
    table = examples.select(
        "id",
        "image",
        pl.col("path").alias("picture"),
        "question",
        pl.col("choices").alias("options"),
        letters(examples).alias("answer"),
        "question_type",
        "split",
    )
    told = {"version": 1.0, "seed": repaired.study.settings["seed"], "options": repaired.options}
    name = write_task(Task(stem, table, "accuracy", "answer", told), folder)
    write_functions(_FUNCTIONS, folder)
    return {name: table.height, f"{stem}.yaml": 1, FUNCTIONS: 1}
