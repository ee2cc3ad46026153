"""Draw decoys from the three sources: similar questions, the same image, anywhere."""

from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.decoys.drawing.balance import fit_weights, keep_balanced
from eyechart.audits.decoys.drawing.bench import N_PARTS, Bench, ask_fewer, make_bench
from eyechart.audits.decoys.drawing.candidates import (
    EQUAL,
    Candidates,
    Entries,
    collect,
    collect_random,
    make_entries,
)
from eyechart.audits.decoys.drawing.greedy import Picked, fill, pick, shuffle
from eyechart.audits.decoys.drawing.lists import Int32s, Int64s
from eyechart.audits.decoys.drawing.pairs import FILTERS
from eyechart.audits.decoys.recipes import IOU, NEAREST, NEUTRAL, QOU, RANDOM, RELEASE, Drawn, Recipe
from eyechart.dataset import Dataset

RELATIONS = ("target", "other accepted answer", "other decoy")
DECOYS: dict[str, type[pl.DataType]] = {
    "id": pl.String,
    "source": pl.String,
    "place": pl.Int64,
    "decoy": pl.String,
    "donor": pl.String,
    "filler": pl.Boolean,
}


class Part(NamedTuple):
    """What one source gave."""

    decoys: pl.DataFrame
    counts: pl.DataFrame
    answers: Int32s  # of the decoys of each asked example, -1 at the end


class Similar(NamedTuple):
    """Answers to similar questions."""

    entries: Entries
    found: Candidates


class Shift(NamedTuple):
    """By how much to raise the number of an answer for each asked example, and how many numbers there are then."""

    by: Int32s
    n: int


def draw(data: Dataset, asked: pl.Series, recipe: Recipe) -> Drawn:
    """Draw for each asked example that has an answer."""
    bench = make_bench(data, asked, recipe)
    with np.errstate(over="ignore"):  # hashes overflow, which compiled kernels do silently
        if recipe.drawing == NEUTRAL:
            bench = _thin(bench)
        on_image = _draw_on_image(bench)
        # The authors draw the two sets apart from each other.
        aware = bench if recipe.compat == RELEASE else _beside(bench, on_image.answers)
        parts = (on_image, _draw_similar(aware), _draw_random(bench))
    decoys = pl.concat([part.decoys for part in parts]).sort("id", "source", "place")
    return Drawn(decoys, pl.concat([part.counts for part in parts]), (*bench.notes, *_left_out(bench)))


def _beside(bench: Bench, answers: Int32s) -> Bench:
    return bench._replace(asked=bench.asked._replace(beside=answers))


def _thin(bench: Bench) -> Bench:
    """Leave out examples whose targets cannot be decoys as often, judged by the decoys of similar questions."""
    similar = _find_similar(bench)
    shift, n = _shift(bench)
    answers = _shifted(_answers(similar.entries, similar.found.entries), shift)
    kept = keep_balanced(answers, bench.asked.targets + shift, bench.asked.lots, bench.recipe.k, n)
    return ask_fewer(bench, kept)


def _left_out(bench: Bench) -> list[str]:
    note = f"{bench.left_out:,} examples have no decoys: their answers are targets too often to be decoys as often"
    return [note] if bench.left_out else []


def _find_similar(bench: Bench) -> Similar:
    """Take the answers to the same question on other images, then those to the nearest questions."""
    numbers, nearest, _ = bench.questions
    entries = make_entries(pl.Series(numbers), bench.answers.reference, len(nearest))
    own = numbers[bench.asked.rows]
    places = np.concatenate([own[:, None], nearest[own]], axis=1)
    return Similar(entries, collect(bench.judges, bench.asked, entries, places, bench.recipe.near))


def _draw_similar(bench: Bench) -> Part:
    similar = _find_similar(bench)
    return _choose(bench, QOU, similar.entries, similar.found)


def _draw_on_image(bench: Bench) -> Part:
    """Take the distinct answers to the other questions on the image in a random order."""
    images = bench.examples["cluster"].rank("dense").cast(pl.Int32) - 1
    entries = make_entries(images, bench.answers.reference, images.n_unique())
    entries = entries._replace(counts=np.ones_like(entries.counts))
    places = images.to_numpy()[bench.asked.rows][:, None]
    found = collect(bench.judges, bench.asked, entries, places, bench.recipe.near)
    return _choose(bench, IOU, entries, found)


def _draw_random(bench: Bench) -> Part:
    """Take any answers of the same part, each as often as it is a target, which is neutral as it is."""
    entries = make_entries(pl.Series(bench.parts), bench.answers.reference, int(bench.parts.max(initial=0)) + 1)
    places = bench.parts[bench.asked.rows]
    found = collect_random(bench.judges, bench.asked, entries, places, 4 * bench.recipe.k)
    return _choose(bench._replace(recipe=bench.recipe._replace(drawing=NEAREST)), RANDOM, entries, found)


def _choose(bench: Bench, source: str, entries: Entries, found: Candidates) -> Part:
    """Choose among the candidates that the targets admit, and fill up."""
    ordered, k = found.entries, bench.recipe.k
    if bench.recipe.drawing == NEUTRAL:
        ordered = _balance(bench, ordered, _answers(entries, ordered))
    picked = pick(bench.judges, bench.asked, entries, ordered, k)
    picked = fill(bench.judges, bench.asked, entries, picked, bench.fillers)
    chosen = _table(bench, entries, picked.entries).with_columns(filler=pl.lit(value=False))
    added = _table(bench, bench.fillers.entries, picked.fillers).with_columns(
        donor=pl.lit(None, pl.String), filler=pl.lit(value=True)
    )
    decoys = pl.concat([chosen, added]).sort("id", "filler", "place").with_columns(source=pl.lit(source))
    decoys = decoys.with_columns(pl.int_range(pl.len()).over("id").alias("place"))
    answers = np.concatenate([_answers(entries, picked.entries), _answers(bench.fillers.entries, picked.fillers)], 1)
    return Part(decoys.select(pl.col(DECOYS)), _count(bench, source, picked, found.taken + picked.taken), answers)


def _balance(bench: Bench, candidates: Int32s, answers: Int32s) -> Int32s:
    """Put candidates in a random order by which answers are decoys as much as targets, in each part of the data."""
    shift, n = _shift(bench)
    things = _shifted(answers, shift)
    weights = fit_weights(things, bench.asked.targets + shift, bench.recipe.k, n)
    return shuffle(bench.asked, candidates, things, weights)


def _shift(bench: Bench) -> Shift:
    """Give each part of the data answers of its own."""
    n = len(bench.answers.normals)
    return Shift(bench.parts[bench.asked.rows] * np.int32(n), N_PARTS * n)


def _shifted(answers: Int32s, shift: Int32s) -> Int32s:
    return np.where(answers < 0, -1, answers + shift[:, None]).astype(np.int32)


def _answers(entries: Entries, chosen: Int32s) -> Int32s:
    return np.where(chosen < 0, -1, np.append(entries.answers, np.int32(-1))[chosen]).astype(np.int32)


def _table(bench: Bench, entries: Entries, chosen: Int32s) -> pl.DataFrame:
    """Turn numbers back into texts."""
    rows, places = np.nonzero(chosen >= 0)
    used = chosen[rows, places]
    ids = bench.examples["id"]
    return pl.DataFrame(
        {
            "id": ids.gather(bench.asked.rows[rows]),
            "place": places,
            "decoy": bench.answers.texts.gather(entries.answers[used]),
            "donor": ids.gather(entries.donors[used]),
        }
    )


def _count(bench: Bench, source: str, picked: Picked, taken: Int64s) -> pl.DataFrame:
    """Count the candidates each filter took, in the order of the filters, and what was drawn in the end."""
    names = {EQUAL: "the same", **FILTERS}
    rows = [(f"{names[code]}: {RELATIONS[who]}", taken[who, code]) for code in names for who in range(len(RELATIONS))]
    drawn, added = int((picked.entries >= 0).sum()), int((picked.fillers >= 0).sum())
    short = bench.recipe.k * len(bench.asked.rows) - drawn - added
    rows += [("drawn", drawn), ("filler", added), ("missing", short), ("left out for balance", bench.left_out)]
    table = pl.DataFrame(rows, schema={"filter": pl.String, "n": pl.Int64}, orient="row")
    return table.filter(pl.col("n") > 0).select(pl.lit(source).alias("source"), "filter", "n")
