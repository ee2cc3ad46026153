"""What all sources draw with: the examples in numbers, who wants decoys, which questions are near, what may fill up."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.audits.decoys.drawing.answers import NO, NUMBER, OTHER, YES, Answers, number_answers
from eyechart.audits.decoys.drawing.candidates import Asked, Entries, Judges, make_entries
from eyechart.audits.decoys.drawing.greedy import Fillers
from eyechart.audits.decoys.drawing.lexicon import know
from eyechart.audits.decoys.drawing.lists import Int32s, group, starts_of
from eyechart.audits.decoys.drawing.pairs import Lexicon, make_memory
from eyechart.audits.decoys.parts import JUDGED, LEARN
from eyechart.audits.decoys.recipes import NEUTRAL, Recipe
from eyechart.dataset import Dataset
from eyechart.encode.words import question_words
from eyechart.hashing import combine, hash_text
from eyechart.neighbours import find_nearest, make_vectors
from eyechart.protocols import Engine

FILLERS = 100  # the most frequent answers of each kind
N_PARTS = 3  # neither, learned from, judged


class Questions(NamedTuple):
    """The distinct questions: which one each example asks, and which are near to each."""

    numbers: Int32s
    nearest: Int32s
    note: str


class Bench(NamedTuple):
    """All of it; of the examples (id, cluster), sorted by id."""

    examples: pl.DataFrame
    answers: Answers
    questions: Questions
    judges: Judges
    asked: Asked
    parts: Int32s  # of each example, below N_PARTS
    fillers: Fillers
    recipe: Recipe
    notes: tuple[str, ...]
    engine: Engine
    left_out: int = 0  # of the asked examples, to make neutral options possible


def make_bench(data: Dataset, asked: pl.DataFrame, recipe: Recipe, engine: Engine) -> Bench:
    """Put everything into numbers, whatever the order of the examples."""
    used = data.only("answers", "answer_type")
    examples = used.examples.with_columns(used.clusters().alias("cluster")).sort("id")
    answers = number_answers(examples)
    questions = _near_questions(examples["question"], recipe, engine)
    known = know(answers, examples, recipe)
    wanted = _who_asks(examples, answers, questions, asked["id"], recipe.seed)
    judges = Judges(known.lexicon, known.limits, make_memory(len(answers.normals)))
    parts = _parts(asked, examples["id"])
    kinds = _kinds(examples, answers, known.lexicon)
    fillers = _fillers(kinds, parts, answers.reference, neutral=recipe.drawing == NEUTRAL)
    notes = (questions.note, *known.notes)
    named = examples.select("id", "cluster")
    return Bench(named, answers, questions, judges, wanted, parts, fillers, recipe, notes, engine)


def ask_fewer(bench: Bench, kept: NDArray[np.bool_]) -> Bench:
    """Draw for some of the asked examples only."""
    ids = bench.examples["id"].gather(bench.asked.rows[kept])
    asked = _who_asks(bench.examples, bench.answers, bench.questions, ids, bench.recipe.seed)
    return bench._replace(asked=asked, left_out=int((~kept).sum()))


def _near_questions(questions: pl.Series, recipe: Recipe, engine: Engine) -> Questions:
    """Find the nearest of each distinct question; marks and case make no difference."""
    words = question_words(pl.col("question")).list.eval(pl.element().filter(pl.element().str.contains(r"\w")))
    texts = questions.to_frame("question").select(words.list.join(" ")).to_series()
    distinct = texts.unique().sort()
    found = find_nearest(make_vectors(_split(distinct), recipe.similarity), recipe.near, engine=engine)
    note = f"{len(distinct):,} distinct questions: {found.note}"
    return Questions(distinct.search_sorted(texts).to_numpy().astype(np.int32), found.places, note)


def _split(texts: pl.Series) -> pl.Series:
    return texts.to_frame("text").select(pl.col("text").str.extract_all(r"[^ ]+")).to_series()


def _who_asks(examples: pl.DataFrame, answers: Answers, questions: Questions, asked: pl.Series, seed: int) -> Asked:
    """Accept what people answer to the same question on the same image, be it asked twice."""
    twins = examples.select(pl.struct("cluster", pl.lit(pl.Series("question", questions.numbers))).rank("dense"))
    twin = twins.to_series().to_numpy().astype(np.int64) - 1
    said = answers.given.select(pl.col("number"), twin=pl.lit(pl.Series(twin)).gather("row")).unique()
    rows = np.flatnonzero(examples["id"].is_in(asked.implode()).to_numpy() & (answers.reference >= 0))
    wanting = pl.DataFrame({"at": np.arange(len(rows)), "twin": twin[rows]})
    long = wanting.join(said, on="twin", how="inner").sort("at", "number")
    accepted = group(long["at"].to_numpy(), long["number"].to_numpy(), len(rows))
    lots = combine(hash_text(examples["id"].gather(rows), seed))
    beside = np.full((len(rows), 0), -1, np.int32)
    return Asked(rows.astype(np.int32), answers.reference[rows], accepted, lots, beside)


def _parts(asked: pl.DataFrame, ids: pl.Series) -> Int32s:
    """Tell apart what is learned from and what is judged: what is neutral in both together need not be in either."""
    numbers = pl.col("part").replace_strict({LEARN: 1, JUDGED: 2}, default=0, return_dtype=pl.Int32)
    named = asked.select("id", numbers)
    found = ids.to_frame("id").join(named, on="id", how="left", validate="1:1", maintain_order="left")
    return found["part"].fill_null(0).to_numpy()


def _kinds(examples: pl.DataFrame, answers: Answers, lexicon: Lexicon) -> Int32s:
    """Give each example the number of its answer type, by the data or else by what the answer looks like."""
    known = np.append(lexicon.kinds, np.uint8(OTHER))[answers.reference]
    looks = pl.Series(known).replace_strict({YES: "yes/no", NO: "yes/no", NUMBER: "number"}, default="other")
    given = examples["answer_type"] if "answer_type" in examples.columns else pl.Series([None], dtype=pl.String)
    return pl.select(pl.coalesce(given, looks)).to_series().rank("dense").to_numpy().astype(np.int32) - 1


def _fillers(kinds: Int32s, parts: Int32s, reference: Int32s, *, neutral: bool) -> Fillers:
    """List the most frequent answers of each kind; for neutral options all of them, each part having its own."""
    places = kinds * N_PARTS + parts if neutral else kinds
    entries = make_entries(pl.Series(places), reference, int(places.max(initial=0)) + 1)
    return Fillers(entries if neutral else _most_frequent(entries), places)


def _most_frequent(entries: Entries) -> Entries:
    sizes = np.diff(entries.starts)
    keep = np.arange(len(entries.answers)) - np.repeat(entries.starts[:-1], sizes) < FILLERS
    answers, counts, donors = (column[keep] for column in (entries.answers, entries.counts, entries.donors))
    return Entries(starts_of(np.minimum(sizes, FILLERS)), answers, counts, donors, np.cumsum(counts, dtype=np.int64))
