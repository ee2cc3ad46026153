"""Write the questions of a run as tasks of lmms-eval: for each condition a Parquet file and the YAML that describes it.

lmms-eval logs the number of a row, not its id; so each metric carries `question_id`, where the reader finds it.
"""

from pathlib import Path

from eyechart.files import replacing
from eyechart.layout import Layout
from eyechart.writers.asked.questions import Asked, Guide, export_asked

FUNCTIONS = "utils.py"
GUIDE = Guide(
    "lmms-eval",
    "python -m lmms_eval --model MODEL --include_path . --tasks eyechart_plain --log_samples --output_path logs",
    "logs/MODEL/DATE_samples_eyechart_{name}.jsonl",
)
_YAML = """\
task: eyechart_{name}
dataset_path: parquet
dataset_kwargs:
  data_files:
    test: {file}
test_split: test
output_type: generate_until
doc_to_visual: !function utils.doc_to_visual
doc_to_text: !function utils.doc_to_text
doc_to_target: ""
generation_kwargs:
  max_new_tokens: 32
  do_sample: false
process_results: !function utils.process_results
metric_list:
  - metric: answered
    aggregation: !function utils.share
    higher_is_better: true
metadata:
  version: 1.0
"""
_FUNCTIONS = '''\
"""What the tasks need; the only figure is how many questions were answered, since eyechart judges."""


def doc_to_visual(doc):
    from PIL import Image

    return [Image.open(doc["picture"]).convert("RGB")] if doc["picture"] else []


def doc_to_text(doc, lmms_eval_specific_kwargs=None):
    return doc["prompt"]


def process_results(doc, results):
    return {"answered": {"question_id": doc["id"], "score": float(bool(results[0].strip()))}}


def share(results):
    return sum(one["score"] for one in results) / max(1, len(results))
'''


def export_lmms_eval(run: Layout, folder: Path) -> dict[str, int]:
    """Write what a run asks, a task for each condition, for lmms-eval to ask."""
    written = export_asked(run, folder, write_lmms_eval, GUIDE)
    with replacing(folder / FUNCTIONS) as draft:
        draft.write_text(_FUNCTIONS, encoding="utf-8")
    return written | {FUNCTIONS: 1}


def write_lmms_eval(asked: Asked, folder: Path) -> str:
    """Write the table and the description of one condition."""
    name = f"eyechart_{asked.name}.parquet"
    with replacing(folder / name) as draft:
        asked.table.write_parquet(draft)
    described = _YAML.format(name=asked.name, file=folder.resolve() / name)
    with replacing(folder / f"eyechart_{asked.name}.yaml") as draft:
        draft.write_text(described, encoding="utf-8")
    return name
