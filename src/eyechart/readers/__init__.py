"""Turn files into datasets: one reader for each format, found by its name.

A reader is a function `reader(path, *, settings) -> Dataset`. It reports what became of every row as the counts of the
dataset (see `counting`) and raises a FileFormatError or SettingError where it cannot go on.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from eyechart.dataset import Dataset
from eyechart.errors import EyechartError, FileFormatError, SettingError, UnknownNameError
from eyechart.files import missing
from eyechart.readers.description import Description, describe
from eyechart.readers.guessing import guess_format
from eyechart.readers.settings import check_settings, needs_path, settings_of, takes_path
from eyechart.registry import Registry, Shape

Reader: TypeAlias = Callable[..., Dataset]

FORMATS: Registry[Reader] = Registry(
    "format",
    {
        "vqa2": "eyechart.readers.vqa2:read_vqa2",
        "table": "eyechart.readers.table:read_table",
        "gqa": "eyechart.readers.gqa:read_gqa",
        "visual7w": "eyechart.readers.visual7w:read_visual7w",
        "cocoqa": "eyechart.readers.cocoqa:read_cocoqa",
        "scienceqa": "eyechart.readers.scienceqa:read_scienceqa",
        "aokvqa": "eyechart.readers.aokvqa:read_aokvqa",
        "socialiq": "eyechart.readers.socialiq:read_socialiq",
        "visdial": "eyechart.readers.visdial:read_visdial",
        "nextqa": "eyechart.readers.nextqa:read_nextqa",
        "pope": "eyechart.readers.pope:read_pope",
        "vlmeval": "eyechart.readers.vlmeval:read_vlmeval",
        "world": "eyechart.world:read_world",
        "resplit": "eyechart.resplit:read_resplit",
    },
    Shape("a function of a path", takes_path),
)


def read(source: str | Path, path: str | Path | None = None, /, **settings: object) -> Dataset:
    """Read a format by its name and path, or a path alone: a dataset folder of ours, else a table.

    The settings are those of the format's reader; see `reader_settings`.
    """
    if path is None and _is_path(source):
        return _read_path(Path(source), settings)
    name, place = str(source), None if path is None else Path(path)
    try:
        reader = FORMATS.get(name)
        if place is None and needs_path(reader):
            raise SettingError(f"a path to read as {name!r}", "none", f"give one: read({name!r}, path)")
        found: object = reader(place, **check_settings(reader, name, settings))
    except (FileFormatError, UnknownNameError) as error:
        raise _with_guess(error, name, place) from None
    if not isinstance(found, Dataset):
        raise SettingError(
            f"a Dataset from the reader {name!r}", type(found).__name__, "return one; see docs/extending.md"
        )
    return found


def descriptions() -> dict[str, Description]:
    """Describe every format."""
    return {name: describe(FORMATS.get(name)) for name in FORMATS.names()}


def _with_guess(error: EyechartError, name: str, path: Path | None) -> EyechartError:
    """Add to an error which format the file looks like, where that is another one."""
    likely = None if path is None else guess_format(path, descriptions())
    if likely in (None, name):
        return error
    return type(error)(error.expected, error.found, f"{error.advice}; it looks like format {likely!r}")


def reader_settings(name: str) -> dict[str, inspect.Parameter]:
    """List the settings of a format's reader, with their types and defaults."""
    return settings_of(FORMATS.get(name))


def _is_path(source: str | Path) -> bool:
    if isinstance(source, Path):
        return True
    if source in FORMATS.names():
        return False
    path = Path(source)
    # A name with a colon refers to a reader, unless there is such a file.
    return path.exists() or (":" not in path.name and bool(path.suffix or path.name != source))


def _read_path(path: Path, settings: dict[str, object]) -> Dataset:
    if not path.exists():
        raise missing(path)
    if (path / "manifest.json").is_file():
        if settings:
            found = ", ".join(settings)
            raise SettingError(f"no settings for the saved dataset {path}", found, "leave them out, or read its source")
        return Dataset.load(path)
    return read("table", path, **settings)
