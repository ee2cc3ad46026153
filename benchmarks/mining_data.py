"""Make up questions about images with the size, the frequencies and the correlations of VQA v2.

A scene (150, Zipf) has favourite bundles of objects (300; the first 25 hold the 120 commonest labels); an image shows
some objects of some bundles of its scene. A question has a stem (one of 65), a subject (mostly an object of the image,
or a topic of the scene), a few more words and a question mark. Its answer is drawn from the answers of its stem (yes or
no, numbers, colours, others), peaked by stem and subject, by stem and scene or by the object named, or from all.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.tables import BOX
from eyechart.mining import Accepted, Transactions

Ints = NDArray[np.int32]
Rng = np.random.Generator

N_WORDS, N_LABELS, N_ANSWERS = 13_000, 1_600, 3_000
N_SCENES, N_BUNDLES, BUNDLE = 150, 300, 12
N_ITEMS = N_WORDS + N_LABELS
QUESTIONS_AN_IMAGE, HUMANS = 5, 10
QUESTION_MARK, STEM_WORDS, LABEL_WORDS = 0, 1, 151  # word numbers: one, 150, then one a label
CLASS_SHARES = (0.38, 0.13, 0.11, 0.38)  # yes or no, numbers, colours, others
CLASS_STEMS = (22, 8, 7, 28)
CLASS_FIRST = np.array([0, 2, 32, 52, N_ANSWERS])


class World(NamedTuple):
    """What all images and questions have in common."""

    bundles: Ints  # labels of each bundle
    scene_bundles: Ints
    scene_topics: Ints  # words
    stems: Ints  # words of each stem, -1 for none
    stem_shares: NDArray[np.float64]  # cumulative
    stem_classes: Ints


class Sizes(NamedTuple):
    """How crowded the images are."""

    bundles: int  # an image draws
    shown: float  # share of a bundle's objects that are seen
    stray: int  # labels beside the bundles


DENSITIES = {"usual": Sizes(3, 0.34, 1), "dense": Sizes(6, 0.48, 3)}


def zipf(n: int, power: float = 1.0, shift: float = 1.0) -> NDArray[np.float64]:
    """Sum up the shares of n things whose frequency falls with their rank."""
    weights = (np.arange(n, dtype=np.float64) + shift) ** -power
    return np.cumsum(weights) / np.sum(weights)


def draw(rng: Rng, cumulative: NDArray[np.float64], shape: tuple[int, ...]) -> Ints:
    """Draw numbers by cumulative shares."""
    return np.minimum(np.searchsorted(cumulative, rng.random(shape)), len(cumulative) - 1).astype(np.int32)


def make_world() -> World:
    """Fix scenes, bundles and stems; the same for training and validation."""
    rng = np.random.default_rng(2021)
    bundles = draw(rng, zipf(N_LABELS, 0.8, 20), (N_BUNDLES, BUNDLE))
    bundles[:25] = rng.integers(0, 120, (25, BUNDLE))
    common, special = rng.integers(0, 25, (N_SCENES, 4)), rng.integers(25, N_BUNDLES, (N_SCENES, 6))
    stems = STEM_WORDS + draw(rng, zipf(150, 0.7, 3), (sum(CLASS_STEMS), 3))
    stems[rng.random(len(stems)) < 0.4, 2] = -1
    shares = np.concatenate([share / n * np.ones(n) for share, n in zip(CLASS_SHARES, CLASS_STEMS, strict=True)])
    return World(
        bundles=bundles,
        scene_bundles=np.concatenate([common, special], axis=1).astype(np.int32),
        scene_topics=rng.integers(LABEL_WORDS, 5_000, (N_SCENES, 12)).astype(np.int32),
        stems=stems,
        stem_shares=np.cumsum(shares),
        stem_classes=np.repeat(np.arange(4), CLASS_STEMS).astype(np.int32),
    )


def make_objects(world: World, scenes: Ints, sizes: Sizes, rng: Rng) -> Ints:
    """Show labels in every image, -1 for none, each at most once."""
    n = len(scenes)
    which = world.scene_bundles[scenes[:, None], draw(rng, zipf(10, 1.4), (n, sizes.bundles))]
    labels = world.bundles[which].reshape(n, -1)
    labels[rng.random(labels.shape) > sizes.shown * np.tile(np.linspace(1.6, 0.4, BUNDLE), sizes.bundles)] = -1
    stray = draw(rng, zipf(N_LABELS, 0.9, 5), (n, sizes.stray))
    return once(np.concatenate([labels, stray], axis=1))


def once(rows: Ints) -> Ints:
    """Replace what is repeated in a row by -1."""
    rows = np.sort(rows, axis=1)
    rows[:, 1:][rows[:, 1:] == rows[:, :-1]] = -1
    return rows


class Questions(NamedTuple):
    """The words of every question and what its answer depends on."""

    words: Ints
    stems: Ints
    subjects: Ints
    scenes: Ints
    named: Ints


def make_questions(world: World, scenes: Ints, objects: Ints, rng: Rng) -> Questions:
    """Ask about every row of objects."""
    n = len(scenes)
    stems = draw(rng, world.stem_shares, (n,))
    seen = np.take_along_axis(objects, np.argmax(rng.random(objects.shape) * (objects >= 0), axis=1)[:, None], 1)[:, 0]
    topics = world.scene_topics[scenes, draw(rng, zipf(12), (n,))]
    others = LABEL_WORDS + draw(rng, zipf(N_WORDS - LABEL_WORDS), (n,))
    kind = rng.random(n)
    subjects = np.select([kind < 0.55, kind < 0.80], [LABEL_WORDS + seen, topics], others).astype(np.int32)
    more = STEM_WORDS + draw(rng, zipf(N_WORDS - STEM_WORDS, 1.05, 2), (n, 6))
    more[np.arange(6) >= rng.poisson(2.0, n)[:, None]] = -1
    mark = np.full((n, 1), QUESTION_MARK, np.int32)
    words = once(np.concatenate([mark, world.stems[stems], subjects[:, None], more], axis=1))
    return Questions(words, stems, subjects, scenes, np.where(kind < 0.55, seen, 0).astype(np.int32))


def make_answers(world: World, questions: Questions, rng: Rng) -> Ints:
    """Draw an answer for every question."""
    n = len(questions.stems)
    classes = world.stem_classes[questions.stems]
    sizes = np.diff(CLASS_FIRST)[classes]
    keys = [questions.subjects + 1, questions.scenes + 20_000, questions.named + 40_000]
    kind = rng.random(n)
    key = np.select([kind < 0.45, kind < 0.70, kind < 0.78], keys, 0).astype(np.int64)
    favourite = (key * 2_654_435_761 + questions.stems * (kind < 0.70) * 40_503) % 1_000_003
    peaked = np.minimum(draw(rng, zipf(40, 2.0), (n,)), sizes - 1)
    broad = np.minimum(draw(rng, zipf(3_000, 1.0, 2), (n,)), sizes - 1)
    offset: NDArray[np.int64] = np.where(kind < 0.78, favourite % sizes + peaked * 7, broad) % sizes
    return (CLASS_FIRST[classes] + offset).astype(np.int32)


def make(n: int, density: str, seed: int) -> tuple[Transactions, Accepted]:
    """Make n examples, and for each the answers of ten people."""
    rng, world = np.random.default_rng(seed), make_world()
    scenes = draw(rng, zipf(N_SCENES, 1.0, 2), (-(-n // QUESTIONS_AN_IMAGE),))
    objects = np.repeat(make_objects(world, scenes, DENSITIES[density], rng), QUESTIONS_AN_IMAGE, axis=0)[:n]
    questions = make_questions(world, np.repeat(scenes, QUESTIONS_AN_IMAGE)[:n], objects, rng)
    answers = make_answers(world, questions, rng)
    rows = np.concatenate([questions.words, np.where(objects >= 0, objects + N_WORDS, -1)], axis=1)
    starts = np.concatenate([[0], np.cumsum((rows >= 0).sum(axis=1))])
    transactions = Transactions(starts, rows[rows >= 0], answers, N_ITEMS, N_ANSWERS)
    people = np.where(rng.random((n, HUMANS)) < 0.65, answers[:, None], rng.integers(0, N_ANSWERS, (n, HUMANS)))
    return transactions, Accepted(np.arange(0, n * HUMANS + 1, HUMANS), people.astype(np.int32).ravel())


def make_dataset(train: int, validation: int) -> Dataset:
    """Write examples out in words, with their images, as a dataset of two splits."""
    parts = [
        _write(make(n, "usual", seed), name)
        for seed, (name, n) in enumerate({"train": train, "val": validation}.items())
    ]
    examples, images = (pl.concat(tables) for tables in zip(*parts, strict=True))
    return Dataset("made up", examples, Images(images))


def _write(made: tuple[Transactions, Accepted], split: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    transactions, accepted = made
    rows = np.repeat(np.arange(transactions.n), np.diff(transactions.starts))
    items = pl.DataFrame({"row": rows, "item": transactions.items})
    words = items.filter(pl.col("item") < N_WORDS).with_columns(text=pl.format("w{}", "item"))
    labels = items.filter((pl.col("item") >= N_WORDS) & (pl.col("row") % QUESTIONS_AN_IMAGE == 0))
    objects = labels.select(
        pl.format(f"{split}-{{}}", pl.col("row") // QUESTIONS_AN_IMAGE).alias("image"),
        pl.struct(
            pl.format("o{}", "item").alias("label"),
            pl.lit(None, BOX).alias("box"),
            pl.lit(None, pl.Float64).alias("score"),
        ).alias("objects"),
    )
    examples = words.group_by("row", maintain_order=True).agg(question=pl.col("text").str.join(" "))
    people = pl.Series("answers", accepted.answers.reshape(transactions.n, HUMANS)).arr.to_list()
    examples = examples.with_columns(
        pl.format(f"{split}-{{}}", "row").alias("id"),
        pl.format(f"{split}-{{}}", pl.col("row") // QUESTIONS_AN_IMAGE).alias("image"),
        pl.format("a{}", pl.Series(transactions.answers)).alias("answer"),
        people.list.eval(pl.format("a{}", pl.element())),
        split=pl.lit(split),
    )
    return examples.drop("row"), objects.group_by("image", maintain_order=True).agg("objects")
