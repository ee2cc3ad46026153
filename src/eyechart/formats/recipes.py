"""Know the public benchmarks by the columns of their tables, and say of each what its columns do not say themselves.

A recipe is found by columns, so it holds for the file of a hub, a copy of it and every table of the same form. What any
table may have (other names of columns, letters, indices, options inside the question) is not a recipe's business.
"""

from collections.abc import Collection, Mapping
from itertools import product
from types import MappingProxyType
from typing import NamedTuple

import polars as pl

from eyechart.data.several import IMAGE_LIST
from eyechart.formats.choices import AnswerKind
from eyechart.formats.embedded import DAMAGE
from eyechart.formats.rows import CountedTable, RowCount, drop_rows, noted

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Pair(NamedTuple):
    """One of several examples of a row: the number of its picture, and the columns of its question and answer."""

    image: int
    question: str
    answer: str

    @property
    def name(self) -> str:
        """Return what completes the id of the row."""
        return f"i{self.image}-q{self.question[-1]}"


class Recipe(NamedTuple):
    """What is particular about a benchmark's table."""

    name: str
    signs: tuple[str, ...]  # columns, pictures aside, that its tables have and few others have together
    lacks: tuple[str, ...] = ()  # columns that its tables do not have
    columns: Mapping[str, str] = _NOTHING  # our name: theirs
    question: str | None = None  # the question, where it stands in the picture
    hidden: tuple[str, ...] = ()  # what stands in place of an answer that is kept secret
    empty: tuple[str, ...] = ()  # texts that stand for an empty cell
    answer_is: AnswerKind = "auto"
    beside: tuple[str, ...] = ()  # texts shown beside the question, where any row has one
    video: bool = False  # whether what is looked at is the column `video`
    pairs: tuple[Pair, ...] = ()  # the examples of a row, where it holds several

    def fits(self, columns: Collection[str]) -> bool:
        """Return whether a table has this form."""
        return set(self.signs) <= set(columns) and not set(self.lacks) & set(columns)

    def modalities(self, columns: Collection[str]) -> tuple[str, ...]:
        """Return what is shown of an example, given the columns of its table."""
        return ("video" if self.video else "image", "question", *(name for name in self.beside if name in columns))


RECIPES = (
    Recipe("MMMU", ("question", "options", "img_type", "topic_difficulty", "question_type"), hidden=("?",)),
    Recipe(
        "MMMU-Pro (vision)",
        ("id", "options", "answer", "subject"),
        lacks=("question",),
        question="Answer the question in the picture.",
    ),
    Recipe("MMBench", ("index", "question", "hint", "A", "B", "source"), empty=("nan",), beside=("hint",)),
    Recipe("SEED-Bench", ("question_id", "question_type_id", "choice_a", "data_id"), columns={"id": "question_id"}),
    Recipe(
        "NaturalBench",
        (
            "Index",
            *(f"Question_{q}" for q in range(2)),
            *(f"Image_{i}_Question_{q}" for i, q in product((0, 1), (0, 1))),
        ),
        pairs=tuple(Pair(i, f"Question_{q}", f"Image_{i}_Question_{q}") for q, i in product((0, 1), (0, 1))),
    ),
    Recipe("CV-Bench", ("idx", "task", "choices", "source_dataset"), columns={"id": "idx", "question_type": "task"}),
    Recipe(
        "BLINK", ("idx", "sub_task", "choices"), columns={"id": "idx", "question_type": "sub_task"}, hidden=("hidden",)
    ),
    Recipe(
        "Video-MME",
        ("videoID", "question_id", "task_type", "options"),
        columns={"video": "videoID", "id": "question_id", "question_type": "task_type"},
        video=True,
    ),
    Recipe(
        "VSI-Bench",
        ("scene_name", "question_type", "ground_truth", "options"),
        columns={"video": "scene_name", "answer": "ground_truth"},
        video=True,
    ),
    Recipe(
        "ScienceQA", ("choices", "answer", "hint", "skill", "lecture", "solution"), answer_is="index", beside=("hint",)
    ),
    Recipe("A-OKVQA", ("question_id", "choices", "correct_choice_idx", "direct_answers"), answer_is="index"),
)


def find_recipe(columns: Collection[str]) -> Recipe | None:
    """Return the recipe of a table with these columns, if one is known."""
    return next((recipe for recipe in RECIPES if recipe.fits(columns)), None)


def follow(recipe: Recipe, table: pl.DataFrame, mapped: Collection[str]) -> CountedTable:
    """Say in our columns what a recipe knows; columns of ours that are mapped stay as the map says."""
    rows = table.height
    table, counts = _unfold(recipe, table) if recipe.pairs else CountedTable(table, [])
    if recipe.question is not None:
        table = table.with_columns(question=pl.lit(recipe.question))
    usable = {ours: theirs for ours, theirs in recipe.columns.items() if ours not in {*mapped, *table.columns}}
    table = table.rename({theirs: ours for ours, theirs in usable.items()})
    texts = [name for name, dtype in table.schema.items() if dtype == pl.String and name not in {"question", *mapped}]
    table = table.with_columns(pl.col(texts).replace(dict.fromkeys(recipe.empty)))
    beside = [name for name in recipe.beside if name in texts]
    table = table.with_columns(pl.when(pl.col(beside).str.contains(r"\S")).then(pl.col(beside)).name.keep())
    table, kept_secret = _clear_hidden(recipe, table)
    return CountedTable(table, [noted(f"row in the form of {recipe.name}", rows), *counts, kept_secret])


def _clear_hidden(recipe: Recipe, table: pl.DataFrame) -> tuple[pl.DataFrame, RowCount]:
    """Make answers null that only say that there is a secret one."""
    secret = (
        pl.col("answer").is_in(recipe.hidden) if recipe.hidden and "answer" in table.columns else pl.lit(value=False)
    )
    n = int(table.select(secret.sum()).item())
    cleared = table.with_columns(answer=pl.when(~secret).then("answer")) if n else table
    return cleared, noted("answer that is kept secret", n)


def _unfold(recipe: Recipe, table: pl.DataFrame) -> CountedTable:
    """Make an example of each pair of a picture and a question in a row."""
    complete = pl.col(IMAGE_LIST).list.len() > max(pair.image for pair in recipe.pairs)
    sound = pl.col(DAMAGE).is_null() if DAMAGE in table.columns else pl.lit(value=True)
    has_pictures = IMAGE_LIST in table.columns
    reasons = {"row without all of its pictures": ~complete.fill_null(value=False) & sound} if has_pictures else {}
    whole, dropped = drop_rows(table, reasons) if reasons else CountedTable(table, [])
    own = [name for pair in recipe.pairs for name in (pair.question, pair.answer)]
    others = pl.exclude("id", "image", IMAGE_LIST, *own)
    examples = [
        whole.select(
            pl.concat_str(pl.col(recipe.signs[0]).cast(pl.String), pl.lit(f"-{pair.name}")).alias("id"),
            (pl.col(IMAGE_LIST).list.get(pair.image) if has_pictures else pl.lit(None, pl.String)).alias("image"),
            pl.col(pair.question).alias("question"),
            pl.col(pair.answer).alias("answer"),
            others,
        )
        for pair in recipe.pairs
    ]
    n = len(recipe.pairs)
    return CountedTable(
        pl.concat(examples), [*dropped, noted(f"row with {n} examples, read as {n} rows", table.height)]
    )
