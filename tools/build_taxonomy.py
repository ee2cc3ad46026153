"""Build the taxonomy that is shipped with the package out of WordNet 3.0 as Debian's `wordnet-base` installs it.

    apt-get install wordnet-base
    python tools/build_taxonomy.py [--source /usr/share/wordnet]

Nouns are numbered by the name NLTK gives them ("dog.n.01"), because NLTK settles ties by that name; adjectives, which
have no hypernyms, by their place in the file. Texts are stored as bytes, so that no pickle is needed to read them.
"""

import argparse
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOM = Path(__file__).parent.parent / "src" / "eyechart" / "language"
HYPERNYMS = ("@", "@i")


class Synset(NamedTuple):
    """A line of a data file."""

    offset: int
    lemma: str
    hypernyms: list[int]


def lines(path: Path) -> Iterator[str]:
    """Read the lines below the licence, which is indented."""
    with path.open(encoding="utf-8") as file:
        yield from (line for line in file if not line.startswith(" "))


def read_synset(line: str) -> Synset:
    """Read the first word and the hypernyms of a synset."""
    fields = line.split("|", maxsplit=1)[0].split()
    pointers = 4 + 2 * int(fields[3], 16)
    found = [fields[i : i + 2] for i in range(pointers + 1, pointers + 1 + 4 * int(fields[pointers]), 4)]
    hypernyms = [int(offset) for kind, offset in found if kind in HYPERNYMS]
    return Synset(int(fields[0]), fields[4].lower(), hypernyms)


def read_index(path: Path) -> dict[str, list[int]]:
    """Read the synsets of each lemma."""
    rows = (line.split() for line in lines(path))
    return {row[0]: [int(offset) for offset in row[-int(row[2]) :]] for row in rows}


def name_of(synset: Synset, index: dict[str, list[int]]) -> str:
    """Name a noun as NLTK does."""
    return f"{synset.lemma}.n.{index[synset.lemma].index(synset.offset) + 1:02}"


def flat(rows: list[list[int]], name: str) -> dict[str, np.ndarray]:
    """Lay lists of numbers end to end, with their lengths."""
    lengths = np.array([len(row) for row in rows], np.uint8)
    return {f"{name}_lengths": lengths, name: np.array([value for row in rows for value in row], np.int32)}


def text(rows: list[str]) -> np.ndarray:
    """Store lines as bytes."""
    return np.frombuffer("\n".join(rows).encode(), np.uint8)


def read_exceptions(path: Path) -> np.ndarray:
    """Read irregular forms, a line each: the form and its bases."""
    last = {line.split()[0]: " ".join(line.split()) for line in lines(path)}  # NLTK keeps a repeated form's last line
    return text(sorted(last.values()))


def depths(hypernyms: list[list[int]], choose: type) -> np.ndarray:
    """Count the steps to the root, along the shortest or the longest way."""

    @cache
    def depth(noun: int) -> int:
        return 1 + choose(map(depth, hypernyms[noun])) if hypernyms[noun] else 0

    return np.array([depth(noun) for noun in range(len(hypernyms))], np.uint8)


def build(source: Path) -> dict[str, np.ndarray]:
    """Gather all arrays of the taxonomy."""
    nouns, adjectives = read_index(source / "index.noun"), read_index(source / "index.adj")
    synsets = sorted(map(read_synset, lines(source / "data.noun")), key=lambda synset: name_of(synset, nouns))
    noun_number = {synset.offset: number for number, synset in enumerate(synsets)}
    offsets = sorted(read_synset(line).offset for line in lines(source / "data.adj"))
    adjective_number = {offset: number for number, offset in enumerate(offsets)}
    words = sorted(nouns | adjectives)
    hypernyms = [sorted(noun_number[offset] for offset in synset.hypernyms) for synset in synsets]
    return {
        "words": text(words),
        **flat([sorted(noun_number[offset] for offset in nouns.get(word, [])) for word in words], "nouns"),
        **flat(
            [sorted(adjective_number[offset] for offset in adjectives.get(word, [])) for word in words], "adjectives"
        ),
        **flat(hypernyms, "hypernyms"),
        "min_depths": depths(hypernyms, min),
        "max_depths": depths(hypernyms, max),
        "noun_exceptions": read_exceptions(source / "noun.exc"),
        "adjective_exceptions": read_exceptions(source / "adj.exc"),
    }


def read_licence(source: Path) -> str:
    """Copy the licence from the head of a data file."""
    with (source / "data.noun").open(encoding="utf-8") as file:
        head = [re.sub(r"^ +\d+ ", "", line).rstrip() for line in file if line.startswith(" ")]
    return "\n".join(head) + "\n"


def main() -> None:
    """Write the taxonomy and its licence into the package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, default=Path("/usr/share/wordnet"))
    source = parser.parse_args().source
    np.savez_compressed(ROOM / "taxonomy.npz", **build(source))
    (ROOM / "LICENSE.wordnet").write_text(read_licence(source), encoding="utf-8")


if __name__ == "__main__":
    main()
