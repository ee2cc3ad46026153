"""The study: the decoys themselves, and the diagnosis of each set of options, before and after the repair."""

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce

import polars as pl

from eyechart.audits.decoys.adversaries import ALONE, UNSEEN
from eyechart.audits.decoys.diagnosis import (
    SCORE,
    Diagnosis,
    diagnose,
    hold_against_chance,
    measure_chance,
    solver_table,
)
from eyechart.audits.decoys.draw import DECOYS, DrawnDecoys, draw_decoys
from eyechart.audits.decoys.options import count_damage, offer, sets_of
from eyechart.audits.decoys.settings import JUDGED, LEARNED, ORIG, REPAIRED, DecoysSettings
from eyechart.audits.decoys.soundness import decide, describe_repair, repairs_table
from eyechart.audits.decoys.views import shown_table, study_views
from eyechart.base.errors import DataError
from eyechart.data.dataset import Dataset
from eyechart.data.protocols import Engine
from eyechart.data.result import Result, measures_table
from eyechart.data.tables import COUNTS, empty

NO_FILTERS = {"source": pl.String, "filter": pl.String, "n": pl.Int64}
_KEPT = ("cluster", "part", "image", "question")


def study_options(settings: DecoysSettings, data: Dataset, engine: Engine) -> Result:
    """Draw decoys and diagnose every set of options."""
    kept = data.only("split", "answers", "choices", settings.kinds)
    examples = label_parts(kept)
    drawn = _draw(settings, data, examples, engine)
    diagnoses = list(_diagnose(settings, data, examples, drawn, engine))
    if not diagnoses:
        found = f"{examples.height} answered examples, with no options and no decoy that could be drawn"
        advice = "bring data with choices, or with several questions on an image and different answers"
        raise DataError("examples with options, or from whose answers decoys can be drawn", found, advice)
    solvers = hold_against_chance(solver for one in diagnoses for solver in one.solvers)
    repairs = repairs_table(solvers, drawn.decoys, settings.margin)
    alone, unseen = decide(solvers, _verdict_on(diagnoses, repairs), settings.margin)
    notes = [*_part_notes(kept, examples), *drawn.notes, *_missing_sets(settings, diagnoses)]
    tables = {
        "counts": pl.concat([_count_parts(kept, examples), _count_options(settings, examples, diagnoses)]),
        "notes": pl.DataFrame({"note": notes}, schema={"note": pl.String}),
        "decoys": drawn.decoys,
        "filters": drawn.counts,
        "solvers": solver_table(solvers),
        "repairs": repairs,
        "neutrality": pl.DataFrame([{"options": one.options, **one.neutrality} for one in diagnoses]),
        "usage": _stack((one.options, one.usage) for one in diagnoses),
        "shown": shown_table(examples, drawn.decoys),
        "kinds": _stack((one.options, one.kinds) for one in diagnoses),
    }
    measures = [measure_chance(one.guess, one.options, SCORE) for one in diagnoses]
    measures += [one.measure() for one in solvers]
    measures += [one.measure_over() for one in solvers if one.solver.name in (ALONE, UNSEEN)]
    return Result(
        audit=settings.name,
        subject=data.name,
        settings=settings.settings(),
        measures=measures_table(measures),
        rows=_rows(examples, diagnoses),
        tables=tables,
        views=study_views(tables),
        verdict=replace(alone, sentence=alone.sentence + describe_repair(repairs)),
        further=(unseen,),
    )


def label_parts(data: Dataset) -> pl.DataFrame:
    """List the answered examples, sorted by id, with `cluster` and `part`: learned from, judged, or neither (null)."""
    learn, judged = data.divided(learns=True)
    labels = pl.concat(
        [part.examples.select("id", part=pl.lit(name)) for name, part in ((LEARNED, learn), (JUDGED, judged))]
    )
    clustered = data.examples.with_columns(data.clusters().alias("cluster"))
    answered = clustered.filter(pl.col("answer").is_not_null()).sort("id")
    return answered.join(labels, on="id", how="left", validate="1:1", maintain_order="left")


def _count_parts(data: Dataset, examples: pl.DataFrame) -> pl.DataFrame:
    sizes = examples["part"].fill_null("neither learned nor judged").value_counts(name="n").sort("part")
    rows: list[tuple[None, str, str | None, int]] = [(None, part, None, n) for part, n in sizes.iter_rows()]
    rows.append((None, "left out", "no reference answer", data.examples.height - examples.height))
    return pl.DataFrame(rows, schema=empty(COUNTS).schema, orient="row").filter(pl.col("n") > 0)


def _part_notes(data: Dataset, examples: pl.DataFrame) -> list[str]:
    notes = []
    if "objects" not in data.images.table.columns:
        notes.append("the images have no objects: I + A knows no more than A")
    n_alone = examples.select(pl.len().over("cluster") == 1).to_series().sum()
    if n_alone:
        notes.append(f"{n_alone} examples are the only one of their {data.cluster}: they have no IoU decoys")
    return notes


def _draw(settings: DecoysSettings, data: Dataset, examples: pl.DataFrame, engine: Engine) -> DrawnDecoys:
    if settings.studied_sets == (ORIG,):
        return DrawnDecoys(pl.DataFrame(schema=DECOYS), pl.DataFrame(schema=NO_FILTERS), ())
    return draw_decoys(data, examples, settings, engine)


def _diagnose(
    settings: DecoysSettings, data: Dataset, examples: pl.DataFrame, drawn: DrawnDecoys, engine: Engine
) -> Iterable[Diagnosis]:
    """Diagnose each set that has options; sets are built one at a time, since together they need much memory."""
    context = examples.select("id", *_KEPT, *(column for column in (settings.kinds,) if column in examples.columns))
    available = sets_of(examples, drawn.decoys)
    for name in (name for name in settings.studied_sets if name in available):
        offers = offer(examples, drawn.decoys, name, settings.seed)
        if offers.height:
            yield diagnose(name, offers, context, data, settings, engine=engine)
        del offers  # before the next are made


def _missing_sets(settings: DecoysSettings, diagnoses: list[Diagnosis]) -> list[str]:
    studied = {diagnosis.options for diagnosis in diagnoses}
    missing = [name for name in settings.sets if name not in studied]
    return [f"no options for {', '.join(missing)}: no choices in the data, or no decoy that fits"] if missing else []


def _count_options(settings: DecoysSettings, examples: pl.DataFrame, diagnoses: list[Diagnosis]) -> pl.DataFrame:
    rows: list[tuple[str | None, str, str | None, int]] = []
    for diagnosis in diagnoses:
        name, sizes = diagnosis.options, diagnosis.sizes
        rows.append((name, "left out", "no wrong option", examples.height - len(sizes)))
        if name != ORIG:
            expected = settings.k * (2 if name in (REPAIRED, "all") else 1)
            rows += [(name, "offered", None, int((sizes > expected).sum()))]
            rows += [(name, "offered", f"fewer than {expected} decoys", int((sizes <= expected).sum()))]
        else:
            rows += [(name, "offered", None, len(sizes))]
            rows += [(name, "noted", reason, n) for reason, n in count_damage(examples).items()]
    return pl.DataFrame(rows, schema=empty(COUNTS).schema, orient="row").filter(pl.col("n") > 0)


def _rows(examples: pl.DataFrame, diagnoses: list[Diagnosis]) -> pl.DataFrame:
    """Join the scores of all solvers by judged example: what is solvable without looking."""
    rows = examples.filter(pl.col("part") == JUDGED).select("id", "cluster")
    columns = [diagnosis.chance_column() for diagnosis in diagnoses]
    columns += [column for diagnosis in diagnoses for column in diagnosis.score_columns()]
    return reduce(lambda left, right: left.join(right, on="id", how="left", validate="1:1"), columns, rows)


def _stack(tables: Iterable[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    return pl.concat([table.select(pl.lit(name).alias("options"), pl.all()) for name, table in tables])


def _verdict_on(diagnoses: list[Diagnosis], repairs: pl.DataFrame) -> str:
    """Name the set of options that the verdicts are on: that of the data, or else the best one that was made."""
    studied = [diagnosis.options for diagnosis in diagnoses]
    made: list[str] = repairs.sort("sound", descending=True, maintain_order=True)["options"].to_list()
    return next(name for name in (ORIG, *made, *studied) if name in studied)
