"""Donors are admitted by their policy, drawn evenly, and the same in any order."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.audits.perception.donors import draw, make_pool
from eyechart.base.errors import DataError, SettingError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images

POLICIES = ("uniform", "other", "other-answer", "same-type", "same:color")


def dataset(rows: list[tuple[str | None, str, str, str]]) -> Dataset:
    columns = {name: [row[at] for row in rows] for at, name in enumerate(("image", "answer", "question_type", "color"))}
    examples = pl.DataFrame(
        {"id": [f"{at:03}" for at in range(len(rows))], "question": [f"q{at}" for at in range(len(rows))], **columns},
        schema_overrides={"image": pl.String},
    )
    return Dataset("d", examples, Images.named(examples["image"]))


def admitted(data: Dataset, policy: str) -> dict[str, set[str]]:
    """List the donors of each example that has an image, pair by pair."""
    rows = [row for row in data.examples.iter_rows(named=True) if row["image"] is not None]
    rules = {
        "uniform": lambda _one, _other: True,
        "other": lambda one, other: one["image"] != other["image"],
        "other-answer": lambda one, other: one["image"] != other["image"] and one["answer"] != other["answer"],
        "same-type": lambda one, other: (
            one["image"] != other["image"] and one["question_type"] == other["question_type"]
        ),
        "same:color": lambda one, other: one["image"] != other["image"] and one["color"] == other["color"],
    }
    return {one["id"]: {other["id"] for other in rows if rules[policy](one, other)} for one in rows}


image = st.sampled_from(["a", "b", "c", "d", None])
examples = st.lists(
    st.tuples(image, st.sampled_from(["yes", "no"]), st.sampled_from(["x", "y"]), st.sampled_from(["r", "g"])),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(rows=examples, policy=st.sampled_from(POLICIES), k=st.integers(0, 50))
def test_a_donor_is_one_that_the_policy_admits(rows: list, policy: str, k: int) -> None:
    """Those who have donors get an admitted one; those who have none get no row; the number of donors is right."""
    data = dataset(rows)
    allowed = admitted(data, policy)
    pool = make_pool(data, "image", policy)
    drawn = dict(draw(pool, 0, k).iter_rows())

    assert dict(zip(pool.ids, pool.choices, strict=True)) == {name: len(donors) for name, donors in allowed.items()}
    assert set(drawn) == {name for name, donors in allowed.items() if donors}
    assert all(donor in allowed[name] for name, donor in drawn.items())


@pytest.mark.parametrize("policy", POLICIES)
def test_all_admitted_donors_are_drawn_equally_often(policy: str) -> None:
    rows = [("abcd"[at % 4], "yes" if at % 3 else "no", "xy"[at % 2], "rg"[at // 5]) for at in range(10)]
    data = dataset(rows)
    pool = make_pool(data, "image", policy)
    drawn = pl.concat(draw(pool, 7, k) for k in range(500))
    counts = drawn.group_by("id", "donor").len()

    for name, donors in admitted(data, policy).items():
        mine = counts.filter(pl.col("id") == name)
        assert set(mine["donor"]) == donors
        # Four and a half standard deviations of a binomial count, of a fixed seed.
        expected = 500 / len(donors)
        assert np.abs(mine["len"].to_numpy() - expected).max() < 4.5 * np.sqrt(expected)


def test_donors_are_listed_for_examples_that_fail_too_often() -> None:
    """One in a thousand has another answer: most of its partners are never met by chance, yet all get it."""
    rows = [(f"i{at}", "yes", "x", "r") for at in range(1500)] + [("z", "no", "x", "r")]
    drawn = draw(make_pool(dataset(rows), "image", "other-answer"), 0, 0)

    assert drawn.height == 1501
    assert drawn.filter(pl.col("id") != "1500")["donor"].unique().to_list() == ["1500"]


@settings(max_examples=20, deadline=None)
@given(rows=examples, policy=st.sampled_from(POLICIES), seed=st.integers(0, 5))
def test_the_order_of_rows_does_not_matter(rows: list, policy: str, seed: int) -> None:
    data = dataset(rows)
    turned = Dataset("d", data.examples.sample(fraction=1, shuffle=True, seed=1), data.images)

    one, other = (draw(make_pool(each, "image", policy), seed, 3) for each in (data, turned))
    assert one.equals(other)


def test_modalities_seeds_and_numbers_draw_independently() -> None:
    rows = [(f"i{at}", "yes", "x", "r") for at in range(400)]
    pools = [make_pool(dataset(rows), name, "other") for name in ("image", "question")]
    drawn = [draw(pools[0], 0, 0), draw(pools[0], 0, 1), draw(pools[0], 1, 0), draw(pools[1], 0, 0)]

    for at, one in enumerate(drawn):
        for other in drawn[at + 1 :]:
            assert (one["donor"] == other["donor"]).mean() < 0.03


def test_lists_of_features_are_contents_too() -> None:
    data = dataset([("a", "yes", "x", "r")] * 3)
    data = Dataset("d", data.examples.with_columns(video=pl.Series([[1.0, 2.0], [1.0, 2.0], [3.0]])), data.images)

    assert make_pool(data, "video", "other").choices.tolist() == [1, 1, 2]


def test_unknown_policies_and_missing_types_are_errors() -> None:
    data = dataset([("a", "yes", "x", "r")])
    with pytest.raises(SettingError, match="same:COLUMN"):
        make_pool(data, "image", "any")
    with pytest.raises(DataError, match="weather"):
        make_pool(data, "image", "same:weather")
    typeless = Dataset("d", data.examples.drop("question_type"), data.images)
    with pytest.raises(DataError, match="question_type or answer_type"):
        make_pool(typeless, "image", "same-type")
