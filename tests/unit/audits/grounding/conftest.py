"""Small data for the tests of grounding."""

from collections.abc import Callable

import polars as pl
import pytest

from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.tables import EVIDENCE, OBJECT

Box = tuple[float, float, float, float]


@pytest.fixture
def make_data() -> Callable[..., Dataset]:
    """Make questions, each on an image of its own, out of evidence boxes and object boxes."""

    def make(
        evidence: list[list[Box] | None],
        objects: list[list[Box | None] | None],
        size: tuple[int, int] | None = (100, 80),
    ) -> Dataset:
        names = [f"i{at}" for at in range(len(evidence))]
        examples = pl.DataFrame(
            {
                "id": [f"q{at}" for at in range(len(evidence))],
                "image": names,
                "question": "what is it?",
                "answer": "cat",
                "evidence": pl.Series(
                    [None if each is None else [{"label": "thing", "box": box} for box in each] for each in evidence],
                    dtype=pl.List(EVIDENCE),
                ),
            }
        )
        things = [
            None if each is None else [{"label": "thing", "box": box, "score": None} for box in each]
            for each in objects
        ]
        table = pl.DataFrame(
            {"image": names, "objects": pl.Series(things, dtype=pl.List(OBJECT))}
            | ({"width": [size[0]] * len(names), "height": [size[1]] * len(names)} if size else {})
        )
        return Dataset("hand-made", examples, Images(table))

    return make
