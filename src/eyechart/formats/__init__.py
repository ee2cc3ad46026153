"""Read datasets and logs of other tools, and write files for them: one module per tool or format.

A reader is a function `reader(path, *, settings) -> Dataset`, found by its name in `FORMATS`. It reports what became of
every row as the counts of the dataset (see `rows`) and raises a FileFormatError or SettingError where it cannot go on.
The logs that `predictions` reads, and the exports that `exports` lists, have registries there.
"""

import inspect
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from eyechart.base.errors import EyechartError, FileFormatError, SettingError, UnknownNameError
from eyechart.base.files import missing
from eyechart.base.registry import Registry, Shape
from eyechart.base.settings import fit_settings
from eyechart.data.dataset import Dataset
from eyechart.data.turning import Direction
from eyechart.formats.description import (
    Description,
    check_settings,
    describe,
    guess_format,
    needs_path,
    settings_of,
    takes_path,
)
from eyechart.formats.doubts import find_doubts
from eyechart.formats.modalities import declare
from eyechart.formats.orientation import settle_boxes

Reader: TypeAlias = Callable[..., Dataset]

_HUB = "hf"

FORMATS: Registry[Reader] = Registry(
    "format",
    {
        "vqa2": "eyechart.formats.vqa2:read_vqa2",
        "table": "eyechart.formats.table:read_table",
        "gqa": "eyechart.formats.gqa:read_gqa",
        "visual7w": "eyechart.formats.visual7w:read_visual7w",
        "cocoqa": "eyechart.formats.cocoqa:read_cocoqa",
        "scienceqa": "eyechart.formats.scienceqa:read_scienceqa",
        "aokvqa": "eyechart.formats.aokvqa:read_aokvqa",
        "socialiq": "eyechart.formats.socialiq:read_socialiq",
        "visdial": "eyechart.formats.visdial:read_visdial",
        "nextqa": "eyechart.formats.nextqa:read_nextqa",
        "pope": "eyechart.formats.pope:read_pope",
        "vlmeval": "eyechart.formats.vlmeval:read_vlmeval",
        "evalscope": "eyechart.formats.evalscope:read_evalscope",
        "helm": "eyechart.formats.helm:read_helm",
        "lighteval": "eyechart.formats.lighteval:read_lighteval",
        "opencompass": "eyechart.formats.opencompass:read_opencompass",
        "inspect": "eyechart.formats.inspect_ai:read_inspect",
        "hf": "eyechart.formats.hf:read_hf",
        "world": "eyechart.world:read_world",
        "resplit": "eyechart.audits.splits.resplit:read_resplit",
    },
    Shape("a function of a path", takes_path),
)

# Formats that a table would misread, or not read at all.
_RECOGNISED = ("vqa2", "gqa", "visual7w", "scienceqa", "socialiq", "visdial", "nextqa", "pope")


_DECLARED: dict[str, Any] = {"modalities": dict[str, str], "cluster": str, "boxes": Direction}  # of every format


def read(source: str | Path, path: str | Path | None = None, /, **settings: object) -> Dataset:
    """Read a format by its name and path; a path alone is one of our dataset folders, a known format or a table.

    `hf:NAME` is a dataset of the Hugging Face hub, or a folder of one. `modalities` declares columns as modalities, as
    in `{"video": "videoID"}`, and `cluster` names the column of what makes examples dependent; `boxes` says of pictures
    that their EXIF orientation turns whether boxes are on them as `stored` or `upright`, where their width and height
    do not tell. The settings are those of the format's reader; see `reader_settings`. A reading that may not be what
    the file means gives a `ReadingWarning`.
    """
    if path is None and isinstance(source, str):
        source, path = split_hub(source)
    given = {name: settings.pop(name) for name in _DECLARED if name in settings}
    declared: dict[str, Any] = fit_settings("reading", _DECLARED, given)
    boxes = declared.pop("boxes", None)
    is_path = path is None and _is_path(source)
    if is_path and Dataset.is_saved(Path(source)):
        data = _load(Path(source), settings)
        data = data if boxes is None else settle_boxes(data, boxes)
    else:
        file = None if path is None else Path(path)
        read_so = _read_path(Path(source), settings) if is_path else _read_as(str(source), file, settings)
        data = settle_boxes(read_so, boxes)
        for doubt in find_doubts(data, settings):
            warnings.warn(doubt, stacklevel=2)
    return declare(data, **declared) if declared else data


def _read_as(name: str, file: Path | None, settings: dict[str, object]) -> Dataset:
    try:
        reader = FORMATS.get(name)
        if file is None and needs_path(reader):
            raise SettingError(f"a path to read as {name!r}", "none", f"give one: read({name!r}, path)")
        data: object = reader(file, **check_settings(reader, name, settings))
    except (FileFormatError, UnknownNameError) as error:
        raise _with_guess(error, name, file) from None
    if not isinstance(data, Dataset):
        raise SettingError(
            f"a Dataset from the reader {name!r}", type(data).__name__, "return one; see docs/extending.md"
        )
    return data


def split_hub(source: str) -> tuple[str, str | None]:
    """Split `hf:NAME` into the format and what it reads; any other name stays whole."""
    return (_HUB, source.removeprefix(f"{_HUB}:")) if source.startswith(f"{_HUB}:") else (source, None)


def descriptions() -> dict[str, Description]:
    """Return the description of every format."""
    return {name: describe(FORMATS.get(name)) for name in FORMATS.names()}


def _with_guess(error: EyechartError, name: str, path: Path | None) -> EyechartError:
    """Add to an error the format that the file looks like, if it is a different one."""
    guess = None if path is None else guess_format(path, descriptions())
    if guess in (None, name):
        return error
    return type(error)(error.expected, error.found, f"{error.advice}; it looks like format {guess!r}")


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


def _load(folder: Path, settings: dict[str, object]) -> Dataset:
    if settings:
        found = ", ".join(settings)
        raise SettingError(f"no settings for the saved dataset {folder}", found, "leave them out, or read its source")
    return Dataset.load(folder)


def _read_path(path: Path, settings: dict[str, object]) -> Dataset:
    """Read a file as the format that all signs speak for and that takes the settings, else as a table."""
    if not path.exists():
        raise missing(path)
    name = recognise(path)
    if name != "table" and set(settings) <= set(reader_settings(name)):
        with suppress(EyechartError):  # the error of a table says what its columns lack
            return _read_as(name, path, settings).with_layout({"format": name})
    return _read_as("table", path, settings)


def recognise(path: Path) -> str:
    """Return the format of a file, folder or archive: one that all its signs speak for, else `table`."""
    return guess_format(path, {name: describe(FORMATS.get(name)) for name in _RECOGNISED}, enough=1) or "table"
