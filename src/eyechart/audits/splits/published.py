"""Published test sets, which replace a study's own, and the scores of the authors' scripts.

Files in a folder or archive are recognised by their names: `OOD-Test-<S>-Ques.json` or `-Ans.json` (VQA-VS); the lists
`<S>_qid` of `test_annotations.json` (VQA-VS); `<name>_head.json` and `<name>_tail.json` (GQA-OOD: records by id; or
lists of ids). Any other JSON list or text file of ids is the tail of a concept named after the file.

With `published="vqa-vs"` scores are those of the authors' scripts. The vocabulary holds the normalised reference
answers with at least nine train examples. The score of an answer is min(1, count / 3) over the raw human answers that
are in the vocabulary: a right answer outside it scores 0, and the model's answer is not normalised. A set's score is in
points, rounded to two decimals, and means are of rounded scores.
"""

import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote

import polars as pl

from eyechart.audits.splits.settings import FAMILIES, FAMILY, HEAD, JUDGED, NINE, QUESTION, TAIL, SplitsSettings
from eyechart.audits.splits.study import PartedData
from eyechart.audits.splits.tables import CONCEPTS, overlap_tables
from eyechart.audits.splits.views import VIEWS
from eyechart.base.errors import DataError, FileFormatError
from eyechart.base.text import clean_answer, normalize_answer
from eyechart.data.dataset import Dataset
from eyechart.data.result import Measure, Result, Verdict, measures_table
from eyechart.formats.sources import SourceFile, decode_json, find_sources

AUTHORS = re.compile(r"^OOD-Test-(.+)-(?:Ques|Ans)$")
OTHERS = re.compile(r"^(?:IID-Test|Training|Val)-(?:Ques|Ans)$")
SIDED = re.compile(rf"^(.+)[-_ .]({HEAD}|{TAIL})$")
LISTED = {f"{name.replace('+', '')}_qid": name for name in NINE}
ID_FIELDS = ("question_id", "id")
SCORE = "count3"
LEAST = 9  # train examples of an answer in the vocabulary
OUTSIDE = "\N{REPLACEMENT CHARACTER} outside the vocabulary"  # what no model says


class PublishedSet(NamedTuple):
    """The ids of one side of a concept."""

    concept: str
    side: str
    ids: pl.Series


def study_published(settings: SplitsSettings, data: Dataset, path: Path) -> Result:
    """Label the judged examples by published sets."""
    parts = PartedData.of(data)
    lists = read_sets(path)
    rows = label_rows(parts, lists)
    concepts = list(dict.fromkeys(one.concept for one in lists))
    tails = rows.select(
        pl.when(pl.col(name) == TAIL).then(statement=True).when(pl.col(name) == HEAD).then(statement=False).alias(name)
        for name in concepts
    )
    judged = pl.repeat(JUDGED, rows.height, dtype=pl.String, eager=True)
    tables = {
        "counts": parts.counts(),
        "notes": pl.DataFrame({"note": _notes(rows, lists, parts)}, schema={"note": pl.String}),
        "concepts": pl.DataFrame([_row(rows, name) for name in concepts], schema=CONCEPTS),
        **overlap_tables(judged, tails),
    }
    sets = ", ".join(f"{name} {int((rows[name] == TAIL).sum()):,}" for name in concepts)
    sentence = f"Published OOD test sets among {rows.height:,} examples: {sets}."
    return Result(
        audit=settings.name,
        subject=data.name,
        settings=asdict(settings),
        measures=measures_table([]),
        rows=rows,
        tables=tables,
        views=tuple(view for view in VIEWS if view.table in tables and tables[view.table].height),
        verdict=Verdict("not tested", QUESTION, "no model yet", sentence),
    )


def read_sets(path: Path) -> list[PublishedSet]:
    """Read all sets in a folder, archive or file; those of the same concept and side are merged."""
    lists = [published for source in find_sources(path, {".json", ".txt"}) for published in _read(source)]
    if not lists:
        advice = "see docs/audits/splits.md for the names of the files"
        raise FileFormatError(f"lists of ids in {path}", "none", advice)
    keys = list(dict.fromkeys((published.concept, published.side) for published in lists))
    return [
        PublishedSet(
            *key,
            pl.concat([published.ids for published in lists if (published.concept, published.side) == key])
            .unique()
            .sort(),
        )
        for key in keys
    ]


def _read(source: SourceFile) -> Iterator[PublishedSet]:
    stem = unquote(PurePosixPath(source.name.removesuffix(".gz")).stem)
    if OTHERS.match(stem):
        return
    if source.suffix == ".txt":
        content: object = source.read().decode("utf-8", "replace").split()
    else:
        content = decode_json(source, source.read())
    if isinstance(content, dict) and any(name in content for name in LISTED):
        yield from (PublishedSet(LISTED[name], TAIL, _ids(content[name], source)) for name in LISTED if name in content)
    elif published := AUTHORS.match(stem):
        yield PublishedSet(published[1], TAIL, _ids(content, source))
    elif sided := SIDED.match(stem):
        yield PublishedSet(sided[1], sided[2], _ids(content, source))
    else:
        yield PublishedSet(stem, TAIL, _ids(content, source))


def _ids(content: object, source: SourceFile) -> pl.Series:
    """Return the ids in a list of ids, a list of records, or records by id."""
    entries = list(content) if isinstance(content, dict | list) else [content]
    ids = [_id(entry) for entry in entries]
    if None in ids:
        advice = "give a list of ids, a list of records with question_id, or records by id"
        raise FileFormatError(f"ids in {source.name}", repr(entries[ids.index(None)])[:80], advice)
    return pl.Series("id", ids, dtype=pl.String)


def _id(entry: object) -> str | None:
    if isinstance(entry, dict):
        entry = next((entry[name] for name in ID_FIELDS if name in entry), None)
    return str(entry) if isinstance(entry, int | str) else None


def label_rows(parts: PartedData, lists: list[PublishedSet]) -> pl.DataFrame:
    """List the side of each judged example for each concept; a set without heads leaves other examples null."""
    concepts = list(dict.fromkeys(published.concept for published in lists))
    sides = {name: pl.lit(None, pl.String) for name in concepts}
    for published in sorted(lists, key=lambda each: each.side):  # an id on both lists is tail
        listed = pl.col("id").is_in(published.ids.implode())
        sides[published.concept] = pl.when(listed).then(pl.lit(published.side)).otherwise(sides[published.concept])
    judged = pl.DataFrame([parts.data.examples["id"], parts.cluster.alias("cluster")]).filter(parts.part == JUDGED)
    rows = judged.with_columns(**sides)
    if not rows.select(pl.any_horizontal(pl.col(concepts).is_not_null().any())).item():
        ids = sum(len(published.ids) for published in lists)
        advice = "read the data that the sets were made of"
        raise DataError("published sets of the judged examples", f"none of {ids} ids among them", advice)
    return rows


def _notes(rows: pl.DataFrame, lists: list[PublishedSet], parts: PartedData) -> list[str]:
    judged = rows["id"].implode()
    not_found = [(published, int((~published.ids.is_in(judged)).sum())) for published in lists]
    not_judged = [
        f"{n} of {len(published.ids)} ids of {published.concept} {published.side} are not judged"
        for published, n in not_found
        if n
    ]
    return [*parts.notes(), *not_judged]


def _row(rows: pl.DataFrame, concept: str) -> dict[str, object]:
    head, tail = (int((rows[concept] == side).sum()) for side in (HEAD, TAIL))
    return {"concept": concept, "family": FAMILY.get(concept, "own"), "head": head, "tail": tail}


def within_vocabulary(examples: pl.DataFrame, train: pl.DataFrame) -> pl.DataFrame:
    """Keep the human answers in the vocabulary of train; a score then counts them unnormalised."""
    if "answers" not in examples.columns or not train.height:
        found = "no human answers" if "answers" not in examples.columns else "no train split"
        raise DataError("several human answers and a train split for published='vqa-vs'", found, "leave out published")
    normal = normalize_answer(clean_answer(pl.col("answer"))).str.replace_all(",", "", literal=True)
    counts = train.select(normal).to_series().value_counts(name="n")
    vocabulary = counts.filter(pl.col("n") >= LEAST)["answer"].to_list()
    kept_or_outside = pl.when(pl.element().is_in(vocabulary)).then(pl.element()).otherwise(pl.lit(OUTSIDE))
    return examples.with_columns(pl.col("answers").list.eval(kept_or_outside))


def release_table(measures: list[Measure]) -> pl.DataFrame:
    """List the scores rounded as the authors print them: IID, the nine sets, and the means."""
    accuracies = {(measure.by, measure.group): measure.value for measure in measures if measure.name == "accuracy"}
    scores = {name: round(100 * accuracies[name, TAIL], 2) for name in NINE if (name, TAIL) in accuracies}
    means = {"mean": tuple(scores), **FAMILIES}
    of = {name: [scores[measure] for measure in sets if measure in scores] for name, sets in means.items()}
    averaged = {name: round(sum(values) / len(values), 2) for name, values in of.items() if values}
    every = {"IID": round(100 * accuracies[None, None], 2), **scores, **averaged}
    return pl.DataFrame({"set": list(every), "score": list(every.values())})
