"""Draw decoys from the three sources: similar questions, the same image, anywhere."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.audits.decoys.drawing.bench import Bench, ask_fewer, make_bench
from eyechart.audits.decoys.drawing.candidates import (
    EQUAL,
    Candidates,
    Entries,
    collect,
    collect_random,
    join_entries,
    make_entries,
)
from eyechart.audits.decoys.drawing.exchange import Pool
from eyechart.audits.decoys.drawing.greedy import SECOND_LOT, pick
from eyechart.audits.decoys.drawing.lists import Int32s, Int64s
from eyechart.audits.decoys.drawing.neutral import answers_of, even_out, even_out_together, order, who_stays
from eyechart.audits.decoys.drawing.pairs import FILTERS
from eyechart.audits.decoys.drawing.parted import Collect, collect_parted
from eyechart.audits.decoys.recipes import IOU, NEAREST, NEUTRAL, QOU, RANDOM, RELEASE, Drawn, Recipe
from eyechart.dataset import Dataset
from eyechart.engines.local import Local
from eyechart.protocols import Engine

RELATIONS = ("target", "other accepted answer", "other decoy")
FILLING = 24  # candidates to fill up with
DECOYS: dict[str, type[pl.DataType]] = {
    "id": pl.String,
    "source": pl.String,
    "place": pl.Int64,
    "decoy": pl.String,
    "donor": pl.String,
    "filler": pl.Boolean,
}


class Choice(NamedTuple):
    """What was chosen from one source: entries of its pool, -1 at the end, and what the filters took on the way."""

    source: str
    pool: Pool
    chosen: Int32s
    taken: Int64s

    @property
    def answers(self) -> Int32s:
        """Name the answers that were chosen."""
        return answers_of(self.pool.entries, self.chosen)


class Similar(NamedTuple):
    """Answers to similar questions."""

    entries: Entries
    found: Candidates


def draw(data: Dataset, asked: pl.DataFrame, recipe: Recipe, engine: Engine) -> Drawn:
    """Draw for each asked example that has an answer."""
    bench = make_bench(data, asked, recipe, engine)
    with np.errstate(over="ignore"):  # hashes overflow, which compiled kernels do silently
        if recipe.drawing == NEUTRAL and recipe.leave_out:
            bench = _thin(bench)
        choices = (*_draw_both(bench), _draw_random(bench))
    decoys = pl.concat([_table(bench, choice) for choice in choices]).sort("id", "source", "place")
    counts = pl.concat([_count(bench, choice) for choice in choices])
    return Drawn(decoys, counts, (*bench.notes, *_left_out(bench)))


def _draw_both(bench: Bench) -> tuple[Choice, Choice]:
    """Draw from the image and from similar questions, such that they can be joined."""
    image = _draw_on_image(bench)
    if bench.recipe.compat == RELEASE:  # the authors draw the two sets apart from each other
        return image, _draw_similar(bench)
    similar = _draw_similar(_beside(bench, image.answers))
    if bench.recipe.drawing == NEUTRAL:
        image = image._replace(chosen=even_out_together(_beside(bench, similar.answers), image.pool, image.chosen))
    return image, similar


def _beside(bench: Bench, answers: Int32s) -> Bench:
    return bench._replace(asked=bench.asked._replace(beside=answers))


def _thin(bench: Bench) -> Bench:
    """Leave out examples whose targets cannot be decoys as often, judged by the decoys of similar questions."""
    similar = _find_similar(bench)
    return ask_fewer(bench, who_stays(bench, similar.entries, similar.found.entries))


def _left_out(bench: Bench) -> list[str]:
    note = f"{bench.left_out:,} examples have no decoys: their answers are targets too often to be decoys as often"
    return [note] if bench.left_out else []


def _find_similar(bench: Bench) -> Similar:
    """Take the answers to the same question on other images, then those to the nearest questions."""
    numbers, nearest, _ = bench.questions
    entries = make_entries(pl.Series(numbers), bench.answers.reference, len(nearest))
    own = numbers[bench.asked.rows]
    places = np.concatenate([own[:, None], nearest[own]], axis=1)
    return Similar(entries, _collect(bench, entries, places, bench.recipe.near))


def _collect(bench: Bench, entries: Entries, places: Int32s, near: int) -> Candidates:
    """Walk the places of each asked example."""
    if isinstance(bench.engine, Local):
        return collect(bench.judges, bench.asked, entries, places, near)
    step = Collect(bench.judges.lexicon, bench.judges.limits, entries, near, random=False)
    return collect_parted(step, bench.asked, places, bench.engine)


def _collect_random(bench: Bench, entries: Entries, places: Int32s, near: int) -> Candidates:
    """Draw at random from the place of each asked example."""
    if isinstance(bench.engine, Local):
        return collect_random(bench.judges, bench.asked, entries, places, near)
    step = Collect(bench.judges.lexicon, bench.judges.limits, entries, near, random=True)
    return collect_parted(step, bench.asked, places[:, None], bench.engine)


def _draw_similar(bench: Bench) -> Choice:
    similar = _find_similar(bench)
    return _choose(bench, QOU, similar.entries, similar.found)


def _draw_on_image(bench: Bench) -> Choice:
    """Take the distinct answers to the other questions on the image in a random order."""
    images = bench.examples["cluster"].rank("dense").cast(pl.Int32) - 1
    entries = make_entries(images, bench.answers.reference, images.n_unique())
    entries = entries._replace(counts=np.ones_like(entries.counts))
    places = images.to_numpy()[bench.asked.rows][:, None]
    found = _collect(bench, entries, places, bench.recipe.near)
    return _choose(bench, IOU, entries, found)


def _draw_random(bench: Bench) -> Choice:
    """Take any answers of the same part, each as often as it is a target, which is neutral as it is."""
    entries = make_entries(pl.Series(bench.parts), bench.answers.reference, int(bench.parts.max(initial=0)) + 1)
    places = bench.parts[bench.asked.rows]
    found = _collect_random(bench, entries, places, 4 * bench.recipe.k)
    return _choose(bench._replace(recipe=bench.recipe._replace(drawing=NEAREST)), RANDOM, entries, found)


def _choose(bench: Bench, source: str, entries: Entries, found: Candidates) -> Choice:
    """Choose among the candidates that the targets admit, and fill up."""
    neutral = bench.recipe.drawing == NEUTRAL
    ordered = order(bench, entries, found.entries) if neutral else found.entries
    picked = pick(bench.judges, bench.asked, entries, ordered, bench.recipe.k)
    pool = _pool(bench, entries, ordered, short=picked.entries[:, -1] < 0)
    line = np.concatenate([picked.entries, pool.candidates[:, ordered.shape[1] :]], axis=1)
    chosen = pick(bench.judges, bench.asked, pool.entries, line, bench.recipe.k).entries
    if neutral:
        chosen = even_out(bench, pool, chosen)
    return Choice(source, pool, chosen, found.taken + picked.taken)


def _pool(bench: Bench, entries: Entries, candidates: Int32s, short: NDArray[np.bool_]) -> Pool:
    """Put frequent answers of the target's kind behind the candidates of those who have too few."""
    places = np.where(short, bench.fillers.places[bench.asked.rows], -1).astype(np.int32)
    # Other lots than those by which answers from anywhere are drawn.
    others = bench._replace(asked=bench.asked._replace(lots=bench.asked.lots ^ np.uint64(SECOND_LOT)))
    spare = _collect_random(others, bench.fillers.entries, places, FILLING).entries
    behind = np.where(spare < 0, -1, spare + len(entries.answers)).astype(np.int32)
    joined = join_entries(entries, bench.fillers.entries)
    return Pool(joined, len(entries.answers), np.concatenate([candidates, behind], axis=1))


def _table(bench: Bench, choice: Choice) -> pl.DataFrame:
    """Turn numbers back into texts; fillers have no donor."""
    rows, places = np.nonzero(choice.chosen >= 0)
    used = choice.chosen[rows, places]
    entries = choice.pool.entries
    ids = bench.examples["id"]
    table = pl.DataFrame(
        {
            "id": ids.gather(bench.asked.rows[rows]),
            "source": pl.repeat(choice.source, len(rows), dtype=pl.String, eager=True),
            "place": places,
            "decoy": bench.answers.texts.gather(entries.answers[used]),
            "donor": ids.gather(entries.donors[used]),
            "filler": used >= choice.pool.fillers,
        },
        schema=DECOYS,
    )
    return table.with_columns(pl.when(~pl.col("filler")).then("donor").alias("donor"))


def _count(bench: Bench, choice: Choice) -> pl.DataFrame:
    """Count the candidates each filter took, in the order of the filters, and what was drawn in the end."""
    names = {EQUAL: "the same", **FILTERS}
    rows = [
        (f"{names[code]}: {RELATIONS[who]}", choice.taken[who, code]) for code in names for who in range(len(RELATIONS))
    ]
    filling = choice.chosen >= choice.pool.fillers
    rows += [("drawn", ((choice.chosen >= 0) & ~filling).sum()), ("filler", filling.sum())]
    rows += [("missing", (choice.chosen < 0).sum()), ("left out for balance", bench.left_out)]
    table = pl.DataFrame(rows, schema={"filter": pl.String, "n": pl.Int64}, orient="row")
    return table.filter(pl.col("n") > 0).select(pl.lit(choice.source).alias("source"), "filter", "n")
