"""Lay out the results that no script lays out itself: timings and studies that are recorded, not made again at will."""

from collections.abc import Iterable
from functools import partial

from record import Row
from scale_figures import lay_out as lay_out_curves
from tables import Layout


def _lay_out_study(rows: list[Row]) -> Iterable[str]:
    from zoo_table import lay_out  # wants torch

    return lay_out(rows)


LAYOUTS: dict[str, dict[str, Layout]] = {
    "scale": {"cpu": partial(lay_out_curves, what="cpu"), "mb": partial(lay_out_curves, what="mb")},
    "zoo": {"": _lay_out_study},
}
