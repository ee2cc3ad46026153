"""What is learned from and what is judged is decided once: by names of splits, or by image where there are none."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl
import pytest

from eyechart.base.errors import DataError
from eyechart.data.dataset import Dataset
from eyechart.data.division import Division
from eyechart.data.images import Images


def in_splits(*splits: str | None, answered: Sequence[str] = (), per_image: int = 5) -> Dataset:
    """Make twenty examples of each split, with an answer where the split is among those answered, or in all."""
    names = [name for name in splits for _ in range(20)]
    n = range(len(names))
    answers = ["a" if not answered or name in answered else None for name in names]
    examples = pl.DataFrame(
        {
            "id": [str(at) for at in n],
            "image": [str(at // per_image) for at in n],
            "question": ["q"] * len(names),
            "answer": pl.Series(answers, dtype=pl.String),
            "split": pl.Series(names, dtype=pl.String),
        }
    )
    return Dataset("some", examples, Images.named(examples["image"]))


def without_splits(n: int) -> Dataset:
    data = in_splits(*["x"] * (n // 20))
    return replace(data, examples=data.examples.drop("split"))


@pytest.mark.parametrize(
    ("splits", "learn", "judge"),
    [
        (("train", "val", "test"), ("train",), ("test",)),
        (("train", "val"), ("train",), ("val",)),
        (("train", "dev"), ("train",), ("dev",)),  # the only one it could be
        (("train", "dev", "test"), ("train",), ("test",)),
        (("test",), (), ("test",)),
        (("test", "val"), (), ("test",)),
        (("testdev",), (), ("testdev",)),
        (("train", None), ("train",), None),
        ((None,), (), ()),
    ],
)
def test_what_is_not_named_is_as_usual(
    splits: tuple[str | None, ...], learn: tuple[str, ...], judge: tuple[str, ...] | None
) -> None:
    if judge is None:  # rows of no split are nobody's
        with pytest.raises(
            DataError, match="found no split but train, which is learned from; provide others, or pass --judge"
        ):
            in_splits(*splits).decide()
        return
    assert in_splits(*splits).decide().division == Division("division", learn, judge)


@pytest.mark.parametrize(
    ("learn", "judge", "expected"),
    [
        (["val"], None, (("val",), ("test",))),
        (None, ["val"], (("train",), ("val",))),
        (None, ["test", "val"], (("train",), ("test", "val"))),
        (None, ["train"], ((), ("train",))),
        (["none"], None, ((), ("test",))),
        (None, ["none"], (("train",), ())),
        (["none"], ["none"], ((), ())),
        (["train", "val"], ["none"], (("train", "val"), ())),
    ],
)
def test_splits_are_named(
    learn: list[str] | None, judge: list[str] | None, expected: tuple[tuple[str, ...], tuple[str, ...]]
) -> None:
    decided = in_splits("train", "val", "test").decide(learn, judge, seed=3).division

    assert decided is not None
    assert (decided.learn, decided.judge, decided.seed) == (*expected, 3)


def test_a_split_without_answers_is_not_judged() -> None:
    """The test split of VQA v2 has no public answers: its val split is judged instead."""
    decided = in_splits("train", "val", "test", answered=("train", "val")).decide().division

    assert decided is not None
    assert decided.judge == ("val",)


@pytest.mark.parametrize(
    ("learn", "judge", "message"),
    [
        (None, ["dev"], "a split 'dev' in some; found splits test, train, val; choose one of those, or 'none'"),
        (["training"], None, "a split 'training' in some; found splits test, train, val"),
        (["test"], ["test"], "different splits to learn from and to judge; found test in both"),
    ],
)
def test_wrong_names_are_told_in_a_line(learn: list[str] | None, judge: list[str] | None, message: str) -> None:
    with pytest.raises(DataError, match=message):
        in_splits("train", "val", "test").decide(learn, judge)


def test_several_unknown_splits_are_listed() -> None:
    with pytest.raises(DataError, match="several candidates: easy, hard; choose it with --judge"):
        in_splits("train", "easy", "hard").decide()


def test_train_alone_is_never_judged_unless_it_is_named() -> None:
    with pytest.raises(
        DataError, match="no split but train, which is learned from; provide others, or pass --judge train"
    ):
        in_splits("train").decide()

    assert in_splits("train").decide(judge=["train"]).divided(learns=False).judge.height == 20


def test_nothing_to_judge_is_an_error() -> None:
    with pytest.raises(DataError, match="examples to judge in some; found none among 20 examples"):
        in_splits("test").decide(learn=["test"], judge=["none"])
    with pytest.raises(DataError, match="examples to judge in some; found none among 0 examples"):
        in_splits("test").take(pl.lit(value=False)).decide()


def test_with_a_split_to_learn_from_everybody_judges_the_same() -> None:
    data = in_splits("train", "val", "test").decide()
    one, other = (data.divided(learns=learns) for learns in (True, False))

    assert set(one.learn.examples["split"]) == {"train"}
    assert set(one.judge.examples["split"]) == {"test"}
    assert one.judge.examples.equals(other.judge.examples)
    assert data.sizes() == replace(data.sizes(), learned=20, judged=20, held_out=20, learned_apart=20, neither=20)


def test_without_one_who_learns_nothing_judges_everything_and_others_what_is_held_out_by_image() -> None:
    data = without_splits(5000).decide(seed=3)
    plain, learned = data.divided(learns=False), data.divided(learns=True)

    assert (plain.learn.height, plain.judge.height) == (0, 5000)
    assert set(learned.learn.examples["image"]).isdisjoint(learned.judge.examples["image"])
    assert learned.learn.height + learned.judge.height == 5000
    assert 0.25 < learned.judge.height / 5000 < 0.35
    assert data.sizes() == replace(
        data.sizes(), learned=0, judged=5000, held_out=learned.judge.height, learned_apart=learned.learn.height
    )


def test_only_what_is_judged_is_parted_where_nothing_is_learned_from() -> None:
    data = in_splits(*["val"] * 5, *["test"] * 20, per_image=1).decide()
    learned = data.divided(learns=True)

    assert {*learned.learn.examples["split"], *learned.judge.examples["split"]} == {"test"}
    assert data.sizes().neither == 100


def test_who_is_held_out_depends_on_image_and_seed_alone() -> None:
    data = without_splits(500)
    turned = replace(data, examples=data.examples.reverse())
    held_out = [set(each.divided(learns=True).judge.examples["id"]) for each in (data, turned, data.decide(seed=1))]

    assert held_out[0] == held_out[1] != held_out[2]


def test_a_single_image_cannot_be_held_out() -> None:
    data = in_splits("test", per_image=20).decide()

    assert data.sizes().held_out == 0
    with pytest.raises(
        DataError, match="found 20 examples, with too few images to hold some out; provide more examples"
    ):
        data.divided(learns=True)


def test_rows_without_a_split_are_judged_only_where_all_others_are() -> None:
    data = in_splits("train", "test", None)

    assert data.decide().sizes().neither == 20
    assert data.decide(judge=["none"]).sizes().judged == 40


def test_one_split_may_be_named_by_a_plain_text(tiny: Dataset) -> None:
    assert tiny.decide("none", "train").division == tiny.decide(["none"], ["train"]).division


def test_no_split_and_a_split_cannot_both_be_asked_for(tiny: Dataset) -> None:
    with pytest.raises(DataError, match="splits of tiny, or 'none'; found none, test; leave one of them out"):
        tiny.decide(judge=["none", "test"])


def test_splits_cannot_be_named_where_there_are_none(tiny: Dataset) -> None:
    bare = replace(tiny, examples=tiny.examples.drop("split"))

    with pytest.raises(DataError, match="a split 'test' in tiny; found no splits; leave out --learn and --judge"):
        bare.decide(judge=["test"])


def test_rows_without_a_split_are_not_said_to_be_in_train(tiny: Dataset) -> None:
    split = pl.when(pl.col("split") == "train").then("split").alias("split")

    with pytest.raises(DataError, match="no split but train"):
        replace(tiny, examples=tiny.examples.with_columns(split)).decide()
