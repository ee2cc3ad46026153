"""Similarities and senses equal those of NLTK, read from the same WordNet 3.0; runs where both are installed."""

import os
import runpy
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import pytest

import eyechart.language.wordnet
from eyechart.language.wordnet import Taxonomy, sense_similarity, word_similarity

SOURCE = Path(os.environ.get("EYECHART_WORDNET", "/usr/share/wordnet"))
WordNet: TypeAlias = Any  # NLTK has no types
N_LEXNAMES = 45  # NLTK wants a name for each lexicographer's file, which Debian leaves out; their text does not matter


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Open Debian's WordNet with NLTK."""
    reader = pytest.importorskip("nltk.corpus.reader.wordnet", reason="NLTK is not installed")
    if not (SOURCE / "data.noun").is_file():
        pytest.skip(f"Debian's wordnet-base is not at {SOURCE}")
    root = tmp_path_factory.mktemp("nltk")
    folder = root / "corpora" / "wordnet"
    folder.mkdir(parents=True)
    for path in SOURCE.glob("*.*"):
        shutil.copy(path, folder)
    names = "".join(f"{at:02}\tname{at}\t1\n" for at in range(N_LEXNAMES))
    (folder / "lexnames").write_text(names, encoding="ascii")
    (folder / "index.sense").touch()  # serves other languages only
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nltk.data.path", [str(root)])  # NLTK reads only what lies below its data folders
        with pytest.warns(UserWarning, match="multilingual"):
            opened = reader.WordNetCorpusReader(str(folder), None)
        yield opened


@pytest.fixture(scope="module")
def names(wordnet: WordNet) -> dict[str, list[Any]]:
    """List NLTK's nouns by name and adjectives by offset, which is how ours are numbered."""
    nouns = sorted(wordnet.all_synsets("n"), key=lambda synset: str(synset.name()))
    adjectives = sorted(set(wordnet.all_synsets("a")), key=lambda synset: int(synset.offset()))
    return {"n": nouns, "a": adjectives}


def compare_all(names: dict[str, list[Any]], kinds: str, n: int) -> tuple[list[float], list[float]]:
    """Compare n random pairs of senses of two kinds, by us and by NLTK."""
    draw = np.random.default_rng(0)
    rows = [tuple(int(draw.integers(len(names[kind]))) for kind in kinds) for _ in range(n)]
    shift = [len(names["n"]) if kind == "a" else 0 for kind in kinds]
    hypernyms = Taxonomy.load().hypernyms
    ours = [sense_similarity(hypernyms, one + shift[0], two + shift[1]) for one, two in rows]
    theirs = [names[kinds[0]][one].wup_similarity(names[kinds[1]][two]) for one, two in rows]
    return ours, theirs


def test_ten_thousand_pairs_of_nouns_are_as_similar_as_nltk_says(names: dict[str, list[Any]]) -> None:
    ours, theirs = compare_all(names, "nn", 10_000)

    assert ours == theirs


def test_two_thousand_pairs_of_adjectives_are_as_similar_as_nltk_says(names: dict[str, list[Any]]) -> None:
    ours, theirs = compare_all(names, "aa", 2_000)

    assert ours == theirs


@pytest.mark.parametrize("kinds", ["na", "an"])
def test_a_noun_and_an_adjective_meet_at_a_root_above_both(names: dict[str, list[Any]], kinds: str) -> None:
    ours, theirs = compare_all(names, kinds, 1_000)

    assert ours == theirs


def test_nouns_with_several_parents_are_as_similar_as_nltk_says(names: dict[str, list[Any]]) -> None:
    """Where the ways to the root differ, ties and detours decide; random pairs seldom meet them."""
    rich = [noun for noun in names["n"] if len(noun.hypernyms() + noun.instance_hypernyms()) > 1]
    number = {noun.name(): at for at, noun in enumerate(names["n"])}
    places = np.random.default_rng(1).integers(len(rich), size=(3_000, 2)).tolist()
    pairs = [(rich[one], rich[two]) for one, two in places]
    hypernyms = Taxonomy.load().hypernyms

    ours = [sense_similarity(hypernyms, number[one.name()], number[two.name()]) for one, two in pairs]

    assert ours == [one.wup_similarity(two) for one, two in pairs]


def test_words_have_the_senses_nltk_finds_after_its_morphology(wordnet: WordNet, names: dict[str, list[Any]]) -> None:
    draw = np.random.default_rng(2)
    lemmas = sorted({*wordnet.all_lemma_names("n"), *wordnet.all_lemma_names("a")})
    irregular = sorted({*wordnet._exception_map["n"], *wordnet._exception_map["a"]})
    endings = ["", "s", "es", "er", "est", "men", "ies", "ves", "zzz"]
    words = [str(lemma) + str(draw.choice(endings)) for lemma in draw.choice(lemmas, 4_000)]
    words += [str(word) for word in draw.choice(irregular, 1_000)]
    number = {("n", noun.offset()): at for at, noun in enumerate(names["n"])}
    number |= {("a", one.offset()): at + len(number) for at, one in enumerate(names["a"])}

    found = Taxonomy.load().senses(pl.Series(words))
    ours = [found.senses[start:end].tolist() for start, end in zip(found.starts[:-1], found.starts[1:], strict=True)]

    assert ours == [
        sorted({number[kind, synset.offset()] for kind in "na" for synset in wordnet.synsets(word, kind)})
        for word in words
    ]


def test_words_are_as_similar_as_the_best_of_their_senses(wordnet: WordNet) -> None:
    words = ["lady", "woman", "dogs", "red", "crimson", "tall", "two", "horse", "ponies", "qwertz"]
    pairs = [(one, two) for one in words for two in words]

    taxonomy = Taxonomy.load()
    known = taxonomy.senses(pl.Series(words))
    places = [(one, two) for one in range(len(words)) for two in range(len(words))]
    ours = [word_similarity(taxonomy.hypernyms, known, one, two) for one, two in places]

    def senses(word: str) -> list[Any]:
        return [*wordnet.synsets(word, "n"), *wordnet.synsets(word, "a")]

    theirs = [max((a.wup_similarity(b) for a in senses(one) for b in senses(two)), default=0.0) for one, two in pairs]
    assert ours == theirs


def test_the_shipped_file_is_what_the_script_builds() -> None:
    if not (SOURCE / "data.noun").is_file():
        pytest.skip(f"Debian's wordnet-base is not at {SOURCE}")
    script = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "build_taxonomy.py"))

    built = script["build"](SOURCE)
    with np.load(Path(eyechart.language.__file__).parent / "taxonomy.npz", allow_pickle=False) as shipped:
        assert set(built) == set(shipped.files)
        assert all(np.array_equal(built[name], shipped[name]) for name in built)
