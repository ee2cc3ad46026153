"""Turn the made-up questions of `mining_data` into a dataset with texts, question types, objects and splits."""

import numpy as np
import polars as pl

from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.tables import BOX
from mining_data import (
    DENSITIES,
    N_SCENES,
    QUESTIONS_AN_IMAGE,
    Ints,
    draw,
    make_answers,
    make_objects,
    make_questions,
    make_world,
    zipf,
)

N_LABELS = 80  # as in COCO


def make_dataset(n: int, seed: int = 0) -> Dataset:
    """Make n questions, five an image, with 65 question types and about seven labels an image."""
    rng, world = np.random.default_rng(seed), make_world()
    scenes = draw(rng, zipf(N_SCENES, 1.0, 2), (-(-n // QUESTIONS_AN_IMAGE),))
    objects = make_objects(world, scenes, DENSITIES["usual"], rng)
    image = np.arange(n) // QUESTIONS_AN_IMAGE
    questions = make_questions(world, scenes[image], objects[image], rng)
    answers = make_answers(world, questions, rng)
    stems = texts(world.stems, "s")
    examples = pl.DataFrame(
        {
            "id": pl.Series(np.arange(n)).cast(pl.String),
            "image": pl.Series(image).cast(pl.String),
            "question_type": stems.gather(questions.stems),
            "question": stems.gather(questions.stems) + " " + texts(questions.words, "w") + "?",
            "answer": "a" + pl.Series(answers).cast(pl.String),
            "split": pl.Series(np.select([rng.random(n) < 0.7, rng.random(n) < 1 / 6], ["train", "val"], "test")),
        }
    )
    return Dataset("made-up", examples, Images(images_table(objects)))


def texts(rows: Ints, letter: str) -> pl.Series:
    """Write each row of numbers, -1 for none, as words."""
    word = pl.lit(letter) + pl.col("number").cast(pl.String)
    joined = long(rows).group_by("row", maintain_order=True).agg(word.str.join(" ").alias("text"))
    return joined["text"]


def images_table(objects: Ints) -> pl.DataFrame:
    """List the labels of each image, folded onto as many as COCO has."""
    named = long(np.where(objects >= 0, objects % N_LABELS, -1)).unique().sort("row", "number")
    label = pl.lit("o") + pl.col("number").cast(pl.String)
    seen = pl.struct(label.alias("label"), pl.lit(None, BOX).alias("box"), pl.lit(None, pl.Float64).alias("score"))
    image = pl.col("row").cast(pl.String).alias("image")
    return named.group_by(image, maintain_order=True).agg(seen.alias("objects"))


def long(rows: Ints) -> pl.DataFrame:
    """List (row, number) of what is not -1."""
    row, column = np.nonzero(rows >= 0)
    return pl.DataFrame({"row": row, "number": rows[row, column]})
