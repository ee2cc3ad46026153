"""Beyond the paper: errors kept apart, baselines of every form, EMAP, leakage, groups and the analyses of bias."""

import numpy as np
import polars as pl
import pytest

from eyechart.audits.perception import PerceptionAudit
from eyechart.audits.perception.bias import ANSWERS, _usual, score_baseline
from eyechart.audits.perception.emap import additive
from eyechart.audits.perception.measures import MeasureGroups
from eyechart.base.errors import SettingError
from eyechart.base.hashing import hash_text, uniform
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.result import Measure
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.runs.verbs import audit
from eyechart.statistics import mean
from eyechart.statistics.crossed import gather_draws


def make_data(n: int = 300, **columns: object) -> Dataset:
    """Three questions an image, two answers, no options."""
    table = pl.DataFrame(
        {
            "id": [f"{at:04}" for at in range(n)],
            "image": [f"i{at // 3}" for at in range(n)],
            "question": [f"{('is', 'does', 'can')[at % 3]} it do {at}?" for at in range(n)],
            "answer": ["yes" if at % 3 else "no" for at in range(n)],
            "split": ["train" if at % 2 else "test" for at in range(n)],
        }
    ).with_columns(**columns)
    return Dataset("made", table, Images.named(table["image"]))


class Coin:
    """Be right as it is, and by the toss of a coin with another image."""

    name = "coin"

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        heads = uniform(hash_text(probes["probe"], 5)) < 0.5
        right = pl.when(pl.col("id").cast(pl.Int64) % 3 > 0).then(pl.lit("yes")).otherwise(pl.lit("no"))
        wrong = (pl.col("condition") != "plain") & pl.Series(heads)
        return probes.select("id", answer=pl.when(wrong).then(pl.lit("?")).otherwise(right))


def test_the_error_of_the_draws_is_that_of_the_coin() -> None:
    """All examples lose the same half, so that draws of variance 1/4 are all the error there is."""
    data, n, m = make_data(3000), 1500, 4
    result = audit(data, Coin(), [PerceptionAudit(modalities=("image",), draws=m)])["perception"]
    errors = result.tables["errors"].row(0, named=True)

    assert errors["draws_se"] == pytest.approx(np.sqrt(0.25 / m / n), rel=0.05)
    assert errors["examples_se"] < 0.5 * errors["draws_se"]
    assert errors["se"] ** 2 == pytest.approx(errors["draws_se"] ** 2, rel=0.3)
    assert result.measure("perception", "image").value == pytest.approx(0.5, abs=4 * errors["se"])


def test_one_draw_cannot_separate_the_errors() -> None:
    result = audit(make_data(), Coin(), [PerceptionAudit(modalities=("image",), draws=1)])["perception"]
    errors = result.tables["errors"].row(0, named=True)

    assert errors["draws_se"] is None
    assert errors["se"] > 0


def test_items_dominate_where_examples_differ() -> None:
    """Var = (V_examples + V_draws / m) / n: sixteen times the draws barely narrow the interval of a mixture."""
    data = read("world", seed=2, images=300)
    few, many = (
        audit(data, "world:mix:seer=0.5,blind=0.5", [PerceptionAudit(modalities=("image",), draws=m)])["perception"]
        for m in (2, 32)
    )
    one, other = (each.tables["errors"].row(0, named=True) for each in (few, many))

    assert one["examples_se"] == pytest.approx(other["examples_se"], rel=0.05)
    assert one["draws_se"] == pytest.approx(4 * other["draws_se"], rel=0.2)
    assert one["se"] < 1.1 * other["se"]


def train_and_test(answers: list[str], asked: list[str], **columns: list) -> Dataset:
    n = len(answers) + len(asked)
    table = pl.DataFrame(
        {
            "id": [f"{at:02}" for at in range(n)],
            "image": [f"i{at}" for at in range(n)],
            "question": ["what?"] * n,
            "answer": [*answers, *asked],
            "split": ["train"] * len(answers) + ["test"] * len(asked),
            **columns,
        }
    )
    return Dataset("t", table, Images.named(table["image"]))


def baseline(data: Dataset, how: str, scope: str = "global") -> list[float | None]:
    learn, judged = data.divided(learns=False)
    return score_baseline(learn, judged.examples, how, scope).scores.to_list()


def test_the_majority_has_a_scope() -> None:
    kinds = ["a", "a", "a", "b", "b", "a", "b", "c"]
    data = train_and_test(["x", "x", "y", "z", "z"], ["x", "z", "x"], answer_type=kinds)

    assert baseline(data, "exact") == [1, 0, 1]
    assert baseline(data, "exact", "answer_type") == [1, 1, 1]


def test_the_majority_of_numbers_is_the_median() -> None:
    data = train_and_test(["1", "2", "10"], ["2", "4", "1"])

    assert baseline(data, "one-minus-mape") == [1, 0.5, 0]


def test_the_majority_of_rankings_is_the_order_of_frequency() -> None:
    """In train "no" occurs three times, "yes" twice, "red" once, "blue" never; ties go by the alphabet."""
    learned = ["no", "yes", "no", "red", "yes", "no"]
    choices = [[answer] for answer in learned] + [["red", "yes", "blue", "no"], ["blue", "azure", "red"]]
    relevance = [[1.0]] * 6 + [[0.0, 1.0, 0.0, 0.5], [1.0, 0.0, 0.0]]
    data = train_and_test(learned, ["yes", "blue"], choices=choices, relevance=relevance)
    gains = (0.5 + 1 / np.log2(3)) / (1 + 0.5 / np.log2(3))

    assert baseline(data, "mrr") == [1 / 2, 1 / 3]
    assert baseline(data, "ndcg") == pytest.approx([gains, 0])
    assert baseline(data, "choice") == [0, 0]
    assert baseline(Dataset("t", data.examples.drop("choices", "relevance"), data.images), "mrr") == [1 / 2, 0]


class Scored:
    """Score two answers by a function of two numbers, the first of the image and the second of the question."""

    def __init__(self, name: str) -> None:
        self.name = name

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        one = pl.Series(uniform(hash_text(probes["image"]))) - 0.5
        other = pl.Series(uniform(hash_text(probes["question"]))) - 0.5
        yes = one + other if self.name == "additive" else 10 * one * other
        scores = [[{"answer": "yes", "score": s}, {"answer": "no", "score": -s}] for s in yes.to_list()]
        said = pl.when(yes > 0).then(pl.lit("yes")).otherwise(pl.lit("no"))
        return probes.select("id", said.alias("answer")).with_columns(
            scores=pl.Series(scores), score_kind=pl.lit("logit")
        )


def test_emap_of_an_additive_model_is_the_model_and_of_a_product_is_not() -> None:
    data = make_data(240)
    shown = data.examples
    one, other = (uniform(hash_text(shown[name])) - 0.5 for name in ("image", "question"))
    for name, truth, low, high in (("additive", one + other, -0.001, 0.001), ("product", one * other, 0.2, 0.8)):
        answers = pl.Series(np.where(truth > 0, "yes", "no"))
        known = Dataset("known", shown.with_columns(answer=answers), data.images)
        result = audit(known, Scored(name), [PerceptionAudit(emap=30, draws=1)])["perception"]
        assert low <= result.measure("interaction (EMAP)", "emap").value <= high


def test_the_additive_projection_is_that_of_a_loop() -> None:
    scores = np.random.default_rng(0).normal(size=(5, 5, 3))
    for at, found in enumerate(additive(scores)):
        rows = sum(scores[at, j] for j in range(5)) / 5
        columns = sum(scores[j, at] for j in range(5)) / 5
        assert found == pytest.approx(rows + columns - sum(scores[i, j] for i in range(5) for j in range(5)) / 25)


def test_emap_without_scores_is_left_out_and_with_options_refused() -> None:
    result = audit(make_data(), Coin(), [PerceptionAudit(emap=5, draws=1)])["perception"]
    assert any("EMAP is left out" in note for note in result.tables["notes"]["note"])
    assert result.tables["counts"].filter(pl.col("condition") == "emap#3")["n"].sum() == 5
    with pytest.raises(SettingError, match="options that differ"):
        audit(read("world", images=20), "world:seer", [PerceptionAudit(emap=5)])


def test_interaction_is_what_neither_modality_does_alone() -> None:
    """The seer needs both: without either it is lost, so that one of the two losses is counted twice."""
    data = read("world", seed=2, images=200)
    result = audit(data, "world:seer", [PerceptionAudit(interactions=True)])["perception"]
    parts = {name: result.measure("perception", name).value for name in ("image", "question", "image+question")}

    expected = parts["image"] + parts["question"] - parts["image+question"]
    assert result.measure("interaction", "image+question").value == pytest.approx(expected)
    assert expected > 0.8


def test_leakage_is_what_a_model_knows_without_the_picture_beyond_a_text_model() -> None:
    """The text model is right where the id is even; the coin is right half the time without the image."""
    right = pl.when(pl.col("id").cast(pl.Int64) % 3 > 0).then(pl.lit("yes")).otherwise(pl.lit("no"))
    text = pl.when(pl.col("id").cast(pl.Int64) % 8 == 0).then(right).otherwise(pl.lit("?"))
    data = make_data(3000, text_model=text)
    result = audit(data, Coin(), [PerceptionAudit(text_only="text_model")])["perception"]

    assert result.measure("text only", "plain").value == pytest.approx(0.25, abs=0.001)
    assert result.measure("leakage", "image").value == pytest.approx(0.25, abs=0.03)
    left = 1 - result.measure("mirage", "image").value
    assert left == pytest.approx(result.measure("perception / model", "image").value)
    better = make_data(3000, text_model=right)
    result = audit(better, Coin(), [PerceptionAudit(text_only="text_model")])["perception"]
    assert result.measure("leakage", "image").value == 0
    assert result.measure("leakage, unclipped", "image").value == pytest.approx(-0.5, abs=0.03)


def test_groups_have_the_scores_of_their_examples_and_come_worst_first() -> None:
    data = read("world", seed=2, images=200)
    chosen = PerceptionAudit(by=("question_type", "first_word"), draws=2)
    result = audit(data, "world:mix:seer=0.5,blind=0.5", [chosen])["perception"]
    groups = result.tables["groups"].filter((pl.col("by") == "first_word") & (pl.col("removed") == "image"))

    assert set(groups["group"]) == {"how", "is", "what", "which"}
    assert groups["perception"].is_sorted()
    rows = result.rows.filter(pl.col("first_word") == "what")
    one = result.measure("perception", "image", by="first_word", group="what")
    draws = rows.select("id").join(result.tables["draws"], on="id", validate="1:1", maintain_order="left")
    taken = gather_draws(draws["unit"], draws["perception image"])
    expected = mean(rows["perception image"], rows["cluster"], kind="differences", draws=taken)
    assert (one.value, one.low, one.high) == pytest.approx(expected[:3])
    alone = mean(rows["perception image"], rows["cluster"], kind="differences")
    assert one.low <= alone.low < alone.high <= one.high
    assert one.q is not None
    table = result.tables["table1"]
    assert table["group"][0] == "All"
    assert table.filter(pl.col("group") == "what")["P image"].item() == pytest.approx(100 * one.value)


class Counting:
    """Count the rows instead of measuring them."""

    def measure(self, rows: pl.DataFrame) -> list[Measure]:
        return [Measure("rows", rows.height, 0, 0, rows.height)]


def test_groups_are_measured_in_their_order_however_many_there_are() -> None:
    names = [f"{at:03}" for at in range(500)]
    batch = pl.DataFrame({"by": ["word"] * 1000, "group": sorted(2 * names)})

    measured = MeasureGroups(Counting())(batch)  # type: ignore[arg-type]  # has the one method that is called

    assert measured.select("group", "n").rows() == [(name, 2) for name in names]


def test_proportions_compare_predictions_with_judged_and_train_answers() -> None:
    """In train "can" is answered yes alone; the model says what it was taught."""
    answer = pl.when(pl.col("question").str.starts_with("can")).then(
        pl.when(pl.col("split") == "train").then(pl.lit("yes")).otherwise(pl.lit("no"))
    )
    data = make_data(300, answer=pl.coalesce(answer, pl.col("answer")))
    result = audit(data, Coin(), [PerceptionAudit(modalities=("image",))])["perception"]
    can = result.tables["proportions"].filter((pl.col("token") == "can") & (pl.col("answer") == "no"))

    assert can.select("predicted", "judged", "train").row(0) == (0.0, 1.0, 0.0)
    assert can.select("judged n", "train n", "examples").row(0) == (50, 50, 50)
    assert can["predicted low"][0] == 0 < can["predicted high"][0] < 0.1, "never said, yet with an interval"


def test_proportions_are_listed_by_word_and_share_and_equal_ones_by_answer() -> None:
    """Of the 50 judged questions that begin with "does", half are answered by each."""
    half = pl.when(pl.col("question").str.starts_with("does")).then(
        pl.when(pl.col("id").cast(pl.Int64) // 6 % 2 == 0).then(pl.lit("yes")).otherwise(pl.lit("no"))
    )
    data = make_data(300, answer=pl.coalesce(half, pl.col("answer")))
    result = audit(data, Coin(), [PerceptionAudit(modalities=("image",))])["perception"]
    table = result.tables["proportions"].select("perception", "token", -pl.col("judged"), "answer")

    does = table.filter(pl.col("token") == "does")
    assert does.select("judged", "answer").rows() == [(-0.5, "no"), (-0.5, "yes")]
    assert table.rows() == sorted(table.rows())


def test_of_equally_frequent_answers_the_first_by_name_are_the_usual_ones() -> None:
    answers = [f"{at:02}" for at in range(ANSWERS + 3)]
    rows = pl.DataFrame({"token": ["is"] * len(answers), "answer": answers[::-1]})

    assert _usual(rows)["answer"].to_list() == answers[:ANSWERS]


def test_sentiment_is_compared_with_the_label() -> None:
    words = ["I love this wonderful day", "I hate this awful day", "the table has legs"]
    text = pl.Series([words[at % 3] for at in range(300)])
    label = pl.Series([("true", "false", "true")[at % 3] for at in range(300)])
    data = make_data(300, candidate=text, answer=label)
    study = PerceptionAudit(sentiment="candidate").study(data, Local())
    found = {row["sentiment"]: (row["label"], row["share"]) for row in study.tables["sentiment"].iter_rows(named=True)}

    assert found == {"positive": ("true", 1.0), "negative": ("false", 1.0), "neutral": ("true", 1.0)}
    chosen = PerceptionAudit(sentiment="candidate", by=("sentiment",), modalities=("image",), draws=1)
    result = audit(data, Coin(), [chosen])["perception"]
    assert result.measure("perception", "image", by="sentiment", group="negative").n == 50
