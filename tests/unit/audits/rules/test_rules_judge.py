"""The judgement of a model against loops over rules and examples, and its parts against numbers worked out by hand."""

from collections import defaultdict
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

from eyechart.audits.measures import score_rows
from eyechart.audits.rules import RulesAudit
from eyechart.audits.rules.controls import ControlErrors, control_errors, with_controls
from eyechart.audits.rules.exploited import rules_by_model
from eyechart.audits.rules.judge import (
    Followed,
    expected_contributions,
    followed_rules,
    largest_exploitation,
    match_answers,
    measure_gap,
    with_strata,
)
from eyechart.audits.rules.verdict import decide
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.predictions import Predictions, tidy
from eyechart.data.probes import fill
from eyechart.data.result import Measure, Result
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.statistics import mean
from eyechart.world import load_answerer

AUDIT = RulesAudit(min_support=5, max_items=3)


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=5, images=250)


@pytest.fixture(scope="module")
def study(world: Dataset) -> Result:
    return AUDIT.study(world, Local())


def answers_of(name: str, data: Dataset, study: Result) -> Predictions:
    [(_, probes)] = AUDIT.probe(data, study)
    return Predictions(name, tidy(load_answerer(name).answer(fill(probes, data), data.images), probes, name))


def meetings(data: Dataset, study: Result) -> list[tuple[int, str]]:
    """Pair confirmed rules with the judged examples that have all their words and labels, sorted by rule, image, id."""
    labels = {
        image: {one["label"] for one in objects}
        for image, objects in data.images.table.select("image", "objects").iter_rows()
    }
    judged = data.examples.join(study.rows, on="id", how="semi").sort("image", "id")
    confirmed = study.tables["rules"].filter(pl.col("state") == "confirmed")
    return [
        (rule, key)
        for rule, words, objects in confirmed.select("rule", "words", "objects").iter_rows()
        for key, image, text in judged.select("id", "image", "question").iter_rows()
        if set(words) <= set(text.replace("?", " ?").replace(",", " ,").split()) and set(objects) <= labels[image]
    ]


class Alike(NamedTuple):
    """What examples with a control in common have in common: the type, and whether an answer is named and offered."""

    kind: str
    mention: tuple[bool, bool]


def alike_for(row: dict[str, Any], answer: str) -> Alike:
    named = answer in row["question"].replace("?", "").replace(",", "").split()
    return Alike(row["question_type"], (named, answer in row["choices"]))


def test_exploited_rules_and_exploitation_are_those_of_the_definition(world: Dataset, study: Result) -> None:
    predictions = answers_of("mix:seer=0.5,cheater=0.5", world, study)
    result = AUDIT.judge(world, study, predictions, Local())
    said = dict(predictions.answers.select("id", "answer").iter_rows())
    answer_of = dict(study.tables["rules"].select("rule", "answer").iter_rows())
    examples = {row["id"]: row for row in world.examples.join(study.rows, on="id", how="semi").iter_rows(named=True)}
    met = defaultdict(list)
    for rule, key in meetings(world, study):
        met[rule].append(key)
    controls: dict[tuple[int, Alike], list[str]] = {}
    for rule, keys in met.items():
        answer = answer_of[rule]
        alike = {key: alike_for(examples[key], answer) for key in examples}
        for group in {alike[key] for key in keys}:
            controls[rule, group] = [
                key
                for key, row in examples.items()
                if alike[key] == group and key not in keys and answer not in row["answers"]
            ]
    rates = {
        one: sum(said[key] == answer_of[one[0]] for key in keys) / len(keys)
        for one, keys in controls.items()
        if len(keys) >= 20
    }

    table = {row["rule"]: row for row in result.tables["exploited"].iter_rows(named=True)}
    usable = set()
    for rule, keys in met.items():
        answer = answer_of[rule]
        wrong = [key for key in keys if answer not in examples[key]["answers"]]
        known = [key for key in wrong if (rule, alike_for(examples[key], answer)) in rates]
        usable |= {rule} if known else set()
        if rule in table:
            first = {examples[key]["image"]: key for key in reversed(known)}
            own = [rates[rule, alike_for(examples[key], answer)] for key in first.values()]
            row = table[rule]
            assert row["met"] == len(keys)
            assert row["correlation"] == pytest.approx(sum(said[key] == answer for key in keys) / len(keys))
            assert (row["wrong"], row["followed"]) == (len(first), sum(said[key] == answer for key in first.values()))
            assert row["control"] == pytest.approx(sum(own) / len(own))
    assert set(table) <= usable
    assert result.tables["exploited"].select(pl.len() + pl.col("others").sum()).item() == len(usable)

    kinds = dict(study.rows.select("id", "kind").iter_rows())
    size = {
        rule: len(words) + len(objects)
        for rule, words, objects in study.tables["rules"].select("rule", "words", "objects").iter_rows()
    }
    surplus: dict[str, dict[str, float]] = defaultdict(dict)
    for rule, keys in sorted(met.items(), key=lambda item: (size[item[0]], item[0])):
        answer = answer_of[rule]
        for key in keys:
            rate = rates.get((rule, alike_for(examples[key], answer)))
            if kinds[key] == "counterexample" and rate is not None:
                surplus[key].setdefault(answer, (said[key] == answer) - rate)
    expected = {key: sum(own.values()) for key, own in surplus.items()}
    found = dict(result.rows.drop_nulls("exploitation").select("id", "exploitation").iter_rows())
    assert found == pytest.approx(expected)
    assert len(found) > 20
    assert result.measure("exploitation", "plain").value == pytest.approx(sum(expected.values()) / len(expected))


def test_the_error_of_the_controls_is_that_of_each_example_in_them(world: Dataset, study: Result) -> None:
    """Summed over the rules of each example by loops, and over images."""
    answered = answers_of("mix:seer=0.5,cheater=0.5", world, study).beside(
        world.examples.join(study.rows.select("id", "cluster", "kind"), on="id"), "plain"
    )
    matches = match_answers(world, study, answered)
    used = with_controls(matches).filter(pl.col("wrong") & (pl.col("control_n") >= 20))
    used = used.unique(["id", "answer"], keep="first", maintain_order=True)
    said = dict(answered.table.select("id", "given").iter_rows())
    examples = {row["id"]: row for row in world.examples.join(study.rows, on="id", how="semi").iter_rows(named=True)}
    met = set(meetings(world, study))
    n = used["id"].n_unique()

    errors: dict[str, float] = dict.fromkeys(study.rows["cluster"], 0.0)
    for (rule, answer, kind, mention), pairs in used.group_by("rule", "answer", "type", "mention"):
        alike = alike_for(examples[pairs["id"][0]], answer)
        assert alike.kind == kind
        assert alike.mention == (mention in ("named", "named and offered"), mention in ("offered", "named and offered"))
        control = [
            key
            for key, row in examples.items()
            if alike_for(row, answer) == alike and (rule, key) not in met and answer not in row["answers"]
        ]
        assert set(pairs["control_n"]) == {len(control)}
        rate = sum(said[key] == answer for key in control) / len(control)
        for key in control:
            errors[examples[key]["image"]] -= pairs.height / n / len(control) * ((said[key] == answer) - rate)
    found = dict(control_errors(matches, used).by_image.iter_rows())

    assert {name: found.get(name, 0.0) for name in errors} == pytest.approx(errors)
    assert any(errors.values())


def test_a_small_control_leaves_a_wide_interval() -> None:
    """Forty of fifty agree; a control of 20 examples without agreement says less than one of 2,000."""
    examples = pl.DataFrame(
        {"cluster": [str(n) for n in range(50)], "agrees": [1.0] * 40 + [0.0] * 10, "elsewhere": [0.0] * 50}
    )
    images = pl.DataFrame({"cluster": [f"c{n}" for n in range(100)], "error": [0.0] * 100})
    few, many = (ControlErrors(images, (1 / n) ** 2).beyond(examples) for n in (20, 2000))
    alone = mean(examples["agrees"], examples["cluster"])

    assert few.value == many.value == pytest.approx(0.8)
    assert few.low < many.low
    assert few.high > many.high
    assert many.low == pytest.approx(alone.low, abs=0.001)
    assert (few.n, few.clusters) == (50, 50)


def test_the_error_of_few_controls_is_corrected_for_their_number() -> None:
    """With errors e of C images that hold none of the examples: C / (C - 1) sum e^2 beside that of the agreement."""
    agrees = [1.0] * 120 + [0.0] * 80
    examples = pl.DataFrame({"cluster": [str(n) for n in range(200)], "agrees": agrees, "elsewhere": [0.3] * 200})
    errors = np.array([0.1, -0.1, 0.2, -0.2])
    images = pl.DataFrame({"cluster": [f"c{n}" for n in range(4)], "error": errors})

    found = ControlErrors(images, 0.01).beyond(examples)

    alone = mean(examples["agrees"], examples["cluster"])
    assert found.se**2 == pytest.approx(alone.se**2 + 4 / 3 * np.sum(errors**2) + 0.01)


def test_objects_are_followed_as_far_as_the_same_words_without_them_are_not(world: Dataset, study: Result) -> None:
    """The control of a mixed rule is what has its words, lacks one of its objects, and does not accept its answer."""
    predictions = answers_of("mix:seer=0.5,cheater=0.5", world, study)
    result = AUDIT.judge(world, study, predictions, Local())
    said = dict(predictions.answers.select("id", "answer").iter_rows())
    rules = study.tables["rules"].filter(pl.col("state") == "confirmed", pl.col("kind") == "mixed")
    words_only = replace(
        study,
        tables=study.tables | {"rules": rules.with_columns(pl.lit([]).cast(rules.schema["objects"]).alias("objects"))},
    )
    beside = set(meetings(world, words_only))
    inside = set(meetings(world, replace(study, tables=study.tables | {"rules": rules})))
    answer_of = dict(rules.select("rule", "answer").iter_rows())
    accepts = dict(world.examples.select("id", "answers").iter_rows())
    kinds = dict(study.rows.select("id", "kind").iter_rows())
    surplus: dict[str, dict[str, float]] = defaultdict(dict)
    for rule, key in sorted(inside):
        answer = answer_of[rule]
        others = [one for own, one in beside - inside if own == rule and answer not in accepts[one]]
        if kinds[key] == "counterexample" and len(others) >= 20:
            control = sum(said[one] == answer for one in others) / len(others)
            surplus[key].setdefault(answer, (said[key] == answer) - control)
    expected = [sum(own.values()) for own in surplus.values()]

    found = result.measure("exploitation", "plain", "rule kind", "mixed, against the same words")
    assert (found.n, found.value) == (len(expected), pytest.approx(sum(expected) / len(expected)))


def test_rules_that_are_surely_followed_come_first(world: Dataset, study: Result) -> None:
    table = AUDIT.judge(world, study, answers_of("cheater", world, study), Local()).tables["exploited"]
    sure = (table["q"] <= 0.05).fill_null(value=False)

    assert sure.any()
    assert sure.to_list() == sorted(sure, reverse=True)
    assert table.filter(sure)["low"].to_list() == sorted(table.filter(sure)["low"], reverse=True)


def test_rules_that_are_followed_alike_come_in_their_own_order(world: Dataset, study: Result) -> None:
    table = AUDIT.judge(world, study, answers_of("seer", world, study), Local()).tables["exploited"]
    never = table.filter(pl.col("followed") == 0)["rule"]

    assert len(never) > 10
    assert never.to_list() == sorted(never)


def test_answers_are_compared_in_their_normal_form(world: Dataset, study: Result) -> None:
    plain = answers_of("cheater", world, study)
    loud = Predictions("loud", plain.answers.with_columns(pl.col("answer").str.to_uppercase() + "."))

    one, other = (AUDIT.judge(world, study, each, Local()) for each in (plain, loud))

    assert other.measure("exploitation", "plain").value == one.measure("exploitation", "plain").value


def test_refusals_follow_no_rule(world: Dataset, study: Result) -> None:
    plain = answers_of("cheater", world, study)
    refusing = plain.answers.with_columns(pl.lit(None, pl.String).alias("answer"), pl.lit("refused").alias("status"))
    result = AUDIT.judge(world, study, Predictions("refusing", refusing), Local())

    assert result.measure("accuracy", "plain").value == 0
    assert result.tables["exploited"]["wrong"].sum() > 0
    assert result.tables["exploited"]["followed"].sum() == 0


def test_every_share_that_a_view_shows_is_marked_as_one(world: Dataset) -> None:
    """All numbers with a fraction are shares, but for p and q."""
    audit = replace(AUDIT, select=True, max_items=2)
    found = audit.study(world, Local())
    judged = audit.judge(world, found, answers_of("cheater", world, found), Local())

    shown = {}
    for result in (found, judged):
        for view in (each for each in result.views if each.table != "measures"):
            table = result.table(view.table)
            names = view.columns.values() or table.columns
            shown[view.table] = {name for name in names if table.schema[name].is_float()} - {"p", "q"}
            assert dict.fromkeys(shown[view.table], "points") == dict(view.units)
    assert {name for name, shares in shown.items() if shares} == {
        *("answers", "confidences", "question_types", "answer_types", "shown", "surface", "exploited")
    }


def test_every_measure_says_which_way_is_better(world: Dataset, study: Result) -> None:
    judged = AUDIT.judge(world, study, answers_of("cheater", world, study), Local())

    assert set(study.measures["better"]) == {"neither"}
    assert dict(judged.measures.select("name", "better").iter_rows()) == {
        "accuracy": "higher",
        "exploitation": "lower",
        "largest exploitation": "lower",
        "gap": "lower",
        "matched gap": "lower",
        "expected gap": "neither",
    }


def bananas(usual: list[str], other: str) -> Dataset:
    """Ask for bananas, which a rule answers by the usual answers, and for cars, which none does."""
    cars = ["red", "blue", "black", "white"]
    asked = [
        (split, fruit, (usual[n % len(usual)] if n % 6 else other) if fruit == "banana" else cars[n % 4])
        for split in ("train", "test")
        for fruit in ("banana", "car")
        for n in range(240)
    ]
    examples = pl.DataFrame(asked, schema=["split", "thing", "answer"], orient="row").select(
        pl.int_range(pl.len()).cast(pl.String).alias("id"),
        pl.int_range(pl.len()).cast(pl.String).alias("image"),
        (pl.lit("what color is the ") + pl.col("thing")).alias("question"),
        "answer",
        pl.lit("what color").alias("question_type"),
        "split",
    )
    return Dataset("bananas", examples, Images.named(examples["image"]))


def judged_by(data: Dataset, said: pl.Expr, status: pl.Expr) -> Result:
    study = RulesAudit().study(data, Local())
    [(_, probes)] = RulesAudit().probe(data, study)
    asked = probes.select("id").join(data.examples, on="id", maintain_order="left")
    answers = asked.select("id", said.alias("answer"), status.alias("status"))
    return RulesAudit().judge(data, study, Predictions("m", tidy(answers, probes, "m")), Local())


def test_a_model_that_is_always_right_follows_no_rule_however_references_are_spelt() -> None:
    result = judged_by(bananas(["Yellow", "yellow"], "green"), pl.col("answer"), pl.lit("ok"))

    assert result.measure("accuracy", "plain").value == 1
    assert result.measure("exploitation", "plain").value == 0
    assert result.verdict.state != "no"


def test_a_refusal_on_a_counterexample_follows_no_rule_and_counts() -> None:
    green, followed = pl.col("answer") == "green", pl.col("id").cast(pl.Int64) % 4 == 0
    said = pl.when(green & followed).then(pl.lit("yellow")).when(green).then(None).otherwise("answer")
    status = pl.when(green & ~followed).then(pl.lit("refused")).otherwise(pl.lit("ok"))

    result = judged_by(bananas(["yellow"], "green"), said, status)

    assert result.measure("exploitation", "plain").n == 40
    assert result.measure("exploitation", "plain").value == 0.5


def by_hand() -> tuple[pl.DataFrame, Dataset]:
    """Two strata: answers seen once in train (accuracy 1/2 on both kinds) and never (0 on its counterexample)."""
    kinds = ["easy", "easy", "counterexample", "counterexample", "counterexample"]
    rows = pl.DataFrame(
        {"id": list("abcde"), "cluster": list("vwxyz"), "kind": kinds, "accuracy": [1.0, 0.0, 1.0, 0.0, 0.0]}
    )
    examples = pl.DataFrame(
        {
            "id": list("abcdet"),
            "image": list("vwxyzt"),
            "question": ["?"] * 6,
            "answer": ["seen"] * 4 + ["never", "seen"],
            "answer_type": ["other"] * 6,
        }
    )
    return rows, Dataset("hand", examples, Images.named(examples["image"]))


def test_the_gap_within_strata_is_worked_out_by_hand(study: Result) -> None:
    """Easy 1/2, counterexamples 1/3; within strata both are 1/2 where easy examples are, so nothing is left."""
    rows, data = by_hand()
    both = with_strata(rows, data, replace(study, rows=rows))
    found = {measure.name: measure.value for measure in measure_gap(both, "exact")}

    assert found == pytest.approx({"gap": 1 / 6, "expected gap": 1 / 6, "matched gap": 0})


def expected_gap(both: pl.DataFrame) -> float:
    """Work the expected gap out by its definition."""
    strata = [(part["kind"], part["accuracy"].mean()) for _, part in both.group_by("answer_type", "frequency")]
    sides = {kind: both.filter(pl.col("kind") == kind).height for kind in ("easy", "counterexample")}
    shares = [{kind: (kinds == kind).sum() / n for kind, n in sides.items()} for kinds, _ in strata]
    return sum(a * (share["easy"] - share["counterexample"]) for (_, a), share in zip(strata, shares, strict=True))


def test_the_error_of_the_expected_gap_is_that_of_a_jackknife() -> None:
    """Images hold both kinds, accuracies differ by stratum and kind, and each image is left out in turn."""
    rng = np.random.default_rng(5)
    n = 600
    stratum, easy = rng.integers(0, 4, n), rng.random(n) < 0.4
    stratum = np.where(easy, np.maximum(stratum, rng.integers(0, 4, n)), stratum)
    table = pl.DataFrame(
        {
            "cluster": rng.integers(0, 150, n),
            "kind": np.where(easy, "easy", "counterexample"),
            "answer_type": np.where(stratum % 2, "yes/no", "other"),
            "frequency": stratum // 2,
            "accuracy": (rng.random(n) < 0.2 + 0.2 * stratum).astype(float),
        }
    )
    both = table.with_columns(pl.col("accuracy").mean().over("answer_type", "frequency").alias("expected"))

    found = mean(expected_contributions(both), both["cluster"], kind="differences")

    left_out = [expected_gap(table.filter(pl.col("cluster") != each)) for each in table["cluster"].unique()]
    error = np.sqrt((len(left_out) - 1) * np.var(left_out))
    assert found.value == pytest.approx(expected_gap(table))
    assert found.se == pytest.approx(error, rel=0.05)
    assert found.low < found.value < found.high


def test_without_counterexamples_there_is_no_gap(study: Result) -> None:
    rows, data = by_hand()
    easy = rows.filter(pl.col("kind") == "easy")

    assert list(measure_gap(with_strata(easy, data, replace(study, rows=rows)), "exact")) == []


@pytest.mark.parametrize(
    ("low", "at_most", "state", "label"),
    [
        (0.04, 0.2, "no", "follows shortcuts"),
        (-0.1, 0.029, "yes", "follows no rules"),
        (0.01, 0.031, "cannot tell", "too close to tell"),
    ],
)
def test_the_verdict_rests_on_the_margin(low: float, at_most: float, state: str, label: str) -> None:
    measures = [Measure("accuracy", 0.5, 0.4, 0.6, 10), Measure("exploitation", 0.03, low, at_most + 0.01, 10)]

    verdict = decide(measures, 0.03, at_most)

    assert (verdict.state, verdict.label, verdict.measure, verdict.margin) == (state, label, measures[1].key, 0.03)
    assert "left out" not in verdict.sentence


@pytest.mark.parametrize(("gap", "state"), [(0.03, "yes"), (0.031, "cannot tell")])
def test_a_matched_gap_opens_a_yes(gap: float, state: str) -> None:
    measures = [
        Measure("accuracy", 0.5, 0.4, 0.6, 10),
        Measure("exploitation", 0.0, -0.02, 0.02, 10),
        Measure("matched gap", 0.1, gap, 0.2, 10),
    ]

    assert decide(measures, 0.03, 0.02).state == state
    assert decide(measures, 0.03, 0.1).state == "cannot tell"


@pytest.mark.parametrize(("high", "state"), [(0.69, "no"), (0.7, "cannot tell")])
def test_who_may_be_right_on_most_counterexamples_does_not_fail(high: float, state: str) -> None:
    measures = [
        Measure("accuracy", 0.66, 0.6, high, 10, by="kind", group="counterexample"),
        Measure("accuracy", 0.9, 0.8, 0.95, 10, by="kind", group="easy"),
        Measure("exploitation", 0.1, 0.04, 0.2, 10),
    ]

    verdict = decide(measures, 0.03, 0.2)

    assert (verdict.state, "right on most" in verdict.sentence) == (state, state != "no")


@pytest.mark.parametrize(("low", "state"), [(0.031, "no"), (0.03, "cannot tell")])
def test_who_follows_rules_of_one_kind_follows_rules(low: float, state: str) -> None:
    note = "mixed; interval for the largest of 2 kinds of rules, Bonferroni"
    largest = Measure("largest exploitation", 0.09, low, 0.2, 10, note=note)
    measures = [Measure("exploitation", 0.05, 0.01, 0.1, 10), largest]

    verdict = decide(measures, 0.03, 0.1)

    assert verdict.state == state
    assert (verdict.measure == largest.key, "words and objects" in verdict.sentence) == (state == "no", state == "no")


def test_the_largest_exploitation_holds_for_all_kinds_of_rules(world: Dataset, study: Result) -> None:
    """It is that of the highest lower end, where the interval of each kind is at 97.5 %, as there are two."""
    answered = answers_of("cheater:object", world, study).beside(
        world.examples.join(study.rows.select("id", "cluster", "kind"), on="id"), "plain"
    )
    matches = match_answers(world, study, answered)
    rows = score_rows(answered, "exact", "kind")
    followed = followed_rules(matches, with_controls(matches), rows)

    [largest] = largest_exploitation(followed, "exact")

    found = {kind: followed[kind].errors.beyond(followed[kind].rows, 0.975) for kind in ("words", "mixed")}
    assert followed["objects"].rows.is_empty()
    assert (largest.low, largest.high) == (found["mixed"].low, found["mixed"].high)
    assert largest.low > found["words"].low
    assert largest.note == "mixed; interval for the largest of 2 kinds of rules, Bonferroni"
    assert largest.low < followed["mixed"].errors.beyond(followed["mixed"].rows).low


def test_the_limit_of_a_model_that_follows_nothing_is_one_sided() -> None:
    """Of n answers none agrees, so with 95 % confidence at most 1 - .05^(1/n) do, if controls do not err."""
    n = 150
    rows = pl.DataFrame({"id": range(n), "cluster": [str(at) for at in range(n)], "agrees": 0.0, "elsewhere": 0.0})
    nothing = ControlErrors(rows.select("cluster", error=pl.lit(1e-6)), 1e-12)

    assert Followed(rows, nothing).at_most() == pytest.approx(1 - 0.05 ** (1 / n), rel=0.01)
    assert nothing.beyond(rows).high > Followed(rows, nothing).at_most()


def test_rules_without_a_control_are_counted() -> None:
    """The verdict says how many take no part, and that none is left if it is so."""
    measures = [Measure("accuracy", 0.5, 0.4, 0.6, 10), Measure("exploitation", 0.0, -0.02, 0.02, 10)]

    assert "7 rules with fewer than 20 examples to compare with" in decide(measures, 0.03, 0.02, unused=7).sentence
    assert decide(measures[:1], 0.03, 0.02, unused=7).state == "not tested"


def test_models_stand_beside_each_other_by_the_rules_they_follow(world: Dataset, study: Result) -> None:
    """Table 2 as rule by model: the agreement of each model with the same rules, anywhere and where they are wrong."""
    results = {
        name: AUDIT.judge(world, study, answers_of(name, world, study), Local())
        for name in ("seer", "cheater", "blind")
    }

    found = rules_by_model(results)

    assert found is not None
    table, view = found
    assert 0 < table.height <= 20
    assert table["number"].is_unique().all()
    for model, result in results.items():
        known = {row["rule"]: row for row in result.tables["agreements"].iter_rows(named=True)}
        for row in table.iter_rows(named=True):
            own = known[row["number"]]
            assert row[f"{model}: all"] == own["correlation"]
            assert row[f"{model}: wrong"] == own["agreement"]
            assert (row["n train"], row["wrong"]) == (own["support"], own["wrong"])
            assert row["rule"].endswith(f" → {own['answer']}")
        assert view.units[f"{model}: all"] == "points"
    surest = [result.tables["exploited"].row(0, named=True)["rule"] for result in results.values()]
    assert table["number"][0] in surest
    assert table["cheater: wrong"].to_list()[0] > table["seer: wrong"].to_list()[0]


def test_one_model_or_results_of_an_older_version_are_not_set_beside_each_other(world: Dataset, study: Result) -> None:
    result = AUDIT.judge(world, study, answers_of("seer", world, study), Local())
    older = replace(result, tables={"counts": result.tables["counts"]}, views=())

    assert rules_by_model({}) is None
    assert rules_by_model({"seer": result, "older": older}) is None
