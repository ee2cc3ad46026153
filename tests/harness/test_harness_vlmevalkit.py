"""VLMEvalKit itself reads our tables, asks about them, and scores repaired options as eyechart judges them."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from eyechart.data.dataset import Dataset
from eyechart.data.store import Store
from eyechart.formats import read
from eyechart.formats.exports import EXPORTS
from eyechart.models import load
from eyechart.runs.run import Run
from harness.conftest import CONDITIONS, needs

PYTHON = "EYECHART_VLMEVALKIT"
pytestmark = needs(PYTHON)
SCRIPT = Path(__file__).with_name("vlmevalkit_asks.py")


def told(text: str) -> list[dict[str, object]]:
    return [json.loads(line.removeprefix("TOLD ")) for line in text.splitlines() if line.startswith("TOLD ")]


def test_every_condition_is_asked_and_comes_back_by_id(harness: Callable[..., str], run: Store, tmp_path: Path) -> None:
    """Ids keep their zeros, pictures are opened, and the blind condition shows none."""
    out = tmp_path / "out"
    EXPORTS.get("vlmeval")(run, out)
    names = [file.stem for file in sorted(out.glob("*.tsv"))]
    found = told(harness(PYTHON, tmp_path, SCRIPT, tmp_path / "logs", *names, LMUData=str(out)))
    model = load(f"predictions:{tmp_path / 'logs'},extract=yes")
    Run(run).predict(model)
    answers = run.answers(model.name).answers

    assert found == [{"class": "CustomVQADataset", "rows": 6}] * len(CONDITIONS)
    assert sorted(answers.group_by("condition").len().rows()) == [(one, 6) for one in CONDITIONS]
    lengths = {}
    for name in names:
        table = pl.read_csv(out / f"{name}.tsv", separator="\t")
        lengths |= {
            (row["eyechart_condition"], row["eyechart"].removeprefix("id:")): len(row["question"])
            for row in table.to_dicts()
        }
    pictures = {"image=blank": 1, "image=none": 0, "plain": 1}
    assert {(row["condition"], row["id"]): row["raw"] for row in answers.to_dicts()} == {
        key: f"B\n{pictures[key[0]]} {length}" for key, length in lengths.items()
    }


def test_repaired_options_are_scored_as_we_judge_them(
    harness: Callable[..., str],
    export_repaired: Callable[[str, Path], None],
    judged: Callable[[Dataset, Path], float],
    tmp_path: Path,
) -> None:
    """The model says B to everything; the tool scores each split."""
    out = tmp_path / "out"
    export_repaired("decoys-vlmeval", out)
    [table] = out.glob("*.tsv")
    [found] = told(harness(PYTHON, tmp_path, SCRIPT, tmp_path / "logs", table.stem, LMUData=str(out)))
    rows = pl.read_csv(table, separator="\t", infer_schema=False)

    assert (found["class"], found["rows"]) == ("CustomMCQDataset", rows.height)
    right = rows.group_by("split").agg(n=pl.len(), share=(pl.col("answer") == "B").mean())
    assert found["accuracy"] == pytest.approx(dict(right.select("split", "share").rows()))
    ours = judged(read("vlmeval", table), tmp_path / "logs" / f"tiny_{table.stem}.xlsx")
    assert ours == pytest.approx((rows["answer"] == "B").mean())
