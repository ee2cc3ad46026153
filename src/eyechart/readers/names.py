"""Find our columns among other people's names for them."""

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from eyechart.errors import SettingError
from eyechart.readers.counting import Count, noted
from eyechart.registry import unknown_name
from eyechart.tables import EXAMPLES

# Our name: the names it goes by elsewhere. Two of them in one table are an error, never a guess.
ALIASES: dict[str, tuple[str, ...]] = {
    "id": ("question_id", "questionId", "qid", "index"),
    "image": ("image_id", "imageId", "img_id"),
    "path": ("image_path", "file_name", "img_path"),
    "question": ("prompt",),
    "answer": ("label", "target", "multiple_choice_answer", "correct_choice_idx"),
    "answers": ("direct_answers",),
    "choices": ("options", "multiple_choices"),
    "question_type": ("questionType",),
    "answer_type": ("answerType",),
}
EXAMPLE_COLUMNS = (*EXAMPLES.columns, "path", "objects")


class Renamed(NamedTuple):
    """A table under our names, and what to know about the columns that were passed over."""

    table: pl.DataFrame
    notes: list[Count]


def rename(
    table: pl.DataFrame,
    ours: tuple[str, ...],
    aliases: Mapping[str, tuple[str, ...]],
    chosen: Mapping[str, str] | None = None,
) -> Renamed:
    """Put columns under our names: the chosen one, else that of our own name, else the one alias there is."""
    chosen = chosen or {}
    _check_map(table, ours, chosen)
    free = [name for name in table.columns if name not in chosen.values()]
    found = {name: chosen.get(name) or _find(name, aliases.get(name, ()), free) for name in ours}
    origins = {name: origin for name, origin in found.items() if origin is not None}
    notes = [
        noted(f"column {name!r} replaced by {origin!r}, as the map asks", table.height)
        for name, origin in origins.items()
        if name != origin and name in table.columns and name not in origins.values()
    ]
    notes += [
        noted(f"column {alias!r} left under its own name: {name!r} is there", table.height)
        for name in origins
        if origins[name] == name
        for alias in aliases.get(name, ())
        if alias in free
    ]
    others = [name for name in table.columns if name not in origins and name not in origins.values()]
    renamed = [pl.col(origin).alias(name) for name, origin in origins.items()]
    return Renamed(table.select(*renamed, *others), notes)


def _check_map(table: pl.DataFrame, ours: tuple[str, ...], chosen: Mapping[str, str]) -> None:
    for name, origin in chosen.items():
        if name not in ours:
            raise unknown_name("column of ours, in the map", name, ours)
        if origin not in table.columns:
            raise unknown_name("column of the table, in the map", origin, tuple(table.columns))


def _find(name: str, aliases: tuple[str, ...], columns: list[str]) -> str | None:
    if name in columns:
        return name
    found = [alias for alias in aliases if alias in columns]
    if len(found) > 1:
        advice = f"say which with map, such as {name}={found[0]}"
        raise SettingError(f"one column that can be {name!r}", f"{' and '.join(found)}", advice)
    return found[0] if found else None
