r"""Extract the answer from a model's text by fixed rules: an answer they do not find is unparsed, never guessed.

The rules for listed options, in order (docs/extraction.md has examples):

1. Remove reasoning (`<think>...</think>` and the like), even if it never ends or only ends.
2. Accept a text that is, as a whole, an option or a label.
3. Read what is set apart: `<answer>`, `\boxed{}`, a field `answer` of JSON; else what is announced: "the answer is",
   "Answer:", the last one that names an option.
4. Recognize refusals.
5. Accept a label or an option in front ("B) red", "red, because ..."), or alone in the last line.
6. If nothing was announced, accept the only option or marked label of the text, unless something is denied.

A contradiction ends the search: the text is unparsed. Answers to questions without options are in `open_answers`.
"""

import polars as pl

from eyechart.language.labels import label_index, lone_label, marked_labels
from eyechart.language.phrases import (
    ANNOUNCED,
    REFUSED,
    SET_APART,
    straighten,
    strip_markup,
    strip_reasoning,
    strip_sentence,
)
from eyechart.language.prompts import Template
from eyechart.models.named_options import NAMED, Offered, bare, first_clause, name_anywhere, name_front, name_whole
from eyechart.models.open_answers import read_open

_LONG = 60  # words; what is mentioned somewhere in a longer text may be anything, so its last line counts
_ABSENT = {
    name: pl.lit(None, dtype).alias(name)
    for name, dtype in (("choices", pl.List(pl.String)), ("question", pl.String()))
}
_LABELLED = r"[^.!?\n]*[(\[][A-Z][)\]][^.!?\n]*"  # sentences with a label in brackets
_MARK = "\0"
_APART = r"(?i)<answer>|\\boxed|[\"'](?:final[ _]?)?(?:answer|choice|option|prediction)[\"']"
_LIST_LINE = r"(?m)^[\s>(\[*_-]*([A-Z])\s*[*_]*[.):\]]"
ANSWERS = {"row": pl.UInt32, "answer": pl.String, "status": pl.String}


def extract(raw: pl.Series, probes: pl.DataFrame, template: Template) -> pl.DataFrame:
    """Extract answers from texts: a table with `answer` (null unless found) and `status` (ok, refused or unparsed)."""
    texts = probes.select(pl.int_range(pl.len(), dtype=pl.UInt32).alias("row"), raw.fill_null("").alias("text"))
    texts = texts.with_columns(strip_reasoning(straighten(pl.col("text"))))
    known = [probes[name] if name in probes.columns else absent for name, absent in _ABSENT.items()]
    texts = texts.with_columns(known)
    listed = (pl.col("choices").list.len() > 0).fill_null(value=False) & (template.choice is not None)
    lettered = (pl.col("choices").list.len() <= 26) & (template.labels == "letters")
    said = texts.filter(strip_markup(pl.col("text")) != "")
    parts = [
        _read_listed(said.filter(listed).with_columns(lettered=lettered)),
        _read_unlisted(said.filter(~listed), template),
    ]
    found = texts.select("row").join(pl.concat(parts), on="row", how="left", validate="1:1", maintain_order="left")
    return found.select("answer", pl.col("status").fill_null("unparsed"))


def _read_listed(texts: pl.DataFrame) -> pl.DataFrame:
    """Apply one rule after another to the texts that have no answer so far."""
    label = pl.when("lettered").then(label_index(lone_label(pl.col("text")), lettered=pl.lit(value=True)))
    same = pl.when(pl.col("choices").list.contains(pl.col("text"))).then("text")
    at_once = texts.select("row", answer=pl.coalesce(pl.col("choices").list.get(label, null_on_oob=True), same))
    at_once = at_once.drop_nulls("answer")
    texts = texts.join(at_once, on="row", how="anti")
    offered, left = Offered.of(texts), texts.select("row", "text", piece="row")
    done = []
    for rule in (name_whole, _set_apart, _announced):
        if left.is_empty():
            break
        found = rule(left, offered)
        done.append(found)
        left = left.join(found, on="piece", how="anti")
    refused = left.filter(pl.col("text").str.contains(REFUSED)).select(
        "row", answer=pl.lit(None, pl.String), status=pl.lit("refused")
    )
    left = left.join(refused, on="row", how="anti")
    for rule in (_in_front, _last_line, _framed, _mentioned):
        if left.is_empty():
            break
        found = rule(left, offered)
        done.append(found)
        left = left.join(found, on="piece", how="anti")
    named = pl.concat([pl.DataFrame(schema=NAMED), *done]).filter(pl.col("option").is_not_null())
    answers = pl.concat([at_once, named.select(row="piece", answer="option")])
    return pl.concat([answers.with_columns(status=pl.lit("ok")), refused])


def _read_pieces(pieces: pl.DataFrame, offered: Offered) -> pl.DataFrame:
    """Read pieces that are answers: as a whole, in front, or anywhere before the first pause."""
    whole = name_whole(pieces, offered)
    rest = pieces.join(whole, on="piece", how="anti")
    front = name_front(rest, offered)
    rest = rest.join(front, on="piece", how="anti")
    several = marked_labels(pl.col("text")).list.n_unique() > 1
    rest = rest.with_columns(pl.when(several).then("text").otherwise(first_clause(pl.col("text"))).alias("text"))
    return pl.concat([whole, front, name_anywhere(rest, offered)])


def _read_unlisted(texts: pl.DataFrame, template: Template) -> pl.DataFrame:
    """Read what is set apart or announced as the answer, or else the text if it is no refusal."""
    announced = (
        _announcements(texts).filter(strip_markup(pl.col("text")) != "").group_by("row").agg(last=pl.col("text").last())
    )
    read = texts.join(announced, on="row", how="left", validate="1:1")
    last = pl.coalesce(_find_apart(), pl.col("last"))
    refused = last.is_null() & pl.col("text").str.contains(REFUSED)
    read = read.with_columns(refused=refused, text=pl.coalesce(last, "text"))
    answers = read_open(read.filter(~pl.col("refused")), template.expects, template.words)
    refusals = read.filter("refused").select("row", answer=pl.lit(None, pl.String), status=pl.lit("refused"))
    return pl.concat([answers.with_columns(status=pl.lit("ok")), refusals])


def _find_apart() -> pl.Expr:
    """Find what is set apart as the answer; null if there is nothing."""
    apart = pl.coalesce(pl.col("text").str.extract(pattern) for pattern in SET_APART).str.strip_chars()
    return pl.when(pl.col("text").str.contains(_APART) & (strip_markup(apart) != "")).then(apart)


def _set_apart(texts: pl.DataFrame, offered: Offered) -> pl.DataFrame:
    """Read what is set apart as the answer."""
    apart = bare(_find_apart()).str.replace(ANNOUNCED, "").str.strip_chars()  # \boxed{Answer: B}
    return _read_pieces(texts.with_columns(apart.alias("text")).drop_nulls("text"), offered)


def _announced(texts: pl.DataFrame, offered: Offered) -> pl.DataFrame:
    """Read the last passage that is announced as the answer and names an option."""
    parts = _announcements(texts)
    pieces = parts.select(pl.int_range(pl.len(), dtype=pl.UInt32).alias("piece"), "row", "text")
    named = _read_pieces(pieces, offered).join(pieces.select("piece", "row"), on="piece").sort("piece")
    return named.group_by("row").agg(pl.col("option").last()).select(piece="row", option="option")


def _announcements(texts: pl.DataFrame) -> pl.DataFrame:
    """List the first line after each announcement."""
    marked = bare(pl.col("text")).str.replace_all(ANNOUNCED, _MARK)
    parts = texts.select("row", text=marked.str.split(_MARK).list.slice(1)).filter(pl.col("text").list.len() > 0)
    return parts.explode("text").with_columns(pl.col("text").str.strip_chars(" \t\n*_:").str.extract(r"^([^\n]*)"))


def _in_front(texts: pl.DataFrame, offered: Offered) -> pl.DataFrame:
    """Read the label or option that a text begins with, unless it repeats the options."""
    is_list = _lists_options() & lone_label(bare(pl.col("text").str.extract(r"^([^\n]*)"))).is_null()
    return name_front(texts.filter(~is_list), offered)


def _last_line(texts: pl.DataFrame, offered: Offered) -> pl.DataFrame:
    """Read a last line that is an option or a label, as at the end of an explanation."""
    several = texts.filter(pl.col("text").str.contains(r"\n"))
    whole = name_whole(several.with_columns(_take_last_line()), offered)
    rest = several.filter(~_lists_options()).join(whole, on="piece", how="anti")
    return pl.concat([whole, name_front(rest.with_columns(_take_last_line()), offered)])


def _lists_options() -> pl.Expr:
    """Return whether several lines begin with different labels."""
    lines = bare(pl.col("text")).str.extract_all(_LIST_LINE)
    return lines.list.eval(pl.element().str.extract(r"([A-Z])")).list.n_unique() > 1


def _take_last_line() -> pl.Expr:
    return pl.col("text").str.extract(r"([^\n]*)\s*$")


def _framed(texts: pl.DataFrame, offered: Offered) -> pl.DataFrame:
    """Read a text that is an option but for a few words around it."""
    return name_whole(texts.with_columns(strip_sentence(strip_markup(pl.col("text")))), offered)


def _mentioned(texts: pl.DataFrame, offered: Offered) -> pl.DataFrame:
    """Read the only option that a text names if nothing is announced; of a long one, that of some lines."""
    is_long = pl.col("text").str.count_matches(r"\S+") > _LONG
    labelled = pl.col("text").str.extract_all(_LABELLED).list.join("\n").replace("", None)
    pieces = texts.filter(~bare(pl.col("text")).str.contains(ANNOUNCED))
    return name_anywhere(
        pieces.with_columns(
            pl.when(is_long).then(pl.coalesce(labelled, _take_last_line())).otherwise("text").alias("text")
        ),
        offered,
    )
