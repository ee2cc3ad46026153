"""Read VisDial v1.0 (and v0.9): dialogs about images, one row for each round.

A row's id is `<image_id>-<round>`, rounds counted from 1. What was said before is `history`, a line "Q: ... A: ..." for
each earlier round, empty in the first. Rounds of a test set that come without candidates or answer are kept so.
Rounds in the files = rounds read + rounds dropped; a dialog without rounds is noted.
"""

from pathlib import Path

import polars as pl

from eyechart.dataset import Dataset
from eyechart.errors import FileFormatError
from eyechart.readers.choices import set_aside_choices
from eyechart.readers.counting import Sifted, count_table, noted, read_rows, sift
from eyechart.readers.description import described
from eyechart.readers.fields import Field, lay_out
from eyechart.readers.pictures import gather_images
from eyechart.readers.records import read_entries
from eyechart.readers.rows import blank, clear_blank_answers, drop_silent
from eyechart.readers.source import find_sources, stem
from eyechart.readers.visdial_parts import read_part

_MODALITIES = ("image", "question", "caption", "history")
_COLUMNS = ("id", "image", "question", "answer", "caption", "history")
_OPTIONAL = ("choices", "relevance", "split")
_DENSE = {
    "image": Field(("image_id",), "key"),
    "round": Field(("round_id",), "key"),
    "relevance": Field(("relevance",), "texts"),
    "gt_relevance": Field(("gt_relevance",), "texts"),
}


@described(
    needs="JSON with data.questions, data.answers and data.dialogs; --set dense=FILE names a file of dense annotations",
    sample='{"version": "1.0", "split": "val2018", "data": {"questions": ["is it sunny"], "answers": ["yes", "no"],\n'
    '"dialogs": [{"image_id": 42, "caption": "a dog", "dialog": [{"question": 0, "answer": 1, "gt_index": 7, ...',
    signs=('"dialogs"', '"questions"', '"answers"', '"split"'),
)
def read_visdial(
    path: Path,
    *,
    dense: Path | None = None,
    split: str | None = None,
    detections: Path | None = None,
    images: Path | None = None,
) -> Dataset:
    """Read dialogs; `dense` is a file of how relevant each candidate is, which gives those rounds a `relevance`.

    `split` overrides what the files say of themselves; `detections` is a file of objects, `images` a picture folder.
    """
    found = [read_part(source) for source in find_sources(path, {".json"})]
    parts = [part for part in found if part is not None]
    if not parts:
        advice = "bring visdial_1.0_*.json; dense annotations are named by the setting dense"
        raise FileFormatError(f"data.questions, data.answers and data.dialogs in {path}", "none of them", advice)
    sound, fates = _keep_sound(pl.concat(part.rounds for part in parts), split)
    settled, notes = _settle_answers(sound)
    judged, more = _add_relevance(settled, dense)
    rows = drop_silent(judged.select(*_COLUMNS, *_OPTIONAL), _OPTIONAL)
    illustrated = gather_images(rows.select(pl.col("image").unique().sort()), images, detections)
    notes += [
        noted("file without dialogs, passed over (dense annotations: see dense)", len(found) - len(parts)),
        noted("dialog without rounds", sum(part.empty for part in parts)),
        noted("round without an answer", rows["answer"].null_count()),
    ]
    counts = count_table([read_rows(rows.height), *fates, *notes, *more, *illustrated.notes])
    return Dataset(stem(path), rows, illustrated.images, _MODALITIES, counts=counts)


def _keep_sound(rounds: pl.DataFrame, split: str | None) -> Sifted:
    reasons = {
        "round that is no record": ~pl.col("whole"),
        "round without an image": pl.col("image").is_null(),
        "round without a question": blank("question"),
    }
    sound, damaged = sift(rounds.with_columns(id=pl.format("{}-{}", "image", "round")), reasons)
    once, again = sift(sound, {"round with an id seen before": ~pl.col("id").is_first_distinct()})
    named = once if split is None else once.with_columns(split=pl.lit(split))
    return Sifted(named, [*damaged, *again])


def _settle_answers(rounds: pl.DataFrame) -> Sifted:
    """Leave out candidates that cannot all be read, and take the answer from them where it is told by index alone."""
    readable = (pl.col("choices").list.len() > 0) & ~pl.col("choices").list.contains(None)
    lost = noted("candidates that cannot all be read, left out", int(rounds.select((~readable).sum()).item()))
    told = rounds.with_columns(choices=pl.when(readable).then("choices"))
    at = pl.when(pl.col("right") >= 0).then("right")
    indexed = told.select(pl.col("choices").list.get(at, null_on_oob=True)).to_series()
    other = noted("round whose gt_index is of another answer", int((indexed != told["answer"]).sum()))
    kept, stray = set_aside_choices(clear_blank_answers(told.with_columns(answer=pl.coalesce("answer", indexed))))
    return Sifted(kept, [lost, other, *stray])


def _add_relevance(rounds: pl.DataFrame, dense: Path | None) -> Sifted:
    """Join dense annotations to their rounds; those of no round here, or that do not fit, are noted."""
    if dense is None:
        return Sifted(rounds.with_columns(relevance=pl.lit(None, pl.List(pl.Float64))), [])
    entries = [entry for source in find_sources(dense, {".json"}) for entry in read_entries(source)]
    table, counts = lay_out(entries, _DENSE)
    marks = table.select(
        id=pl.format("{}-{}", "image", "round"),
        relevance=pl.coalesce("relevance", "gt_relevance").cast(pl.List(pl.Float64), strict=False),
    ).drop_nulls("id")
    first = marks.unique("id", keep="first", maintain_order=True)
    joined = rounds.join(first, on="id", how="left", validate="1:1", maintain_order="left")
    sizes = pl.col("relevance").list.len() == pl.col("choices").list.len()
    fits = sizes & pl.col("relevance").list.eval(pl.element().is_finite().fill_null(value=False)).list.all()
    fitted = joined.with_columns(relevance=pl.when(fits).then("relevance"))
    used = int(fitted["relevance"].is_not_null().sum())
    notes = [noted(f"dense annotation: {count.reason}", count.n) for count in counts]
    return Sifted(fitted, [*notes, noted("dense annotation of no round with as many candidates", table.height - used)])
