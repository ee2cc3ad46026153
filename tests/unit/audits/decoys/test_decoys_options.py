"""Sets of options hold the target once, no other accepted answer and no option twice, whatever is drawn."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.audits.decoys.options import choices_of, count_damage, offer, rotate, sets_of
from eyechart.audits.decoys.settings import SETS

DECOYS = {
    "id": pl.String,
    "source": pl.String,
    "place": pl.Int64,
    "decoy": pl.String,
    "donor": pl.String,
    "filler": pl.Boolean,
}
TEXTS = st.sampled_from(["yes", "no", "Yes", "a dog", "dog", "dog.", "2", "two", " ", "", "?", "猫", "un chat", "the"])
ITEM = st.tuples(TEXTS, st.lists(TEXTS, max_size=3), st.lists(TEXTS, max_size=4), st.lists(TEXTS, max_size=4))


def drawn(rows: list[tuple[str, str, str]]) -> pl.DataFrame:
    """Make a table of decoys out of (id, source, text)."""
    full = [(id_, source, at, text, None, False) for at, (id_, source, text) in enumerate(rows)]
    return pl.DataFrame(full, schema=DECOYS, orient="row").sort("id", "source", "place")


def one(answer: str, choices: list[str] | None = None, answers: list[str] | None = None) -> pl.DataFrame:
    schema = {"id": pl.String, "answer": pl.String, "choices": pl.List(pl.String), "answers": pl.List(pl.String)}
    return pl.DataFrame([("q", answer, choices, answers)], schema=schema, orient="row")


def official(text: str) -> str:
    """Normalise the few texts above as the official evaluation does."""
    folded = text.strip().lower().replace(".", "").replace("?", "").removeprefix("a ").strip()
    folded = {"two": "2", "the": ""}.get(folded, folded)
    return folded or text.strip()


@settings(deadline=None, max_examples=40)
@given(st.lists(ITEM, min_size=1, max_size=4), st.integers(0, 3))
def test_no_built_set_has_an_accepted_answer_or_an_option_twice(items: list, seed: int) -> None:
    examples = pl.DataFrame(
        {
            "id": [f"q{n}" for n in range(len(items))],
            "answer": [item[0] for item in items],
            "answers": pl.Series([item[1] for item in items], dtype=pl.List(pl.String)),
            "choices": pl.Series([[item[0], *item[2]] for item in items], dtype=pl.List(pl.String)),
        }
    )
    decoys = drawn(
        [(f"q{n}", source, text) for n, item in enumerate(items) for source in ("iou", "qou") for text in item[3]]
    )
    for name in ("iou+qou", "all"):
        for (key,), options in offer(examples, decoys, name, seed).group_by("id"):
            item = items[int(str(key)[1:])]
            wrong = options.filter(~pl.col("target"))["text"].to_list()
            accepted = {official(text) for text in (item[0], *item[1])}
            assert options.filter("target")["text"].to_list() == [item[0]]
            assert len(wrong) >= 1
            assert not accepted & {official(text) for text in wrong}
            assert len({official(text) for text in wrong}) == len(wrong)
            assert sorted(options["place"]) == list(range(options.height))


def test_options_do_not_depend_on_the_order_of_rows() -> None:
    examples = pl.DataFrame({"id": ["b", "a"], "answer": ["red", "blue"]})
    decoys = drawn([(id_, "qou", text) for id_ in ("a", "b") for text in ("green", "pink", "white")])

    straight = offer(examples, decoys, "qou", 0)

    assert straight.equals(offer(examples.reverse(), decoys, "qou", 0))
    assert not straight.equals(offer(examples, decoys, "qou", 1))


def test_the_order_of_options_reveals_nothing_about_the_target() -> None:
    ids = [f"q{n}" for n in range(2000)]
    examples = pl.DataFrame({"id": ids, "answer": ["red"] * 2000})
    decoys = drawn([(id_, "qou", text) for id_ in ids for text in ("green", "pink", "white")])

    places = offer(examples, decoys, "qou", 0).filter("target")["place"].value_counts()["count"]

    assert places.min() > 420  # 500 each, with a deviation of 19
    assert places.max() < 580


def test_the_options_of_the_data_keep_their_order_without_blanks_and_repeats() -> None:
    examples = one("red", ["blue", "", "red", "blue", " ", "green"])

    assert offer(examples, drawn([]), "orig", 0)["text"].to_list() == ["blue", "red", "green"]
    assert count_damage(examples) == {"empty option left out": 1, "same option twice, kept once": 1}


@pytest.mark.parametrize("choices", [None, [], ["red"], ["red", "", "red"]])
def test_an_example_without_a_wrong_option_is_in_no_set(choices: list[str] | None) -> None:
    assert offer(one("red", choices), drawn([]), "orig", 0).is_empty()
    assert offer(one("red", choices), drawn([("q", "iou", "red")]), "iou", 0).is_empty()


def test_all_leaves_out_a_decoy_of_the_data_that_people_accept() -> None:
    examples = one("couch", ["couch", "sofa", "lamp"], ["couch", "sofa"])
    decoys = drawn([("q", "iou", "lamp"), ("q", "qou", "chair")])

    assert set(offer(examples, decoys, "all", 0)["text"]) == {"couch", "lamp", "chair"}


def test_sets_need_their_sources() -> None:
    bare = one("red").drop("choices")

    assert sets_of(bare, drawn([("q", "iou", "x"), ("q", "qou", "y")])) == ("iou", "qou", "iou+qou")
    assert sets_of(one("red", ["red", "blue"]), drawn([])) == ("orig",)
    assert set(sets_of(one("red", ["red", "x"]), drawn([("q", s, "y") for s in ("iou", "qou", "random")]))) == set(SETS)


@given(st.integers(2, 6), st.integers(1, 5))
def test_shifting_turns_the_options_and_leaves_out_examples_that_have_too_few(n: int, by: int) -> None:
    choices = pl.DataFrame({"id": ["q"], "choices": [[str(at) for at in range(n)]]})

    turned = rotate(choices, by)["choices"].to_list()

    assert turned == ([[str((at + by) % n) for at in range(n)]] if by < n else [])


def test_choices_are_gathered_in_order() -> None:
    offers = offer(one("red", ["blue", "red"]), drawn([]), "orig", 0)

    assert choices_of(offers).rows() == [("q", ["blue", "red"])]
