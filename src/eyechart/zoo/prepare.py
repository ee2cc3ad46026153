"""Convert a dataset to training arrays: words, soft targets, hints, and everything a network or method may need."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from eyechart.base.errors import DataError
from eyechart.data.boxes import BoxLists, gather, overlaps
from eyechart.data.dataset import Dataset
from eyechart.data.several import boxes_on
from eyechart.zoo.arrays import Array, QuestionArrays, TrainingArrays
from eyechart.zoo.features import Features, frames_of
from eyechart.zoo.vocabulary import NetworkVocabulary, programs_of

PER_PERSON = 0.3  # the official scores for one, two and three of ten people are 0.3, 0.6 and 0.9, then 1
HELD_OUT = "val"


def divide(data: Dataset, seed: int) -> dict[str, Dataset]:
    """Divide a dataset into `train`, `val` (a tenth of the training images if the data have none) and other splits."""
    names = data.splits()
    if "train" not in names:  # audits tell training data from test data by splits alone
        found = f"splits {', '.join(names)}" if names else "no splits"
        advice = "add splits, for example with `eyechart read resplit DATA --set recipe=random`"
        raise DataError(f"a split 'train' in {data.name}", found, advice)
    parts = {name: data.take(pl.col("split") == name) for name in names}
    parts = {name: part.take(pl.col("answer").is_not_null()) for name, part in parts.items()}
    if parts["train"].clusters().n_unique() < 1 + (HELD_OUT not in names):
        found = f"{parts['train'].examples.height} with an answer"
        raise DataError(
            "training examples with answers, and others to validate on", found, "choose other data, or more of them"
        )
    if HELD_OUT not in parts or not parts[HELD_OUT].examples.height:
        held = _hold_out(parts["train"], seed)
        parts |= {"train": parts["train"].take(~held), HELD_OUT: parts["train"].take(held)}
    return {name: part for name, part in parts.items() if part.examples.height}


def _hold_out(data: Dataset, seed: int) -> pl.Expr:
    clusters = data.clusters().unique().sort()
    chosen = clusters.sample(max(1, len(clusters) // 10), seed=seed)
    return pl.lit(data.clusters().is_in(chosen.implode()))


def make_arrays(parts: Mapping[str, Dataset], vocabulary: NetworkVocabulary, features: Features) -> TrainingArrays:
    """Convert the parts of a dataset to arrays."""
    splits = {name: encode_examples(part, vocabulary, features) for name, part in parts.items()}
    sizes = (len(vocabulary.words), len(vocabulary.answers), len(vocabulary.types))
    return TrainingArrays(features.regions, splits, *sizes)


def encode_examples(data: Dataset, vocabulary: NetworkVocabulary, features: Features) -> QuestionArrays:
    """Encode examples as arrays."""
    examples = data.examples
    answers, scores = soft_targets(examples, vocabulary)
    images = features.number(examples["image"])
    questions = QuestionArrays(
        q=vocabulary.read(examples["question"]),
        image=images,
        answers=answers,
        scores=scores,
        qtype=vocabulary.number_types(examples["question"], examples.get_column("question_type", default=None)),
        qmask=open_words(examples, vocabulary),
        program=programs_of(examples["question"], vocabulary.word_numbers),
    )
    if "evidence" in examples.columns:
        questions = replace(questions, hints=hints(data, features, images))
    if "choices" in examples.columns:
        cand, right = vocabulary.read_options(examples["choices"]), right_options(examples)
        questions = replace(questions, cand=cand, right=right)
    return questions


def soft_targets(examples: pl.DataFrame, vocabulary: NetworkVocabulary) -> tuple[Array, Array]:
    """Return answers and scores, both [M, S]: min(1, 0.3 n) for n people, or 1 for the only answer without people."""
    one, numbers = pl.concat_list("answer"), pl.DataFrame({"answer": vocabulary.answers}).with_row_index("number")
    people = pl.col("answers") if "answers" in examples.columns else pl.lit(None, pl.List(pl.String))
    asked = people.list.len().fill_null(0) > 0
    answered = examples.select(asked=asked, answer=pl.when(asked).then(people).otherwise(one)).with_row_index("row")
    long = answered.explode("answer", empty_as_null=False, keep_nulls=False)
    counted = long.join(numbers, on="answer", validate="m:1").group_by("row", "asked", "number").agg(n=pl.len())
    score = pl.when("asked").then(pl.min_horizontal(pl.lit(1.0), PER_PERSON * pl.col("n"))).otherwise(1.0)
    known = counted.with_columns(score=score).sort("row", "score", "number", descending=[False, True, False])
    column = known.select(pl.int_range(pl.len()).over("row")).to_series().to_numpy()
    shape = (examples.height, int(column.max(initial=0)) + 1)
    answers, scores = np.zeros(shape, np.int32), np.zeros(shape, np.float32)
    row = known["row"].to_numpy()
    answers[row, column], scores[row, column] = known["number"].to_numpy(), known["score"].to_numpy()
    return answers, scores


def right_options(examples: pl.DataFrame) -> Array:
    """Score the options: 1 for the answer, 0 for others, [M, K]."""
    options = examples["choices"]
    sizes = options.list.len().fill_null(0).to_numpy()
    scores = np.zeros((examples.height, int(sizes.max(initial=1))), np.float32)
    rows = np.repeat(np.arange(examples.height), sizes)
    texts = options.explode(empty_as_null=False, keep_nulls=False)
    right = (texts == examples["answer"].gather(rows)).fill_null(value=False)
    scores[np.arange(scores.shape[1]) < sizes[:, None]] = right.to_numpy()
    return scores


def open_words(examples: pl.DataFrame, vocabulary: NetworkVocabulary) -> Array:
    """Return which words may be critical: those after the question's type, [M, T]."""
    known = pl.col("question_type") if "question_type" in examples.columns else pl.lit(None, pl.String)
    begun = pl.col("question").str.to_lowercase().str.starts_with(known.str.to_lowercase())
    kinds = examples.select(pl.when(begun).then(known)).to_series()
    return vocabulary.may_be_hidden(examples["question"], kinds)


def hints(data: Dataset, features: Features, images: Array) -> Array | None:
    """Measure how well each region matches a piece of evidence, by the largest intersection over union, [M, N]."""
    regions, covered = features.regions, np.zeros((len(images), features.regions.most), np.float16)
    frames = frames_of(data.images)
    if regions.boxes is None or frames is None:
        return None
    evidence = data.examples.select(row=pl.int_range(pl.len()), box=boxes_on(data.examples, "evidence"), image="image")
    long = evidence.explode("box", empty_as_null=False, keep_nulls=False).join(
        frames, on="image", validate="m:1", maintain_order="left"
    )
    long = long.with_columns(box=pl.col("box").struct.field("box")).drop_nulls(["box", "width", "height"])
    frame = long.select("width", "height", pl.col("width").alias("w"), pl.col("height").alias("h")).to_numpy()
    marked = gather(long["row"].to_numpy(), long["box"].to_numpy() / frame, len(images))
    boxes = BoxLists(regions.starts, np.asarray(regions.boxes, np.float64))
    shown = np.flatnonzero(images >= 0)
    marked_shown = gather(np.searchsorted(shown, marked.rows), marked.boxes, len(shown))  # no frame, no evidence
    pairs = overlaps(marked_shown, boxes, images[shown])
    rows = shown[pairs.rows]
    covered[rows, pairs.seen - regions.starts[images[rows]]] = pairs.iou
    return covered
