"""Three real models' prediction files land on figures computed elsewhere, from the command line to the report."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.formats import read

FILES = ("gpt2", "vqa_baseline", "vggpt2")
COUNT3 = {"pred_gpt2": 0.1059, "pred_vqa_baseline": 0.4667, "pred_vggpt2": 0.3561}


Eyechart = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def data(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Read the examples as `eyechart read table` does."""
    folder = tmp_path_factory.mktemp("real") / "data"
    read("table", real_data / "vqa2" / "vqa2_89710_with_objects.parquet").save(folder)
    return folder


def judge(eyechart: Eyechart, data: Path, real_data: Path, score: str) -> dict[str, float]:
    """Judge the three files as they are, as official scorers do, and read the accuracies off the JSON summary."""
    models = [f"-mpredictions:{real_data}/vqa2/predictions/pred_{name}.json.gz,extract=no" for name in FILES]
    options = ("-a", "accuracy", "--score", score, "-o", data.parent / score, "--allow-partial", "--json")
    code, out, err = eyechart("audit", data, *models, *options)
    assert code == 0, err
    sections = [section for section in json.loads(out)["sections"] if section["role"] == "result"]
    found = {
        section["subject"]: next(row for row in section["measures"] if row["name"] == "accuracy")
        for section in sections
    }
    assert {row["n"] for row in found.values()} == {5002}
    return {name: row["value"] for name, row in found.items()}


def test_count3_on_raw_strings_gives_the_known_accuracies(eyechart: Eyechart, data: Path, real_data: Path) -> None:
    found = judge(eyechart, data, real_data, "count3")

    assert {name: round(value, 4) for name, value in found.items()} == COUNT3


def test_the_official_form_gives_its_own_lower_figures(eyechart: Eyechart, data: Path, real_data: Path) -> None:
    official = judge(eyechart, data, real_data, "vqa")

    assert official.keys() == COUNT3.keys()
    assert all(official[name] < raw - 0.0001 for name, raw in COUNT3.items())


def test_files_that_cover_too_little_are_refused_in_one_line(eyechart: Eyechart, data: Path, real_data: Path) -> None:
    model = f"predictions:{real_data}/vqa2/predictions/pred_gpt2.json.gz"
    code, _, err = eyechart("audit", data, "-a", "accuracy", "-m", model, "-o", data.parent / "refused")

    assert code == 1
    assert err.count("\n") == 1
    assert "found 5002 (5.6%)" in err


def test_a_real_workbook_of_vlmevalkit_is_data_and_predictions_in_one(
    eyechart: Eyechart, real_data: Path, tmp_path: Path
) -> None:
    workbook = real_data / "samples" / "llava_next_yi_34b_MMStar.xlsx"
    words = ("read", "table", workbook, "-o", tmp_path / "data", "--json")
    code, _, doubt = eyechart(*words)
    assert code == 1
    assert "answer and prediction, of which one may be a model's" in doubt
    _, told, _ = eyechart(*words, "--map", "answer=answer")
    options = ("-a", "accuracy", "-m", f"predictions:{workbook}", "-o", tmp_path / "run", "--json")
    _, audited, _ = eyechart("audit", tmp_path / "data", *options)

    assert json.loads(told)["examples"] == 1_500
    (section,) = (one for one in json.loads(audited)["sections"] if one["role"] == "result")
    assert section["headline"]["n"] == 1_500
    assert section["counts"] == [{"condition": "plain", "status": "ok", "reason": None, "n": 1_500}]
