"""Time the scores against a literal per-example Python implementation.

Run on one core: POLARS_MAX_THREADS=1 python benchmarks/scoring.py [--examples 214354]

Answers are made up: a Zipf vocabulary of 60,000 texts with articles, number words, contractions and marks, ten
human answers a row (as many rows as VQA v2 has for validation at the largest size), a hundred candidates a row
for ndcg. The literal implementation runs on the first 3,000 rows (300 for ndcg), is compared with ours there, and
its time, without that of turning the table into Python objects, is scaled to all rows.
"""

import argparse
import math
import re
import time
from collections.abc import Callable

import numpy as np
import polars as pl

from eyechart.base.text import ARTICLES, CONTRACTIONS, NUMBER_WORDS, PUNCTUATION
from eyechart.scoring import score

HUMANS, CANDIDATES, VOCABULARY = 10, 100, 60_000
SIZES = {"vqa": 214_354, "vqa-always": 214_354, "count3": 214_354, "ndcg": 20_000}
PERIOD, COMMA = re.compile(r"\.(?!\d)"), re.compile(r"\d,\d")


def make_vocabulary(rng: np.random.Generator) -> list[str]:
    """Mix words of one to three syllables with the forms the normalisation is about."""
    syllables = [first + last for first in "bcdfghklmnprst" for last in ("a", "en", "i", "ot", "u")]
    special = [*ARTICLES, *NUMBER_WORDS, *CONTRACTIONS, "1,000", "3.5", "10:30", "u.s.a.", "x-ray", "yes/no", "don't"]
    words = _join(syllables, rng.integers(1, 4, VOCABULARY), "", rng) + special * 100
    texts = _join(words, rng.choice([1, 1, 1, 2, 2, 3], VOCABULARY), " ", rng)
    marks = ["{}"] * 20 + ["{}.", "{}!", "{} ?", '"{}"', "({})", "-{}", "{}, ", " {}"]
    return ["yes", "no", *(mark.format(text) for mark, text in zip(rng.choice(marks, VOCABULARY), texts, strict=True))]


def _join(parts: list[str], sizes: np.ndarray, between: str, rng: np.random.Generator) -> list[str]:
    """Draw texts of the given numbers of parts."""
    drawn = iter(rng.integers(len(parts), size=sizes.sum()).tolist())
    return [between.join(parts[next(drawn)] for _ in range(size)) for size in sizes]


def make_humans(rows: int) -> pl.DataFrame:
    """Draw for each row a favourite; most humans, and half of the models, say it."""
    rng = np.random.default_rng(0)
    texts = pl.Series(make_vocabulary(rng))
    drawn = (rng.zipf(1.3, (rows, HUMANS + 2)) - 1) % len(texts)
    agree = rng.random((rows, HUMANS + 2)) < rng.random((rows, 1)) * 1.5
    drawn = np.where(agree, drawn[:, :1], drawn)
    humans = texts.gather(drawn[:, 2:].ravel()).reshape((rows, HUMANS)).arr.to_list()
    return pl.DataFrame({"given": texts.gather(drawn[:, 1]), "answers": humans})


def make_rankings(rows: int) -> pl.DataFrame:
    """Give each row a hundred candidates of which about one in ten is relevant, and a shuffled ranking."""
    rng = np.random.default_rng(1)
    texts = pl.Series(make_vocabulary(rng)).unique(maintain_order=True)
    drawn = (rng.integers(len(texts), size=(rows, 1)) + np.arange(CANDIDATES) * 7) % len(texts)
    relevance = np.where(rng.random(drawn.shape) < 0.1, rng.integers(1, 6, drawn.shape) / 5, 0.0)
    ranked = rng.permuted(drawn, axis=1)
    return pl.DataFrame(
        {
            "choices": texts.gather(drawn.ravel()).reshape(drawn.shape).arr.to_list(),
            "relevance": pl.Series(relevance).arr.to_list(),
            "ranking": texts.gather(ranked.ravel()).reshape(drawn.shape).arr.to_list(),
        }
    )


def literal_normal(text: str) -> str:
    """Follow the official steps for one answer."""
    out = text
    for mark in PUNCTUATION:
        vanishes = mark + " " in text or " " + mark in text or re.search(COMMA, text) is not None
        out = out.replace(mark, "" if vanishes else " ")
    words = [NUMBER_WORDS.get(word, word) for word in PERIOD.sub("", out, 32).lower().split()]
    return " ".join(CONTRACTIONS.get(word, word) for word in words if word not in ARTICLES)


def literal_clean(text: str) -> str:
    """Follow the official first step for one answer."""
    return text.replace("\n", " ").replace("\t", " ").strip()


def literal_vqa(given: str, answers: list[str], *, always: bool = False) -> float:
    """Score one row as the official script does, subset by subset."""
    given, answers = literal_clean(given), [literal_clean(answer) for answer in answers]
    if always or len(set(answers)) > 1:
        given, answers = literal_normal(given), [literal_normal(answer) for answer in answers]
    subsets = [answers[:out] + answers[out + 1 :] for out in range(len(answers))]
    return sum(min(1, subset.count(given) / 3) for subset in subsets) / len(subsets)


def literal_vqa_always(given: str, answers: list[str]) -> float:
    """Score one row on normal forms in any case."""
    return literal_vqa(given, answers, always=True)


def literal_count3(given: str, answers: list[str]) -> float:
    """Score one row on raw text."""
    return min(answers.count(given) / 3, 1)


def literal_ndcg(choices: list[str], relevance: list[float], ranking: list[str]) -> float | None:
    """Score one ranking with a dictionary."""
    gains = dict(zip(choices, relevance, strict=True))
    k = sum(value > 0 for value in relevance)
    found = sum(gains[text] / math.log2(rank + 2) for rank, text in enumerate(ranking[:k]))
    best = sum(gain / math.log2(rank + 2) for rank, gain in enumerate(sorted(relevance, reverse=True)[:k]))
    return found / best if k else None


LITERAL: dict[str, Callable[..., float | None]] = {
    "vqa": literal_vqa,
    "vqa-always": literal_vqa_always,
    "count3": literal_count3,
    "ndcg": literal_ndcg,
}


def time_ours(table: pl.DataFrame, how: str) -> float:
    """Take the best of three runs, in seconds."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        score(table, how)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def time_literal(table: pl.DataFrame, how: str) -> float:
    """Take the seconds per row on the first rows, and check that both implementations agree on them."""
    few = table.head(300 if how == "ndcg" else 3_000)
    rows = list(few.iter_rows())
    start = time.perf_counter()
    expected = [LITERAL[how](*row) for row in rows]
    seconds = time.perf_counter() - start
    np.testing.assert_allclose(score(few, how).to_numpy(), np.array(expected, dtype=float), atol=1e-12)
    return seconds / len(rows)


def main() -> None:
    """Print a line per score and size; growth is the exponent of time between this size and the last."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=max(SIZES.values()), help="at most so many for each score")
    most = parser.parse_args().examples
    print(f"{pl.thread_pool_size()} thread(s)")
    print(f"{'score':<12}{'n':>9}{'eyechart s':>12}{'literal s':>12}{'ratio':>8}{'growth':>8}")
    for how, largest in ((how, min(n, most)) for how, n in SIZES.items()):
        table = make_rankings(largest) if how == "ndcg" else make_humans(largest)
        per_row = time_literal(table, how)
        before: tuple[int, float] | None = None
        for n in (largest // 9, largest // 3, largest):
            ours = time_ours(table.head(n), how)
            growth = math.log(ours / before[1]) / math.log(n / before[0]) if before else math.nan
            print(f"{how:<12}{n:>9,}{ours:>12.3f}{per_row * n:>12.2f}{per_row * n / ours:>8.1f}{growth:>8.2f}")
            before = (n, ours)


if __name__ == "__main__":
    main()
