"""Real VQA v2 questions with COCO objects: a reader of the paper should recognise what is found, and what models do.

Mined on `nlp1_train`, judged on the questions of `vqa_vs_val` whose image is not in train.
"""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from eyechart.audits.rules import RulesAudit
from eyechart.data.dataset import Dataset
from eyechart.data.predictions import Predictions, tidy
from eyechart.data.result import Result
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.formats.predictions import read_predictions

AUDIT = RulesAudit()
MODELS = ("gpt2", "vqa_baseline", "vggpt2")


@pytest.fixture(scope="module")
def data(real_data: Path) -> Dataset:
    whole = read(str(real_data / "vqa2" / "vqa2_89710_with_objects.parquet"))
    train = whole.examples.filter(pl.col("source").str.contains("nlp1_train"))
    held_out = whole.examples.filter(pl.col("source").str.contains("vqa_vs_val")).join(train, on="image", how="anti")
    parts = [part.with_columns(pl.lit(name).alias("split")) for name, part in (("train", train), ("val", held_out))]
    return replace(whole, examples=pl.concat(parts))


@pytest.fixture(scope="module")
def study(data: Dataset) -> Result:
    return AUDIT.study(data, Local())


@pytest.fixture(scope="module")
def judged(data: Dataset, study: Result, real_data: Path) -> dict[str, Result]:
    [(_, probes)] = AUDIT.probe(data, study)
    results = {}
    for name in MODELS:
        said = read_predictions(real_data / "vqa2" / "predictions" / f"pred_{name}.json.gz").answers
        given = tidy(said.join(probes, on="id", how="semi"), probes.join(said, on="id", how="semi"), name)
        results[name] = AUDIT.judge(data, study, Predictions(name, given), Local())
    return results


def value(result: Result, name: str, by: str | None = None, group: str | None = None) -> float:
    return result.measure(name, "plain", by, group).value


def test_rules_are_mostly_of_words_and_objects(study: Result) -> None:
    counts = dict(study.tables["kinds"].select("kind", "rules").iter_rows())

    assert counts == {"mixed": 17926, "words": 4968, "objects": 163}
    assert value(study, "best rule mixed") > 0.5


def test_every_support_is_that_of_a_plain_count(data: Dataset, study: Result) -> None:
    """Count a few rules again by looking for their words and labels in each train example with a frequent answer."""
    train = data.examples.filter(pl.col("split") == "train")
    frequent = train["answer"].value_counts().sort("count", "answer", descending=[True, False]).head(3000)
    train = train.join(frequent, on="answer", how="semi")
    words = train.select(
        "id", "answer", pl.col("question").str.to_lowercase().str.extract_all(r"[^\s?.,'()!;:]+").alias("text")
    )
    labels = pl.element().struct.field("label")
    seen = train.select("id", "image").join(
        data.images.table.select("image", pl.col("objects").list.eval(labels)), on="image", how="left"
    )
    both = words.join(seen.select("id", "objects"), on="id")
    plain = study.tables["rules"].filter(pl.col("words").list.eval(pl.element().str.contains("^[a-z]{3,}$")).list.all())
    for rule in plain.filter(pl.col("kind") == "mixed").gather_every(400).iter_rows(named=True):
        held = both.filter(
            *(pl.col("text").list.contains(word) for word in rule["words"]),
            *(pl.col("objects").list.contains(label) for label in rule["objects"]),
        )
        assert (rule["support"], rule["joint"]) == (held.height, (held["answer"] == rule["answer"]).sum())


def test_yes_no_questions_are_easy_and_counterexamples_are_of_other_types(study: Result) -> None:
    """Figure 8 of the paper."""
    table = study.tables["answer_types"].select("answer_type", "subset", "share")
    shares = {(kind, subset): share for kind, subset, share in table.iter_rows()}

    assert shares["yes/no", "easy"] > 0.5
    assert shares["yes/no", "counterexample"] < 0.1
    assert shares["other", "counterexample"] > 0.7


def test_confidence_shrinks_on_held_out_images(study: Result) -> None:
    rules = study.tables["rules"].filter(pl.col("held_out_support") >= 8, pl.col("kind") != "prior")

    assert 0.7 < rules["held_out_confidence"].mean() / rules["confidence"].mean() < 1  # type: ignore[operator]


def test_the_classifier_is_right_on_easy_examples_only(study: Result) -> None:
    for form in ("vote", "best"):
        assert 0.3 < value(study, f"classifier, {form}") < 0.45
        assert value(study, f"classifier, {form}", "kind", "counterexample") < 0.02
        assert value(study, f"classifier, {form}", "kind", "easy") > 0.6


def test_models_that_see_lose_on_counterexamples_beyond_the_matched_control(judged: dict[str, Result]) -> None:
    for name in ("vqa_baseline", "vggpt2"):
        easy, counter = (value(judged[name], "accuracy", "kind", kind) for kind in ("easy", "counterexample"))
        assert easy - counter > 0.3
        assert judged[name].measure("matched gap", "plain").low > 0


def test_a_model_of_text_alone_does_not_follow_objects(judged: dict[str, Result]) -> None:
    """Beside examples of the same words it agrees with rules of words and objects no more; one that sees does."""
    group = "mixed, against the same words"
    blind, seeing = (judged[name].measure("exploitation", "plain", "rule kind", group) for name in MODELS[:2])

    assert blind.low <= 0 < seeing.low
    assert blind.high < 0.03  # the margin of the verdict: surely no more than chance
    assert blind.high < seeing.low
