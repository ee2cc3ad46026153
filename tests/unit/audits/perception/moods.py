"""A world of pictures with moods, and a model that reads them."""

import numpy as np
import polars as pl

from eyechart.data.dataset import Dataset
from eyechart.data.images import Images

GOOD = 0.8  # of the moods


class Reader:
    """Say the mood of the picture, which is in its name."""

    name = "reader"

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        return probes.select("id", answer=pl.col("image").str.split("|").list.get(1))


def moody(rng: np.random.Generator, images: int, questions: int) -> Dataset:
    """Make pictures of two moods, and questions whose answer is nine times in ten the mood."""
    mood = np.where(rng.random(images) < GOOD, "yes", "no").repeat(questions)
    answer = np.where(rng.random(mood.size) < 0.9, mood, np.where(mood == "yes", "no", "yes"))
    picture = [f"{at // questions}|{each}" for at, each in enumerate(mood)]
    table = pl.DataFrame({"id": [f"{at:04}" for at in range(mood.size)], "image": picture, "answer": answer})
    table = table.with_columns(question=pl.format("is it so {}?", pl.int_range(pl.len()) % questions))
    return Dataset("moody", table, Images.named(table["image"]))
