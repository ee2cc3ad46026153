"""Find what makes a reading doubtful: it looks plausible, but may not be what the file means.

`read` warns of each doubt; the command line stops.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl

from eyechart.base.errors import ReadingWarning
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images, picture_paths
from eyechart.data.tables import EXAMPLES
from eyechart.data.web import is_address
from eyechart.formats.names import looks_like_models, plain_name
from eyechart.formats.rows import READ_BEFORE

LOST = 0.05  # share of the rows; one row alone is no sign of a misread file, however small that is
AGREES = (0.05, 0.95)  # share of the rows in which a model may give the reference letter by letter
SAMPLE = 2_000  # rows that are compared
FEWEST, DIFFERENT = 20, 10  # of these rows, and of the texts in which they agree
_MEMBER = re.compile(r"(.*?)[ _-]?(?:\d\d?|[A-Ha-h])$")
_SMALL = r"^\s*\d\d?\s*$"


def find_doubts(data: Dataset, settings: Mapping[str, object]) -> list[ReadingWarning]:
    """List what is doubtful about data that were read from a file."""
    columns = list(data.columns)
    found = [_lost_rows(data), _lost_options(data), _lost_pictures(data, settings)]
    origin = data.layout.get("answer", "").split(" (")[0]
    if plain_name(origin) == "answer" and "answer" not in _mapped(settings):
        found.append(_beside_a_model(data, columns))
    if data.layout and "choices" not in columns:
        found.append(_unused_options(data, columns))
    return [doubt for doubt in found if doubt is not None]


def lost_rows(counts: pl.DataFrame, origin: str, advice: str) -> ReadingWarning | None:
    """Return the doubt about a file of which too many rows, and more than one, were dropped."""
    is_lost = (pl.col("status") == "dropped") & ~pl.col("reason").fill_null("").str.ends_with(READ_BEFORE)
    lost = counts.filter(is_lost).sort("n", descending=True)
    n, read = int(lost["n"].sum()), int(counts.filter(pl.col("status") == "read")["n"].sum())
    if n <= max(LOST * (n + read), 1):
        return None
    found = f"{n:,} of {n + read:,} rows dropped, most of them because of: {lost['reason'][0]}"
    return ReadingWarning(f"at least {1 - LOST:.0%} of the rows of {origin}", found, advice)


def _lost_rows(data: Dataset) -> ReadingWarning | None:
    unique = data.layout.get("unique id")
    advice = f"join columns to an id that tells all rows apart, as in `--id {unique}`" if unique else "check the file"
    return lost_rows(data.counts, data.name, advice)


def _lost_options(data: Dataset) -> ReadingWarning | None:
    lost = data.counts.filter(pl.col("reason") == "value of 'choices' that cannot be read, left out")["n"].sum()
    if lost <= LOST * data.height:
        return None
    advice = "write them as lists, or say which columns hold them, as in `--map choices=a,b,c`"
    return ReadingWarning(f"options that can be read in {data.name}", f"{lost:,} rows with others", advice)


def _lost_pictures(data: Dataset, settings: Mapping[str, object]) -> ReadingWarning | None:
    if settings.get("images") is None:
        return None
    n = data.images.kept.height
    missing = data.counts.filter(pl.col("reason") == "image without a picture file")["n"].sum()
    if not n or missing < n:
        return None
    found = f"none of {n:,}, such as {data.images.kept.lazy().select('image').head(1).collect().item()!r}"
    return ReadingWarning(f"the pictures of {data.name} in {settings['images']}", found, "check the folder's path")


def no_pictures(images: Images) -> bool:
    """Return whether images are named, but no picture of any of them is there."""
    if not images.kept.height:
        return False
    if "path" not in images.kept.columns:
        return True
    return not any(is_address(path) or Path(path).is_file() for path in picture_paths(images)["path"].drop_nulls())


def _beside_a_model(data: Dataset, columns: Iterable[str]) -> ReadingWarning | None:
    texts = [name for name in columns if data.columns[name] == pl.String and name not in EXAMPLES.columns]
    others = [name for name in texts if looks_like_models(name)] or _resembling(data, texts)
    if not others:
        return None
    advice = f"say which holds the references, such as `--map answer=answer` or `--map answer={others[0]}`"
    found = f"answer and {' and '.join(others)}, of which one may be a model's"
    return ReadingWarning(f"one column with the references of {data.name}", found, advice)


def _resembling(data: Dataset, texts: Sequence[str]) -> list[str]:
    """Name the columns that often, but not always, hold the reference, and not only a few frequent ones by chance."""
    rows = data.scan("answer", *texts).filter(pl.col("answer").is_not_null()).head(SAMPLE).collect()
    if rows.height < FEWEST:
        return []
    same = {name: rows.filter(pl.col(name) == pl.col("answer"))["answer"] for name in texts}
    return [
        name
        for name, agreed in same.items()
        if AGREES[0] <= len(agreed) / rows.height <= AGREES[1] and agreed.n_unique() >= DIFFERENT
    ]


def _unused_options(data: Dataset, columns: Iterable[str]) -> ReadingWarning | None:
    """Doubt open answers that are all small numbers beside columns that may be the options they count."""
    families: dict[str, list[str]] = {}
    for name in columns:
        match = _MEMBER.match(name)
        if match and data.columns[name] == pl.String and name not in ("id", "image", "question", "answer"):
            families.setdefault(match[1].lower(), []).append(name)
    options = max(families.values(), key=len, default=[])
    if len(options) < 2:
        return None
    answers = data.scan("answer").select(pl.col("answer").drop_nulls()).collect().to_series()
    if not len(answers) or not answers.str.contains(_SMALL).all():
        return None
    advice = f"say which columns are options, as in `--map choices={','.join(options)}`"
    found = f"small numbers alone, beside the unused columns {', '.join(options)}"
    return ReadingWarning(f"answers of {data.name} as texts", found, advice)


def _mapped(settings: Mapping[str, object]) -> Mapping[str, object]:
    chosen = settings.get("map")
    return chosen if isinstance(chosen, Mapping) else {}
