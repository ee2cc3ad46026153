"""Judge by somebody's published test sets instead of making them.

Files in a folder or archive are known by their names: `OOD-Test-<S>-Ques.json` or `-Ans.json` (VQA-VS); the lists
`<S>_qid` of `test_annotations.json` (VQA-VS); `<name>_head.json` and `<name>_tail.json` (GQA-OOD: records by id; or
lists of ids). Any other JSON list or text file of ids is taken for the tail of a concept of the file's name.
"""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote

import polars as pl

from eyechart.audits.splits.audit import QUESTION, SplitsAudit
from eyechart.audits.splits.names import FAMILY, HEAD, NINE, TAIL
from eyechart.audits.splits.overlaps import overlap_tables
from eyechart.audits.splits.parts import JUDGED, Parts, take_parts
from eyechart.audits.splits.summary import CONCEPTS
from eyechart.audits.splits.views import VIEWS
from eyechart.dataset import Dataset
from eyechart.errors import DataError, FileFormatError
from eyechart.readers.source import Source, decode_json, find_sources
from eyechart.result import Result, Verdict, measures_table

AUTHORS = re.compile(r"^OOD-Test-(.+)-(?:Ques|Ans)$")
OTHERS = re.compile(r"^(?:IID-Test|Training|Val)-(?:Ques|Ans)$")
SIDED = re.compile(rf"^(.+)[-_ .]({HEAD}|{TAIL})$")
LISTED = {f"{name.replace('+', '')}_qid": name for name in NINE}
ID_FIELDS = ("question_id", "id")


class Listed(NamedTuple):
    """The ids of one side of a concept."""

    concept: str
    side: str
    ids: pl.Series


def study_published(audit: SplitsAudit, data: Dataset, place: Path) -> Result:
    """Label the judged examples by published sets."""
    parts = take_parts(data)
    lists = read_sets(place)
    rows = label_rows(parts, lists)
    concepts = list(dict.fromkeys(one.concept for one in lists))
    tails = rows.select(
        pl.when(pl.col(name) == TAIL).then(statement=True).when(pl.col(name) == HEAD).then(statement=False).alias(name)
        for name in concepts
    )
    judged = pl.repeat(JUDGED, rows.height, dtype=pl.String, eager=True)
    tables = {
        "counts": parts.counts,
        "notes": pl.DataFrame({"note": _notes(rows, lists, parts)}, schema={"note": pl.String}),
        "concepts": pl.DataFrame([_row(rows, name) for name in concepts], schema=CONCEPTS),
        **overlap_tables(judged, tails),
    }
    sets = ", ".join(f"{name} {int((rows[name] == TAIL).sum()):,}" for name in concepts)
    sentence = f"Published OOD test sets among {rows.height:,} examples: {sets}."
    return Result(
        audit=audit.name,
        subject=data.name,
        settings=audit.settings(),
        measures=measures_table([]),
        rows=rows,
        tables=tables,
        views=tuple(view for view in VIEWS if view.table in tables and tables[view.table].height),
        verdict=Verdict("not tested", QUESTION, "no model yet", sentence),
    )


def read_sets(place: Path) -> list[Listed]:
    """Read all the sets in a folder, archive or file; those of one concept and side are put together."""
    found = [one for source in find_sources(place, {".json", ".txt"}) for one in _read(source)]
    if not found:
        advice = "see docs/audits/splits.md for the names of the files"
        raise FileFormatError(f"lists of ids in {place}", "none", advice)
    keys = list(dict.fromkeys((one.concept, one.side) for one in found))
    return [
        Listed(*key, pl.concat([one.ids for one in found if (one.concept, one.side) == key]).unique().sort())
        for key in keys
    ]


def _read(source: Source) -> Iterator[Listed]:
    stem = unquote(PurePosixPath(source.name.removesuffix(".gz")).stem)
    if OTHERS.match(stem):
        return
    if source.suffix == ".txt":
        content: object = source.read().decode("utf-8", "replace").split()
    else:
        content = decode_json(source, source.read())
    if isinstance(content, dict) and any(name in content for name in LISTED):
        yield from (Listed(LISTED[name], TAIL, _ids(content[name], source)) for name in LISTED if name in content)
    elif published := AUTHORS.match(stem):
        yield Listed(published[1], TAIL, _ids(content, source))
    elif sided := SIDED.match(stem):
        yield Listed(sided[1], sided[2], _ids(content, source))
    else:
        yield Listed(stem, TAIL, _ids(content, source))


def _ids(content: object, source: Source) -> pl.Series:
    """Take ids from a list of them, a list of records, or records by id."""
    entries = list(content) if isinstance(content, dict | list) else [content]
    found = [_id(one) for one in entries]
    if None in found:
        advice = "give a list of ids, a list of records with question_id, or records by id"
        raise FileFormatError(f"ids in {source.name}", repr(entries[found.index(None)])[:80], advice)
    return pl.Series("id", found, dtype=pl.String)


def _id(entry: object) -> str | None:
    if isinstance(entry, dict):
        entry = next((entry[name] for name in ID_FIELDS if name in entry), None)
    return str(entry) if isinstance(entry, int | str) else None


def label_rows(parts: Parts, lists: list[Listed]) -> pl.DataFrame:
    """Say of each judged example which side of which concept it is on; a set without heads leaves the others null."""
    concepts = list(dict.fromkeys(one.concept for one in lists))
    sides = {name: pl.lit(None, pl.String) for name in concepts}
    for one in sorted(lists, key=lambda each: each.side):  # an id on both lists is tail
        inside = pl.col("id").is_in(one.ids.implode())
        sides[one.concept] = pl.when(inside).then(pl.lit(one.side)).otherwise(sides[one.concept])
    whole = pl.DataFrame([parts.data.examples["id"], parts.cluster.alias("cluster")]).filter(parts.part == JUDGED)
    rows = whole.with_columns(**sides)
    if not rows.select(pl.any_horizontal(pl.col(concepts).is_not_null().any())).item():
        ids = sum(len(one.ids) for one in lists)
        raise DataError("published sets of the judged examples", f"none of {ids} ids among them", "bring their data")
    return rows


def _notes(rows: pl.DataFrame, lists: list[Listed], parts: Parts) -> list[str]:
    known = rows["id"].implode()
    lost = [(one, int((~one.ids.is_in(known)).sum())) for one in lists]
    said = [f"{n} of {len(one.ids)} ids of {one.concept} {one.side} are not judged" for one, n in lost if n]
    return [*parts.notes, *said]


def _row(rows: pl.DataFrame, concept: str) -> dict[str, object]:
    head, tail = (int((rows[concept] == side).sum()) for side in (HEAD, TAIL))
    return {"concept": concept, "family": FAMILY.get(concept, "own"), "head": head, "tail": tail}
