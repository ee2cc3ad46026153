"""`published="vqa-vs"` scores as the authors' scripts do: a literal copy of what they say they do agrees."""

from collections import Counter

import polars as pl
import pytest

from eyechart.audits import make_audit
from eyechart.base.errors import DataError
from eyechart.data.dataset import Dataset
from eyechart.data.result import Result
from eyechart.formats import read
from eyechart.runs.verbs import audit
from eyechart.world import load_answerer


@pytest.fixture(scope="module")
def world() -> Dataset:
    """Options would be scored as options; the release knows open answers only."""
    data = read("world", seed=9, images=250)
    return Dataset(data.name, data.examples.drop("choices"), data.images)


@pytest.fixture(scope="module")
def judged(world: Dataset) -> Result:
    return audit(world, "world:mix:seer=0.5,guesser=0.5", [make_audit("splits", {"published": "vqa-vs"})])["splits"]


def test_scores_are_those_of_the_authors(world: Dataset, judged: Result) -> None:
    train = Counter(world.examples.filter(pl.col("split") == "train")["answer"])
    vocabulary = {answer for answer, n in train.items() if n >= 9}
    probes = world.examples.filter(pl.col("split") == "test").select(
        "id", "image", "question", pl.lit("plain").alias("condition"), pl.lit("").alias("probe")
    )
    said = load_answerer("mix:seer=0.5,guesser=0.5").answer(probes, world.images)
    given = dict(said.select("id", "answer").iter_rows())
    scores = {}
    for identity, answers in world.examples.select("id", "answers").iter_rows():
        if identity in given:
            words = Counter(answer for answer in answers if answer in vocabulary)
            scores[identity] = min(1.0, words[given[identity]] / 3)

    assert dict(judged.rows.select("id", "accuracy").iter_rows()) == pytest.approx(scores)
    assert {0.0, 1 / 3, 2 / 3, 1.0} <= set(scores.values())


def test_set_scores_are_rounded_before_they_are_averaged(judged: Result) -> None:
    table = dict(judged.tables["release"].iter_rows())

    sets = dict(judged.tables["sets"].select("concept", "tail").drop_nulls().iter_rows())
    rounded = [round(100 * value, 2) for value in sets.values()]
    assert [table[name] for name in sets] == rounded
    assert table["mean"] == round(sum(rounded) / len(rounded), 2)
    language = [table[name] for name in ("QT", "KW", "KWP", "QT+KW")]
    assert table["language"] == round(sum(language) / 4, 2)
    assert table["IID"] == round(100 * judged.measure("accuracy", "plain").value, 2)


def test_data_without_human_answers_are_refused(world: Dataset) -> None:
    bare = Dataset("bare", world.examples.drop("answers"), world.images)

    with pytest.raises(DataError, match="published='vqa-vs'"):
        audit(bare, "world:seer", [make_audit("splits", {"published": "vqa-vs"})])
