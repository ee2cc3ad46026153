"""Inspect itself asks what a run exports, pictures included, and its logs come back as answers to the run."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl

from eyechart.audits.accuracy import Accuracy
from eyechart.base.files import write_table
from eyechart.data.dataset import Dataset
from eyechart.data.probes import Prober
from eyechart.data.store import Store
from eyechart.formats import read
from eyechart.formats.exports import EXPORTS, plain_name
from eyechart.models import load
from eyechart.runs.run import NamedSplits, Run
from harness.conftest import needs

PYTHON = "EYECHART_INSPECT"
pytestmark = needs(PYTHON)

CONDITIONS = ("image=none", "plain")
# The mock model answers with what it was shown: how many pictures, and the length of the text. Each output carries its
# usage, or the tool would download a tokenizer to count its tokens.
SCRIPT = """
import json, sys
from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model

def look(messages, tools, choice, config):
    parts = messages[-1].content
    pictures = [part.image for part in parts if part.type == "image"]
    assert all(url.startswith("data:image/png;base64,iVBOR") for url in pictures), "the tool has opened the files"
    text = "".join(part.text for part in parts if part.type == "text")
    output = ModelOutput.from_content("mockllm/model", f"{len(pictures)} and {len(text)}")
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output

model = get_model("mockllm/model", custom_outputs=look)
for log in eval("tasks.py", model=model, log_dir="logs", display="none"):
    assert log.status == "success", log.error
    print(json.dumps([log.eval.task, log.location]))
"""


def make_run(folder: Path) -> Run:
    """Make a run with two conditions on drawn pictures."""
    data = read("world", folder / "pictures", images=6, seed=2, render=True)
    ids = data.examples.select("id").head(10)
    quiz = Dataset("quiz", data.examples.join(ids, on="id"), data.images)
    run = Run(Store(folder / "run")).start(quiz, parts=NamedSplits(learn=["none"], judge=["none"]))
    run.study([Accuracy()])
    run.probe()
    removed = Prober(run.store.data).complete(ids.with_columns(removal=pl.lit("image=none")), "image=none")
    write_table(removed, run.store.probe_file("image=none"))
    return run


def test_inspect_asks_what_is_exported(harness: Callable[..., str], tmp_path: Path) -> None:
    run = make_run(tmp_path)
    out = tmp_path / "out"
    EXPORTS.get("inspect")(run.store, out)
    (out / "ask.py").write_text(SCRIPT)
    printed = harness(PYTHON, out, "ask.py")
    logs = dict(json.loads(line) for line in printed.splitlines() if line.startswith('["'))
    spec = ",".join(f"{one}={out / logs[f'ask_{plain_name(one)}'].removeprefix('file://')}" for one in CONDITIONS)
    model = load(f"predictions:{spec}")
    run.predict(model)
    answers = run.store.answers(model.name).answers

    assert answers.height == 20
    for condition, pictures in zip(CONDITIONS, "01", strict=True):
        lines = map(json.loads, (out / f"ask_{plain_name(condition)}.jsonl").read_text().splitlines())
        expected = {one["id"]: f"{pictures} and {len(one['input'][0]['content'][-1]['text'])}" for one in lines}
        said = answers.filter(pl.col("condition") == condition)
        assert dict(said.select("id", "answer").rows()) == expected
