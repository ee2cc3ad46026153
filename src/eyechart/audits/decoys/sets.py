"""Sets of options: those of the data, and those made of drawn decoys.

A made set holds the target, no other accepted answer, and no two options that are equal in their normal form. Its
order is a hash of (seed, id, option), so that it tells nothing and is the same on every machine. `all` also holds the
decoys of the data (Sect. 5.2).
"""

import numpy as np
import polars as pl

from eyechart.audits.decoys.drawing.lists import starts_of
from eyechart.audits.decoys.picking import code_texts
from eyechart.audits.decoys.recipes import IOU, QOU, RANDOM
from eyechart.encode.items import human_answers
from eyechart.hashing import combine, hash_text
from eyechart.text import clean_answer, normalize_answer

ORIG = "orig"
SETS: dict[str, tuple[str, ...]] = {
    ORIG: (ORIG,),
    IOU: (IOU,),
    QOU: (QOU,),
    "iou+qou": (IOU, QOU),
    "all": (ORIG, IOU, QOU),
    RANDOM: (RANDOM,),
}
REPAIRED = "iou+qou"  # the set that takes the place of the original one


def sets_of(examples: pl.DataFrame, decoys: pl.DataFrame) -> tuple[str, ...]:
    """Name the sets for which there are options; without options of its own the data have no `all` either."""
    drawn = set(decoys["source"].unique())
    there = drawn | ({ORIG} if _has_choices(examples) else set())
    return tuple(name for name, sources in SETS.items() if set(sources) <= there)


def offer(examples: pl.DataFrame, decoys: pl.DataFrame, name: str, seed: int) -> pl.DataFrame:
    """List the options (id, place, text, target), a row each, of every answered example that has a wrong one."""
    answered = examples.filter(pl.col("answer").is_not_null()).sort("id")
    options = _given(answered) if name == ORIG else _made(answered, decoys, name, seed)
    return _numbered(options, answered["id"])


def choices_of(offers: pl.DataFrame) -> pl.DataFrame:
    """Gather the options of each example into `choices`."""
    return offers.group_by("id", maintain_order=True).agg(pl.col("text").alias("choices"))


def rotate(choices: pl.DataFrame, by: int) -> pl.DataFrame:
    """Shift the options of each example that has more than `by` of them, the first going to the end."""
    options = pl.col("choices")
    longer = choices.filter(options.list.len() > by)
    return longer.with_columns(pl.concat_list(options.list.slice(by), options.list.head(by)).alias("choices"))


def damage(examples: pl.DataFrame) -> dict[str, int]:
    """Count what is wrong with the options of the data, by what it is."""
    if not _has_choices(examples):
        return {}
    options = pl.col("choices").list
    blank = options.eval(_blank(pl.element())).list.any()
    found = examples.filter(pl.col("choices").is_not_null()).select(
        (options.len() == 0).sum().alias("no option at all"),
        blank.sum().alias("empty option left out"),
        (options.n_unique() < options.len()).sum().alias("same option twice, kept once"),
    )
    return {reason: int(n) for reason, n in found.row(0, named=True).items() if n}


def _has_choices(examples: pl.DataFrame) -> bool:
    return "choices" in examples.columns and examples["choices"].is_not_null().any()


def _blank(text: pl.Expr) -> pl.Expr:
    return text.str.strip_chars() == ""


def _rows() -> pl.Expr:
    return pl.int_range(pl.len(), dtype=pl.UInt32).alias("row")


def _given(answered: pl.DataFrame) -> pl.DataFrame:
    """List the options of the data (row, text, target) in their order, empty ones and repeats left out."""
    if not _has_choices(answered):
        return answered.select(_rows(), text="answer", target=pl.lit(value=True)).clear()
    listed = answered.select(_rows(), "answer", text="choices")
    long = listed.explode("text", empty_as_null=False, keep_nulls=False).filter(~_blank(pl.col("text")))
    once = long.unique(["row", "text"], keep="first", maintain_order=True)
    return once.select("row", "text", target=pl.col("text") == pl.col("answer"))


def _made(answered: pl.DataFrame, decoys: pl.DataFrame, name: str, seed: int) -> pl.DataFrame:
    """Put the target among the wrong options (row, text, target) in the order of their hashes."""
    kept = _acceptable(pl.concat([_wrong(answered, decoys, source) for source in SETS[name]]), answered)
    target = answered.select(_rows(), text="answer", target=pl.lit(value=True))
    options = pl.concat([target, kept.select("row", "text", target=pl.lit(value=False))])
    coded = code_texts(options["text"])
    own, said = hash_text(answered["id"], seed), hash_text(coded.texts)
    lot = combine(own[options["row"].to_numpy()], said[coded.codes])
    # Ids and texts are numbered in their order, so that sorting the numbers sorts them.
    numbers = options.select("row", pl.Series("lot", lot), pl.Series("said", coded.codes))
    return options[numbers.select(pl.arg_sort_by("row", "lot", "said")).to_series()]


def _numbered(options: pl.DataFrame, ids: pl.Series) -> pl.DataFrame:
    """Give options, sorted by row, their places; leave out examples without a target or without a wrong option."""
    row, target = options["row"].to_numpy(), options["target"].to_numpy()
    right, offered = (np.bincount(rows, minlength=len(ids)) for rows in (row[target], row))
    whole = (right > 0) & (right < offered)
    kept = options.filter(whole[row])
    place = np.arange(kept.height) - starts_of(np.where(whole, offered, 0))[kept["row"].to_numpy()]
    return kept.select(ids.gather(kept["row"]).alias("id"), pl.Series("place", place), "text", "target")


def _wrong(answered: pl.DataFrame, decoys: pl.DataFrame, source: str) -> pl.DataFrame:
    """List the wrong options of a source (row, text)."""
    if source == ORIG:
        return _given(answered).filter(~pl.col("target")).select("row", "text")
    drawn = decoys.filter(pl.col("source") == source).select("id", "place", text="decoy")
    known = drawn.join(answered.select("id", _rows()), on="id", validate="m:1")
    return known.sort("row", "place").select("row", "text")


def _acceptable(wrong: pl.DataFrame, answered: pl.DataFrame) -> pl.DataFrame:
    """Leave out what is an accepted answer, or equal to an earlier option, in its normal form."""
    humans = answered.select(_rows()).with_columns(human_answers(answered).alias("text"))
    people = humans.explode("text", empty_as_null=False, keep_nulls=False)
    accepted = pl.concat([people, answered.select(_rows(), text="answer")])
    coded = code_texts(pl.concat([wrong["text"], accepted["text"]]))
    normal = code_texts(_normal_forms(coded.texts)).codes.astype(np.int64)[coded.codes]
    rows = pl.concat([wrong["row"], accepted["row"]]).to_numpy()
    keys = pl.Series("key", rows * np.int64(len(coded.texts)) + normal)  # of row and normal form together
    keyed = wrong.with_columns(keys.head(wrong.height))
    left = keyed.join(keys.tail(accepted.height).to_frame(), on="key", how="anti", maintain_order="left")
    return left.filter(pl.col("key").is_first_distinct()).drop("key")


def _normal_forms(texts: pl.Series) -> pl.Series:
    """Find the normal form, or the clean text where nothing is left of it."""
    clean = clean_answer(pl.col("text"))
    normal = normalize_answer(clean)
    return texts.to_frame("text").select(pl.when(normal != "").then(normal).otherwise(clean)).to_series()
