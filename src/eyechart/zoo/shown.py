"""Turn what probes show into arrays: words, images by number, and which regions are in sight.

A picture that is left out, or painted over (`image=blank`), has no region in sight; where it is painted with the mean
or with noise a region model is shown the same: nothing. A region is in sight if it is listed in `visible` (null: all
are) and boxes of `hidden` cover at most half of it.
"""

import numpy as np
import polars as pl

from eyechart.boxes import Lists, gather, overlaps
from eyechart.dataset import Images
from eyechart.errors import DataError
from eyechart.zoo.arrays import Array, Questions
from eyechart.zoo.features import Features, frames_of
from eyechart.zoo.models.symbolic import OPERATIONS
from eyechart.zoo.programs import programs_of
from eyechart.zoo.vocabulary import Vocabulary

COVERED = 0.5


def encode_shown(shown: pl.DataFrame, images: Images, vocabulary: Vocabulary, features: Features) -> Questions:
    """Turn filled probes into questions without targets."""
    known = _without_removed(shown)
    numbers = features.number(known["image"])
    n = shown.height
    return Questions(
        q=vocabulary.read(known["question"]),
        image=numbers,
        answers=np.zeros((n, 1), np.int32),
        scores=np.zeros((n, 1), np.float32),
        qtype=vocabulary.number_types(known["question"]),
        program=programs_of(known["question"], vocabulary.word_numbers, OPERATIONS),
        cand=_options(shown, vocabulary),
        right=_no_scores(shown),
        seen=in_sight(shown, images, features, numbers),
    )


def _without_removed(shown: pl.DataFrame) -> pl.DataFrame:
    removal = pl.col("removal").fill_null("") if "removal" in shown.columns else pl.lit("")
    return shown.select(
        pl.when(~removal.str.contains(f"{name}=", literal=True)).then(pl.col(name).cast(pl.String)).alias(name)
        for name in ("image", "question")
    )


def in_sight(shown: pl.DataFrame, images: Images, features: Features, numbers: Array) -> Array | None:
    """Tell which regions are in sight, [M, N]; None where all are."""
    seen = np.ones((shown.height, features.regions.most), bool)
    if "visible" in shown.columns:
        if "objects" in images.table.columns:
            _check_objects(shown, images, features, numbers)
        seen &= _listed(shown["visible"], seen.shape)
    if "hidden" in shown.columns and shown["hidden"].list.len().max():
        seen &= ~_covered(shown, images, features, numbers)
    return None if seen.all() else seen


def _check_objects(shown: pl.DataFrame, images: Images, features: Features, numbers: Array) -> None:
    """Refuse to count regions by objects that are others: a list of what is visible would hide anything."""
    counts = images.table.select("image", objects=pl.col("objects").list.len().fill_null(0))
    known = shown.select("image", "visible").with_columns(number=numbers).filter(pl.col("number") >= 0)
    known = known.drop_nulls("visible").join(counts, on="image", validate="m:1")
    regions = np.diff(features.regions.starts)[known["number"].to_numpy()]
    other = known.with_columns(regions=regions).filter(pl.col("objects") != pl.col("regions"))
    if other.height:
        image, n, own = other.select("image", "objects", "regions").row(0)
        advice = "give the data the boxes that the features are of as their objects"
        raise DataError(f"as many regions as objects in image {image!r}", f"{own} and {n}", advice)


def _listed(visible: pl.Series, shape: tuple[int, ...]) -> Array:
    found = np.zeros(shape, bool)
    found[visible.is_null().to_numpy()] = True
    long = pl.DataFrame({"row": np.arange(len(visible)), "at": visible}).explode(
        "at", empty_as_null=False, keep_nulls=False
    )
    long = long.filter(pl.col("at") < shape[1])
    found[long["row"].to_numpy(), long["at"].to_numpy()] = True
    return found


def _covered(shown: pl.DataFrame, images: Images, features: Features, numbers: Array) -> Array:
    """Tell which regions hidden boxes cover by more than half; boxes of one probe do not overlap, so areas add up."""
    regions, found = features.regions, np.zeros((shown.height, features.regions.most), bool)
    frames = frames_of(images)
    if regions.boxes is None or frames is None:
        _check_listed(shown)
        return found
    asked = shown.select("image", "hidden", row=pl.int_range(pl.len())).filter(pl.Series(numbers >= 0))
    long = asked.explode("hidden", empty_as_null=False, keep_nulls=False).join(
        frames, on="image", validate="m:1", maintain_order="left"
    )
    long = long.drop_nulls()
    frame = long.select("width", "height", pl.col("width").alias("w"), pl.col("height").alias("h")).to_numpy()
    row = long["row"].to_numpy()
    each = gather(np.arange(len(row)), long["hidden"].to_numpy() / frame, len(row))
    pairs = overlaps(each, Lists(regions.starts, np.asarray(regions.boxes, np.float64)), numbers[row], "seen")
    share = np.zeros(found.shape)
    rows = row[pairs.rows]
    np.add.at(share, (rows, pairs.seen - regions.starts[numbers[rows]]), pairs.share)
    return np.asarray(share > COVERED)


def _check_listed(shown: pl.DataFrame) -> None:
    """Refuse boxes that hide nobody knows which regions, unless a list says which ones are left."""
    bare = shown.filter(pl.col("hidden").list.len() > 0)
    listed = bare["visible"].null_count() == 0 if "visible" in shown.columns else not bare.height
    if not listed:
        advice = "read data that tell both, or use an audit that hides no part of an image"
        raise DataError("sizes of images and boxes of regions, as parts of images are hidden", "none", advice)


def _options(shown: pl.DataFrame, vocabulary: Vocabulary) -> Array | None:
    return vocabulary.read_options(shown["choices"]) if "choices" in shown.columns else None


def _no_scores(shown: pl.DataFrame) -> Array | None:
    if "choices" not in shown.columns:
        return None
    return np.zeros((shown.height, int(shown["choices"].list.len().max() or 1)), np.float32)  # type: ignore[arg-type]
