"""New splits do what their recipes say, are a function of data and seed, and record both."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.audits.splits import SplitsAudit, resplit
from eyechart.audits.splits.resplit import ConceptGroups, ResplitSettings, assign_groups, make_resplit
from eyechart.audits.splits.study import find_splits
from eyechart.base.errors import DataError, SettingError, UnknownNameError
from eyechart.data.dataset import Dataset
from eyechart.formats import read


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=2, images=600)


def sides_of(table: pl.DataFrame, keys: list[str]) -> int:
    """Count groups that lie on both sides."""
    return table.group_by(keys).agg(pl.col("ood").n_unique().alias("sides")).filter(pl.col("sides") > 1).height


def test_changing_priors_put_each_answer_of_a_type_on_one_side(world: Dataset) -> None:
    new = make_resplit(world, "changing-priors", ResplitSettings(seed=3)).examples.with_columns(
        ood=pl.col("split") == "test"
    )

    assert sides_of(new, ["question_type", "answer"]) == 0
    assert new["ood"].mean() == pytest.approx(1 / 3, abs=0.05)
    several = new.filter(pl.col("answer").n_unique().over("question_type") > 2)
    assert sides_of(several, ["question_type"]) == 6  # every such type is on both sides, so its prior changes


def test_first_words_put_each_beginning_with_its_answer_on_one_side(world: Dataset) -> None:
    new = make_resplit(world, "first-words", ResplitSettings(seed=3)).examples.with_columns(
        ood=pl.col("split") == "test", start=pl.col("question").str.split(" ").list.head(3).list.join(" ")
    )

    assert sides_of(new, ["start", "answer"]) == 0
    shares = {name: (new["split"] == name).mean() for name in ("test", "train", "val", "test-id")}
    assert shares["test"] == pytest.approx(0.15, abs=0.04)
    inside = 1 - shares["test"]
    assert [shares[name] / inside for name in ("train", "val", "test-id")] == pytest.approx(
        [6 / 8.5, 1 / 8.5, 1.5 / 8.5], abs=0.03
    )


@pytest.mark.parametrize("recipe", ["changing-priors", "first-words"])
def test_words_of_the_test_split_are_in_train(world: Dataset, recipe: str) -> None:
    made = make_resplit(world, recipe, ResplitSettings(seed=1))
    words = {
        side: set(
            made.examples.filter((pl.col("split") == "test") == (side == "test"))["question"].str.split(" ").explode()
        )
        for side in ("test", "train")
    }

    said = made.counts.filter(pl.col("status") == "resplit")["reason"][0]
    assert len({word.strip("?,") for word in words["test"]} - {word.strip("?,") for word in words["train"]}) <= 20
    assert "words of test are not in train" in said


@settings(deadline=None, max_examples=60)
@given(
    members=st.lists(st.sets(st.integers(0, 60), max_size=8), min_size=1, max_size=40),
    share=st.sampled_from([0.1, 0.3, 0.6]),
)
def test_the_ood_side_gets_its_share_and_what_train_lacks_is_counted(members: list[set[int]], share: float) -> None:
    sizes = np.arange(len(members)) % 5 + 1
    pairs = [(at, one) for at, concepts in enumerate(members) for one in concepts]
    table = pl.DataFrame(pairs, schema={"group": pl.Int64, "concept": pl.Int64}, orient="row")

    out, uncovered = assign_groups(ConceptGroups.of(sizes, table), share)

    train = set().union(*(concepts for concepts, ood in zip(members, out, strict=True) if not ood))
    test = set().union(*(concepts for concepts, ood in zip(members, out, strict=True) if ood))
    assert uncovered == len(test - train)
    # Either the share is filled, or train was given all the rest to know the words.
    assert sizes[out].sum() >= share * sizes.sum() or not out.all()
    assert sizes[out].sum() < share * sizes.sum() + 5


def test_train_gets_a_group_for_what_it_lacks_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once group 1 has taught train the concept 0, group 2 may go to the other side as well."""
    monkeypatch.setattr(resplit, "UNCOVERED", 0)
    pairs = pl.DataFrame([(0, 0), (1, 0), (2, 0), (3, 1)], schema=["group", "concept"], orient="row")

    ood, lacking = assign_groups(ConceptGroups.of(np.ones(4, np.int64), pairs), 0.5)

    assert (ood.tolist(), lacking) == ([True, False, True, False], 0)


@pytest.mark.parametrize(("share", "size"), [(0.0, None), (0.3, None), (1.0, None), (0.25, 80)])
def test_a_train_set_has_the_wanted_share_of_heads(world: Dataset, share: float, size: int | None) -> None:
    new = make_resplit(world, "head-share", ResplitSettings(concept="KW", share=share, size=size)).examples
    study = find_splits(SplitsAudit(concepts=("KW",)), world)
    sides = pl.DataFrame([study.parts.data.examples["id"], study.tails["KW"].alias("tail")])
    train = new.filter(pl.col("split") == "train").join(sides, on="id")

    assert train["tail"].null_count() == 0
    assert (~train["tail"]).sum() == round(share * train.height)
    assert size in (None, train.height)
    assert (new["split"] == "test").sum() == (world.examples["split"] == "test").sum()


def test_the_size_of_train_does_not_depend_on_the_share(world: Dataset) -> None:
    sizes = {
        make_resplit(world, "head-share", ResplitSettings(concept="QT+KW", share=share))
        .examples.filter(pl.col("split") == "train")
        .height
        for share in (0.1, 0.5, 0.9)
    }

    assert len(sizes) == 1


@pytest.mark.parametrize("recipe", ["random", "changing-priors", "first-words", "head-share"])
def test_a_split_is_a_function_of_data_recipe_and_seed(world: Dataset, recipe: str) -> None:
    turned = replace(world, examples=world.examples.sample(fraction=1, shuffle=True, seed=1))
    one, same, other = (
        make_resplit(data, recipe, ResplitSettings(seed=seed)).examples.select("id", "split")
        for data, seed in ((world, 1), (turned, 1), (world, 2))
    )

    assert one.equals(same)
    assert not one.equals(other)


def test_random_splits_by_image_keep_images_whole(world: Dataset) -> None:
    new = make_resplit(world, "random", ResplitSettings(unit="image")).examples

    assert new.group_by("image").agg(pl.col("split").n_unique())["split"].max() == 1
    assert set(new["split"]) == {"train", "val", "test"}


def test_the_command_line_reads_a_resplit_with_its_recipe_recorded(world: Dataset, tmp_path: Path) -> None:
    world.save(tmp_path / "data")

    new = read("resplit", tmp_path / "data", recipe="changing-priors", seed="4", share="0.25")

    said = new.counts.filter(pl.col("status") == "resplit")["reason"][0]
    assert said.startswith("changing-priors, seed 4, share 0.25")
    assert new.name.endswith(", changing-priors")
    assert new.examples["split_before"].n_unique() == 3


@pytest.mark.parametrize(
    ("recipe", "choice", "error"),
    [
        ("halve", ResplitSettings(), UnknownNameError),
        ("changing-priors", ResplitSettings(share=1.5), SettingError),
        ("head-share", ResplitSettings(share=2), SettingError),
        ("head-share", ResplitSettings(size=10**6), SettingError),
        ("random", ResplitSettings(unit="word"), SettingError),
    ],
)
def test_choices_that_do_not_fit_are_refused(
    world: Dataset, recipe: str, choice: ResplitSettings, error: type[Exception]
) -> None:
    with pytest.raises(error):
        make_resplit(world, recipe, choice)


def test_head_shares_need_a_train_split(world: Dataset) -> None:
    with pytest.raises(DataError, match="a train split"):
        make_resplit(replace(world, examples=world.examples.drop("split")), "head-share", ResplitSettings())


def test_examples_without_an_answer_are_counted(world: Dataset) -> None:
    silent = world.examples.with_columns(answer=pl.when(pl.col("split") != "val").then(pl.col("answer")))

    counts = make_resplit(replace(world, examples=silent), "random", ResplitSettings()).counts

    assert counts.filter(pl.col("reason") == "no reference answer")["n"].to_list() == [300]
