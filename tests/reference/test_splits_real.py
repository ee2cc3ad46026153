"""Real VQA v2 questions with COCO objects: a reader of the paper should recognise its Table 1, Figure 5 and Table 2."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from eyechart.audits.splits import SplitsAudit
from eyechart.audits.splits.resplit import ResplitSettings, make_resplit
from eyechart.audits.splits.settings import NINE
from eyechart.data.dataset import Dataset
from eyechart.data.predictions import Predictions, tidy
from eyechart.data.result import Result
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.formats.predictions import read_predictions
from eyechart.language.questions import learn_prefixes, question_types

# Table 1: imbalanced groups, head and tail of the IID test set, and all groups of the test set.
PAPER = {
    "QT": (65, 52, 123_450, 23_816),
    "KW": (11_369, 1_651, 92_139, 27_730),
    "KWP": (61_737, 2_137, 37_907, 14_358),
    "QT+KW": (35_836, 2_200, 49_285, 17_630),
    "KO": (81, 79, 125_306, 38_423),
    "KOP": (3_285, 962, 107_275, 42_806),
    "QT+KO": (4_721, 2_003, 93_209, 27_484),
    "KW+KO": (53_387, 3_257, 50_179, 17_447),
    "QT+KW+KO": (86_324, 2_521, 25_708, 9_249),
}
MODELS = ("gpt2", "vqa_baseline", "vggpt2")


@pytest.fixture(scope="module")
def whole(real_data: Path) -> Dataset:
    return read(str(real_data / "vqa2" / "vqa2_89710_with_objects.parquet"))


@pytest.fixture(scope="module")
def study(whole: Dataset) -> Result:
    """Study all questions as the paper does, with the question types and images of the data."""
    divided = make_resplit(whole, "random", ResplitSettings(unit="question"))
    return SplitsAudit(missing="group").study(divided, Local())


def test_sizes_are_in_the_order_of_the_papers(study: Result) -> None:
    """With a seventh of the questions; the number of concepts of one part is the paper's: 65 types, 81 objects."""
    table = {row["concept"]: row for row in study.tables["concepts"].iter_rows(named=True)}

    assert (table["QT"]["groups"], table["KO"]["groups"]) == (65, 81)
    for column, place in (("groups", 0), ("head", 2), ("tail", 3)):
        ours, theirs = (
            pl.Series([table[name][column] for name in NINE]).rank(),
            pl.Series([PAPER[name][place] for name in NINE]).rank(),
        )
        assert pl.DataFrame([ours.alias("a"), theirs.alias("b")]).select(pl.corr("a", "b")).item() > 0.9


def test_relations_between_shortcuts_are_the_papers(study: Result) -> None:
    """Sec. 4: heads of QT and KO are alike, of QT and QT+KW not; 79 % of QT's set are in KO's."""
    jaccard, coincidence = (
        {(one, other): share for one, other, share in study.tables[name].select("of", "with", "share").iter_rows()}
        for name in ("jaccard", "coincidence")
    )

    assert jaccard["QT", "KO"] > 2 * jaccard["QT", "QT+KW"]
    assert coincidence["QT", "KO"] == pytest.approx(0.79, abs=0.05)


def test_learned_question_types_resemble_the_given_ones(whole: Dataset) -> None:
    from sklearn.metrics import adjusted_mutual_info_score

    questions, given = whole.examples["question"], whole.examples["question_type"]
    learned = question_types(questions, learn_prefixes(questions))
    by_list = question_types(questions, given.unique())

    assert 50 <= learned.n_unique() <= 80
    assert adjusted_mutual_info_score(learned.to_list(), given.to_list()) > 0.9
    assert (by_list == given).mean() > 0.99  # type: ignore[operator]


@pytest.fixture(scope="module")
def judged(whole: Dataset, real_data: Path) -> dict[str, Result]:
    train = whole.examples.filter(pl.col("source").str.contains("nlp1_train"))
    held_out = whole.examples.filter(pl.col("source").str.contains("vqa_vs_val")).join(train, on="image", how="anti")
    parts = [part.with_columns(pl.lit(name).alias("split")) for name, part in (("train", train), ("val", held_out))]
    data = replace(whole, examples=pl.concat(parts))
    audit = SplitsAudit()
    study = audit.study(data, Local())
    [(_, probes)] = audit.probe(data, study)
    results = {}
    for name in MODELS:
        said = read_predictions(real_data / "vqa2" / "predictions" / f"pred_{name}.json.gz").answers
        given = tidy(said.join(probes, on="id", how="semi"), probes.join(said, on="id", how="semi"), name)
        results[name] = audit.judge(data, study, Predictions(name, given), Local())
    return results


def test_models_that_see_lose_on_rare_answers(judged: dict[str, Result]) -> None:
    for name in ("vqa_baseline", "vggpt2"):
        assert judged[name].verdict.state == "no"
        assert judged[name].measure("OOD drop", "plain").low > 0.03
        assert judged[name].measure("pooled gap", "plain").low > 0.2


def test_all_three_models_are_judged_on_all_nine_sets(judged: dict[str, Result]) -> None:
    for result in judged.values():
        assert result.tables["sets"].drop_nulls(["head", "tail", "drop", "gap"])["concept"].to_list() == list(NINE)
        assert result.measure("accuracy", "plain").n == 5002
