"""Draw decoys from the three sources: similar questions, the same image, anywhere."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.audits.decoys.balance import (
    SECOND_KEY,
    CandidatePool,
    balanced_examples,
    even_out,
    even_out_together,
    shuffle_neutrally,
)
from eyechart.audits.decoys.candidates import Candidates, Entries, Recipients
from eyechart.audits.decoys.filters import EQUAL, FILTERS, Filters, goes_with
from eyechart.audits.decoys.inputs import DrawingInputs
from eyechart.audits.decoys.settings import IOU, NEUTRAL, QAVG, QOU, RANDOM, DecoysSettings
from eyechart.audits.decoys.texts import Int32s, Int64s
from eyechart.base.kernels import kernel
from eyechart.data.dataset import Dataset
from eyechart.data.protocols import Engine
from eyechart.engines import Local

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


class DrawnDecoys(NamedTuple):
    """The decoys, the number of candidates that each filter removed, and notes for the reader."""

    decoys: pl.DataFrame  # id, source, place, decoy, donor (null for a filler), filler; sorted by id, source, place
    counts: pl.DataFrame  # source, filter, n; also how many were drawn, fill up, are missing, or were left out
    notes: tuple[str, ...]


class SourceDraw(NamedTuple):
    """The entries chosen from one source's pool, padded by -1, and the number that each filter removed."""

    source: str
    pool: CandidatePool
    chosen: Int32s
    taken: Int64s

    @property
    def answers(self) -> Int32s:
        """Return the answers that were chosen."""
        return self.pool.entries.answers_of(self.chosen)


def draw_decoys(
    data: Dataset, wanted: pl.DataFrame, settings: DecoysSettings, engine: Engine | None = None
) -> DrawnDecoys:
    """Draw decoys for the wanted examples (their `id` and `part`) from the answers of all answered examples."""
    inputs = DrawingInputs.of(data, wanted, settings, engine or Local())
    with np.errstate(over="ignore"):  # hashes overflow, which compiled kernels do silently
        if settings.drawing == NEUTRAL and settings.leave_out:
            inputs = _leave_out(inputs)
        draws = (*_draw_both(inputs), _draw_random(inputs))
    decoys = pl.concat([_table(inputs, draw) for draw in draws]).sort("id", "source", "place")
    counts = pl.concat([_count(inputs, draw) for draw in draws])
    note = f"{inputs.left_out:,} examples get no decoys: their answers are targets more often than they can be decoys"
    return DrawnDecoys(decoys, counts, (*inputs.notes, *([note] if inputs.left_out else [])))


def _draw_both(inputs: DrawingInputs) -> tuple[SourceDraw, SourceDraw]:
    """Draw from the image and from similar questions, such that they can be joined."""
    image = _draw_on_image(inputs)
    if inputs.settings.published == QAVG:  # the authors draw the two sets apart from each other
        return image, _draw_similar(inputs)
    similar = _draw_similar(inputs.beside(image.answers))
    if inputs.settings.drawing == NEUTRAL:
        image = image._replace(chosen=even_out_together(inputs.beside(similar.answers), image.pool, image.chosen))
    return image, similar


def _leave_out(inputs: DrawingInputs) -> DrawingInputs:
    """Leave out examples whose targets cannot be decoys as often, judging by the decoys of similar questions."""
    entries, candidates = _find_similar(inputs)
    return inputs.only(balanced_examples(inputs, entries, candidates.entries))


def _find_similar(inputs: DrawingInputs) -> tuple[Entries, Candidates]:
    """Take the answers to the same question about other images, then those to the nearest questions."""
    entries = Entries.of(pl.Series(inputs.questions), inputs.answers.reference, len(inputs.nearest))
    own = inputs.questions[inputs.recipients.rows]
    places = np.concatenate([own[:, None], inputs.nearest[own]], axis=1)
    return entries, inputs.collect(entries, places, inputs.settings.near)


def _draw_similar(inputs: DrawingInputs) -> SourceDraw:
    return _choose(inputs, QOU, *_find_similar(inputs))


def _draw_on_image(inputs: DrawingInputs) -> SourceDraw:
    """Take the distinct answers to the other questions about the image, in a random order."""
    images = inputs.examples["cluster"].rank("dense").cast(pl.Int32) - 1
    entries = Entries.of(images, inputs.answers.reference, images.n_unique())
    entries = entries._replace(counts=np.ones_like(entries.counts))
    places = images.to_numpy()[inputs.recipients.rows][:, None]
    return _choose(inputs, IOU, entries, inputs.collect(entries, places, inputs.settings.near))


def _draw_random(inputs: DrawingInputs) -> SourceDraw:
    """Take any answers of the same part, each as often as it is a target, which makes them neutral."""
    entries = Entries.of(pl.Series(inputs.parts), inputs.answers.reference, int(inputs.parts.max(initial=0)) + 1)
    places = inputs.parts[inputs.recipients.rows]
    candidates = inputs.collect_random(entries, places, 4 * inputs.settings.k)
    in_order = inputs._replace(settings=replace(inputs.settings, drawing="nearest"))
    return _choose(in_order, RANDOM, entries, candidates)


def _choose(inputs: DrawingInputs, source: str, entries: Entries, candidates: Candidates) -> SourceDraw:
    """Choose among the candidates that the targets admit, and add fillers."""
    neutral, k = inputs.settings.drawing == NEUTRAL, inputs.settings.k
    ordered = shuffle_neutrally(inputs, entries, candidates.entries) if neutral else candidates.entries
    picked, taken = _pick(inputs.filters, inputs.recipients, entries, ordered, k)
    pool = _pool(inputs, entries, ordered, short=picked[:, -1] < 0)
    line = np.concatenate([picked, pool.candidates[:, ordered.shape[1] :]], axis=1)
    chosen, _ = _pick(inputs.filters, inputs.recipients, pool.entries, line, k)
    if neutral:
        chosen = even_out(inputs, pool, chosen)
    return SourceDraw(source, pool, chosen, candidates.taken + taken)


def _pool(inputs: DrawingInputs, entries: Entries, candidates: Int32s, short: NDArray[np.bool_]) -> CandidatePool:
    """Append frequent answers of the target's kind for examples with too few candidates."""
    recipients = inputs.recipients
    places = np.where(short, inputs.kinds[recipients.rows], -1).astype(np.int32)
    # These draws are independent of those for random answers.
    others = inputs._replace(recipients=recipients._replace(keys=recipients.keys ^ np.uint64(SECOND_KEY)))
    fillers = others.collect_random(inputs.fillers, places, FILLING).entries
    behind = np.where(fillers < 0, -1, fillers + len(entries.answers)).astype(np.int32)
    joined = entries.followed_by(inputs.fillers)
    return CandidatePool(joined, len(entries.answers), np.concatenate([candidates, behind], axis=1))


@kernel
def _pick(
    filters: Filters, examples: Recipients, entries: Entries, candidates: Int32s, k: int
) -> tuple[Int32s, Int64s]:
    """Choose up to k candidates of each example in order, padded by -1, and count those that each filter removed."""
    chosen = np.full((len(examples.rows), k), -1, np.int32)
    taken = np.zeros((3, EQUAL + 1), np.int64)
    answers = np.empty(k, np.int32)
    for i in range(len(examples.rows)):
        n = 0
        for entry in candidates[i]:
            if n == k:
                break
            if entry >= 0 and goes_with(filters, examples.beside[i], answers[:n], entries.answers[entry], taken):
                chosen[i, n], answers[n] = entry, entries.answers[entry]
                n += 1
    return chosen, taken


def _table(inputs: DrawingInputs, draw: SourceDraw) -> pl.DataFrame:
    """Convert numbers back to texts; fillers have no donor."""
    rows, columns = np.nonzero(draw.chosen >= 0)
    used = draw.chosen[rows, columns]
    entries = draw.pool.entries
    ids = inputs.examples["id"]
    table = pl.DataFrame(
        {
            "id": ids.gather(inputs.recipients.rows[rows]),
            "source": pl.repeat(draw.source, len(rows), dtype=pl.String, eager=True),
            "place": columns,
            "decoy": inputs.answers.texts.gather(entries.answers[used]),
            "donor": ids.gather(entries.donors[used]),
            "filler": used >= draw.pool.fillers,
        },
        schema=DECOYS,
    )
    return table.with_columns(pl.when(~pl.col("filler")).then("donor").alias("donor"))


def _count(inputs: DrawingInputs, draw: SourceDraw) -> pl.DataFrame:
    """Count the candidates that each filter removed, in the order of the filters, and the decoys that were drawn."""
    names = {EQUAL: "the same", **FILTERS}
    rows = [
        (f"{names[code]}: {RELATIONS[relation]}", draw.taken[relation, code])
        for code in names
        for relation in range(len(RELATIONS))
    ]
    filling = draw.chosen >= draw.pool.fillers
    rows += [("drawn", ((draw.chosen >= 0) & ~filling).sum()), ("filler", filling.sum())]
    rows += [("missing", (draw.chosen < 0).sum()), ("left out for balance", inputs.left_out)]
    table = pl.DataFrame(rows, schema={"filter": pl.String, "n": pl.Int64}, orient="row")
    return table.filter(pl.col("n") > 0).select(pl.lit(draw.source).alias("source"), "filter", "n")
