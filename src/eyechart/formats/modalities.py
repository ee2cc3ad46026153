"""Declare columns of a dataset as modalities, such as the name of a video or a sound, and the column of its clusters.

Such a column says which examples share what is seen or heard. So it can be taken from another example, and 900 videos
with three questions each are 900 clusters.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import polars as pl

from eyechart.base.errors import SettingError
from eyechart.base.registry import unknown_name
from eyechart.data.dataset import Dataset
from eyechart.data.tables import EXAMPLES
from eyechart.formats.columns import as_key
from eyechart.formats.rows import count_table, noted

IMAGE = "image"


def declare(data: Dataset, modalities: Mapping[str, str] = MappingProxyType({}), cluster: str | None = None) -> Dataset:
    """Add modalities (our name: the column that holds it), and set the cluster.

    Data without any image are then not about images: the modality `image` is left out, and the first new modality is
    the cluster unless another column is named.
    """
    examples = data.examples.with_columns(_modality(data, name, column) for name, column in modalities.items())
    if cluster is not None and cluster not in examples.columns:
        raise unknown_name("column of clusters", cluster, tuple(examples.columns))
    imageless = bool(modalities) and examples[IMAGE].is_null().all()
    kept = (name for name in data.modalities if name not in modalities and not (imageless and name == IMAGE))
    own = next(iter(modalities)) if imageless and data.cluster == IMAGE else data.cluster
    notes = count_table([noted(f"row without a value of {name!r}", examples[name].null_count()) for name in modalities])
    return replace(
        data,
        examples=examples,
        modalities=(*modalities, *kept),
        cluster=cluster or own,
        counts=pl.concat([data.counts, notes.select(data.counts.columns)]),
    )


def _modality(data: Dataset, name: str, column: str) -> pl.Series:
    if name in EXAMPLES.columns:
        advice = "choose another name, or map the column when reading"
        raise SettingError("the name of a modality", f"{name!r}, which is a column of every dataset", advice)
    if column not in data.columns:
        raise unknown_name(f"column for the modality {name!r}", column, tuple(data.columns))
    values = data.examples[column]
    if values.dtype.is_nested():  # such as features of it
        return values.alias(name)
    keys = as_key(values, data.name)
    return keys.set(keys.str.strip_chars() == "", None).alias(name)
