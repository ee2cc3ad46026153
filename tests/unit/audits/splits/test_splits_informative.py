"""The most informative words are those that the formula, written out answer by answer, puts first."""

import math
from collections import Counter

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.audits.splits.salience import IMAGINED, as_listed, inform, most_informative
from eyechart.engines import Local

ROWS = st.lists(
    st.tuples(
        st.sets(st.sampled_from("abcd"), min_size=1, max_size=4),
        st.sampled_from(["x", "y", "z"]),
        st.sampled_from(["what", "is", None]),
        st.booleans(),
    ),
    min_size=1,
    max_size=25,
)
Row = tuple[set[str], str, str | None, bool]
SCHEMA = {"row": pl.UInt32, "text": pl.String, "answer": pl.String, "kind": pl.String, "counted": pl.Boolean}


def literal(rows: list[Row], word: str, kind: str | None) -> float:
    """Sum over all answers of the type, those that never go with the word included."""
    own = [(words, answer) for words, answer, each, counted in rows if counted and each == kind]
    usual, told = Counter(answer for _, answer in own), Counter(answer for words, answer in own if word in words)
    n, single = len(own), sum(told.values())
    if not single:
        return -1.0
    total = 0.0
    for answer, count in usual.items():
        p = count / n
        q = (told[answer] + IMAGINED * p) / (single + IMAGINED)
        total += q * math.log(q / p)
    return total


def candidates(rows: list[Row]) -> pl.DataFrame:
    long = [(at, word, *rest) for at, (words, *rest) in enumerate(rows) for word in sorted(words)]
    return pl.DataFrame(long, schema=SCHEMA, orient="row")


@settings(deadline=None, max_examples=60)
@given(rows=ROWS)
def test_the_two_best_are_those_of_the_formula(rows: list[Row]) -> None:
    found = most_informative(candidates(rows), as_listed, Local())

    for at, first, second in found.iter_rows():
        words, _, kind, _ = rows[at]
        scores = sorted((literal(rows, word, kind) for word in words), reverse=True)
        assert literal(rows, first, kind) == pytest.approx(scores[0], abs=1e-12)
        if second is None:
            assert len(words) == 1
        else:
            assert literal(rows, second, kind) == pytest.approx(scores[1], abs=1e-12)
    assert found["row"].to_list() == list(range(len(rows)))


@settings(deadline=None, max_examples=60)
@given(rows=ROWS)
def test_every_score_is_that_of_the_formula(rows: list[Row]) -> None:
    counted = candidates(rows).filter("counted").with_columns(pl.col("kind").fill_null(""))
    joints = counted.group_by("kind", "text", "answer").agg(pl.len().alias("joint"))
    answers = counted.unique("row").group_by("kind", "answer").agg(pl.len().alias("n"))

    for kind, text, _, score in inform(joints, answers).iter_rows():
        assert score == pytest.approx(literal(rows, text, kind or None), abs=1e-12)


def test_the_own_answer_does_not_matter() -> None:
    """Umbrellas go with red: an example with an umbrella keeps it where its own answer is another."""
    rows = [({"umbrella", f"thing {at % 5}"}, "red" if at % 10 else "blue", "what", True) for at in range(500)]
    rows += [({f"thing {at % 5}"}, "blue" if at % 2 else "green", "what", True) for at in range(500)]

    found = most_informative(candidates(rows), as_listed, Local())

    assert (found["first"][:500] == "umbrella").all()


def test_a_rare_word_does_not_look_informative() -> None:
    rows = [({"often"}, "yes" if at % 5 else "no", "is", True) for at in range(1000)]
    rows += [({"usual"}, "no" if at % 5 else "yes", "is", True) for at in range(1000)]
    rows += [({"often", "once"}, "no", "is", True)]

    assert most_informative(candidates(rows), as_listed, Local()).row(2000) == (2000, "often", "once")
