"""What the normal forms promise beyond the comparison in tests/reference/test_official_vqa.py."""

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.base.text import ARTICLES, CONTRACTIONS, NUMBER_WORDS, PUNCTUATION, clean_answer, normalize_answer

ANSWERS = pl.DataFrame({"answer": ["The  cat.", None, "none", " \tx-ray\n"]})


def test_null_stays_null() -> None:
    forms = ANSWERS.select(clean=clean_answer(pl.col("answer")), normal=normalize_answer(pl.col("answer")))

    assert forms["clean"].to_list() == ["The  cat.", None, "none", "x-ray"]
    assert forms["normal"].to_list() == ["cat", None, "0", "x ray"]


def test_the_column_keeps_its_name() -> None:
    """An expression may be put into with_columns without an alias."""
    assert ANSWERS.select(clean_answer(pl.col("answer"))).columns == ["answer"]
    assert ANSWERS.select(normalize_answer(pl.col("answer"))).columns == ["answer"]


def test_lazy_and_inside_lists() -> None:
    """The forms are plain expressions: they work lazily and on the elements of a list."""
    lists = (
        ANSWERS.lazy()
        .select(pl.col("answer").implode())
        .select(pl.col("answer").list.eval(normalize_answer(clean_answer(pl.element()))))
    )

    assert lists.collect().item().to_list() == ["cat", None, "0", "x ray"]


def test_an_empty_column() -> None:
    empty = ANSWERS.clear().select(normalize_answer(clean_answer(pl.col("answer"))))

    assert empty.schema == {"answer": pl.String}
    assert empty.is_empty()


def test_word_lists_do_not_feed_each_other() -> None:
    """One pass over the words equals the official three only if no result of a list is a key of another."""
    keys = {*ARTICLES, *NUMBER_WORDS, *CONTRACTIONS}

    assert keys.isdisjoint(NUMBER_WORDS.values())
    assert keys.isdisjoint(CONTRACTIONS.values())
    assert len(keys) == len(ARTICLES) + len(NUMBER_WORDS) + len(CONTRACTIONS)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.text(alphabet=[*PUNCTUATION, *" .aA1x\n'"], max_size=12), min_size=1, max_size=20))
def test_normal_forms_have_no_marks_capitals_or_double_spaces(texts: list[str]) -> None:
    normal = pl.DataFrame({"text": texts}).select(normalize_answer(pl.col("text")))["text"].to_list()

    for text in normal:
        assert not set(text) & set(PUNCTUATION)
        assert text == text.lower()
        assert text == " ".join(text.split())
        assert not set(text.split()) & set(ARTICLES)
