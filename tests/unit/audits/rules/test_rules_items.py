"""Vocabularies and transactions of a few examples, worked out by hand."""

import numpy as np
import polars as pl
import pytest

from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.tables import OBJECT
from eyechart.language.answers import human_answers
from eyechart.language.items import learn_vocabulary, make_accepted, make_transactions, numbered_answers
from eyechart.mining import Accepted, Transactions


def dataset(questions: list[str | None], answers: list[str | None], people: list[list[str]] | None = None) -> Dataset:
    """Ask each question of the picture of its number; picture 0 has things, 1 has none, the others are unknown."""
    examples = pl.DataFrame(
        {
            "id": [str(n) for n in range(len(questions))],
            "image": [str(n) if n < 2 else None for n in range(len(questions))],
            "question": questions,
            "answer": answers,
        },
        schema_overrides={"question": pl.String, "answer": pl.String},
    )
    if people is not None:
        examples = examples.with_columns(pl.Series("answers", people))
    things = [
        {"label": "dog", "box": None, "score": 0.5},
        {"label": "cat", "box": None, "score": 0.49},
        {"label": "ant", "box": None, "score": None},
        {"label": "dog", "box": None, "score": 0.9},
    ]
    images = pl.DataFrame({"image": ["0", "1"], "objects": [things, []]}, schema_overrides={"objects": pl.List(OBJECT)})
    return Dataset("few", examples, Images(images))


def rows_of(found: Transactions) -> list[list[int]]:
    return [part.tolist() for part in np.split(found.items, found.starts[1:-1])]


def accepted_rows(found: Accepted) -> list[list[int]]:
    return [part.tolist() for part in np.split(found.answers, found.starts[1:-1])]


def test_items_are_words_by_text_then_sure_objects_by_label() -> None:
    vocabulary = learn_vocabulary(dataset(["b a?", "a"], ["x", "y"]), 10)

    assert vocabulary.items.to_list() == ["?", "a", "b", "V_ant", "V_dog"]
    assert vocabulary.n_words == 3


def test_answers_are_numbered_by_count_and_ties_at_the_boundary_by_text() -> None:
    data = dataset(["q"] * 6, ["c", "b", "a", "c", "b", None])

    assert learn_vocabulary(data, 2).answers.to_list() == ["b", "c"]
    assert numbered_answers(data.examples, learn_vocabulary(data, 2)).to_list() == [1, 0, -1, 1, 0, -1]


def test_transactions_keep_repeats_and_drop_what_train_never_showed() -> None:
    data = dataset(["a a ?", "a", None], ["x", "y", "x"])
    vocabulary = learn_vocabulary(data, 10)
    other = dataset(["new ? a", "", "?"], ["z", "y", "x"])

    assert rows_of(make_transactions(data, vocabulary)) == [[0, 1, 1, 2, 3, 3], [1], []]
    found = make_transactions(other, vocabulary)
    assert rows_of(found) == [[0, 1, 2, 3, 3], [], [0]]
    assert found.answers.tolist() == [-1, 1, 0]


def test_pictures_without_a_column_of_objects_give_words_only() -> None:
    data = dataset(["a"], ["x"])
    bare = Dataset("bare", data.examples, Images.named(data.examples["image"]))

    assert learn_vocabulary(bare, 10).items.to_list() == ["a"]


@pytest.mark.parametrize(("normalized", "expected"), [(False, [[0], [1]]), (True, [[0, 1], [0, 1]])])
def test_any_person_makes_an_answer_right(*, normalized: bool, expected: list[list[int]]) -> None:
    """The answers "dog" and "the dog" are two texts with one normal form."""
    data = dataset(["q", "q"], ["dog", "the dog"], [["dog.", "dog", "Yes"], ["the dog", "the dog"]])
    vocabulary = learn_vocabulary(dataset(["q"] * 3, ["dog", "dog", "the dog"]), 10)

    assert vocabulary.answers.to_list() == ["dog", "the dog"]
    assert accepted_rows(make_accepted(data.examples, vocabulary, normalized=normalized)) == expected


def test_the_reference_stands_in_where_there_are_no_people() -> None:
    with_people = dataset(["q", "q"], ["x", "y"], [["a", "b"], []])

    assert human_answers(with_people.examples).to_list() == [["a", "b"], ["y"]]
    assert human_answers(dataset(["q", "q"], ["x", None]).examples).to_list() == [["x"], []]


def test_a_hundred_thousand_answers_are_cut_to_the_vocabulary() -> None:
    n = 100_000
    examples = pl.DataFrame(
        {
            "id": [str(i) for i in range(n)],
            "image": ["0"] * n,
            "question": ["q"] * n,
            "answer": [f"a{i}" for i in range(n)],
        }
    )
    data = Dataset("many", examples, Images.named(examples["image"]))
    vocabulary = learn_vocabulary(data, 3000)

    assert len(vocabulary.answers) == 3000
    assert (numbered_answers(examples, vocabulary) >= 0).sum() == 3000
