"""What each condition of a run asks, in full: the prompt as a model would get it, and the picture as edited, in a file.

The reference answers stay here: other tools ask, eyechart judges.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import polars as pl

from eyechart.errors import DataError
from eyechart.files import replacing
from eyechart.models.prompted import show
from eyechart.models.prompts import Template, choose_template
from eyechart.pictures import Picture
from eyechart.probes import Filler
from eyechart.progress import tracked
from eyechart.store import Store

PICTURES = "pictures"
GUIDE = "README.md"
_AT_ONCE = 512  # probes whose pictures are open


class Asked(NamedTuple):
    """All questions of one condition: id, prompt, picture (an absolute path, or null)."""

    condition: str
    name: str  # of files and tasks: letters, digits and underscores
    table: pl.DataFrame


class Guide(NamedTuple):
    """How a tool is run on what was written, and how its answers come back."""

    tool: str
    run: Callable[[Sequence[Asked]], str]
    back: str  # the folder of its logs


Write = Callable[[Asked, Path], str]  # returns the name of the file


def export_asked(store: Store, folder: Path, write: Write, guide: Guide) -> dict[str, int]:
    """Write every condition of a run in one form, the pictures once each, and a guide beside them."""
    if not store.conditions():
        raise DataError(f"probes in {store.folder}", "none", "run `eyechart probe` first")
    folder.mkdir(parents=True, exist_ok=True)
    asked = list(_gather(store, folder / PICTURES, choose_template(None)))
    written = {write(one, folder): one.table.height for one in asked}
    with replacing(folder / GUIDE) as draft:
        draft.write_text(_explain(store, asked, guide), encoding="utf-8")
    return written | {GUIDE: 1}


def _gather(store: Store, pictures: Path, template: Template) -> Iterator[Asked]:
    for condition in store.conditions():
        probes = store.probes(condition).sort("id")
        with tracked(f"writing {condition}", probes.height) as advance:
            parts, filler = [], Filler(probes, store.data)
            for at in range(0, probes.height, _AT_ONCE):
                filled = filler.fill(at, _AT_ONCE)
                shown = show(filled, store.data.images, template)
                paths = [None if each is None else _keep(each, pictures) for each in shown.pictures]
                parts.append(filled.select("id").with_columns(_text("prompt", shown.prompts), _text("picture", paths)))
                advance(filled.height)
        yield Asked(condition, _name(condition), pl.concat(parts))


def _text(name: str, values: list[str] | list[str | None]) -> pl.Series:
    return pl.Series(name, values, pl.String)


def _keep(picture: Picture, folder: Path) -> str:
    """Write a picture under the hash of its content, so that no name from the data becomes a path."""
    from PIL import Image

    path = folder.resolve() / f"{picture.key}.png"
    if not path.is_file():
        with replacing(path) as draft:
            Image.fromarray(picture.pixels).save(draft, "png")
    return str(path)


def _name(condition: str) -> str:
    """Write a condition as a name that tools take; where that loses something, a hash keeps two apart."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", condition).strip("_")
    return plain if plain == condition else f"{plain}_{sha256(condition.encode()).hexdigest()[:6]}"


def _explain(store: Store, asked: list[Asked], guide: Guide) -> str:
    names = "\n".join(f"| `{one.condition}` | `{one.name}` | {one.table.height:,} |" for one in asked)
    return f"""# {store.data.name}: what a model is asked, for {guide.tool}

Written by `eyechart export`. Prompts are complete; the tables name the pictures in `{PICTURES}/` by their full path, so
leave the folder where it is. The reference answers are not here.

| condition | name | questions |
|---|---|---|
{names}

Run:

    {guide.run(asked)}

Bring the logs back and judge. They say which question under which condition they answer; `extract=yes` finds the
answers in what the model said, as eyechart does where it asks itself:

    eyechart predict {store.folder} -m 'predictions:{guide.back},extract=yes'
    eyechart judge {store.folder}
"""
