"""Sets of options, those of the data and those built from drawn decoys, and the score of picking one of them.

A built set holds the target, no other accepted answer, and no two options with equal normal forms. Its order is a hash
of (seed, id, option), so that it reveals nothing and is the same on every machine. `all` also holds the decoys of the
data (Sect. 5.2). A rule that gives every option a number picks the option with the highest number.
"""

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.audits.decoys.settings import ORIG, SETS
from eyechart.audits.decoys.texts import Int32s, Int64s, code_texts, starts_of
from eyechart.base.hashing import combine, hash_text
from eyechart.base.text import clean_answer, normalize_answer
from eyechart.language.answers import human_answers

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Values = NDArray[Any]  # of any type that has an order
CHANCE = "chance"


class Offered(NamedTuple):
    """Options as numbers, one example after the other."""

    texts: pl.Series  # the different ones in order
    codes: Int32s  # of each option
    target: Flags  # of each option
    starts: Int64s  # of each example, and the end of the last

    @property
    def sizes(self) -> Int64s:
        """Count the options of each example."""
        return np.diff(self.starts)

    def spread(self, values: Values) -> Values:
        """Give each option the value of its example."""
        return np.repeat(values, self.sizes)


def sets_of(examples: pl.DataFrame, decoys: pl.DataFrame) -> tuple[str, ...]:
    """Name the sets that have options; data without options have no `all` either."""
    drawn_sources = set(decoys["source"].unique())
    available = drawn_sources | ({ORIG} if _has_choices(examples) else set())
    return tuple(name for name, sources in SETS.items() if set(sources) <= available)


def offer(examples: pl.DataFrame, decoys: pl.DataFrame, name: str, seed: int) -> pl.DataFrame:
    """List the options (id, place, text, target) of every answered example that has a wrong one."""
    answered = examples.filter(pl.col("answer").is_not_null()).sort("id")
    options = _given(answered) if name == ORIG else _made(answered, decoys, name, seed)
    return _numbered(options, answered["id"])


def choices_of(offers: pl.DataFrame) -> pl.DataFrame:
    """Gather the options of each example into `choices`."""
    return offers.group_by("id", maintain_order=True).agg(pl.col("text").alias("choices"))


def rotate(choices: pl.DataFrame, by: int) -> pl.DataFrame:
    """Rotate the options of each example that has more than `by` of them, moving the first to the end."""
    options = pl.col("choices")
    longer = choices.filter(options.list.len() > by)
    return longer.with_columns(pl.concat_list(options.list.slice(by), options.list.head(by)).alias("choices"))


def count_damage(examples: pl.DataFrame) -> dict[str, int]:
    """Count the flaws in the options of the data, by kind."""
    if not _has_choices(examples):
        return {}
    options = pl.col("choices").list
    blank = options.eval(_blank(pl.element())).list.any()
    counts = examples.filter(pl.col("choices").is_not_null()).select(
        (options.len() == 0).sum().alias("no option at all"),
        blank.sum().alias("empty option left out"),
        (options.n_unique() < options.len()).sum().alias("same option twice, kept once"),
    )
    return {reason: int(n) for reason, n in counts.row(0, named=True).items() if n}


def _has_choices(examples: pl.DataFrame) -> bool:
    return "choices" in examples.columns and examples["choices"].is_not_null().any()


def _blank(text: pl.Expr) -> pl.Expr:
    return text.str.strip_chars() == ""


def _rows() -> pl.Expr:
    return pl.int_range(pl.len(), dtype=pl.UInt32).alias("row")


def _given(answered: pl.DataFrame) -> pl.DataFrame:
    """List the options of the data (row, text, target) in order, without empty ones and repeats."""
    if not _has_choices(answered):
        return answered.select(_rows(), text="answer", target=pl.lit(value=True)).clear()
    listed = answered.select(_rows(), "answer", text="choices")
    long = listed.explode("text", empty_as_null=False, keep_nulls=False).filter(~_blank(pl.col("text")))
    once = long.unique(["row", "text"], keep="first", maintain_order=True)
    return once.select("row", "text", target=pl.col("text") == pl.col("answer"))


def _made(answered: pl.DataFrame, decoys: pl.DataFrame, name: str, seed: int) -> pl.DataFrame:
    """Put the target among the wrong options (row, text, target) in the order of their hashes."""
    wrong = _acceptable(pl.concat([_wrong(answered, decoys, source) for source in SETS[name]]), answered)
    target = answered.select(_rows(), text="answer", target=pl.lit(value=True))
    options = pl.concat([target, wrong.select("row", "text", target=pl.lit(value=False))])
    texts, codes = code_texts(options["text"])
    id_hashes, text_hashes = hash_text(answered["id"], seed), hash_text(texts)
    order = combine(id_hashes[options["row"].to_numpy()], text_hashes[codes])
    # Ids and texts are numbered in their order, so that sorting the numbers sorts them.
    numbers = options.select("row", pl.Series("key", order), pl.Series("code", codes))
    return options[numbers.select(pl.arg_sort_by("row", "key", "code")).to_series()]


def _numbered(options: pl.DataFrame, ids: pl.Series) -> pl.DataFrame:
    """Assign places to the options of each row, and drop examples without a target or without a wrong option."""
    row, target = options["row"].to_numpy(), options["target"].to_numpy()
    right, offered = (np.bincount(rows, minlength=len(ids)) for rows in (row[target], row))
    usable = (right > 0) & (right < offered)
    kept = options.filter(usable[row])
    place = np.arange(kept.height) - starts_of(np.where(usable, offered, 0))[kept["row"].to_numpy()]
    return kept.select(ids.gather(kept["row"]).alias("id"), pl.Series("place", place), "text", "target")


def _wrong(answered: pl.DataFrame, decoys: pl.DataFrame, source: str) -> pl.DataFrame:
    """List the wrong options of a source (row, text)."""
    if source == ORIG:
        return _given(answered).filter(~pl.col("target")).select("row", "text")
    drawn = decoys.filter(pl.col("source") == source).select("id", "place", text="decoy")
    numbered = drawn.join(answered.select("id", _rows()), on="id", validate="m:1")
    return numbered.sort("row", "place").select("row", "text")


def _acceptable(wrong: pl.DataFrame, answered: pl.DataFrame) -> pl.DataFrame:
    """Leave out options whose normal form is that of an accepted answer or of an earlier option."""
    humans = answered.select(_rows()).with_columns(human_answers(answered).alias("text"))
    human = humans.explode("text", empty_as_null=False, keep_nulls=False)
    accepted = pl.concat([human, answered.select(_rows(), text="answer")])
    texts, codes = code_texts(pl.concat([wrong["text"], accepted["text"]]))
    _, normal_codes = code_texts(normal_forms(texts))
    rows = pl.concat([wrong["row"], accepted["row"]]).to_numpy()
    # One number for a row and a normal form together.
    keys = pl.Series("key", rows * np.int64(len(texts)) + normal_codes.astype(np.int64)[codes])
    keyed = wrong.with_columns(keys.head(wrong.height))
    unaccepted = keyed.join(keys.tail(accepted.height).to_frame(), on="key", how="anti", maintain_order="left")
    return unaccepted.filter(pl.col("key").is_first_distinct()).drop("key")


def normal_forms(texts: pl.Series) -> pl.Series:
    """Return the normal forms, or the clean text where the normal form is empty."""
    clean = clean_answer(pl.col("text"))
    normal = normalize_answer(clean)
    return texts.to_frame("text").select(pl.when(normal != "").then(normal).otherwise(clean)).to_series()


def lay_out(offers: pl.DataFrame) -> Offered:
    """Convert options (id, text, target), grouped by example, to numbers."""
    return Offered(*code_texts(offers["text"]), offers["target"].to_numpy(), where_examples_start(offers))


def where_examples_start(offers: pl.DataFrame) -> Int64s:
    """Find the first option of each example, and the end of the last; options are grouped by example."""
    return starts_of(offers["id"].rle().struct.field("len").to_numpy())


def pick(offers: pl.DataFrame, value: pl.Series, name: str = "score") -> pl.DataFrame:
    """Score the pick of the highest value in each example (0 to 1); ties are equally likely to be picked."""
    starts = where_examples_start(offers)
    score = score_picks(value.to_numpy(), offers["target"].to_numpy(), starts)
    return pl.DataFrame({"id": offers["id"].gather(starts[:-1]), name: score})


def score_picks(value: Values, target: Flags, starts: Int64s) -> Floats:
    """Score the pick of each example: 1 / (options that share the highest value) if the target is one of them, else 0.

    NaN is picked only where nothing else is offered.
    """
    firsts = starts[:-1]
    best = np.fmax.reduceat(value.astype(np.float64), firsts)
    top = (value == np.repeat(best, np.diff(starts))) | np.repeat(np.isnan(best), np.diff(starts))
    picked = np.add.reduceat(top & target, firsts, dtype=np.int64)
    return np.asarray(picked / np.add.reduceat(top, firsts, dtype=np.int64), np.float64)


def chance(offers: pl.DataFrame) -> pl.DataFrame:
    """Give each example the chance of guessing: one over its options."""
    starts = where_examples_start(offers)
    return pl.DataFrame({"id": offers["id"].gather(starts[:-1]), CHANCE: 1 / np.diff(starts)})
