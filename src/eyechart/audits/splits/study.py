"""The study of the data alone: divide the examples, find concepts and groups, and mark heads and tails.

The examples are in parts: train is what is learned from, whatever its splits are called; val is the split of that name
if it is not judged; judged is what models are asked about.
"""

from dataclasses import asdict, dataclass, replace
from typing import Self

import polars as pl

from eyechart.audits.measures import make_measure
from eyechart.audits.splits.concepts import GroupedAnswers, count_answers, label_examples
from eyechart.audits.splits.settings import (
    HEAD,
    JUDGED,
    QUESTION,
    TAIL,
    TRAIN,
    VAL,
    VALIDATION,
    SplitsSettings,
    parts_of,
)
from eyechart.audits.splits.tables import answers_table, concepts_table, examples_table, groups_table, overlap_tables
from eyechart.audits.splits.views import study_views
from eyechart.data.dataset import Dataset
from eyechart.data.probes import PLAIN_CONDITION
from eyechart.data.protocols import Engine
from eyechart.data.result import Measure, Result, Verdict, measures_table
from eyechart.data.tables import COUNTS, empty
from eyechart.engines import Local
from eyechart.statistics import mean


@dataclass(frozen=True)
class PartedData:
    """The examples with a reference answer, sorted by id, with the part (null: none) and the cluster of each."""

    data: Dataset
    part: pl.Series
    cluster: pl.Series
    unanswered: int  # examples left out because they have no reference answer

    @classmethod
    def of(cls, data: Dataset) -> Self:
        """Put each example into its part."""
        learn, judged = data.divided(learns=False)
        examples = answered(data)
        part = name_parts(examples, learn, judged.examples["id"])
        return cls(examples, part, examples.clusters(), data.height - examples.height)

    def counts(self) -> pl.DataFrame:
        """Count the examples of each part and those left out."""
        left_out = {"in another split": self.part.null_count(), "no reference answer": self.unanswered}
        rows = [
            *((None, name, None, int((self.part == name).sum())) for name in (JUDGED, TRAIN, VALIDATION)),
            *((None, "left out", reason, n) for reason, n in left_out.items()),
        ]
        return pl.DataFrame(rows, schema=empty(COUNTS).schema, orient="row").filter(pl.col("n") > 0)

    def notes(self) -> list[str]:
        """Warn where there is nothing to learn from, or where learned and judged examples share images."""
        learned = self.cluster.filter(self.part == TRAIN).unique()
        notes = []
        if not len(learned):
            notes.append("no split to learn from: imbalance and heads are taken from the judged examples")
        shared = self.cluster.filter(self.part == JUDGED).unique().is_in(learned.implode()).sum()
        if shared:
            notes.append(f"{shared} judged {self.data.cluster}s are also among those learned from")
        return notes


@dataclass(frozen=True)
class SplitsStudy:
    """Concepts, their groups, and whether each example is in the tail (true) or head (false) of each concept."""

    parts: PartedData
    labels: pl.DataFrame  # the concepts, in the order of the examples
    label_notes: tuple[str, ...]
    grouped: dict[str, GroupedAnswers]
    tails: pl.DataFrame  # a column for each concept, in the order of the examples

    def rows(self, *, validation: bool) -> pl.DataFrame:
        """List whether each judged example is in the head or tail of each concept, and the same for val if asked."""
        side = pl.when(pl.all()).then(pl.lit(TAIL)).when(~pl.all()).then(pl.lit(HEAD)).otherwise(None).name.keep()
        ids = pl.DataFrame([self.parts.data.examples["id"], self.parts.cluster.alias("cluster"), self.parts.part])
        sides = ids.hstack(self.tails.select(side))
        judged = sides.filter(pl.col("part") == JUDGED)
        if not validation:
            return judged.drop("part")
        names = {name: VAL + name for name in self.tails.columns}
        return pl.concat([judged, sides.filter(pl.col("part") == VALIDATION).rename(names)], how="diagonal")

    def asked_labels(self, *, validation: bool) -> pl.DataFrame:
        """List the concepts of the examples to be asked, which the paper did not release."""
        parts = [JUDGED, VALIDATION] if validation else [JUDGED]
        ids = self.parts.data.examples.select(pl.col("id").alias("example"))
        return ids.hstack(self.labels).filter(self.parts.part.is_in(parts).fill_null(value=False))

    def notes(self) -> list[str]:
        """Collect notes for the reader about parts, concepts and sets."""
        judged = self.tails.filter(self.parts.part == JUDGED)
        missing = ", ".join(name for name in judged.columns if not judged[name].any())
        empty_sets = [f"no OOD test set for {missing}: no imbalanced group with a rare answer"] if missing else []
        return [*self.parts.notes(), *self.label_notes, *empty_sets]


def study_data(settings: SplitsSettings, data: Dataset, engine: Engine) -> Result:
    """Study the data and present the findings as tables."""
    columns = (part for concept in settings.concepts for part in parts_of(concept))
    study = find_splits(settings, data.only("split", "question_type", *columns), engine)
    parts, examples = study.parts, study.parts.data.examples
    rows = study.rows(validation=settings.validation)
    parted = examples.select(parts.part.alias("part"), parts.cluster.alias("cluster"), "answer")
    tables = {
        "counts": parts.counts(),
        "notes": pl.DataFrame({"note": study.notes()}, schema={"note": pl.String}),
        "concepts": concepts_table(parts.part, study.labels, study.grouped),
        "groups": groups_table(study.grouped),
        "labels": study.asked_labels(validation=settings.validation),
        "answers": answers_table(parted, study.labels, study.grouped, settings.group),
        "shown": examples_table(examples, parts.part, study.labels),
        **overlap_tables(parts.part, study.tails),
    }
    measures = measure_shares(rows, settings.concepts)
    key = measures[0].key if measures else None
    return Result(
        audit=settings.name,
        subject=data.name,
        settings=asdict(settings),
        measures=measures_table(measures),
        rows=rows,
        tables=tables,
        views=study_views(tables),
        verdict=Verdict("not tested", QUESTION, "no model yet", _sentence(tables, judged_rows(rows).height), key),
    )


def find_splits(settings: SplitsSettings, data: Dataset, engine: Engine | None = None) -> SplitsStudy:
    """Find the concepts and groups of all examples, and mark heads and tails in every part."""
    engine = engine or Local()
    parts = PartedData.of(data)
    labels, notes = label_examples(parts.data, settings, counted_rows(parts.part, settings.counted), engine)
    examples = labels.with_columns(parts.part, parts.data.examples["answer"])
    counts = count_answers(examples, settings.concepts, engine)
    threshold = None if isinstance(settings.threshold, str) else settings.threshold
    grouped = {concept: GroupedAnswers.of(one, threshold, settings.alpha) for concept, one in counts.items()}
    tails = {
        concept: one.sides(examples.select("part", pl.col(concept).alias("group"), "answer"))
        for concept, one in grouped.items()
    }
    return SplitsStudy(parts, labels, notes, grouped, pl.DataFrame(tails))


def answered(data: Dataset) -> Dataset:
    """Keep the examples with a reference answer, sorted by id."""
    return replace(data, examples=data.examples.sort("id")).take(pl.col("answer").is_not_null())


def name_parts(data: Dataset, learn: Dataset, judged: pl.Series) -> pl.Series:
    """Name the part of each example, null if it is in none; judged examples, given by their ids, are in no other."""
    validation = pl.col("split") == VALIDATION if "split" in data.columns else pl.lit(value=False)
    part = (
        pl.when(pl.col("id").is_in(judged.implode()))
        .then(pl.lit(JUDGED))
        .when(pl.col("id").is_in(learn.examples["id"].implode()))
        .then(pl.lit(TRAIN))
        .when(validation)
        .then(pl.lit(VALIDATION))
    )
    return data.examples.select(part=part).to_series()


def judged_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Drop the rows of val, if these were asked too."""
    return rows.filter(pl.col("part") == JUDGED) if "part" in rows.columns else rows


def counted_rows(part: pl.Series, counted: str) -> pl.Series:
    """Mark the examples counted by f of Eq. 6."""
    parts = {"train": TRAIN, "judged": JUDGED}
    if counted in parts:
        return (part == parts[counted]).fill_null(value=False)
    return pl.repeat(value=True, n=len(part), eager=True)


def measure_shares(rows: pl.DataFrame, concepts: tuple[str, ...]) -> list[Measure]:
    """Measure the share of the judged examples in each OOD test set."""
    judged = judged_rows(rows)
    if not judged.height:
        return []
    return [
        make_measure(
            f"tail share, {concept}",
            mean((judged[concept] == TAIL).fill_null(value=False).cast(pl.Float64), judged["cluster"]),
            of=None,
            condition=PLAIN_CONDITION,
            score="share",
            better="neither",
        )
        for concept in concepts
    ]


def _sentence(tables: dict[str, pl.DataFrame], judged: int) -> str:
    sizes = ", ".join(f"{concept} {n:,}" for concept, n in tables["concepts"].select("concept", "tail").iter_rows())
    return "; ".join([f"OOD test sets among {judged:,} judged examples: {sizes}", *tables["notes"]["note"]]) + "."
