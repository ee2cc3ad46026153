"""A run of HELM itself is read, as answers and as data, before and after it was summarized."""

from collections.abc import Callable
from pathlib import Path

from eyechart.formats import read
from eyechart.formats.predictions import read_predictions
from harness.conftest import needs

PYTHON = "EYECHART_HELM"
pytestmark = needs(PYTHON)
RUN = "from helm.benchmark.run import main; main()"
SUMMARIZE = "from helm.benchmark.presentation.summarize import main; main()"


def test_a_run_is_read_and_its_questions_are(harness: Callable[..., str], tmp_path: Path) -> None:
    asked = ("--run-entries", "simple_mcqa:model=simple/model1", "--max-eval-instances", 10, "--disable-cache")
    harness(PYTHON, tmp_path, "-c", RUN, *asked, "--suite", "s")
    before = read_predictions(tmp_path / "benchmark_output")
    harness(PYTHON, tmp_path, "-c", SUMMARIZE, "--suite", "s")
    after = read_predictions(tmp_path / "benchmark_output")
    (shown,) = (tmp_path / "benchmark_output").rglob("display_predictions.json")
    data = read("helm", tmp_path / "benchmark_output")

    assert before.answers.height == 10
    assert before.answers.equals(after.answers)
    assert set(before.answers["options"].list.join(", ")) == {"Even, Odd"}
    columns = ("id", "raw", "status")
    assert read_predictions(shown).answers.select(columns).equals(after.answers.select(columns))
    assert set(data.examples["id"]) == set(after.answers["id"])
    for question, choices, answer in data.examples.select("question", "choices", "answer").iter_rows():
        assert choices == ["Even", "Odd"]
        assert answer == choices[int(question.split()[1]) % 2]
