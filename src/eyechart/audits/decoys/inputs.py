"""What all sources draw from: numbered examples, those that want decoys, near questions, and possible fillers."""

from typing import NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.audits.decoys.candidates import (
    Candidates,
    CandidateSearch,
    Entries,
    Recipients,
    collect,
    collect_in_blocks,
    collect_random,
)
from eyechart.audits.decoys.filters import Filters
from eyechart.audits.decoys.lexicon import NO, NUMBER, OTHER, YES, Lexicon, NumberedAnswers, make_lexicon
from eyechart.audits.decoys.settings import JUDGED, LEARNED, NEUTRAL, DecoysSettings
from eyechart.audits.decoys.texts import Int32s, group
from eyechart.base.hashing import combine, hash_text
from eyechart.data.dataset import Dataset
from eyechart.data.protocols import Engine
from eyechart.engines import Local
from eyechart.language.nearest import find_nearest
from eyechart.language.questions import question_words
from eyechart.language.word_vectors import make_vectors

FILLERS = 100  # the most frequent answers of each kind
N_PARTS = 3  # neither, learned from, judged


class DrawingInputs(NamedTuple):
    """All inputs of the drawing."""

    examples: pl.DataFrame  # id, cluster; sorted by id
    answers: NumberedAnswers
    questions: Int32s  # of each example the number of its question, punctuation and case aside
    nearest: Int32s  # of each question the numbers of those near to it
    filters: Filters
    recipients: Recipients
    parts: Int32s  # of each example, below N_PARTS
    fillers: Entries  # frequent answers by kind
    kinds: Int32s  # of each example, where its fillers stand
    settings: DecoysSettings
    notes: tuple[str, ...]
    engine: Engine
    left_out: int = 0  # of the examples that want decoys, to make neutral options possible

    @classmethod
    def of(cls, data: Dataset, wanted: pl.DataFrame, settings: DecoysSettings, engine: Engine) -> Self:
        """Encode all inputs as numbers, in any order of examples; `wanted` has the id and part of those to draw for."""
        used = data.only("answers", "answer_type")
        examples = used.examples.with_columns(used.clusters().alias("cluster")).sort("id")
        answers = NumberedAnswers.of(examples)
        questions, nearest, note = _near_questions(examples["question"], settings, engine)
        lexicon, notes = make_lexicon(answers, examples, settings)
        recipients = _recipients(examples, answers, questions, wanted["id"], settings.seed)
        parts = _parts(wanted, examples["id"])
        kinds = _kinds(examples, answers, lexicon)
        if settings.drawing == NEUTRAL:  # each part has its own fillers
            kinds = kinds * N_PARTS + parts
        fillers = Entries.of(pl.Series(kinds), answers.reference, int(kinds.max(initial=0)) + 1)
        if settings.drawing != NEUTRAL:
            fillers = fillers.most_frequent(FILLERS)
        clusters, filters = examples.select("id", "cluster"), Filters.of(lexicon)
        notes = (note, *notes)
        return cls(
            clusters, answers, questions, nearest, filters, recipients, parts, fillers, kinds, settings, notes, engine
        )

    def only(self, kept: NDArray[np.bool_]) -> Self:
        """Keep only some of the examples that want decoys."""
        ids = self.examples["id"].gather(self.recipients.rows[kept])
        recipients = _recipients(self.examples, self.answers, self.questions, ids, self.settings.seed)
        return self._replace(recipients=recipients, left_out=int((~kept).sum()))

    def beside(self, answers: Int32s) -> Self:
        """Return inputs for decoys that may be joined with these answers, one row for each example."""
        return self._replace(recipients=self.recipients._replace(beside=answers))

    def by_part(self) -> tuple[Int32s, int]:
        """Return the offset that numbers each part's answers separately, and the resulting number of answers."""
        n = len(self.answers.normals)
        return self.parts[self.recipients.rows] * np.int32(n), N_PARTS * n

    def collect(self, entries: Entries, places: Int32s, near: int) -> Candidates:
        """Walk the places of each example that wants decoys."""
        if isinstance(self.engine, Local):
            return collect(self.filters, self.recipients, entries, places, near)
        step = CandidateSearch(self.filters.lexicon, entries, near, random=False)
        return collect_in_blocks(step, self.recipients, places, self.engine)

    def collect_random(self, entries: Entries, places: Int32s, near: int) -> Candidates:
        """Draw at random from the place of each example that wants decoys."""
        if isinstance(self.engine, Local):
            return collect_random(self.filters, self.recipients, entries, places, near)
        step = CandidateSearch(self.filters.lexicon, entries, near, random=True)
        return collect_in_blocks(step, self.recipients, places[:, None], self.engine)


def _near_questions(questions: pl.Series, settings: DecoysSettings, engine: Engine) -> tuple[Int32s, Int32s, str]:
    """Find the distinct questions and the nearest of each, as numbers; punctuation and case are ignored."""
    words = question_words(pl.col("question")).list.eval(pl.element().filter(pl.element().str.contains(r"\w")))
    texts = questions.to_frame("question").select(words.list.join(" ")).to_series()
    distinct = texts.unique().sort()
    split = distinct.to_frame("text").select(pl.col("text").str.extract_all(r"[^ ]+")).to_series()
    neighbours = find_nearest(make_vectors(split, settings.similarity), settings.near, engine=engine)
    note = f"{len(distinct):,} distinct questions: {neighbours.note}"
    return distinct.search_sorted(texts).to_numpy().astype(np.int32), neighbours.places, note


def _recipients(
    examples: pl.DataFrame, answers: NumberedAnswers, questions: Int32s, ids: pl.Series, seed: int
) -> Recipients:
    """Collect the answered examples; human answers to the same question about the same image are accepted."""
    ranks = examples.select(pl.struct("cluster", pl.lit(pl.Series("question", questions))).rank("dense"))
    same = ranks.to_series().to_numpy().astype(np.int64) - 1  # one number for the same question on the same image
    answers_given = answers.given.select(pl.col("number"), same=pl.lit(pl.Series(same)).gather("row")).unique()
    rows = np.flatnonzero(examples["id"].is_in(ids.implode()).to_numpy() & (answers.reference >= 0))
    wanting = pl.DataFrame({"target": np.arange(len(rows)), "same": same[rows]})
    long = wanting.join(answers_given, on="same", how="inner").sort("target", "number")
    accepted = group(long["target"].to_numpy(), long["number"].to_numpy(), len(rows))
    keys = combine(hash_text(examples["id"].gather(rows), seed))
    beside = np.full((len(rows), 0), -1, np.int32)
    return Recipients(rows.astype(np.int32), answers.reference[rows], accepted, keys, beside)


def _parts(wanted: pl.DataFrame, ids: pl.Series) -> Int32s:
    """Separate what is learned from and what is judged: options neutral in both together need not be so in either."""
    numbers = pl.col("part").replace_strict({LEARNED: 1, JUDGED: 2}, default=0, return_dtype=pl.Int32)
    numbered = wanted.select("id", numbers)
    joined = ids.to_frame("id").join(numbered, on="id", how="left", validate="1:1", maintain_order="left")
    return joined["part"].fill_null(0).to_numpy()


def _kinds(examples: pl.DataFrame, answers: NumberedAnswers, lexicon: Lexicon) -> Int32s:
    """Return the answer types of examples as numbers: those of the data, or else guessed from the answer."""
    filter_kinds = np.append(lexicon.kinds, np.uint8(OTHER))[answers.reference]
    guessed = pl.Series(filter_kinds).replace_strict({YES: "yes/no", NO: "yes/no", NUMBER: "number"}, default="other")
    given = examples["answer_type"] if "answer_type" in examples.columns else pl.Series([None], dtype=pl.String)
    return pl.select(pl.coalesce(given, guessed)).to_series().rank("dense").to_numpy().astype(np.int32) - 1
