"""Real multiple-choice data are diagnosed, and real questions with several on an image get decoys that hold."""

from pathlib import Path

import polars as pl
import pytest

from eyechart.audits.decoys import DecoysAudit
from eyechart.audits.decoys.options import offer
from eyechart.base.text import clean_answer, normalize_answer
from eyechart.data.dataset import Dataset
from eyechart.data.result import Result
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.language.answers import human_answers

DIAGNOSIS = DecoysAudit(sets=("orig",))


def over_chance(study: Result, solver: str, options: str = "orig") -> dict[str, float]:
    table = study.tables["solvers"].filter((pl.col("solver") == solver) & (pl.col("options") == options))
    return table.select("over_chance", "over_low", "over_high").row(0, named=True)


def test_aokvqa_tells_a_little_by_its_options_and_more_with_the_objects(real_data: Path) -> None:
    objects = real_data / "vqa2" / "coco2014_objects.json.gz"
    data = read("aokvqa", real_data / "aokvqa" / "aokvqa_v1p0_val.json.gz", detections=objects)

    study = DIAGNOSIS.study(data, Local())

    counts = dict(study.tables["counts"].filter(pl.col("condition").is_null()).select("status", "n").iter_rows())
    assert counts == {"judged": 356, "learned": 789}  # there is no train split, so some of the images are held out
    assert study.rows.height == counts["judged"]
    noted = study.tables["counts"].filter(pl.col("status") == "noted")
    assert dict(noted.select("reason", "n").iter_rows()) == {
        "empty option left out": 1,
        "same option twice, kept once": 7,
    }
    assert over_chance(study, "prior rule")["over_low"] > 0.01
    assert over_chance(study, "I+A")["over_chance"] > over_chance(study, "A")["over_chance"] > 0.02
    assert over_chance(study, "I+Q+A")["over_low"] > 0.02
    assert over_chance(study, "position")["over_low"] < 0 < over_chance(study, "position")["over_high"]


def test_socialiq_gives_itself_away_most_by_its_matched_decoys(real_data: Path) -> None:
    """The data tag each decoy by how it was made."""
    data = read("socialiq", real_data / "socialiq2" / "qa_val.json.gz")

    study = DIAGNOSIS.study(data, Local())

    assert study.verdict.state == "no"
    assert over_chance(study, "A")["over_low"] > 0.1
    wins = study.tables["kinds"].filter(pl.col("solver") == "A")
    found = {row["kind"]: row for row in wins.iter_rows(named=True)}
    assert set(found) == {"matched", "rewrite"}
    assert found["matched"]["low"] > found["rewrite"]["high"]


@pytest.fixture(scope="module")
def questions(real_data: Path) -> Dataset:
    """Take the real VQA v2 questions of the 300 images that have most."""
    whole = read(str(real_data / "vqa2" / "vqa2_89710_with_objects.parquet"))
    sizes = whole.examples.group_by("image").len().sort("len", "image", descending=[True, False])
    return whole.take(pl.col("image").is_in(sizes.head(300)["image"].implode()))


def test_real_questions_get_decoys_that_nobody_accepts(questions: Dataset) -> None:
    audit = DecoysAudit(sets=("iou", "qou", "iou+qou"), drawing="neutral", folds=2)

    study = audit.study(questions, Local())

    offers = offer(questions.examples, study.tables["decoys"], "iou+qou", audit.seed)
    normal = normalize_answer(clean_answer(pl.col("text"))).alias("normal")
    said = questions.examples.select("id", text=human_answers(questions.examples)).explode("text").select("id", normal)
    wrong = offers.filter(~pl.col("target")).select("id", normal)
    assert wrong.join(said, on=["id", "normal"], how="semi").is_empty()
    assert wrong.is_duplicated().sum() == 0
    # Who has no decoys, as where people said both yes and no, is counted.
    without = questions.examples.join(offers, on="id", how="anti")
    counts = study.tables["counts"].filter(pl.col("condition") == "iou+qou", pl.col("status") == "left out")
    assert counts["n"].to_list() == [without.height]
    assert abs(over_chance(study, "prior rule", "iou+qou")["over_chance"]) < 0.1
