"""The most telling words are those that the formula, written out with fractions, puts first."""

from collections import Counter
from fractions import Fraction

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.audits.splits.salience import image_labels, most_salient
from eyechart.formats import read

ROWS = st.lists(
    st.tuples(st.sets(st.sampled_from("abcdef"), max_size=5), st.sampled_from(["x", "y", "z"]), st.booleans()),
    min_size=1,
    max_size=25,
)
Row = tuple[set[str], str, bool]


def literal(rows: list[Row]) -> dict[int, tuple[str, str | None]]:
    """Rank by f(w, a) K / (f(w) f(a)) in whole numbers."""
    counted = [(words, answer) for words, answer, inside in rows if inside]
    single = Counter(word for words, _ in counted for word in words)
    joint = Counter((word, answer) for words, answer in counted for word in words)
    found = {}
    for at, (words, answer, _) in enumerate(rows):

        def rank(word: str, answer: str = answer) -> tuple[Fraction, int, str]:
            telling = Fraction(joint[word, answer], single[word]) if single[word] else Fraction(-1)
            return -telling, -single[word], word

        best = [*sorted(words, key=rank), None]
        if words:
            found[at] = (str(best[0]), best[1])
    return found


@settings(deadline=None, max_examples=60)
@given(rows=ROWS)
def test_the_two_best_are_those_of_the_formula(rows: list[Row]) -> None:
    long = [(at, word, answer, inside) for at, (words, answer, inside) in enumerate(rows) for word in words]
    schema = {"row": pl.UInt32, "text": pl.String, "answer": pl.String, "counted": pl.Boolean}

    found = most_salient(pl.DataFrame(long, schema=schema, orient="row"))

    assert {row: (first, second) for row, first, second in found.iter_rows()} == literal(rows)


def test_labels_are_listed_once_and_only_if_sure() -> None:
    world = read("world", seed=1, images=5)
    objects = [
        {"label": "cat", "box": None, "score": 0.9},
        {"label": "cat", "box": None, "score": None},
        {"label": "dog", "box": None, "score": 0.4},
        {"label": None, "box": None, "score": None},
    ]
    schema = {"image": pl.String, "objects": world.images.table.schema["objects"]}
    images = pl.DataFrame({"image": ["1", "2", "3"], "objects": [objects, [], None]}, schema=schema)

    assert image_labels(images).rows() == [("1", "cat")]
    assert image_labels(images.drop("objects")).is_empty()
