"""Read evidence from heat maps of human attention, as recorded for VQA-HAT: a grey picture for each question.

A map is a file named after the question's id, `<id>.png`, or several, `<id>_1.png`, `<id>_2.png`, whose mean is taken.
Evidence is where the heat reaches a share of its peak: each connected region gives the box around it, in the
pixels of the question's picture, whatever the size of the map.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.data.picture_files import TRANSPARENT, decode_file, inspect_file
from eyechart.data.tables import EVIDENCE

Heat = NDArray[np.float64]

LABEL = "heat"
_SUFFIXES = (".png", ".jpg", ".jpeg")


def with_heat_evidence(data: Dataset, folder: str | Path, least: float = 0.5, smallest: float = 0.001) -> Dataset:
    """Read the evidence of each question from its maps in a folder; it is null for a question without maps.

    `least` is the share of the peak at which heat begins to count; a region below the share `smallest` of the map is
    treated as a speck and left out.
    """
    maps = _find_maps(Path(folder), set(data.examples["id"]))
    lists = [
        _evidence(_mean_heat(maps[name]), (width, height), least, smallest) if name in maps else None
        for name, width, height in _sizes(data).iter_rows()
    ]
    return replace(data, examples=data.examples.with_columns(evidence=pl.Series(lists, dtype=pl.List(EVIDENCE))))


def hot_boxes(heat: Heat, least: float = 0.5, smallest: float = 0.001) -> list[tuple[float, float, float, float]]:
    """Find the boxes around the connected hot regions of a map, as shares of its sides."""
    from scipy import ndimage

    peak = heat.max(initial=0)
    if peak <= 0:
        return []
    hot = heat >= least * peak
    regions, _ = ndimage.label(hot, structure=np.ones((3, 3)))
    sizes = np.bincount(regions.ravel())[1:]
    height, width = heat.shape
    return [
        (columns.start / width, lines.start / height, columns.stop / width, lines.stop / height)
        for (lines, columns), size in zip(ndimage.find_objects(regions), sizes, strict=True)
        if size >= smallest * heat.size
    ]


def _find_maps(folder: Path, ids: set[str]) -> dict[str, list[Path]]:
    """Group the maps of a folder by question: by their name, or else by its part before the last underscore."""
    files = sorted(path for path in folder.glob("*") if path.suffix.lower() in _SUFFIXES)
    if not files:
        raise FileFormatError(
            f"heat maps in {folder}", "none", f"name them after the question: ID{_SUFFIXES[0]}, or ID_1.png"
        )
    maps: dict[str, list[Path]] = {}
    for path in files:
        name = path.stem if path.stem in ids else path.stem.rpartition("_")[0]
        maps.setdefault(name, []).append(path)
    return maps


def _mean_heat(paths: Iterable[Path]) -> Heat:
    """Average the maps of a question, each scaled to a peak of 1 and to the size of the first."""
    from PIL import Image

    total: Heat | None = None
    for n, path in enumerate(paths, 1):
        if TRANSPARENT in inspect_file(path).remarks:
            found = "transparent parts, which would count as white, the hottest"
            raise FileFormatError(f"an opaque heat map at {path}", found, "save it without transparency")
        gray = Image.fromarray(decode_file(path, path.stat().st_size).pixels).convert("L")
        own = gray if total is None else gray.resize(total.shape[::-1])
        heat = np.asarray(own, np.float64)
        heat = heat / max(heat.max(initial=0), 1)
        total = heat if total is None else total + (heat - total) / n
    return np.zeros((0, 0)) if total is None else total


def _sizes(data: Dataset) -> pl.DataFrame:
    """List id, width and height of each question's picture, null where unknown."""
    table = data.images.table
    sides = [
        (pl.col(side) if side in table.columns else pl.lit(None, pl.Int64)).alias(side) for side in ("width", "height")
    ]
    questions = data.examples.select("id", "image")
    joined = questions.join(
        table.select("image", *sides), on="image", how="left", validate="m:1", maintain_order="left"
    )
    return joined.drop("image")


def _evidence(
    heat: Heat, size: tuple[int | None, int | None], least: float, smallest: float
) -> list[dict[str, object]]:
    """Scale the boxes to the picture; one of unknown size is taken to be as large as its map."""
    width, height = size[0] or heat.shape[1], size[1] or heat.shape[0]
    scale = np.array([width, height, width, height])
    return [{"label": LABEL, "box": (scale * box).tolist()} for box in hot_boxes(heat, least, smallest)]
