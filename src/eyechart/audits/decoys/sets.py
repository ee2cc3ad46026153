"""Sets of options: those of the data, and those made of drawn decoys.

A made set holds the target, no other accepted answer, and no two options that are equal in their normal form. Its
order is a hash of (seed, id, option), so that it tells nothing and is the same on every machine. `all` also holds the
decoys of the data (Sect. 5.2).
"""

import polars as pl

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
    answered = examples.filter(pl.col("answer").is_not_null())
    if name == ORIG:
        return _numbered(_given(answered))
    wrong = pl.concat([_wrong(answered, decoys, source) for source in SETS[name]])
    kept = _distinct(_unaccepted(_with_normal(wrong), answered))
    target = answered.select("id", text="answer", target=pl.lit(value=True))
    options = pl.concat([target, kept.select("id", "text", target=pl.lit(value=False))])
    lot = combine(hash_text(options["id"], seed), hash_text(options["text"]))
    return _numbered(options.with_columns(pl.Series("lot", lot)).sort("id", "lot", "text").drop("lot"))


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


def _given(answered: pl.DataFrame) -> pl.DataFrame:
    """List the options of the data in their order, empty ones and repeats left out."""
    if not _has_choices(answered):
        return answered.select("id", text="answer", target=pl.lit(value=True)).clear()
    listed = answered.sort("id").select("id", "answer", text="choices")
    long = listed.explode("text", empty_as_null=False, keep_nulls=False).filter(~_blank(pl.col("text")))
    once = long.unique(["id", "text"], keep="first", maintain_order=True)
    return once.select("id", "text", target=pl.col("text") == pl.col("answer"))


def _numbered(options: pl.DataFrame) -> pl.DataFrame:
    """Give options their places, and leave out examples without a target or without a wrong option."""
    both = pl.col("target").any().over("id") & (~pl.col("target")).any().over("id")
    return options.filter(both).select("id", pl.int_range(pl.len()).over("id").alias("place"), "text", "target")


def _wrong(answered: pl.DataFrame, decoys: pl.DataFrame, source: str) -> pl.DataFrame:
    if source == ORIG:
        return _given(answered).filter(~pl.col("target")).select("id", "text")
    drawn = decoys.filter(pl.col("source") == source).join(answered, on="id", how="semi")
    return drawn.sort("id", "place").select("id", text="decoy")


def _with_normal(texts: pl.DataFrame) -> pl.DataFrame:
    """Add the normal form, or the clean text where nothing is left of it; each different text is worked on once."""
    clean = clean_answer(pl.col("text"))
    normal = normalize_answer(clean)
    forms = texts.select(pl.col("text").unique()).with_columns(
        pl.when(normal != "").then(normal).otherwise(clean).alias("normal")
    )
    return texts.join(forms, on="text", how="left", validate="m:1", maintain_order="left")


def _unaccepted(wrong: pl.DataFrame, answered: pl.DataFrame) -> pl.DataFrame:
    humans = pl.DataFrame({"id": answered["id"], "text": human_answers(answered)})
    people = humans.explode("text", empty_as_null=False, keep_nulls=False)
    accepted = _with_normal(pl.concat([people, answered.select("id", text="answer")]))
    return wrong.join(accepted, on=["id", "normal"], how="anti", maintain_order="left")


def _distinct(wrong: pl.DataFrame) -> pl.DataFrame:
    return wrong.unique(["id", "normal"], keep="first", maintain_order=True)
