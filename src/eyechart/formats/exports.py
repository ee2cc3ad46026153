"""Write a run as files of other tools: `EXPORTS` lists the exporters, `export_prompts` writes the questions of a run.

The prompts are complete, as a model would get them, and the pictures are edited and in separate files. The
reference answers are not exported: other tools ask, eyechart judges. Exports of a single audit come with that audit
(`furniture`).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TypeAlias

import polars as pl

from eyechart.base.errors import DataError
from eyechart.base.files import replacing
from eyechart.base.progress import tracked
from eyechart.base.registry import Registry
from eyechart.data.picture_survey import name_pictures, warn_of_pictures
from eyechart.data.pictures import Picture, show_all_pictures
from eyechart.data.probes import Filler
from eyechart.data.store import Store
from eyechart.language.prompts import Template, choose_template, write_prompts

Exporter: TypeAlias = Callable[[Store, Path], dict[str, int]]  # from a run into a folder; counts entries by file

EXPORTS: Registry[Exporter] = Registry(
    "export",
    {
        "eee": "eyechart.formats.eee:export_eee",
        "inspect": "eyechart.formats.inspect_ai:export_inspect",
        "lmms-eval": "eyechart.formats.lmms_eval:export_lmms_eval",
        "vlmeval": "eyechart.formats.vlmeval:export_vlmeval",
    },
)
PICTURES = "pictures"
GUIDE_FILE = "README.md"
_BATCH = 512  # probes whose pictures are open at once


class PromptTable(NamedTuple):
    """All questions of one condition: id, prompt, pictures (absolute paths, in order)."""

    condition: str
    name: str  # for files and tasks: letters, digits and underscores
    table: pl.DataFrame


class Guide(NamedTuple):
    """How to run a tool on the exported files, and where it writes its logs."""

    tool: str
    command: Callable[[Sequence[PromptTable]], str]
    logs: str  # the folder


WriteTable: TypeAlias = Callable[[PromptTable, Path], str]  # returns the name of the file


def export_prompts(store: Store, folder: Path, write: WriteTable, guide: Guide) -> dict[str, int]:
    """Write every condition of a run in the form of a tool, each picture once, and a guide next to them."""
    if not store.conditions():
        raise DataError(f"probes in {store.folder}", "none", "run `eyechart probe` first")
    folder.mkdir(parents=True, exist_ok=True)
    if "image" in store.data.modalities:
        shown = [name_pictures(store.probes(condition), store.data).explode() for condition in store.conditions()]
        warn_of_pictures(pl.concat(shown), store.data.images)
    tables = list(_write_prompts(store, folder / PICTURES, choose_template(None)))
    written = {write(one, folder): one.table.height for one in tables}
    with replacing(folder / GUIDE_FILE) as draft:
        draft.write_text(_explain(store, tables, guide), encoding="utf-8")
    return written | {GUIDE_FILE: 1}


def plain_name(condition: str) -> str:
    """Write a condition as a name that tools accept, with a hash where that loses information."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", condition).strip("_")
    return plain if plain == condition else f"{plain}_{sha256(condition.encode()).hexdigest()[:6]}"


def _write_prompts(store: Store, pictures: Path, template: Template) -> Iterator[PromptTable]:
    for condition in store.conditions():
        probes = store.probes(condition).sort("id")
        with tracked(f"writing {condition}", probes.height) as advance:
            parts, filler = [], Filler(probes, store.data)
            for start in range(0, probes.height, _BATCH):
                filled = filler.fill(start, _BATCH)
                prompts = write_prompts(filled, template).alias("prompt")
                shown = show_all_pictures(filled, store.data.images)
                paths = [[_write_picture(picture, pictures) for picture in own] for own in shown]
                columns = (prompts, pl.Series("pictures", paths, pl.List(pl.String)))
                parts.append(filled.select("id").with_columns(columns))
                advance(filled.height)
        yield PromptTable(condition, plain_name(condition), pl.concat(parts))


def _write_picture(picture: Picture, folder: Path) -> str:
    """Write a picture under the hash of its content: no name from the data may become a path."""
    from PIL import Image

    path = folder.resolve() / f"{picture.key}.png"
    if not path.is_file():
        with replacing(path) as draft:
            Image.fromarray(picture.pixels).save(draft, "png")
    return str(path)


def _explain(store: Store, tables: Sequence[PromptTable], guide: Guide) -> str:
    names = "\n".join(f"| `{one.condition}` | `{one.name}` | {one.table.height:,} |" for one in tables)
    return f"""# {store.data.name}: what a model is asked, for {guide.tool}

Written by `eyechart export`. Prompts are complete; the tables name the pictures in `{PICTURES}/` by their full path, so
leave the folder where it is. The reference answers are not here.

| condition | name | questions |
|---|---|---|
{names}

Run:

    {guide.command(tables)}

Bring the logs back and judge. They say which question under which condition they answer; `extract=yes` finds the
answers in what the model said, as eyechart does where it asks itself:

    eyechart predict {store.folder} -m 'predictions:{guide.logs},extract=yes'
    eyechart judge {store.folder}
"""
