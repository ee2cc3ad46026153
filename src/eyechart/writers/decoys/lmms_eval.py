"""Write a task of lmms-eval: a Parquet file, the YAML that describes the task, and the functions it names."""

from pathlib import Path

import polars as pl

from eyechart.files import replacing
from eyechart.layout import Layout
from eyechart.writers.decoys.repaired import Repaired, export_with, file_stem, letters

_YAML = """\
task: {task}
dataset_path: parquet
dataset_kwargs:
  data_files:
    test: {file}
test_split: test
output_type: generate_until
doc_to_visual: !function utils.doc_to_visual
doc_to_text: !function utils.doc_to_text
doc_to_target: answer
generation_kwargs:
  max_new_tokens: 16
  do_sample: false
process_results: !function utils.process_results
metric_list:
  - metric: accuracy
    aggregation: mean
    higher_is_better: true
metadata:
  version: 1.0
  seed: {seed}
  options: {options}
"""
_FUNCTIONS = '''\
"""What the task needs: the picture, the question with lettered options, and whether the letter is right."""

import re
from string import ascii_uppercase


def doc_to_visual(doc):
    """Open the picture; set the folder of the pictures as root where paths are relative."""
    from PIL import Image

    return [Image.open(doc["image_path"]).convert("RGB")] if doc["image_path"] else []


def doc_to_text(doc, lmms_eval_specific_kwargs=None):
    """Ask for the letter of the right option."""
    options = "\\n".join(f"{letter}. {text}" for letter, text in zip(ascii_uppercase, doc["options"]))
    return f"{doc['question']}\\n{options}\\nAnswer with the option's letter from the given choices directly."


def process_results(doc, results):
    """Compare the first letter that stands alone."""
    found = re.search(r"\\b([A-Z])\\b", results[0].strip().upper())
    return {"accuracy": float(bool(found) and found[1] == doc["answer"])}
'''


def export_lmms_eval(run: Layout, folder: Path) -> dict[str, int]:
    """Write the task of all splits, from the study of audit `decoys` in a run."""
    return export_with(write_lmms_eval, run, folder)


def write_lmms_eval(repaired: Repaired, folder: Path) -> dict[str, int]:
    """Write the three files, and count the rows of the table."""
    examples = repaired.examples
    stem = file_stem(repaired)
    table = examples.select(
        "id",
        "image",
        pl.col("path").alias("image_path"),
        "question",
        pl.col("choices").alias("options"),
        letters(examples).alias("answer"),
        "question_type",
        "split",
    )
    with replacing(folder / f"{stem}.parquet") as draft:
        table.write_parquet(draft)
    described = _YAML.format(
        task=stem, file=f"{stem}.parquet", seed=repaired.study.settings["seed"], options=repaired.options
    )
    for name, text in ((f"{stem}.yaml", described), ("utils.py", _FUNCTIONS)):
        with replacing(folder / name) as draft:
            draft.write_text(text, encoding="utf-8")
    return {f"{stem}.parquet": table.height, f"{stem}.yaml": 1, "utils.py": 1}
