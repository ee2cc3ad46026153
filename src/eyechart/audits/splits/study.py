"""Put a study together: parts, concepts, groups, labels, tables."""

from dataclasses import dataclass

import polars as pl

from eyechart.audits.measuring import measured
from eyechart.audits.splits.audit import QUESTION, SplitsAudit
from eyechart.audits.splits.concepts import Choices, Labelled, label_examples
from eyechart.audits.splits.groups import Cut, Grouped, count_answers, group_counts, sides
from eyechart.audits.splits.names import HEAD, TAIL, VAL, parts_of
from eyechart.audits.splits.overlaps import overlap_tables
from eyechart.audits.splits.parts import JUDGED, TRAIN, VALIDATION, Parts, judged_rows, take_parts
from eyechart.audits.splits.shown import answers_table, examples_table
from eyechart.audits.splits.summary import concepts_table, groups_table
from eyechart.audits.splits.views import study_views
from eyechart.dataset import Dataset
from eyechart.engines.local import Local
from eyechart.probes import OWN
from eyechart.protocols import Engine
from eyechart.result import Measure, Result, Verdict, measures_table
from eyechart.statistics import mean


@dataclass(frozen=True)
class Studied:
    """What the study found: concepts, their groups, and whether each example is tail (true) or head (false)."""

    parts: Parts
    labelled: Labelled
    grouped: dict[str, Grouped]
    tails: pl.DataFrame  # a column for each concept, in the order of the examples


def study_data(audit: SplitsAudit, data: Dataset, engine: Engine) -> Result:
    """Study the data and lay out what was found."""
    named = (part for concept in audit.concepts for part in parts_of(concept))
    found = find_splits(audit, data.only("split", "question_type", *named), engine)
    rows = rows_table(found, validation=audit.validation)
    notes = [*found.parts.notes, *found.labelled.notes, *_empty_sets(found)]
    tables = {
        "counts": found.parts.counts,
        "notes": pl.DataFrame({"note": notes}, schema={"note": pl.String}),
        "concepts": concepts_table(found.parts.part, found.labelled.table, found.grouped),
        "groups": groups_table(found.grouped),
        "labels": labels_table(found, validation=audit.validation),
        "answers": answers_table(found.parts, found.labelled.table, found.grouped, audit.group),
        "shown": examples_table(found.parts, found.labelled.table),
        **overlap_tables(found.parts.part, found.tails),
    }
    measures = measure_shares(rows, audit.concepts)
    key = measures[0].key if measures else None
    return Result(
        audit=audit.name,
        subject=data.name,
        settings=audit.settings(),
        measures=measures_table(measures),
        rows=rows,
        tables=tables,
        views=study_views(tables),
        verdict=Verdict("not tested", QUESTION, "no model yet", _say(found, tables), key),
    )


def find_splits(audit: SplitsAudit, data: Dataset, engine: Engine | None = None) -> Studied:
    """Name the concepts, group, and mark heads and tails in every part."""
    engine = engine or Local()
    parts = take_parts(data)
    choices = Choices(*(getattr(audit, name) for name in Choices._fields))
    labelled = label_examples(parts.data, audit.concepts, choices, counted_rows(parts.part, audit.counted), engine)
    cut = Cut(None if isinstance(audit.threshold, str) else audit.threshold, audit.alpha)
    examples = labelled.table.with_columns(parts.part, parts.data.examples["answer"])
    counts = count_answers(examples, audit.concepts, engine)
    grouped = {concept: group_counts(one, cut) for concept, one in counts.items()}
    tails = {
        concept: sides(examples.select("part", pl.col(concept).alias("group"), "answer"), one)
        for concept, one in grouped.items()
    }
    return Studied(parts, labelled, grouped, pl.DataFrame(tails))


def counted_rows(part: pl.Series, counted: str) -> pl.Series:
    """Mark the examples that f of Eq. 6 counts."""
    wanted = {"train": TRAIN, "judged": JUDGED}
    if counted in wanted:
        return (part == wanted[counted]).fill_null(value=False)
    return pl.repeat(value=True, n=len(part), eager=True)


def rows_table(found: Studied, *, validation: bool) -> pl.DataFrame:
    """Say of each judged example whether it is head or tail of each concept, and the same of val where asked."""
    said = found.tails.select(
        pl.when(pl.all()).then(pl.lit(TAIL)).when(~pl.all()).then(pl.lit(HEAD)).otherwise(None).name.keep()
    )
    whole = pl.DataFrame([found.parts.data.examples["id"], found.parts.cluster.alias("cluster"), found.parts.part])
    whole = whole.hstack(said)
    judged = whole.filter(pl.col("part") == JUDGED)
    if not validation:
        return judged.drop("part")
    names = {name: VAL + name for name in found.tails.columns}
    return pl.concat([judged, whole.filter(pl.col("part") == VALIDATION).rename(names)], how="diagonal")


def labels_table(found: Studied, *, validation: bool) -> pl.DataFrame:
    """List the concepts of the examples that will be asked, which the paper did not release."""
    asked = [JUDGED, VALIDATION] if validation else [JUDGED]
    ids = found.parts.data.examples.select(pl.col("id").alias("example"))
    return ids.hstack(found.labelled.table).filter(found.parts.part.is_in(asked).fill_null(value=False))


def measure_shares(rows: pl.DataFrame, concepts: tuple[str, ...]) -> list[Measure]:
    """Measure the share of the judged examples that each OOD test set takes."""
    judged = judged_rows(rows)
    if not judged.height:
        return []
    return [
        measured(
            f"tail share, {concept}",
            mean((judged[concept] == TAIL).fill_null(value=False).cast(pl.Float64), judged["cluster"]),
            of=None,
            condition=OWN,
            score="share",
            better="neither",
        )
        for concept in concepts
    ]


def _empty_sets(found: Studied) -> list[str]:
    judged = found.tails.filter(found.parts.part == JUDGED)
    empty = [name for name in judged.columns if not judged[name].any()]
    return [f"no OOD test set for {', '.join(empty)}: no imbalanced group with a rare answer"] if empty else []


def _say(found: Studied, tables: dict[str, pl.DataFrame]) -> str:
    sizes = tables["concepts"].select("concept", "tail").iter_rows()
    judged = int((found.parts.part == JUDGED).sum())
    said = ", ".join(f"{concept} {n:,}" for concept, n in sizes)
    return "; ".join([f"OOD test sets among {judged:,} judged examples: {said}", *tables["notes"]["note"]]) + "."
