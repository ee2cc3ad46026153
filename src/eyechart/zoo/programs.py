"""Programs of the planted world's questions, for the symbolic network."""

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.world.grammar import parse_questions
from eyechart.world.vocabulary import BIGGER, COLOR, DOING, IS, LEFT, MANY, PLURALS, THERE, USED

OPERATION = {
    COLOR: "query",
    DOING: "query",
    USED: "query",
    LEFT: "relate",
    MANY: "count",
    THERE: "exist",
    BIGGER: "choose",
    IS: "verify",
}


ASKED_FOR = {COLOR: "color", DOING: "doing", USED: "use"}  # the word of the question that says it


def programs_of(questions: pl.Series, words: Mapping[str, int], operations: tuple[str, ...]) -> NDArray[np.int64]:
    """Write each question as (operation, first word, second word) by number, [M, 3]; zeros where it is none of ours."""
    known = pl.DataFrame({"question": questions.cast(pl.String)})
    read = known.join(parse_questions(questions), on="question", how="left", validate="m:1", maintain_order="left")
    asked = pl.col("question_type").replace_strict(ASKED_FOR, default=None, return_dtype=pl.String)
    places = {name: operations.index(operation) for name, operation in OPERATION.items()}
    numbers = {label: words[plural] for label, plural in PLURALS.items() if plural in words} | dict(words)
    return (
        read.with_columns(second=pl.coalesce("second", asked))
        .select(
            pl.col("question_type").replace_strict(places, default=0, return_dtype=pl.Int64),
            *(pl.col(name).replace_strict(numbers, default=0, return_dtype=pl.Int64) for name in ("first", "second")),
        )
        .to_numpy()
    )
