"""Find which of the listed options a piece of text names: as a whole, in front, or anywhere in it.

Each function takes pieces (`piece`, `row`, `text`) and returns what they name (`piece`, `option`); a piece that names
two options, or denies one, is there with a null.
"""

from typing import NamedTuple, Self

import polars as pl

from eyechart.language.labels import (
    adds_label,
    front_label,
    joined_label,
    label_index,
    lone_label,
    marked_labels,
    words,
)
from eyechart.language.phrases import CERTAIN, DENIED, straighten, strip_markup

_TOO_COMMON = (" no ", " not ", " i ", " a ", " an ", " the ", " so ")  # options that words of any text may equal
_CLAUSE = (
    r"(?is)^(.*?)(?:[.!?;:](?:\s|$)|\n|,|\s-\s|$"
    r"|\s(?:because|since|as|while|whereas|rather\s+than|instead\s+of|not|but)\b)"
)
_MORE = r"[^\d\s]"  # a number alone may be an index from 0, or an answer
_ANOTHER = r"^(?: and | or )? [b-hj-z]  "  # a label after the text of the first: "(A) red (B) blue"
_REASONED = r"(?i)^\W*(?:because|since|as|not|rather\s+than|instead\s+of)\b"
_JOINED = r"(?i)^\W*(?:and|or)\b|^\s*[/&]"
_TRUTHS = (" yes ", " no ", " true ", " false ", " maybe ", " unknown ", " unclear ")
NAMED = {"piece": pl.UInt32, "option": pl.String}


class Offered(NamedTuple):
    """The options of each row, and how they are labelled."""

    rows: pl.DataFrame  # row, n, start (in the options), lettered, numeric (one has a digit), truths (yes, no, ...)
    options: pl.DataFrame  # row, index, option, words

    @classmethod
    def of(cls, rows: pl.DataFrame) -> Self:
        """Prepare the options of rows (`row`, `choices`, `lettered`)."""
        flat = rows.select("row", "lettered", pl.col("choices").alias("option")).explode("option")
        flat = flat.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).over("row").alias("index"))
        distinct = flat.select(pl.col("option").unique()).with_columns(words=words(straighten(pl.col("option"))))
        options = flat.join(distinct, on="option", how="left", validate="m:1", maintain_order="left")
        bare = pl.col("lettered") & pl.col("words").str.contains(r"^ [a-z] $")  # then the label counts
        options = options.with_columns(pl.when(bare).then(pl.lit("")).otherwise("words").alias("words"))
        about = options.with_row_index("start").group_by("row", "lettered").agg(
            pl.len().cast(pl.Int64).alias("n"),
            pl.col("start").first().cast(pl.Int64),
            pl.col("option").str.contains(r"\d").any().alias("numeric"),
            pl.col("words").is_in(_TRUTHS).all().alias("truths"),
        )  # fmt: skip
        return cls(about, options.select("row", "index", "option", "words"))

    def by_index(self, pieces: pl.DataFrame) -> pl.DataFrame:
        """Keep the pieces whose `index` (of `n`, from `start` on) is that of an option, and add it with its words."""
        valid = pieces.filter(pl.col("index").is_between(0, pl.col("n") - 1))
        places = valid["start"] + valid["index"]
        return valid.with_columns(self.options[name].gather(places) for name in ("option", "words"))

    def settle(self, named: pl.DataFrame) -> pl.DataFrame:
        """Keep the one option that each piece names; two different ones are a contradiction."""
        one = pl.col("option").n_unique() == 1
        return named.group_by("piece").agg(pl.when(one).then(pl.col("option").first()).alias("option"))


def name_whole(pieces: pl.DataFrame, offered: Offered) -> pl.DataFrame:
    """Find options whose text or label is the whole piece."""
    plain = strip_markup(pl.col("text"))
    read = pieces.select("piece", "row", words=words(plain), label=lone_label(bare(pl.col("text"))))
    texts = read.filter(pl.col("words") != "").join(offered.options, on=["row", "words"])
    labels = read.drop("words").drop_nulls("label").join(offered.rows, on="row")
    labels = labels.with_columns(index=label_index(pl.col("label"), lettered=pl.col("lettered")))
    labels = offered.by_index(labels)
    return offered.settle(pl.concat([each.select("piece", "option") for each in (texts, labels)]))


def name_front(pieces: pl.DataFrame, offered: Offered) -> pl.DataFrame:
    """Find the option that a piece begins with, by label or by text, unless what follows contradicts it."""
    plain = bare(pl.col("text"))
    read = pieces.select("piece", "row", text=plain).join(offered.rows, on="row", how="left", validate="m:1")
    by_label = _labelled_front(read, offered)
    by_text = _worded_front(read.join(by_label, on="piece", how="anti"), offered)
    return pl.concat([by_label, by_text], how="vertical")


def name_anywhere(pieces: pl.DataFrame, offered: Offered) -> pl.DataFrame:
    """Find the only option that a piece names, by text or marked label; one that is denied is a contradiction."""
    read = pieces.with_columns(plain=bare(pl.col("text"))).with_columns(words=words(pl.col("plain")))
    by_text = _worded(read, offered)
    marked = read.select("piece", "row", label=marked_labels(pl.col("text"))).explode("label").drop_nulls("label")
    marked = marked.join(offered.rows, on="row").with_columns(
        index=label_index(pl.col("label"), lettered=pl.col("lettered"))
    )
    by_label = offered.by_index(marked)
    named = offered.settle(pl.concat([each.select("piece", "option") for each in (by_text, by_label)]))
    named = named.join(read.select("piece", "plain"), on="piece")
    is_common = words(pl.col("option")).is_in(_TOO_COMMON)
    denials = pl.col("plain").str.to_lowercase().str.replace_all(CERTAIN, "").str.count_matches(DENIED)
    own = pl.col("option").str.to_lowercase().str.count_matches(DENIED)
    is_common &= ~pl.col("piece").is_in(by_label["piece"].implode())
    return named.select("piece", pl.when((denials <= own) & ~is_common).then("option").alias("option"))


def first_clause(text: pl.Expr) -> pl.Expr:
    """Cut a text at its first pause, reason or contrast."""
    return text.str.extract(_CLAUSE)


def bare(text: pl.Expr) -> pl.Expr:
    r"""Remove Markdown, the marks of formulas, and `\text{}` around words."""
    unmarked = text.str.replace_all(r"\*+|__+|`+|(?m:^#+\s)|\\[()\[\]]|\$", "")
    return unmarked.str.replace_all(r"\\(?:text|mathrm|mathbf|textbf)\{([^{}]*)\}", "$1")


def _labelled_front(read: pl.DataFrame, offered: Offered) -> pl.DataFrame:
    """Read labels in front; one that is followed by another label, or by another option's text, is unclear.

    A number where letters are the labels says little: it counts if no option has a digit, or by the text behind it.
    """
    parsed = offered.by_index(_parse_labels(read))
    rivals = parsed.select("piece", "row", "index", "after", "clause").join(offered.options, on="row", suffix="_other")
    repeated = (pl.col("words") == pl.col("after")) | (pl.col("words") == pl.col("clause"))
    rivals = rivals.filter((pl.col("index") != pl.col("index_other")) & (pl.col("words") != "") & repeated)
    rival = rivals.group_by("piece").agg(pl.col("option").first().alias("rival"))
    parsed = parsed.join(rival, on="piece", how="left", validate="1:1")

    own = words(straighten(pl.col("option")))
    follows = (own != "") & pl.col("after").str.starts_with(own)
    adds = pl.col("after").str.slice(own.str.len_chars()).str.contains(_ANOTHER) | (
        ~follows & adds_label(pl.col("rest"))
    )
    has_rival = pl.col("rival").is_not_null() & ~follows
    counts = ~pl.col("is_foreign") | (~pl.col("numeric") & (pl.col("after") == "") & pl.col("text").str.contains(_MORE))
    is_clear = ~adds & ~has_rival
    return parsed.filter(follows | (~pl.col("is_joined") & (counts | has_rival))).select(
        "piece",
        pl.when(pl.col("is_foreign") & has_rival).then("rival").when(is_clear).then("option").alias("option"),
    )


def _worded_front(read: pl.DataFrame, offered: Offered) -> pl.DataFrame:
    """Read options in front, up to the first pause; one that is followed by another option is unclear."""
    clause = first_clause(pl.col("text"))
    rest = pl.col("text").str.slice(clause.str.len_chars())
    parsed = read.with_columns(clause=words(clause), rest=rest, after=words(rest))
    named = parsed.join(offered.options, left_on=["row", "clause"], right_on=["row", "words"])
    rest_names = _worded(named.select("piece", "row", words="after"), offered)
    rivals = named.select("piece", "option").join(rest_names, on="piece", suffix="_other")
    rivals = rivals.filter(pl.col("option") != pl.col("option_other")).select("piece", is_rivalled=True).unique()
    named = named.join(rivals, on="piece", how="left", validate="m:1")
    of_truths = pl.col("after").str.contains(rf"^(?:{'|'.join(_TRUTHS)})") | pl.col("rest").str.contains(_JOINED)
    is_unclear = pl.when("truths").then(of_truths).otherwise(
        pl.col("is_rivalled").fill_null(value=False) & ~pl.col("rest").str.contains(_REASONED)
    )  # fmt: skip
    return offered.settle(named.select("piece", pl.when(~is_unclear).then("option").alias("option")))


def _worded(read: pl.DataFrame, offered: Offered) -> pl.DataFrame:
    """Find options by their words, the longer ones first: `red` is not named by `red and white`."""
    options = offered.options.filter(pl.col("words") != "").rename({"words": "own"})
    found = read.select("piece", "row", "words").join(options, on="row")
    found = found.filter(pl.col("words").str.contains(pl.col("own"), literal=True))
    times = pl.col("words").str.count_matches(pl.col("own"), literal=True).cast(pl.Int64)
    found = found.with_columns(times=times)
    longer = found.select("piece", within="own", more="times")
    covered = found.join(longer.unique(), on="piece").filter(
        (pl.col("own") != pl.col("within")) & pl.col("within").str.contains(pl.col("own"), literal=True)
    )
    inside = pl.col("within").str.count_matches(pl.col("own"), literal=True) * pl.col("more")
    hidden = covered.group_by("piece", "own").agg(inside.sum().cast(pl.Int64).alias("hidden"))
    kept = found.join(hidden, on=["piece", "own"], how="left", validate="m:1")
    return kept.filter(pl.col("times") > pl.col("hidden").fill_null(0)).select("piece", "option")


def _parse_labels(read: pl.DataFrame) -> pl.DataFrame:
    """Add the index that a label in front names, the words after it, and those up to the first pause."""
    name, rest = front_label(pl.col("text"))
    joined, joined_rest = joined_label(pl.col("text"))
    parsed = read.with_columns(
        name=pl.coalesce(name, joined),
        rest=pl.when(name.is_null()).then(joined_rest).otherwise(rest),
        is_joined=name.is_null(),
    )
    index = label_index(pl.col("name"), lettered=pl.col("lettered"))
    number = label_index(pl.col("name"), lettered=pl.lit(value=False))
    after = pl.col("rest").str.strip_chars(" \t\n.:;,)]\"'").str.replace(r"^-+\s", "")
    return parsed.drop_nulls("name").with_columns(
        index=pl.coalesce(index, number),
        is_foreign=index.is_null(),
        after=words(after),
        clause=words(first_clause(after)),
    )
