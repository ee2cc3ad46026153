"""Read answers out of their wording before they are judged: "RED!", "B. red" and "It looks like red to me" are red.

An answer that already names an option, or is one of the answers in the data, stays as it is. Any other is replaced by
the option that the rules of `models.extraction` find in it, or, without options, by the answer in the data that it is
but for case, punctuation and a few words around it. One that says nothing, hedges or abstains also stays. The responses
of models that were asked in words are read anew, by the rules of this version.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from string import ascii_uppercase

import polars as pl

from eyechart.data.predictions import is_cut
from eyechart.data.probes import fill
from eyechart.data.store import Store
from eyechart.language.labels import words
from eyechart.language.phrases import strip_markup, strip_sentence
from eyechart.language.prompts import TEMPLATES, Template
from eyechart.models.extraction import extract
from eyechart.scoring import names_option
from eyechart.scoring.answers import forms_of

_log = logging.getLogger("eyechart.runs.run")
_LINE = 60  # characters of an answer that is told
_READ = {"row": pl.UInt32, "read": pl.String}
_ANSWERED = ("condition", "answer", "status", "raw", "stop_reason")
_SHOWN = ("question", "choices")
_AT_ONCE = 100_000  # answers
_PLACES = {letter: place for place, letter in enumerate(ascii_uppercase)}


@dataclass(frozen=True)
class KnownAnswers:
    """The answers in the data, by which answers in other words are recognized."""

    texts: pl.Series

    @cached_property
    def spellings(self) -> pl.DataFrame:
        """List the answers with their words and their normal forms, the most frequent spelling of each first."""
        counted = self.texts.rename("known").drop_nulls().value_counts(name="n")
        counted = counted.sort("n", "known", descending=[True, False])
        return counted.with_columns(words(pl.col("known")).alias("words"), forms_of(counted["known"])["normal"])

    def recognize(self, texts: pl.Series) -> pl.Series:
        """Return the answer that each text is but for case, punctuation, articles and number words; null if none."""
        forms = texts.rename("text").to_frame().select(words(pl.col("text")).alias("words"), forms_of(texts)["normal"])
        for form in ("words", "normal"):
            spelt = self.spellings.filter(pl.col(form) != "").unique(form, keep="first", maintain_order=True)
            spelt = spelt.select(form, pl.col("known").alias(f"by {form}"))
            forms = forms.join(spelt, on=form, how="left", validate="m:1", maintain_order="left")
        return forms.select(pl.coalesce("by words", "by normal").alias("known")).to_series()


def read_stored_answers(store: Store, model: str) -> None:
    """Read all answers of a model, keep in the run what is found, and say in one line how many were read."""
    identity, changes, n = store.identity(model), [], 0
    if identity.get("extract") == "no":
        return
    template = TEMPLATES.get(str(identity.get("prompt")).partition("@")[0])
    template = template if template is not None and template.digest == identity.get("words") else None
    known = KnownAnswers(store.data.examples["answer"])
    for stored, shown in _take_out(store, model):
        tables = (table.select(name for name in _ANSWERED if name in table.columns) for table in stored.values())
        answers = pl.concat(list(tables), how="diagonal")
        read = _read_again(answers, shown, template) if template is not None else answers
        read = read.with_columns(read_wording(read, shown, known))
        starts = accumulate(map(len, stored.values()), initial=0)
        for (file, table), start in zip(stored.items(), starts, strict=False):
            changed = table.with_columns(read.slice(start, len(table)))
            if not changed.equals(table):
                store.write(changed, file)
        both = read.select("answer", before=answers["answer"])
        changes.append(both.filter(pl.col("answer").ne_missing(pl.col("before"))))
        n += answers.height
    if changes:
        _tell(model, pl.concat(changes), n, is_file="extract" in identity)


def _take_out(store: Store, model: str) -> Iterator[tuple[dict[Path, pl.DataFrame], pl.DataFrame]]:
    """Yield the stored answers of some conditions by file, and what was shown, row by row.

    The rules take nearly as long for few answers as for many, so conditions are taken together up to a number of them.
    People may have answered what no audit asks any more; that stays as it is.
    """
    asked = set(store.conditions())
    conditions = [condition for condition in store.answered(model) if condition in asked]
    stored: dict[Path, pl.DataFrame] = {}
    shown: list[pl.DataFrame] = []
    for condition in conditions:
        file = store.answer_file(model, condition)
        stored[file], probes = store.table(file), fill(store.probes(condition), store.data)
        probes = probes.select("id", *(name for name in _SHOWN if name in probes.columns))
        shown.append(stored[file].select("id").join(probes, on="id", how="left", validate="m:1", maintain_order="left"))
        if sum(map(len, stored.values())) >= _AT_ONCE or condition == conditions[-1]:
            yield stored, pl.concat(shown, how="diagonal")
            stored, shown = {}, []


def read_wording(answers: pl.DataFrame, shown: pl.DataFrame, known: KnownAnswers) -> pl.Series:
    """Return the answers, those replaced that say in other words what was asked for.

    They come with `status`, `raw` and `condition`; `shown` has the questions and options, row by row.
    """
    given = (answers["answer"].alias("given"), *answers.select("status", "raw", "condition"))
    rows = shown.with_row_index("row").with_columns(given)
    rows = rows.filter((pl.col("status") == "ok") & (pl.col("given") != ""))
    listed = pl.col("choices").list.len() > 0 if "choices" in rows.columns else pl.lit(value=False)
    is_listed = rows.select(listed.fill_null(value=False).alias("listed")).to_series()
    read = pl.concat([_read_choices(rows.filter(is_listed), known), _read_open(rows.filter(~is_listed), known)])
    numbered = answers.select("answer").with_row_index("row")
    found = numbered.join(read.drop_nulls(), on="row", how="left", validate="1:1", maintain_order="left")
    return found.select(pl.coalesce("read", "answer").alias("answer")).to_series()


def _read_choices(rows: pl.DataFrame, known: KnownAnswers) -> pl.DataFrame:
    """Find the option in answers that name none as they are; what is an answer itself is not read as another one."""
    if rows.is_empty():
        return pl.DataFrame(schema=_READ)
    labels = _read_labels(rows)
    rows = rows.filter(~names_option(rows)).join(labels, on="row", how="anti", maintain_order="left")
    if rows.is_empty():
        return labels
    texts = rows.select("given", "choices").unique(maintain_order=True)
    read = extract(texts["given"], texts, TEMPLATES["choice"])["answer"]
    itself = known.recognize(texts["given"])
    is_other = (itself.is_not_null() & (forms_of(itself)["normal"] != forms_of(read)["normal"])).fill_null(value=False)
    texts = texts.with_columns(pl.when(~is_other).then(read).alias("read"))
    found = rows.join(texts, on=["given", "choices"], how="left", validate="m:1", maintain_order="left")
    return pl.concat([labels, found.select("row", "read")])


def _read_labels(rows: pl.DataFrame) -> pl.DataFrame:
    """Read letters as labels where the options are letters themselves, if most other answers of a condition are labels.

    An answer that differs from its response has been read before, and is the option's text by now.
    """
    of_letters = pl.col("choices").list.eval(pl.element().str.contains(r"^\s*[A-Z]\s*$")).list.all()
    place = pl.col("given").str.extract(r"^\s*\(?([A-Z])[).:]?\s*$").replace_strict(_PLACES, default=None)
    is_first = pl.col("given") == pl.col("raw")
    both = rows.select("row", "choices", "condition", is_first=is_first, of_letters=of_letters, place=place)
    others = pl.col("place").filter(~pl.col("of_letters"))
    both = both.filter((2 * others.count() > others.len()).over("condition"))
    found = both.filter("of_letters", "is_first")
    return found.select("row", read=pl.col("choices").list.get(pl.col("place"), null_on_oob=True)).drop_nulls()


def _read_open(rows: pl.DataFrame, known: KnownAnswers) -> pl.DataFrame:
    """Find the answer in the data that answers in other words are, as they stand or as an extract."""
    rows = rows.filter(~pl.col("given").is_in(known.texts.implode()))
    if rows.is_empty():  # the usual case, and the rules take their time even if there is nothing to read
        return pl.DataFrame(schema=_READ)
    extracted = extract(rows["given"], rows, TEMPLATES["short"])["answer"]
    bare = rows.select(strip_sentence(strip_markup(pl.col("given"))).alias("bare")).to_series()
    ways = [
        known.recognize(texts).alias(name) for name, texts in (("as", rows["given"]), ("e", extracted), ("b", bare))
    ]
    return rows.select("row", pl.coalesce(ways).alias("read"))


def _read_again(answers: pl.DataFrame, shown: pl.DataFrame, template: Template) -> pl.DataFrame:
    """Extract the answers from stored responses; those that failed, were refused or cut off stay as they are."""
    again = extract(answers["raw"], shown, template)
    is_text = pl.col("status").is_in(["ok", "unparsed"]) & ~is_cut(answers)
    return answers.with_columns(
        pl.when(is_text).then(again[name]).otherwise(name).alias(name) for name in ("answer", "status")
    )


def _tell(model: str, changes: pl.DataFrame, n: int, *, is_file: bool) -> None:
    if changes.height:
        first = changes.drop_nulls().head(1).rows() or [("none", "others")]
        advice = "; predictions:FILE,extract=no leaves them as they are" if is_file else ""
        message = "%d of the %d answers of %s were read out of their wording, such as %r out of %r%s"
        _log.warning(message, changes.height, n, model, *map(_shorten, first[0]), advice)


def _shorten(text: str) -> str:
    """Cut a text to what fits into a line, at its end, where an answer mostly is."""
    line = " ".join(text.split())
    return line if len(line) <= _LINE else f"... {line[-_LINE:]}"
