"""Figure 5: how much the shortcuts have in common."""

import numpy as np
import polars as pl

from eyechart.audits.splits.parts import JUDGED, TRAIN
from eyechart.statistics.rows import Floats


def overlap_tables(part: pl.Series, tails: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Compare the heads of train (else of what is judged) and the OOD test sets, each concept with each.

    jaccard: examples in both heads / in either. coincidence: the share of the test set `of` that is in `with` too.
    Both hold of the sets as they are: n of `among` examples, nothing is estimated.
    """
    where = part == (TRAIN if (part == TRAIN).any() else JUDGED)
    heads = tails.filter(where).select((~pl.all()).fill_null(value=False))
    ood = tails.filter(part == JUDGED).select(pl.all().fill_null(value=False))
    in_heads, in_ood = _common(heads), _common(ood)
    sizes = np.diag(in_heads)
    either = sizes[:, None] + sizes[None, :] - in_heads
    return {
        "jaccard": _long(tails.columns, in_heads, either),
        "coincidence": _long(tails.columns, in_ood, np.diag(in_ood)[:, None] * np.ones_like(in_ood)),
    }


def _common(flags: pl.DataFrame) -> Floats:
    """Count the rows in which each two columns hold."""
    table = flags.to_numpy().astype(np.float32)  # whole numbers up to 2^24 are exact
    parts = [table[at : at + 1_000_000] for at in range(0, len(table), 1_000_000)]
    none = np.zeros((flags.width, flags.width))
    return np.asarray(np.sum([none, *((one.T @ one).astype(np.float64) for one in parts)], axis=0))


def _long(names: list[str], common: Floats, whole: Floats) -> pl.DataFrame:
    n = len(names)
    share = np.divide(common, whole, out=np.full((n, n), np.nan), where=whole > 0)
    return pl.DataFrame(
        {
            "of": [name for name in names for _ in names],
            "with": names * n,
            "n": common.ravel().astype(np.int64),
            "among": whole.ravel().astype(np.int64),
            "share": pl.Series(share.ravel()).fill_nan(None),
        }
    )
