"""The data alone: what is judged, who can be a donor to whom, and what the most frequent answers score."""

from collections.abc import Iterator
from dataclasses import asdict, replace

import polars as pl

from eyechart.audits.measuring import measured
from eyechart.audits.perception.audit import PerceptionAudit
from eyechart.audits.perception.baseline import score_baseline
from eyechart.audits.perception.bias import label_sentiment
from eyechart.audits.perception.emap import check_emap
from eyechart.audits.perception.removals import PERMUTE, Removal, list_removals
from eyechart.audits.perception.views import study_views
from eyechart.dataset import Dataset
from eyechart.encode.donors import Pool, make_pool
from eyechart.errors import DataError
from eyechart.probes import OWN
from eyechart.result import Measure, Result, Verdict, measures_table, speak
from eyechart.scoring import chosen_score
from eyechart.statistics import mean
from eyechart.tables import COUNTS, empty


def study_data(audit: PerceptionAudit, data: Dataset) -> Result:
    """Choose the judged examples and describe the donor pools; nothing is drawn yet."""
    chosen = choose(audit, data)
    judged = judged_part(audit, data)
    removals = removals_of(audit, data)
    check_emap(audit, judged)
    how = chosen_score(audit.score, judged.examples)
    base = score_baseline(data, judged.examples, how, audit.majority, audit.majority_split)
    pools = make_pools(audit, judged, removals)
    rows = judged.examples.select("id", judged.clusters().alias("cluster"), base.scores)
    for pool in pools.values():
        rows = rows.join(_choices(pool), on="id", how="left", validate="1:1")
    floor = list(_measure_majority(rows, how, base.note))
    tables = {
        "counts": pl.concat(
            [_count_references(chosen), *(_count_donors(name, pool, judged) for name, pool in pools.items())]
        ),
        "donors": _describe(pools, judged),
        "majority": base.majority,
        "notes": pl.DataFrame({"note": _notes(audit, judged, base.note)}),
        **label_sentiment(audit.sentiment, data, judged),
    }
    return Result(
        audit=audit.name,
        subject=data.name,
        settings=asdict(audit),
        measures=measures_table(floor),
        rows=rows,
        tables=tables,
        views=study_views(tables),
        verdict=Verdict("none", "majority", _say(floor, pools, judged)),
    )


def choose(audit: PerceptionAudit, data: Dataset) -> Dataset:
    """Take the split that is judged: `auto` is test, else val, else everything; `all` is everything."""
    if audit.split == "all":
        return data
    return data.divide(learn=None, judge=None if audit.split == "auto" else audit.split).judge


def judged_part(audit: PerceptionAudit, data: Dataset) -> Dataset:
    """Keep the examples of the judged split that have a reference, of which the donors are too."""
    judged = choose(audit, data).take(pl.col("answer").is_not_null())
    if judged.examples.height < 2:
        found = f"{judged.examples.height} in {data.name}"
        raise DataError(
            "at least two judged examples, to take modalities from each other", found, "bring more examples"
        )
    return judged


def removals_of(audit: PerceptionAudit, data: Dataset) -> tuple[Removal, ...]:
    """List what the settings remove from these data: where none is named, every modality that any example has."""
    there = [name for name in data.modalities if data.examples[name].is_not_null().any()]
    return list_removals(data, audit.modalities or there, audit.removal, pairs=audit.interactions)


def make_pools(audit: PerceptionAudit, judged: Dataset, removals: tuple[Removal, ...]) -> dict[str, Pool]:
    """Make the pool of every modality that is removed, or say which of those to be permuted has no donors."""
    named = dict.fromkeys(name for each in removals for name in each.modalities)
    pools = {name: make_pool(judged, name, audit.donors) for name in named}
    for name in {name for each in removals if each.kind == PERMUTE for name in each.modalities}:
        _check_donors(pools[name])
    return pools


def donor_column(modality: str) -> str:
    """Name the column of the study's rows that says how many donors an example has; null: it lacks the modality."""
    return f"{modality} donors"


def _check_donors(pool: Pool) -> None:
    if not (pool.choices > 0).any():
        alike = ", which all have the same" if pool.twins.size.max(initial=0) == len(pool.ids) else ""
        found = f"none among {len(pool.ids)} examples{alike}" if len(pool.ids) else "no example that has one"
        advice = f"leave {pool.modality} out of `modalities`, or bring data in which it varies"
        raise DataError(f"donors of {pool.modality!r} by the policy {pool.policy!r}", found, advice)


def _choices(pool: Pool) -> pl.DataFrame:
    return pl.DataFrame({"id": pool.ids, donor_column(pool.modality): pool.choices})


def _count_references(chosen: Dataset) -> pl.DataFrame:
    n = int(chosen.examples["answer"].is_not_null().sum())
    return _counts([(None, "judged", None, n), (None, "left out", "no reference answer", chosen.examples.height - n)])


def _count_donors(name: str, pool: Pool, judged: Dataset) -> pl.DataFrame:
    lonely = int((pool.choices == 0).sum())
    lacking = judged.examples.height - len(pool.ids)
    return _counts([(name, "left out", "no donor", lonely), (name, "left out", f"no {name} of its own", lacking)])


def _counts(rows: list[tuple[str | None, str, str | None, int]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=empty(COUNTS).schema, orient="row").filter(pl.col("n") > 0)


def _describe(pools: dict[str, Pool], judged: Dataset) -> pl.DataFrame:
    schema = {"modality": pl.String, "policy": pl.String, "pool": pl.Int64, "contents": pl.Int64, "fewest": pl.Int64}
    rows = [
        (name, pool.policy, len(pool.ids), judged.examples[name].drop_nulls().n_unique(), int(pool.choices.min()))
        for name, pool in pools.items()
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _notes(audit: PerceptionAudit, judged: Dataset, base: str) -> Iterator[str]:
    yield base
    yield f"donors by the policy {audit.donors!r} from the {judged.examples.height:,} judged examples"
    yield "the donor pool is held fixed: intervals say nothing of other pools"


def _measure_majority(rows: pl.DataFrame, how: str, note: str) -> Iterator[Measure]:
    known = rows.drop_nulls("majority")
    if known.height:
        found = mean(known["majority"], known["cluster"])
        whole = measured("majority", found, of="majority", condition=OWN, score=how)
        yield replace(whole, note=f"{whole.note}; {note}")


def _say(floor: list[Measure], pools: dict[str, Pool], judged: Dataset) -> str:
    said = (
        f"The most frequent answer scores {speak(asdict(floor[0]))} points" if floor else "There is no majority score"
    )
    donors = ", ".join(f"{name} from {judged.examples[name].n_unique():,} contents" for name in pools)
    return f"{said}; {judged.examples.height:,} examples can be asked{' with ' + donors if donors else ''}."
