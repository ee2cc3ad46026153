"""Benchmarks and results of other people are read whole without a map, or stop with the question that is right."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from eyechart.base.errors import EyechartError, ReadingWarning
from eyechart.data.dataset import Dataset
from eyechart.formats import read
from eyechart.formats.predictions import read_predictions
from eyechart.scoring import auto_score, score

JOINED = "category,subcategory,set_id,figure_id,question_id"
ROWS = {
    "amber/query_all.json.gz": 15_220,
    "aokvqa/aokvqa_v1p0_val.json.gz": 1_145,
    "gqa/ood_testdev_head.json.gz": 1_733,
    "gqa/ood_testdev_tail.json.gz": 1_063,
    "nextqa/mc_test.csv.gz": 8_564,
    "nextqa/mc_val.csv.gz": 4_996,
    "okvqa/lxmert_testdev.json.gz": 5_046,
    "okvqa/lxmert_train.json.gz": 9_009,
    "okvqa/OpenEnded_mscoco_val2014_questions.json.gz": 5_046,
    "pope": 27_000,
    "pope/coco_pope_random.json.gz": 3_000,
    "samples/llava_next_yi_34b_MMStar.xlsx": 1_500,
    "scienceqa/bunny_test_CQM-A.json.gz": 4_241,
    "socialiq2/qa_train.json.gz": 6_159,
    "socialiq2/qa_val.json.gz": 943,
    "textvqa": 5_000,
    "videomme/test-00000-of-00001.parquet": 2_700,
    "vizwiz": 4_319,
    "vsibench/test.jsonl.gz": 5_130,
}


def opened(path: Path) -> Any:  # noqa: ANN401 - any JSON
    with gzip.open(path) as file:
        return json.load(file)


def judged(data: Dataset, answers: pl.DataFrame, how: str | None = None) -> float:
    joined = data.examples.join(answers.select("id", given="answer"), on="id", how="left")
    return 100 * float(score(joined, how or auto_score(data.examples)).mean())  # type: ignore[arg-type]  # a number


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.filterwarnings("ignore::eyechart.base.errors.ReadingWarning")
def test_every_row_is_read_without_a_map(name: str, real_data: Path) -> None:
    data = read(real_data / name)

    assert data.height == ROWS[name]
    if "choices" in data.columns:
        listed = data.examples.filter(pl.col("choices").is_not_null())
        assert not listed["choices"].list.eval(pl.element().str.contains(r"^\(?[A-D][.):]\)? ")).list.all().any()
        known = listed.filter(pl.col("answer").is_not_null())
        assert known.select(pl.col("choices").list.contains(pl.col("answer")).all()).item()


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("mmmu_val/example_outputs/llava1.5_13b/total_val_output.json", 900),
        ("samples/llava_next_yi_34b_MMStar.xlsx", 1_500),
        ("scienceqa/predictions/gpt3_final_test_QCM-ALE_2_seed_3.json.gz", 4_241),
        ("scienceqa/predictions/result_llava.json.gz", 2_017),
    ],
)
def test_every_answer_is_read_without_a_map(name: str, rows: int, real_data: Path) -> None:
    assert read_predictions(real_data / name).answers["id"].n_unique() == rows


def test_options_of_several_lines_are_whole(real_data: Path) -> None:
    data = read(real_data / "scienceqa" / "bunny_test_CQM-A.json.gz").examples

    (ecosystems,) = data.filter(pl.col("id") == "2634")["choices"]
    (greetings,) = data.filter(pl.col("id") == "392")["choices"]

    assert [option.splitlines()[0] for option in ecosystems] == ["This ecosystem has:"] * 2
    assert {option.splitlines()[-1] for option in ecosystems} == {"many different types of organisms"}
    assert greetings.to_list() == ["Dear Pablo,", "dear Pablo,"]


def test_a_response_beside_the_reference_is_told(real_data: Path) -> None:
    with pytest.warns(ReadingWarning, match="of which one may be a model's") as told:
        data = read(real_data / "mmmu_pro" / "gpt-4o_standard10_options_direct.jsonl.gz")

    assert len(told) == 1
    assert data.height == 1_730


def test_repeated_ids_are_told_with_the_columns_that_tell_rows_apart(real_data: Path) -> None:
    path = real_data / "hallusionbench" / "HallusionBench.json.gz"

    with pytest.warns(ReadingWarning, match=f"1,121 of 1,129 rows dropped.*--id {JOINED}"):
        read(path)
    data = read(path, map={"id": JOINED})
    answers = read_predictions(path.with_name("HallusionBench_result_sample.json.gz"), {"id": JOINED}).answers

    assert data.height == 1_129
    assert data.examples["answer"].value_counts().sort("answer").rows() == [("no", 645), ("yes", 484)]
    assert answers.height == answers.join(data.examples, on="id").height == 254


@pytest.mark.parametrize(
    "name",
    [
        "amber/annotations.json.gz",
        "mmmu_val/answer_dict_val.json.gz",
        "okvqa/detected_coco_objects.json.gz",
        "scienceqa/pid_splits.json.gz",
        "vqa2/coco2014_objects.json.gz",
    ],
)
def test_files_of_other_things_are_no_dataset(name: str, real_data: Path) -> None:
    with pytest.raises(EyechartError, match=r"expected (?:a column 'question'|a list of records)"):
        read(real_data / name)


@pytest.mark.parametrize(
    "name", ["nextqa/mc_val.csv.gz", "videomme/test-00000-of-00001.parquet", "pope/coco_pope_random.json.gz"]
)
def test_a_benchmark_is_not_taken_for_the_answers_of_a_model(name: str, real_data: Path) -> None:
    with pytest.raises(EyechartError, match="found a dataset"):
        read_predictions(real_data / name)


@pytest.mark.parametrize(("file", "published"), [("5GT", 55.04), ("VinVLTag", 49.33), ("VinVL", 48.06)])
def test_answers_are_scored_by_the_weights_of_soft_labels(file: str, published: float, real_data: Path) -> None:
    (path,) = (real_data / "okvqa" / "predictions").glob(f"pica_*_gpt3_{file}_n16*")
    data = read(real_data / "okvqa" / "lxmert_testdev.json.gz")

    assert auto_score(data.examples) == "soft-labels"
    assert judged(data, read_predictions(path).answers) == pytest.approx(published, abs=0.5)


def test_references_of_ten_people_are_counted(real_data: Path) -> None:
    people = opened(real_data / "vizwiz" / "val_annotations_vqa_format.json.gz")["annotations"]
    votes = {str(one["question_id"]): [each["answer"] for each in one["answers"]] for one in people}

    data = read(real_data / "vizwiz")

    for key, answer in data.examples.select("id", "answer").iter_rows():
        assert votes[key].count(answer) == max(map(votes[key].count, votes[key]))


def test_numbers_are_declared_and_options_scored_beside_them(real_data: Path) -> None:
    data = read(real_data / "vsibench" / "test.jsonl.gz")
    gold = data.examples.select("id", "answer")

    assert auto_score(data.examples) == "number"
    assert data.examples["answer_type"].count() == 2_640
    assert data.examples["choices"].count() == 2_490
    assert judged(data, gold) == 100
