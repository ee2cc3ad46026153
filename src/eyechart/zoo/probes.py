"""Convert the contents of probes to arrays: words, images by number, and which regions are visible.

A picture that is removed or painted over (`image=blank`) has no visible regions; if it is painted over with the mean or
with noise, a region model likewise sees nothing. A region is visible if it is listed in `visible` (null: all are) and
the boxes of `hidden` cover at most half of it.
"""

import numpy as np
import polars as pl

from eyechart.base.errors import DataError
from eyechart.data.boxes import BoxLists, gather, overlaps
from eyechart.data.images import Images
from eyechart.zoo.arrays import Array, QuestionArrays
from eyechart.zoo.features import Features, frames_of
from eyechart.zoo.vocabulary import NetworkVocabulary, programs_of

COVERED = 0.5


def encode_probes(
    probes: pl.DataFrame, images: Images, vocabulary: NetworkVocabulary, features: Features
) -> QuestionArrays:
    """Convert filled probes to questions without targets."""
    shown = _without_removed(probes)
    numbers = features.number(shown["image"])
    n = probes.height
    return QuestionArrays(
        q=vocabulary.read(shown["question"]),
        image=numbers,
        answers=np.zeros((n, 1), np.int32),
        scores=np.zeros((n, 1), np.float32),
        qtype=vocabulary.number_types(shown["question"]),
        program=programs_of(shown["question"], vocabulary.word_numbers),
        cand=_options(probes, vocabulary),
        right=_no_scores(probes),
        seen=regions_in_sight(probes, images, features, numbers),
    )


def _without_removed(probes: pl.DataFrame) -> pl.DataFrame:
    removal = pl.col("removal").fill_null("") if "removal" in probes.columns else pl.lit("")
    return probes.select(
        pl.when(~removal.str.contains(f"{name}=", literal=True)).then(pl.col(name).cast(pl.String)).alias(name)
        for name in ("image", "question")
    )


def regions_in_sight(probes: pl.DataFrame, images: Images, features: Features, numbers: Array) -> Array | None:
    """Return which regions are visible, [M, N]; None if all are."""
    seen = np.ones((probes.height, features.regions.most), bool)
    if "visible" in probes.columns:
        if "objects" in images.table.columns:
            _check_objects(probes, images, features, numbers)
        seen &= _listed(probes["visible"], seen.shape)
    if "hidden" in probes.columns and probes["hidden"].list.len().max():
        seen &= ~_covered(probes, images, features, numbers)
    return None if seen.all() else seen


def _check_objects(probes: pl.DataFrame, images: Images, features: Features, numbers: Array) -> None:
    """Check that there are as many regions as objects, since `visible` refers to regions by object number."""
    counts = images.table.select("image", objects=pl.col("objects").list.len().fill_null(0))
    known = probes.select("image", "visible").with_columns(number=numbers).filter(pl.col("number") >= 0)
    known = known.drop_nulls("visible").join(counts, on="image", validate="m:1")
    regions = np.diff(features.regions.starts)[known["number"].to_numpy()]
    other = known.with_columns(regions=regions).filter(pl.col("objects") != pl.col("regions"))
    if other.height:
        image, n, own = other.select("image", "objects", "regions").row(0)
        advice = "use the boxes of the features as the objects of the data"
        raise DataError(f"as many regions as objects in image {image!r}", f"{own} and {n}", advice)


def _listed(visible: pl.Series, shape: tuple[int, ...]) -> Array:
    listed = np.zeros(shape, bool)
    listed[visible.is_null().to_numpy()] = True
    long = pl.DataFrame({"row": np.arange(len(visible)), "at": visible}).explode(
        "at", empty_as_null=False, keep_nulls=False
    )
    long = long.filter(pl.col("at") < shape[1])
    listed[long["row"].to_numpy(), long["at"].to_numpy()] = True
    return listed


def _covered(probes: pl.DataFrame, images: Images, features: Features, numbers: Array) -> Array:
    """Return which regions are more than half covered by hidden boxes, which do not overlap, so their areas add up."""
    regions, covered = features.regions, np.zeros((probes.height, features.regions.most), bool)
    frames = frames_of(images)
    if regions.boxes is None or frames is None:
        _check_listed(probes)
        return covered
    asked = probes.select("image", "hidden", row=pl.int_range(pl.len())).filter(pl.Series(numbers >= 0))
    long = asked.explode("hidden", empty_as_null=False, keep_nulls=False).join(
        frames, on="image", validate="m:1", maintain_order="left"
    )
    long = long.drop_nulls()
    frame = long.select("width", "height", pl.col("width").alias("w"), pl.col("height").alias("h")).to_numpy()
    row = long["row"].to_numpy()
    hidden = gather(np.arange(len(row)), long["hidden"].to_numpy() / frame, len(row))
    pairs = overlaps(hidden, BoxLists(regions.starts, np.asarray(regions.boxes, np.float64)), numbers[row], "seen")
    share = np.zeros(covered.shape)
    rows = row[pairs.rows]
    np.add.at(share, (rows, pairs.seen - regions.starts[numbers[rows]]), pairs.share)
    return np.asarray(share > COVERED)


def _check_listed(probes: pl.DataFrame) -> None:
    """Check that the visible regions are listed, as hiding boxes cannot be matched to regions here."""
    bare = probes.filter(pl.col("hidden").list.len() > 0)
    listed = bare["visible"].null_count() == 0 if "visible" in probes.columns else not bare.height
    if not listed:
        advice = "read data that have both, or use an audit that hides no parts of images"
        raise DataError("sizes of images and boxes of regions, as parts of images are hidden", "none", advice)


def _options(probes: pl.DataFrame, vocabulary: NetworkVocabulary) -> Array | None:
    return vocabulary.read_options(probes["choices"]) if "choices" in probes.columns else None


def _no_scores(probes: pl.DataFrame) -> Array | None:
    if "choices" not in probes.columns:
        return None
    return np.zeros((probes.height, int(probes["choices"].list.len().max() or 1)), np.float32)  # type: ignore[arg-type]
