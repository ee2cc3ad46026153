"""Look through pictures before they are shown: what to say of them, and which cannot be shown at all."""

import logging
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import polars as pl

from eyechart.base.errors import EyechartError
from eyechart.base.progress import tracked
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images, shown_paths
from eyechart.data.picture_files import find_picture, inspect_file
from eyechart.data.probes import source
from eyechart.data.web import is_address

_log = logging.getLogger("eyechart.data")


class PictureSurvey(NamedTuple):
    """How many pictures each remark is about, and the names of those that earlier versions showed otherwise."""

    remarks: Counter[str]
    changed: list[str]


def name_pictures(probes: pl.DataFrame, data: Dataset) -> pl.Series:
    """List the names of the pictures of the image that each probe takes; null if it shows none."""
    owners = data.scan("image").collect()
    giver = probes.select(pl.col(source("image")).alias("id"))
    image = giver.join(owners, on="id", how="left", validate="m:1", maintain_order="left")["image"]
    return data.images.list_pictures(image.cast(pl.String))


def warn_of_pictures(names: pl.Series, images: Images) -> list[str]:
    """Warn of pictures that are not shown as they are stored; return those that earlier versions showed otherwise."""
    survey = survey_pictures(names, images)
    if survey.remarks:
        _log.warning("pictures: %s", "; ".join(f"{n:,} {remark}" for remark, n in sorted(survey.remarks.items())))
    return survey.changed


def survey_pictures(names: pl.Series, images: Images) -> PictureSurvey:
    """Inspect the files of pictures; raise an error about the first that cannot be shown, and count the others.

    Those that would have to be fetched first are left out.
    """
    remarks: Counter[str] = Counter()
    changed: list[str] = []
    refused: list[EyechartError] = []
    distinct = names.drop_nulls().unique().sort()
    paths = shown_paths(distinct.to_frame("image"), images)
    with tracked("looking through pictures", len(distinct)) as advance:
        for name, path in zip(distinct, paths, strict=True):
            advance(1)
            try:
                file = _find(name, path, images)
                traits = None if file is None else inspect_file(file)
            except EyechartError as error:
                refused.append(error)
                continue
            if traits is not None:
                remarks.update(traits.remarks)
                changed += [name] if traits.changed else []
    if refused:
        first, more = refused[0], len(refused) - 1
        found = first.found + (f", and {more:,} more pictures that cannot be shown" if more else "")
        raise type(first)(first.expected, found, first.advice)
    return PictureSurvey(remarks, changed)


def _find(name: str, path: str | None, images: Images) -> Path | None:
    """Find the file of a picture; None if it is at an address and not cached."""
    if path is not None and is_address(path):
        return images.web.cached(path)
    return find_picture(name, path, images.root, images.web.links)
