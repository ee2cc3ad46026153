"""What to say of the pictures of a run before a model is asked about them."""

import logging
from collections.abc import Mapping

import polars as pl

from eyechart.data.dataset import Dataset
from eyechart.data.picture_survey import name_pictures, warn_of_pictures
from eyechart.data.probes import fill
from eyechart.data.protocols import Model
from eyechart.models.prompted import Prompted

_log = logging.getLogger("eyechart.runs.run")
_BATCH = 512  # probes whose pictures are open at once


def tell_pictures(model: Model, data: Dataset, todo: Mapping[str, pl.DataFrame]) -> None:
    """Warn of pictures that are not shown as they are stored, and of answers that are asked anew because of that.

    An error names the first picture that cannot be shown. Only models that are prompted with pictures have any.
    """
    if not isinstance(model, Prompted) or model.blind or "image" not in data.modalities:
        return
    shown = {condition: name_pictures(probes, data) for condition, probes in todo.items()}
    empty = pl.Series("image", [], pl.String)
    changed = warn_of_pictures(pl.concat([empty, *(names.explode() for names in shown.values())]), data.images)
    if not changed:
        return
    is_changed = pl.element().is_in(changed)
    keys: set[str] = set()
    for condition, probes in todo.items():
        affected = probes.filter(shown[condition].list.eval(is_changed).list.any().fill_null(value=False))
        for part in affected.iter_slices(_BATCH):
            keys |= model.outdated(fill(part, data), data.images)
    if keys:
        message = "%s: %s answers in the cache are to pictures as earlier versions showed them, and are asked anew"
        _log.warning(message, model.name, f"{len(keys):,}")
