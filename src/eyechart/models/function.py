"""Wrap models written in Python: any function over a batch, or any object with `name` and `answer`."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import polars as pl

from eyechart.base.characters import storable
from eyechart.base.errors import ModelError
from eyechart.base.registry import import_object
from eyechart.base.trust import check_named
from eyechart.data.images import Images, shown_path_lists
from eyechart.data.pictures import fetch
from eyechart.data.protocols import Model

Answerer = Callable[[Sequence[Mapping[str, Any]]], Sequence[str | None]]


@dataclass(frozen=True)
class Function:
    """Let a function answer: it takes the probes of a batch as dicts and returns one text for each.

    A probe has `id`, `condition`, the content of each modality, `image_path` (null if there is no picture, an address
    if it may not be fetched), `image_paths` where examples have several pictures, and `choices`, `visible`, `hidden`
    where they apply. Returning None means that the answer could not be obtained.
    """

    name: str
    function: Answerer
    reference: str = ""  # module or file, and name

    @property
    def identity(self) -> str:
        """Return a reference to the function: many are called `answer`."""
        return json.dumps({"kind": "python", "reference": self.reference})

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """Call the function once for the whole batch."""
        rows = probes.with_columns(_paths(probes, images)).to_dicts()
        answers = self.function(rows)
        if isinstance(answers, str) or len(answers) != len(rows):
            found = "one text" if isinstance(answers, str) else f"{len(answers)}"
            raise ModelError(f"{len(rows)} answers from {self.name}", found, "return one answer for each probe")
        texts = [_storable(answer, row) for answer, row in zip(answers, rows, strict=True)]
        return pl.DataFrame({"id": probes["id"], "answer": pl.Series(texts, dtype=pl.String, strict=False)})


def open_function(reference: str) -> Model:
    """Open `package.module:name` or `file.py:name`: a model, a class of models, or a function over a batch."""
    check_named(reference)
    answerer = import_object(reference)
    if isinstance(answerer, type):
        answerer = answerer()
    if isinstance(answerer, Model):
        return answerer
    if not callable(answerer):
        advice = "give a function, or an object with `name` and `answer`"
        raise ModelError(f"a model or function at {reference!r}", type(answerer).__name__, advice)
    module, _, name = reference.rpartition(":")
    module = str(Path(module).resolve()) if module.endswith(".py") else module
    return Function(name, cast("Answerer", answerer), f"{module}:{name}")


def _storable(answer: Any, row: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a function may return anything
    """Escape what files do not take, except in an answer that is an option to the letter."""
    return storable(answer) if isinstance(answer, str) and answer not in (row.get("choices") or ()) else answer


def _paths(probes: pl.DataFrame, images: Images) -> list[pl.Series]:
    """List the path of the first picture and, where there may be several, those of all."""
    shown = shown_path_lists(probes, images)
    fetched = fetch(shown.explode(), images) if images.web.allowed else {}
    local = shown.list.eval(pl.element().replace(list(fetched), [str(file) for file in fetched.values()]))
    paths = [local.list.first().alias("image_path")]
    return [*paths, local.alias("image_paths")] if images.has_several else paths
