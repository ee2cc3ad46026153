"""The table of truth tells the truth: strengths, base rates, pairs, controls, decoys and people."""

from functools import cache

import numpy as np
import polars as pl
import pytest

from eyechart.base.errors import SettingError
from eyechart.world import World, WorldSettings, make_world
from eyechart.world.answers import MOST_WRONG, wrong_answers
from eyechart.world.plan import RULE_TYPES
from eyechart.world.settings import PLANTED
from eyechart.world.shortcuts import APART, FIRES, PROP_SHARES, TOGETHER, WORD_SHARES, base, marginal
from eyechart.world.vocabulary import QUESTION_TYPES, SYNONYMS

BAND = 4.5  # standard errors: a false alarm in about 150,000 comparisons
RULES = ("word", "object", "pair")


@cache
def make(**settings: object) -> World:
    return make_world(WorldSettings(**settings))


def with_cues(world: World) -> pl.DataFrame:
    """Add the words of each question and the labels of its image, by splitting on spaces and reading the objects."""
    labels = world.data.images.table.select(
        "image", labels=pl.col("objects").list.eval(pl.element().struct.field("label"))
    )
    words = pl.col("question").str.replace_all("[?,]", "").str.split(" ").alias("words")
    return world.data.examples.with_columns(words).join(labels, on="image", how="left", validate="m:1")


def cue(row: dict) -> pl.Expr:
    """Say where the cue of a row of the truth table is present."""
    present = pl.lit(value=True)
    if row["question_type"] is not None:
        present &= pl.col("question_type") == row["question_type"]
    for word in row["words"]:
        present &= pl.col("words").list.contains(word)
    for label in row["objects"]:
        present &= pl.col("labels").list.contains(label)
    return present


def z(hits: float, n: float, p: float) -> float:
    return (hits - n * p) / np.sqrt(max(n * p * (1 - p), 1e-9))


@pytest.mark.parametrize("strength", [0.6, 0.8, 1.0])
def test_each_shortcut_has_its_strength_over_seeds(strength: float) -> None:
    truths = pl.concat(make(seed=seed, images=1500, strength=strength).truth for seed in range(8))
    planted = truths.filter(~pl.col("kind").str.starts_with("control"))
    sums = planted.group_by("shortcut").agg(pl.col("^.*_(n|hits)$").sum())

    assert sums.height == 16
    for row in sums.to_dicts():
        n, hits = (sum(row[f"{split}_{name}"] for split in ("train", "val", "test")) for name in ("n", "hits"))
        assert abs(z(hits, n, strength)) < BAND if strength < 1 else hits == n


FORMS = (  # what makes data of another form
    {},
    {"images": 4000, "questions": 1},
    {"shares": (0.0, 0.0, 1.0)},
    {"yes": 0.9},
    {"plant": (*RULES, "length")},
)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_the_truth_table_counts_what_is_there(form: dict) -> None:
    world = make(seed=1, **form)
    seen = with_cues(world)
    for row in world.truth.to_dicts():
        here = seen.filter(cue(row))
        for split in ("train", "val", "test"):
            part = here.filter(split=split)
            assert row[f"{split}_n"] == part.height
            if row["answer"] is not None:
                assert row[f"{split}_hits"] == part.filter(answer=row["answer"]).height
            elif row["kind"] == "length":
                assert row[f"{split}_hits"] == part["choices"].list.join("").str.contains(",").sum()


@pytest.mark.parametrize("form", FORMS[1:], ids=str)
@pytest.mark.parametrize("seed", [71, 72])
def test_in_every_form_of_the_world_each_shortcut_is_as_strong_as_its_row_says(form: dict, seed: int) -> None:
    truth = make(seed=seed, **form).truth.filter(pl.col("strength").is_not_null())
    for row in truth.to_dicts():
        n, hits = (sum(row[f"{split}_{name}"] for split in ("train", "val", "test")) for name in ("n", "hits"))
        assert n > 100
        assert abs(z(hits, n, row["strength"])) < BAND


@pytest.mark.parametrize("seed", range(6))
def test_the_default_world_has_enough_rows_of_each_rule_on_distinct_images(seed: int) -> None:
    world = make(seed=seed)
    rules = world.truth.filter(pl.col("kind").is_in(RULES))
    images = (
        world.data.examples.filter(pl.col("planted").is_not_null())
        .group_by("planted", "split")
        .agg(pl.len(), pl.col("image").n_unique())
    )

    assert sorted(rules["kind"]) == sorted(RULES * 4)
    assert rules["train_n"].is_between(60, 150).all()
    assert (rules["test_n"] >= 25).all()
    assert images["len"].equals(images["image"])


@pytest.mark.parametrize("seed", range(4))
def test_rules_of_strength_06_are_confirmed_on_test_against_base_rate_and_each_half(seed: int) -> None:
    from scipy.stats import binomtest

    world = make(seed=seed, strength=0.6)
    test = with_cues(world).filter(split="test")
    for row in world.truth.filter(pl.col("kind").is_in(RULES)).to_dicts():
        found = binomtest(row["test_hits"], row["test_n"], row["base_rate"], alternative="greater")
        assert found.pvalue < 1e-9
        if row["kind"] == "pair":
            for half in ({**row, "words": []}, {**row, "objects": []}):
                rate = test.filter(cue(half)).select((pl.col("answer") == row["answer"]).mean()).item()
                assert binomtest(row["test_hits"], row["test_n"], rate, alternative="greater").pvalue < 0.01


def test_half_a_pair_alone_does_not_carry_its_answer() -> None:
    world = make(seed=2, images=12_000)
    seen = with_cues(world)
    for row in world.truth.filter(kind="pair").to_dicts():
        for half in ({**row, "words": []}, {**row, "objects": []}):
            alone = seen.filter(cue(half) & ~cue(row))
            assert alone.height > 500
            assert alone.select((pl.col("answer") == row["answer"]).mean()).item() < 0.035


def test_base_rates_and_marginals_follow_from_the_design() -> None:
    world = make(seed=2, images=12_000)
    examples = world.data.examples
    for row in world.truth.filter(pl.col("kind").is_in(RULES)).to_dicts():
        rest = examples.filter(
            (pl.col("question_type") == row["question_type"]) & pl.col("planted").ne_missing(row["shortcut"])
        )
        assert abs(z(rest.filter(answer=row["answer"]).height, rest.height, row["base_rate"])) < BAND
    for name in RULE_TYPES:
        here = examples.filter(question_type=name)
        shares = marginal(name, world.settings, "train")
        assert shares.sum() == pytest.approx(1)
        for answer, share in zip(QUESTION_TYPES[name].answers, shares, strict=True):
            assert abs(z(here.filter(answer=answer).height, here.height, share)) < BAND


def test_each_rule_fires_as_often_as_the_formula_says() -> None:
    words = np.array(WORD_SHARES)
    props = np.array(PROP_SHARES)

    assert words.sum(axis=1) == pytest.approx(1)
    assert props @ words[:, 1] == pytest.approx(FIRES)  # the word rule
    assert props[1] == pytest.approx(FIRES)  # the object rule
    assert props[2] * words[2, 2] == pytest.approx(FIRES)  # the pair
    assert words[1, 1] == 0  # word and object rule never fire together


def test_each_design_says_where_a_rule_fires_and_how_often() -> None:
    for design, rules in ((APART, 3), (TOGETHER, 4)):
        chance = np.array(design.props)[:, None] * np.array(design.words)  # prop, word
        fires = np.array(design.fires).T
        assert chance.sum() == pytest.approx(1)
        for place in range(rules):
            assert chance[fires == place].sum() == pytest.approx(design.share)


@pytest.mark.parametrize("strength", [0.6, 0.8])
def test_half_of_a_crossed_pair_says_nothing_of_which_answer_it_is(strength: float) -> None:
    world = make(seed=2, images=12_000, plant=("crossed",), strength=strength)
    seen = with_cues(world)
    crossed = world.truth.filter(kind="crossed").to_dicts()

    assert len(crossed) == 16
    for row in crossed:
        n, hits = (sum(row[f"{split}_{name}"] for split in ("train", "val", "test")) for name in ("n", "hits"))
        assert abs(z(hits, n, strength)) < BAND
        rival = {one["answer"] for one in crossed if one["question_type"] == row["question_type"]} - {row["answer"]}
        assert set(seen.filter(cue(row))["answer"]) == {row["answer"], *rival}
        for half in ({**row, "words": []}, {**row, "objects": []}):
            here = seen.filter(cue(half))
            assert here.height > 1000
            assert abs(z(here.filter(answer=row["answer"]).height, here.height, 0.5)) < BAND


def test_crossed_pairs_have_the_base_rates_and_marginals_of_their_design() -> None:
    world = make(seed=2, images=12_000, plant=("crossed",), strength=0.8)
    examples = world.data.examples
    for row in world.truth.filter(kind="crossed").to_dicts():
        rest = examples.filter(
            (pl.col("question_type") == row["question_type"]) & pl.col("planted").ne_missing(row["shortcut"])
        )
        assert abs(z(rest.filter(answer=row["answer"]).height, rest.height, row["base_rate"])) < BAND
    for name in RULE_TYPES:
        here = examples.filter(question_type=name)
        shares = marginal(name, world.settings, "train")
        assert shares.sum() == pytest.approx(1)
        assert shares.max() <= 0.25  # else four options could not be neutral
        for answer, share in zip(QUESTION_TYPES[name].answers, shares, strict=True):
            assert abs(z(here.filter(answer=answer).height, here.height, share)) < BAND


@pytest.mark.parametrize("other", RULES)
def test_crossed_pairs_cannot_stand_beside_the_rules_whose_cues_they_use(other: str) -> None:
    with pytest.raises(SettingError, match="crossed"):
        WorldSettings(plant=("crossed", other))


def test_controls_are_not_associated_with_any_answer() -> None:
    """For every control, type and answer the rates with and without the cue agree within sampling error."""
    world = make(seed=4, images=12_000)
    seen = with_cues(world)
    compared = 0
    for row in world.truth.filter(pl.col("kind").str.starts_with("control")).to_dicts():
        flagged = seen.with_columns(cue=cue(row))
        table = flagged.group_by("question_type", "answer").agg(pl.col("cue").sum().alias("hits"), pl.len())
        totals = flagged.group_by("question_type").agg(n=pl.col("cue").sum(), all=pl.len())
        for each in table.join(totals, on="question_type").iter_rows(named=True):
            p = each["len"] / each["all"]
            spread = np.sqrt(each["n"] * p * (1 - p) * (1 - each["n"] / each["all"]))
            assert abs(each["hits"] - each["n"] * p) < BAND * spread + 1
            compared += 1
    assert compared > 500


def test_a_kind_that_is_not_planted_becomes_a_control() -> None:
    world = make(seed=0, images=12_000, plant=("word",))
    kinds = set(world.truth["kind"])
    seen = with_cues(world)

    assert kinds == {"word", "control-object", "control-pair", "control-word"}
    assert set(world.data.examples["planted"].drop_nulls().str.head(5)) == {"word:"}
    assert set(world.data.examples["decoys"]) == {"neutral"}
    fired = seen.filter(pl.col("labels").list.contains("umbrella") & (pl.col("question_type") == "what color is the"))
    assert abs(z(fired.filter(answer="red").height, fired.height, base("what color is the")[9])) < BAND


def test_planted_and_conflict_say_what_fires_and_misleads() -> None:
    world = make(seed=1)
    suggested = dict(world.truth.select("shortcut", "answer").iter_rows())
    fired = world.data.examples.filter(pl.col("planted").is_not_null())

    for planted, answer, conflict in fired.select("planted", "answer", "conflict").iter_rows():
        assert conflict == (answer != suggested[planted])
    assert not world.data.examples.filter(pl.col("planted").is_null())["conflict"].any()


def test_planted_rules_give_their_groups_heads_and_tails() -> None:
    """By the rule of VQA-VS (entropy below 0.9, head above 1.2 means) each planted answer heads its group."""
    seen = with_cues(make(seed=0, images=4000)).filter(split="test")
    for row in make(seed=0, images=4000).truth.filter(pl.col("kind").is_in((*RULES, "prior"))).to_dicts():
        counts = seen.filter(cue(row))["answer"].value_counts()
        shares = counts["count"].to_numpy() / counts["count"].sum()
        entropy = -(shares * np.log(shares)).sum() / np.log(len(shares))
        head = counts.filter(pl.col("count") >= 1.2 * pl.col("count").mean())["answer"].to_list()
        assert entropy < 0.9
        assert head == [row["answer"]]


@pytest.mark.parametrize("plant", [PLANTED, ("crossed", "decoy")])
@pytest.mark.parametrize(("options", "strength"), [(4, 0.8), (4, 0.0), (4, 1.0), (3, 0.8), (2, 0.8)])
def test_neutral_options_do_not_tell_the_target(plant: tuple[str, ...], options: int, strength: float) -> None:
    """However often a text is offered, it is the target in the same share of the offers."""
    strengths = {"word": strength, "object": strength, "pair": strength, "crossed": strength}
    world = make_world(WorldSettings(seed=7, images=6000, options=options, strength=strengths, plant=plant))
    neutral = world.data.examples.filter((pl.col("decoys") == "neutral") & pl.col("question_type").is_in(RULE_TYPES))
    offers = neutral.select("question_type", "answer", pl.col("choices").alias("text")).explode("text")
    table = offers.group_by("question_type", "text").agg(n=pl.len(), hits=(pl.col("text") == pl.col("answer")).sum())

    assert neutral["choices"].list.len().unique().to_list() == [options]
    for _, _, n, hits in table.iter_rows():
        assert abs(z(hits, n, 1 / options)) < BAND


def test_the_place_of_the_target_is_uniform() -> None:
    examples = make(seed=2, images=12_000).data.examples.filter(pl.col("choices").list.len() == 4)
    place = pl.concat_list(pl.col("choices").list.get(at) == pl.col("answer") for at in range(4)).list.arg_max()
    counts = examples.select(place.alias("place"))["place"].value_counts()["count"]

    assert all(abs(z(count, examples.height, 0.25)) < BAND for count in counts)


def test_planted_decoys_are_never_targets_and_prior_types_are_told_apart() -> None:
    examples = make(seed=1).data.examples
    planted = examples.filter(decoys="planted")
    foils = planted.select(pl.col("choices").list.set_difference(pl.concat_list("answer"))).to_series().explode()

    assert set(planted["question_type"]) == {"what is left of the", "what is the"}
    assert not set(foils) & set(examples["answer"])
    assert set(examples.filter(decoys="prior")["question_type"]) == {"how many", "is there a"}
    assert not set(foils) & set(examples.filter(decoys="neutral")["choices"].explode())


@pytest.mark.parametrize("noise", [0.0, 0.15, 1.0])
def test_most_people_give_the_intended_answer_and_nobody_a_planted_one_by_mistake(noise: float) -> None:
    world = make(seed=1, noise=noise)
    suggested = dict(world.truth.filter(pl.col("answer").is_not_null()).select("shortcut", "answer").iter_rows())
    wrong = 0
    for row in world.data.examples.to_dicts():
        others = [answer for answer in row["answers"] if answer != row["answer"]]
        wrong += len(others)
        assert len(row["answers"]) == 10
        assert len(others) <= MOST_WRONG
        assert set(others) <= {*wrong_answers(row["question_type"]), SYNONYMS.get(row["answer"])}
        if row["conflict"]:
            assert suggested[row["planted"]] not in row["answers"]

    assert wrong / world.data.examples.height / 10 == pytest.approx({0.0: 0, 0.15: 0.148, 1.0: 0.4}[noise], abs=0.01)
