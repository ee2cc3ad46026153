"""Scores as the authors' scripts give them (`compat="release"`).

The vocabulary holds the normalised reference answers with at least nine train examples. The score of an answer is
min(1, count / 3) over the raw human answers that are in the vocabulary: a right answer outside it scores 0, and the
model's answer is not normalised. A set's score is in points, rounded to two decimals, and means are of rounded scores.
"""

import polars as pl

from eyechart.audits.splits.names import FAMILIES, NINE
from eyechart.errors import DataError
from eyechart.result import Measure
from eyechart.text import clean_answer, normalize_answer

SCORE = "count3"
LEAST = 9  # train examples of an answer in the vocabulary
OUTSIDE = "\N{REPLACEMENT CHARACTER} outside the vocabulary"  # what no model says


def within_vocabulary(examples: pl.DataFrame, train: pl.DataFrame) -> pl.DataFrame:
    """Leave only those human answers that are in the vocabulary of train; a score then counts them as they are."""
    if "answers" not in examples.columns or not train.height:
        found = "no human answers" if "answers" not in examples.columns else "no train split"
        raise DataError("several human answers and a train split for compat='release'", found, "use compat='paper'")
    normal = normalize_answer(clean_answer(pl.col("answer"))).str.replace_all(",", "", literal=True)
    counts = train.select(normal).to_series().value_counts(name="n")
    known = counts.filter(pl.col("n") >= LEAST)["answer"].to_list()
    inside = pl.when(pl.element().is_in(known)).then(pl.element()).otherwise(pl.lit(OUTSIDE))
    return examples.with_columns(pl.col("answers").list.eval(inside))


def release_table(measures: list[Measure]) -> pl.DataFrame:
    """Lay out the rounded scores as the authors print them: IID, the nine sets, and the means."""
    found = {(one.by, one.group): one.value for one in measures if one.name == "accuracy"}
    scores = {name: round(100 * found[name, "tail"], 2) for name in NINE if (name, "tail") in found}
    means = {"mean": tuple(scores), **FAMILIES}
    of = {name: [scores[one] for one in sets if one in scores] for name, sets in means.items()}
    averaged = {name: round(sum(values) / len(values), 2) for name, values in of.items() if values}
    every = {"IID": round(100 * found[None, None], 2), **scores, **averaged}
    return pl.DataFrame({"set": list(every), "score": list(every.values())})
