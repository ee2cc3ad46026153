"""Write the questions of a run as tasks of lmms-eval, one for each condition."""

from pathlib import Path

import polars as pl

from eyechart.readers.logs.lmms_eval import OUR_FIELD
from eyechart.store import Store
from eyechart.writers.asked.questions import Asked, Guide, export_asked
from eyechart.writers.lmms_task import FUNCTIONS, RUN, Task, write_functions, write_task

GUIDE = Guide("lmms-eval", lambda asked: RUN.format(tasks=",".join(_task_name(one) for one in asked)), "logs")
_FUNCTIONS = f'''\
"""What the tasks need; the only figure is how many questions were answered, since eyechart judges."""


def doc_to_text(doc, lmms_eval_specific_kwargs=None):
    return doc["prompt"]


def process_results(doc, results):
    """Say who was asked, and whether there is an answer."""
    said = float(bool(results[0].strip()))
    return {{"answered": {{"question_id": doc["id"], "{OUR_FIELD}": doc["condition"], "score": said}}}}
'''


def export_lmms_eval(store: Store, folder: Path) -> dict[str, int]:
    """Write what a run asks, a task for each condition, for lmms-eval to ask."""
    written = export_asked(store, folder, write_lmms_eval, GUIDE)
    write_functions(_FUNCTIONS, folder)
    return written | {FUNCTIONS: 1}


def write_lmms_eval(asked: Asked, folder: Path) -> str:
    """Write the table and the description of one condition."""
    table = asked.table.with_columns(condition=pl.lit(asked.condition))
    return write_task(Task(_task_name(asked), table, "answered"), folder)


def _task_name(asked: Asked) -> str:
    return f"eyechart_{asked.name}"
