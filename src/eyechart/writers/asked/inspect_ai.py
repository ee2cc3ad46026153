"""Write the questions of a run as samples of Inspect, with a file of tasks, one for each condition."""

import json
from pathlib import Path
from typing import Any

from eyechart.files import replacing
from eyechart.readers.logs.inspect_ai import OUR_FIELD
from eyechart.store import Store
from eyechart.writers.asked.questions import Asked, Guide, export_asked

TASKS = "tasks.py"
GUIDE = Guide(
    "Inspect", lambda _: "inspect eval tasks.py --model MODEL --log-dir logs      # or tasks.py@ask_NAME", "logs"
)
_HEAD = '''\
"""The questions of a run of eyechart, a task for each condition; Inspect asks, eyechart judges."""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.solver import generate

HERE = Path(__file__).parent
'''
_TASK = '''

@task
def {name}():
    """Ask under the condition {condition}."""
    return Task(dataset=json_dataset(str(HERE / "{name}.jsonl")), solver=generate())
'''


def export_inspect(store: Store, folder: Path) -> dict[str, int]:
    """Write what a run asks, samples and a task for each condition, for Inspect to ask."""
    tasks = [_HEAD]

    def write(asked: Asked, folder: Path) -> str:
        tasks.append(_TASK.format(name=f"ask_{asked.name}", condition=json.dumps(asked.condition)))
        return write_inspect(asked, folder)

    written = export_asked(store, folder, write, GUIDE)
    with replacing(folder / TASKS) as draft:
        draft.write_text("".join(tasks), encoding="utf-8")
    return written | {TASKS: len(tasks) - 1}


def write_inspect(asked: Asked, folder: Path) -> str:
    """Write the samples of one condition."""
    name = f"ask_{asked.name}.jsonl"
    with replacing(folder / name) as draft:
        known = {"metadata": {OUR_FIELD: asked.condition}}
        lines = (json.dumps(_sample(row) | known, ensure_ascii=False) for row in asked.table.iter_rows(named=True))
        draft.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return name


def _sample(row: dict[str, Any]) -> dict[str, Any]:
    image = [] if row["picture"] is None else [{"type": "image", "image": row["picture"]}]
    content = [*image, {"type": "text", "text": row["prompt"]}]
    return {"id": row["id"], "input": [{"role": "user", "content": content}], "target": ""}
