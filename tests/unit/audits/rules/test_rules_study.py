"""A study of a small world against loops over sets and the plain miner, and what bad input comes to."""

from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import polars as pl
import pytest

from eyechart.audits import make_audit, remake_audit
from eyechart.audits.rules import RulesAudit
from eyechart.audits.rules.mining import least_support
from eyechart.audits.rules.views import _surest, answers_table, types_table
from eyechart.base.errors import DataError, SettingError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.result import Result
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.language.items import learn_vocabulary, make_transactions
from eyechart.mining.settings import MiningSettings
from eyechart.runs.verbs import audit
from eyechart.world import load_answerer
from mining_reference import mine_slowly

AUDIT = RulesAudit(min_support=4, max_items=2)


class Plain(NamedTuple):
    """A rule in words."""

    items: frozenset[str]
    answer: str
    confidence: Fraction
    support: int


@pytest.fixture(scope="module")
def small() -> Dataset:
    return read("world", seed=3, images=60)


@pytest.fixture(scope="module")
def found(small: Dataset) -> Result:
    return AUDIT.study(small, Local())


@pytest.fixture(scope="module")
def plain_rules(small: Dataset) -> list[Plain]:
    """Mine with the plain miner; only the numbering is ours."""
    learn = small.take(pl.col("split") == "train")
    vocabulary = learn_vocabulary(learn, 3000)
    names, answers = vocabulary.items.to_list(), vocabulary.answers.to_list()
    mined = mine_slowly(make_transactions(learn, vocabulary), MiningSettings(min_support=4, max_items=2))
    return [
        Plain(frozenset(names[item] for item in rule.items), answers[rule.answer], rule.confidence, rule.support)
        for rule in mined
    ]


def items_of(data: Dataset, split: str) -> dict[str, set[str]]:
    """List what is in each example by plain splitting: the world's questions have no mark but ? and commas."""
    labels = {
        image: {f"V_{one['label']}" for one in objects}
        for image, objects in data.images.table.select("image", "objects").iter_rows()
    }
    rows = data.examples.filter(pl.col("split") == split).select("id", "image", "question").iter_rows()
    return {key: set(text.replace("?", " ?").replace(",", " ,").split()) | labels[image] for key, image, text in rows}


def column_of(data: Dataset, column: str) -> dict[str, object]:
    return dict(data.examples.select("id", column).iter_rows())


def test_the_rules_are_those_of_the_plain_miner(found: Result, plain_rules: list[Plain]) -> None:
    table = found.tables["rules"].filter(pl.col("kind") != "prior")
    rules = [
        (frozenset(words) | {f"V_{label}" for label in objects}, answer, confidence, support)
        for words, objects, answer, confidence, support in table.select(
            "words", "objects", "answer", "confidence", "support"
        ).iter_rows()
    ]

    assert rules == [(rule.items, rule.answer, float(rule.confidence), rule.support) for rule in plain_rules]
    assert table.height > 100


def test_kinds_best_rules_and_matches_are_those_of_the_definition(
    small: Dataset, found: Result, plain_rules: list[Plain]
) -> None:
    humans = column_of(small, "answers")
    expected = {}
    for key, items in items_of(small, "test").items():
        met = [place for place, rule in enumerate(plain_rules) if rule.items <= items]
        right = any(plain_rules[place].answer in humans[key] for place in met)  # type: ignore[operator]
        kind = "uncovered" if not met else "easy" if right else "counterexample"
        expected[key] = (kind, met[0] if met else None, len(met))

    rows = found.rows.select("id", "kind", "rule", "matches").iter_rows()
    assert {key: tuple(rest) for key, *rest in rows} == expected
    assert {kind for kind, _, _ in expected.values()} == {"easy", "counterexample", "uncovered"}


def test_the_classifier_votes_with_the_kept_rules(small: Dataset, found: Result, plain_rules: list[Plain]) -> None:
    answers = column_of(small, "answer")
    train = items_of(small, "train")
    kept = set()
    for key, items in train.items():
        correct = (at for at, rule in enumerate(plain_rules) if rule.items <= items and rule.answer == answers[key])
        kept |= {at for at in [next(correct, None)] if at is not None}
    usual = found.tables["rules"].filter(pl.col("kind") == "prior")["answer"][0]
    expected = {}
    for key, items in items_of(small, "test").items():
        met = [plain_rules[at] for at in sorted(kept) if plain_rules[at].items <= items]
        votes: dict[str, Fraction] = {}
        for rule in met:
            votes[rule.answer] = votes.get(rule.answer, Fraction(0)) + rule.confidence
        expected[key] = (max(votes, key=lambda one: votes[one]) if met else usual, met[0].answer if met else usual)

    rows = found.rows.select("id", "vote", "best").iter_rows()
    assert {key: (vote, best) for key, vote, best in rows} == expected
    assert set(found.tables["rules"].filter("kept")["rule"]) == kept


def test_the_prior_is_listed_last_and_not_tested(small: Dataset, found: Result) -> None:
    prior = found.tables["rules"].row(-1, named=True)
    train = small.examples.filter(pl.col("split") == "train")["answer"]

    assert (prior["kind"], prior["words"], prior["objects"], prior["state"]) == ("prior", [], [], None)
    assert prior["confidence"] == (train == prior["answer"]).mean()


def test_rules_of_words_of_objects_and_of_both_are_distinguished(found: Result) -> None:
    table = found.tables["rules"].filter(pl.col("kind") != "prior")
    words, objects = table["words"].list.len() > 0, table["objects"].list.len() > 0

    assert ((table["kind"] == "mixed") == (words & objects)).all()
    assert ((table["kind"] == "words") == (words & ~objects)).all()


def test_an_example_is_shown_with_all_its_rules(small: Dataset, found: Result) -> None:
    shown = found.tables["shown"]
    question, image = shown.filter(pl.col("subset") == "easy").row(0, named=True)["question"], shown["image"][0]
    example = small.examples.filter((pl.col("question") == question) & (pl.col("image") == image))["id"][0]
    easy = shown.filter(pl.col("subset") == "easy")

    assert easy["right"].any()
    assert not shown.filter(pl.col("subset") == "counterexample")["right"].any()
    assert easy.height == min(40, found.rows.filter(pl.col("id") == example)["matches"][0])


def test_histograms_hold_every_rule(found: Result) -> None:
    mined = found.tables["rules"].filter(pl.col("kind") != "prior")
    counted = dict(found.tables["confidences"].group_by("part").agg(pl.col("n").sum()).iter_rows())

    assert counted == {"train": mined.height, "held out": mined["held_out_confidence"].is_not_null().sum()}


def test_answers_and_types_are_listed_from_the_most_frequent_and_equally_frequent_ones_by_name() -> None:
    counts = {("b", "easy"): 2, ("b", "uncovered"): 1, ("a", "easy"): 3, ("c", "counterexample"): 1, ("d", "easy"): 4}
    rows = [each for each, n in counts.items() for _ in range(n)]
    labelled = pl.DataFrame(rows, schema=["answer", "subset"], orient="row").with_columns(
        pl.int_range(pl.len()).alias("cluster"), pl.col("answer").alias("question_type")
    )
    ordered = [("d", "easy"), ("a", "easy"), ("b", "easy"), ("b", "uncovered"), ("c", "counterexample")]

    assert answers_table(labelled).select("answer", "subset").rows() == ordered
    assert types_table(labelled, "question_type").select("question_type", "subset").rows() == ordered


def test_of_equally_sure_rules_the_first_are_shown() -> None:
    rules = [(3, "a"), (1, "b"), (2, "c")]
    table = pl.DataFrame(rules, schema=["rule", "answer"], orient="row").with_columns(
        pl.lit("confirmed").alias("state"), pl.lit("words").alias("kind"), pl.lit(0.5).alias("low")
    )

    assert _surest(table)["rule"].to_list() == [1, 2]


def test_a_single_word_is_enough_for_a_rule() -> None:
    examples = pl.DataFrame({"id": [f"{n:03}" for n in range(80)], "split": ["train", "test"] * 40}).with_columns(
        pl.col("id").alias("image"), pl.lit("why").alias("question"), pl.lit("yes").alias("answer")
    )
    result = AUDIT.study(Dataset("why", examples, Images.named(examples["image"])), Local())

    assert result.tables["rules"].select("words", "objects", "answer", "kind").rows() == [
        (["why"], [], "yes", "words"),
        ([], [], "yes", "prior"),
    ]


def say(result: Result) -> str:
    return result.verdict.sentence


def test_data_without_splits_are_divided_by_image(small: Dataset) -> None:
    data = replace(small, examples=small.examples.drop("split"))
    result = AUDIT.study(data, Local())
    judged = data.examples.filter(pl.col("id").is_in(result.rows["id"].implode()))

    assert judged.height == data.sizes().held_out < 150
    assert not set(judged["image"]) & set(data.examples.join(judged, on="id", how="anti")["image"])


def test_data_without_objects_give_rules_of_words_and_a_note(small: Dataset) -> None:
    data = replace(small, images=Images.named(small.examples["image"]))
    result = AUDIT.study(data, Local())

    assert "rules use words only" in say(result)
    assert set(result.tables["rules"]["kind"]) == {"words", "prior"}


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"min_support": 5000}, "min_support 5000 is more than the 180 mined examples"),
        ({"min_support": 180}, "no antecedent has 180 examples and a confidence of 0.3"),
    ],
)
def test_without_rules_all_is_uncovered_and_a_model_is_still_measured(
    small: Dataset, settings: dict[str, float], line: str
) -> None:
    result = audit(small, load_answerer("seer"), [RulesAudit(**settings)])["rules"]
    study = RulesAudit(**settings).study(small, Local())

    assert line in say(study)
    assert set(study.rows["kind"]) == {"uncovered"}
    assert (result.verdict.state, result.measure("accuracy", "plain").value) == ("not tested", 1.0)


def test_empty_questions_and_images_without_objects_are_uncovered(small: Dataset) -> None:
    empty = small.examples.with_columns(
        pl.when(pl.col("split") == "test").then(pl.lit(None, pl.String)).otherwise("question").alias("question"),
        pl.when(pl.col("split") == "test").then(pl.lit(None, pl.String)).otherwise("image").alias("image"),
    )
    result = AUDIT.study(replace(small, examples=empty), Local())

    assert set(result.rows["kind"]) == {"uncovered"}
    assert result.rows.height == 90


def test_examples_without_a_reference_are_counted_and_not_asked(small: Dataset) -> None:
    first = small.examples.filter(pl.col("split") == "test")["id"][0]
    fewer = small.examples.with_columns(pl.when(pl.col("id") != first).then("answer").alias("answer"))
    result = AUDIT.study(replace(small, examples=fewer), Local())

    assert first not in result.rows["id"]
    assert dict(result.tables["counts"].select("status", "n").iter_rows()) == {
        "mined": 180,
        "judged": 89,
        "not judged": 1,
        "left out": 30,
    }


def test_what_is_mined_and_judged_is_that_of_the_division(small: Dataset) -> None:
    result = AUDIT.study(small.decide(learn=["test"], judge=["val"]), Local())

    assert set(result.rows["id"]) == set(small.examples.filter(pl.col("split") == "val")["id"])
    assert result.tables["counts"].select("status", "reason", "n").rows() == [
        ("judged", None, 30),
        ("mined", None, 90),
        ("left out", "in another split", 180),
    ]


def test_every_count_of_rules_leaves_the_prior_out(found: Result) -> None:
    mined = found.tables["rules"].height - 1

    assert say(found).startswith(f"{mined:,} rules, ")
    assert found.tables["kinds"]["rules"].sum() == mined
    assert found.tables["confidences"].filter(pl.col("part") == "train")["n"].sum() == mined


def test_the_study_says_how_many_examples_are_counterexamples(found: Result) -> None:
    share = (found.rows["kind"] == "counterexample").mean()

    assert (found.verdict.state, found.verdict.label) == ("not tested", "no model yet")
    assert found.headline is not None
    assert (found.headline.name, found.headline.value) == ("counterexample share", pytest.approx(share))


def test_the_seed_that_divided_the_data_is_now_that_of_the_run() -> None:
    with pytest.raises(SettingError, match="--seed"):
        make_audit("rules", {"seed": "1"})

    assert remake_audit("eyechart.audits.rules:RulesAudit", {"seed": 3, "threads": 1}) == RulesAudit(threads=1)


@pytest.mark.parametrize(("given", "n", "count"), [(8, 10, 8), (8.0, 10**6, 8), (2.1e-5, 413_000, 8), (0.5, 1, 1)])
def test_support_is_a_count_or_a_share_rounded_down(given: float, n: int, count: int) -> None:
    assert least_support(given, n) == count


@pytest.mark.parametrize(
    "settings",
    [
        {"min_support": 0},
        {"min_support": 1.5},
        {"min_confidence": 1.5},
        {"superset": "all"},
        {"published": "new"},
        {"max_items": 9},
    ],
)
def test_settings_that_do_not_fit_are_one_clear_error(small: Dataset, settings: dict[str, object]) -> None:
    with pytest.raises(SettingError):
        RulesAudit(**settings).study(small, Local())  # type: ignore[arg-type]


@pytest.mark.parametrize("settings", [{"correct": "any"}, {"superset": "any"}, {"published": "any"}, {"answers": 0}])
def test_meaningless_settings_are_rejected_at_once(settings: dict[str, object]) -> None:
    with pytest.raises(SettingError):
        RulesAudit(**settings)  # type: ignore[arg-type]


def test_one_answer_in_the_vocabulary_leaves_rules_for_that_answer_only(small: Dataset) -> None:
    result = RulesAudit(answers=1, min_support=4).study(small, Local())
    counts = dict(result.tables["counts"].select("status", "n").iter_rows())

    assert result.tables["rules"]["answer"].n_unique() == 1
    assert counts["mined"] == result.tables["rules"].row(-1, named=True)["support"]
    assert counts["mined"] + counts["not mined"] == 180


@pytest.mark.parametrize(
    ("keep", "drop"),
    [
        (pl.int_range(pl.len()).over("split") == 0, ()),
        (pl.col("split") == "test", ()),
        (pl.lit(value=True), ("question_type", "answer_type")),
        (pl.lit(value=True), ("answers", "choices")),
    ],
    ids=["an example a split", "one split", "no types", "one reference"],
)
def test_little_data_and_few_columns_still_give_a_study(small: Dataset, keep: pl.Expr, drop: tuple[str, ...]) -> None:
    data = replace(small, examples=small.examples.filter(keep).drop(drop))
    result = AUDIT.study(data, Local())

    counted = result.tables["counts"].filter(pl.col("status") == "judged")["n"].sum()
    assert counted == result.rows.height
    assert say(result)


@pytest.mark.parametrize("n", [0, 1])
def test_data_that_leave_nothing_to_mine_or_judge_are_one_clear_error(small: Dataset, n: int) -> None:
    with pytest.raises(DataError, match=r"examples .*to judge"):
        AUDIT.study(replace(small, examples=small.examples.head(n)), Local())


def test_randomly_assigned_answers_confirm_nothing(small: Dataset) -> None:
    """With no association in the data every confirmed rule would be a false one."""
    for seed in range(3):
        dealt = small.examples["answer"].sample(fraction=1, shuffle=True, seed=seed)
        examples = small.examples.drop("answers", "choices").with_columns(dealt)
        eager = RulesAudit(min_support=3, min_confidence=0.1, max_items=3)
        result = eager.study(replace(small, examples=examples), Local())

        assert result.tables["rules"].height > 50
        assert (result.tables["rules"]["state"] == "confirmed").sum() == 0
