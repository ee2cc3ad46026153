"""Time the drawing of decoys as questions grow in number, the search of cells against faiss, WordNet against NLTK.

    python benchmarks/decoys.py [--quick] [--sizes 50000 200000] [--pairs 20000]

Made-up questions are random mixtures of words, the hardest case for a neighbour search; answers are made of words of
WordNet, so that the filters have work to do. Every measurement is a process of its own. NLTK is compared where it and
Debian's wordnet-base are installed.
"""

import argparse
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.audits.decoys.draw import draw_decoys
from eyechart.audits.decoys.settings import DecoysSettings, Drawing
from eyechart.audits.decoys.study import label_parts
from eyechart.base.kernels import kernel
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.language.word_vectors import make_vectors
from eyechart.language.wordnet import Hypernyms, Taxonomy, sense_similarity

SIZES = (50_000, 200_000, 1_000_000)
QUICK = 50_000
DRAWINGS = ("nearest", "neutral")
N_WORDS, N_ANSWERS = 13_000, 30_000
MIXTURE = pl.Array(pl.String, 10)
QUESTIONS_AN_IMAGE = 5
WORDNET = Path("/usr/share/wordnet")
PAIRS = 20_000
SEARCHED, NEAR, WIDE = 20_000, 51, 232  # questions, neighbours and cells in the comparison with faiss
ROUNDING = 1e-5


def make(n: int) -> Dataset:
    """Make n questions of 4 to 10 words, hardly two the same, five to an image, answered in one or two words."""
    draw = np.random.default_rng(0)
    vocabulary = np.array([f"word{i}" for i in range(N_WORDS)])
    shares = 1 / np.arange(1, N_WORDS + 1)
    words = vocabulary[draw.choice(N_WORDS, (n, 10), p=shares / shares.sum())]
    mixed = pl.DataFrame({"words": words, "length": draw.integers(4, 11, n)}, schema_overrides={"words": MIXTURE})
    questions = mixed.select(pl.col("words").arr.to_list().list.head("length").list.join(" ")).to_series()
    answers = _answers(draw)
    popular = 1 / np.arange(1, N_ANSWERS + 1)
    examples = pl.DataFrame(
        {
            "id": [f"{i:07}" for i in range(n)],
            "image": [str(i // QUESTIONS_AN_IMAGE) for i in range(n)],
            "question": questions,
            "answer": answers[draw.choice(N_ANSWERS, n, p=popular / popular.sum())],
        }
    )
    return Dataset("made up", examples, Images.named(examples["image"]))


def _answers(draw: np.random.Generator) -> np.ndarray:
    taxonomy = Taxonomy.load()
    nouns, adjectives = (
        kind.lemmas["base"].filter(~kind.lemmas["base"].str.contains("_")).unique().sort().to_numpy()
        for kind in (taxonomy.nouns, taxonomy.adjectives)
    )
    first, second = draw.choice(adjectives, N_ANSWERS), draw.choice(nouns, N_ANSWERS)
    return np.where(draw.random(N_ANSWERS) < 0.3, first + " " + second, second)


def time_drawing(n: str, drawing: Drawing) -> dict[str, float]:
    """Find neighbours and draw three decoys of each source for every example."""
    few, data = make(100), make(int(n))
    draw_decoys(few, label_parts(few).head(1), DecoysSettings(drawing=drawing))  # loads the kernels
    asked = label_parts(data)
    wall, cpu = time.perf_counter(), time.process_time()
    drawn = draw_decoys(data, asked, DecoysSettings(drawing=drawing))
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    recall = re.search(r"recall ([\d.]+)", drawn.notes[0])
    found = {"wall": wall, "cpu": cpu, "decoys": drawn.decoys.height, "recall": float(recall[1]) if recall else 1.0}
    return found | {"mb": peak_mb()}


def time_search(n: str) -> dict[str, float]:
    """Search the same cells for the same questions, by us and by faiss."""
    import faiss

    from eyechart.language.nearest import make_cells

    texts = make(int(n)).examples["question"].unique(maintain_order=True)
    vectors = make_vectors(texts.str.split(" "), "corpus")
    cells, asked = make_cells(faiss, vectors), vectors[:SEARCHED]
    wide = min(WIDE, cells.n)
    cells.search(asked[:10], NEAR, wide)  # loads the kernel
    start = time.perf_counter()
    ours, _ = cells.search(asked, NEAR, wide)
    quick = time.perf_counter() - start
    index = faiss.IndexIVFFlat(cells.centres, vectors.shape[1], cells.n, faiss.METRIC_INNER_PRODUCT)
    index.add(vectors)
    index.nprobe = wide
    start = time.perf_counter()
    theirs, _ = index.search(asked, NEAR)
    slow = time.perf_counter() - start
    different = np.abs(-np.sort(-ours) - theirs) > ROUNDING
    return {"quick": quick, "slow": slow, "different": int(different.sum()), "searched": len(asked), "cells": wide}


def peak_mb() -> float:
    """Read the most memory this process has had; getrusage would count its parent's."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


@kernel
def compare_senses(hypernyms: Hypernyms, first: NDArray[np.int32], second: NDArray[np.int32]) -> NDArray[np.float64]:
    """Compare senses pairwise."""
    values = np.empty(len(first), np.float64)
    for pair in range(len(first)):
        values[pair] = sense_similarity(hypernyms, first[pair], second[pair])
    return values


def time_wordnet(n: str) -> dict[str, float]:
    """Compare random nouns, by us and by NLTK, and make sure that both say the same."""
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wordnet = WordNetCorpusReader(str(lay_out(Path(name))), None)
        nouns = sorted(wordnet.all_synsets("n"), key=lambda synset: synset.name())
        pairs = np.random.default_rng(0).integers(len(nouns), size=(int(n), 2)).astype(np.int32)
        start = time.process_time()
        theirs = [nouns[one].wup_similarity(nouns[two]) for one, two in pairs.tolist()]
        slow = time.process_time() - start
    hypernyms = Taxonomy.load().hypernyms
    first, second = pairs.T.copy()
    compare_senses(hypernyms, first[:1], second[:1])
    start = time.process_time()
    ours = compare_senses(hypernyms, first, second)
    quick = time.process_time() - start
    return {"quick": quick, "slow": slow, "different": int((ours != theirs).sum())}


def lay_out(root: Path) -> Path:
    """Put Debian's files where NLTK reads them, with the two it misses."""
    import nltk

    folder = root / "corpora" / "wordnet"
    folder.mkdir(parents=True)
    for path in WORDNET.glob("*.*"):
        shutil.copy(path, folder)
    (folder / "lexnames").write_text("".join(f"{i:02}\tname{i}\t1\n" for i in range(45)), encoding="ascii")
    (folder / "index.sense").touch()
    nltk.data.path[:] = [str(root)]
    return folder


TASKS: dict[str, Callable[..., dict[str, float]]] = {
    "draw": time_drawing,
    "search": time_search,
    "wordnet": time_wordnet,
}


def measure(task: str, *words: str) -> dict[str, float]:
    """Run a task in a process of its own."""
    command = [sys.executable, __file__, "--task", task, *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def print_drawing(sizes: tuple[int, ...], drawings: Sequence[str]) -> None:
    """Print a row for each size of each drawing; growth is the exponent from the size above."""
    print("| drawing | questions | decoys | recall@50 | wall s | CPU s | peak MB | growth of CPU |")
    print("|---|---|---|---|---|---|---|---|")
    for drawing in drawings:
        last = None
        for n in sizes:
            found = measure("draw", str(n), drawing)
            growth = f"{math.log(found['cpu'] / last[1]) / math.log(n / last[0]):.2f}" if last else ""
            cells = (
                f"{found['recall']:.3f} | {found['wall']:,.0f} | {found['cpu']:,.0f} | {found['mb']:,.0f} | {growth}"
            )
            print(f"| {drawing} | {n:,} | {found['decoys']:,.0f} | {cells} |", flush=True)
            last = n, found["cpu"]


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"at most {QUICK:,} questions")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of questions")
    parser.add_argument("--drawings", nargs="+", choices=DRAWINGS, default=DRAWINGS)
    parser.add_argument("--pairs", type=int, default=PAIRS, help="of nouns, compared by us and by NLTK; 0: none")
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        print(json.dumps(TASKS[options.task](*options.words)))
        return
    sizes = (QUICK,) if options.quick else tuple(options.sizes)
    print_drawing(sizes, options.drawings)
    found = measure("search", str(sizes[-1]))
    print(f"\n{found['searched']:,} of {sizes[-1]:,} questions in {found['cells']} cells: ", end="")
    print(f"{found['quick']:.1f} s, ", end="")
    print(f"faiss {found['slow']:.1f} s, ", end="")
    print(f"{found['slow'] / found['quick']:.1f} times as long; {found['different']} similarities differ")
    if options.pairs and (WORDNET / "data.noun").is_file():
        found = measure("wordnet", str(options.pairs))
        print(f"\n{options.pairs:,} pairs of nouns: {found['quick']:.4f} s, NLTK {found['slow']:.2f} s, ", end="")
        print(f"{found['slow'] / found['quick']:,.0f} times as long; {found['different']} differ")


if __name__ == "__main__":
    main()
