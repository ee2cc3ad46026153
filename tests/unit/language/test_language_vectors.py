"""Vectors of texts: learned, read from files of every form, or encoded."""

import gzip
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import polars as pl
import pytest

from eyechart.base.errors import FileFormatError, MissingExtraError
from eyechart.language.word_vectors import learn_vectors, make_vectors, mean_vectors, read_word_vectors, word_vectors

KNOWN = {"red": [1.0, 0.0, 0.5], "blue": [0.0, 2.0, -1.5], "grün": [0.25, 0.0, 1e-3]}


def lists(*texts: str) -> pl.Series:
    return pl.Series([text.split() for text in texts], dtype=pl.List(pl.String))


def as_text(*, header: bool) -> bytes:
    first = f"{len(KNOWN)} 3\n" if header else ""
    return (first + "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in KNOWN.items())).encode()


def as_binary(*, line_ends: bool) -> bytes:
    end = b"\n" if line_ends else b""
    rows = (word.encode() + b" " + np.array(row, "<f4").tobytes() + end for word, row in KNOWN.items())
    return f"{len(KNOWN)} 3\n".encode() + b"".join(rows)


FORMS = {
    "glove text": as_text(header=False),
    "word2vec text": as_text(header=True),
    "word2vec binary": as_binary(line_ends=True),
    "binary without line ends": as_binary(line_ends=False),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_file_gives_the_same_vectors(form: str, packed: bool, tmp_path: Path) -> None:  # noqa: FBT001
    path = tmp_path / ("vectors.gz" if packed else "vectors")
    path.write_bytes(gzip.compress(FORMS[form]) if packed else FORMS[form])

    found = read_word_vectors(path, pl.Series(["blue", "grün", "unheard", None]))

    assert found.words.to_list() == ["blue", "grün"]
    assert found.matrix.tolist() == np.array([KNOWN["blue"], KNOWN["grün"]], np.float32).tolist()


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("cut.bin", as_binary(line_ends=True)[:-20], "ends within"),
        ("short.txt", b"red 1 2 3\nblue 1 2\n", "2 numbers where 3"),
        ("words.txt", b"red one two\n", "could not convert"),
        ("not.gz", b"red 1 2\n", "gzip"),
    ],
)
def test_a_damaged_file_is_named_with_the_reason(name: str, content: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(FileFormatError, match=f"(?i){name}.*{reason}"):
        read_word_vectors(tmp_path / name, pl.Series(["red", "blue", "grün"]))


def test_a_missing_file_is_named() -> None:
    with pytest.raises(FileFormatError, match="no such file"):
        make_vectors(lists("red"), "/nowhere/vectors.txt")


def test_a_file_without_any_of_the_words_makes_zero_vectors(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_bytes(FORMS["glove text"])

    assert not make_vectors(lists("unheard", ""), str(tmp_path / "vectors.txt")).any()


def test_a_text_is_the_mean_of_its_known_words_at_length_one(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_bytes(FORMS["glove text"])

    found = make_vectors(lists("red red blue unheard", "unheard"), str(path))

    expected = (2 * np.array(KNOWN["red"]) + np.array(KNOWN["blue"])) / 3
    assert found[0] == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)
    assert found[1].tolist() == [0.0, 0.0, 0.0]


def test_learned_vectors_give_the_information_of_words_back() -> None:
    """With as many dimensions as words nothing of the positive pointwise mutual information is lost."""
    texts = lists("red car", "red bus", "blue car", "blue bus big", "big car")
    learned = learn_vectors(texts)
    words = learned.words.to_list()
    held = np.array([[word in text for word in words] for text in texts.to_list()], float)
    together = held.T @ held
    share = together * len(texts) / np.outer(together.diagonal(), together.diagonal())
    expected = np.log(np.maximum(share, 1.0))

    # M M' = U S^2 U', and the vectors are U S^(1/2).
    gram = learned.matrix.astype(float) @ learned.matrix.T.astype(float)
    assert np.linalg.eigvalsh(gram) == pytest.approx(np.sort(np.abs(np.linalg.eigvalsh(expected))), abs=1e-5)


def test_texts_that_share_telling_words_are_nearer_than_texts_that_share_frequent_ones() -> None:
    texts = lists(
        "is the cat red", "is the cat big", "is the dog big", "is the bus red", "is the car new", "is the sky blue"
    )

    found = mean_vectors(lists("the cat", "is cat", "the sky"), learn_vectors(texts))

    assert found[0] @ found[1] > 0.9 > found[0] @ found[2]


def test_texts_without_words_have_zero_vectors() -> None:
    assert not make_vectors(lists("", ""), "corpus").any()


def test_the_order_of_the_texts_makes_no_difference() -> None:
    texts = lists("red car", "red bus", "blue car", "blue bus big", "big car")

    forward, backward = word_vectors(texts, "corpus"), word_vectors(texts.reverse(), "corpus")

    assert forward.words.equals(backward.words)
    assert np.array_equal(forward.matrix, backward.matrix)


def test_a_sentence_encoder_is_asked_for_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    class SentenceTransformer:
        def __init__(self, name: str) -> None:
            self.name = name

        def encode(self, texts: list[str]) -> list[list[float]]:
            return [[float(len(text)), float(len(self.name))] for text in texts]

    library = ModuleType("sentence_transformers")
    library.SentenceTransformer = SentenceTransformer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)

    found = make_vectors(lists("a b", "c"), "sentence:four")

    assert found == pytest.approx(np.array([[3 / 5, 4 / 5], [1 / 17**0.5, 4 / 17**0.5]]), abs=1e-6)


def test_without_the_encoder_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)

    with pytest.raises(MissingExtraError, match="pip install sentence-transformers"):
        make_vectors(lists("a"), "sentence:any")
