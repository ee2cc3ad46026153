"""Logs that inspect_ai itself wrote are read: both formats, and archives whose samples it has cut into chunks."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

from eyechart.formats.predictions import read_predictions
from harness.conftest import needs

PYTHON = "EYECHART_INSPECT"
pytestmark = needs(PYTHON)

# Each output carries its usage, or the tool would download a tokenizer to count its tokens.
SCRIPT = """
import json
from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes, match
from inspect_ai.solver import generate

def say(text):
    output = ModelOutput.from_content("mockllm/model", text)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output

samples = [Sample(id=7, input="2 + 2?", target="4"), Sample(id="009", input="sky?", target="blue")]
samples.append(Sample(id="a/b c", input="grass?", target="green"))
for form in ("eval", "json"):
    task = Task(dataset=samples, solver=generate(), scorer=[match(), includes()], epochs=2)
    outputs = [say(text) for text in ("4", "It is blue", "green", "5", "red", "It is green")]
    model = get_model("mockllm/model", custom_outputs=outputs)
    log = eval(task, model=model, log_dir=form, log_format=form, display="none", max_samples=1, max_connections=1)[0]
    assert log.status == "success", log.error

try:
    from inspect_ai.log._recorders.chunked import convert_eval_logs_to_chunked
except ImportError:
    pass
else:
    convert_eval_logs_to_chunked("eval", "chunked")

told = {}
for form in ("eval", "json"):
    log = read_eval_log(list_eval_logs(form)[0])
    told[form] = [[str(s.id), s.epoch - 1, s.scores["match"].answer, s.output.completion] for s in log.samples]
Path("told.json").write_text(json.dumps(told))
"""


def test_logs_of_the_tool_itself_are_read(harness: Callable[..., str], tmp_path: Path) -> None:
    """Three samples in two epochs give the answers that the tool's own reader tells of them."""
    (tmp_path / "make.py").write_text(SCRIPT)
    harness(PYTHON, tmp_path, "make.py")
    told = {form: sorted(map(tuple, rows)) for form, rows in json.loads((tmp_path / "told.json").read_text()).items()}
    if (tmp_path / "chunked").exists():
        told["chunked"] = told["eval"]
        (archive,) = (tmp_path / "chunked").iterdir()
        assert any(name.endswith("/sample.json") for name in zipfile.ZipFile(archive).namelist())

    for form, rows in told.items():
        answers, counts = read_predictions(tmp_path / form)

        assert len(rows) == 6
        assert answers.select("id", "draw", "answer", "raw").sort("id", "draw").rows() == rows
        assert set(answers["status"]) == {"ok"}
        assert counts.filter(status="read")["n"].to_list() == [6]
