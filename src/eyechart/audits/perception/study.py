"""The study of the data alone: the judged examples, their donors, and the score of the most frequent answers."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

import polars as pl

from eyechart.audits.measures import count_references, make_measure
from eyechart.audits.perception.bias import label_sentiment, score_baseline
from eyechart.audits.perception.donors import DonorPool, make_pool
from eyechart.audits.perception.emap import check_emap
from eyechart.audits.perception.settings import ESTIMAND, QUESTION, PerceptionSettings, removals_of
from eyechart.audits.perception.views import study_views
from eyechart.base.errors import DataError
from eyechart.data.dataset import Dataset, DatasetParts
from eyechart.data.probes import PERMUTE, PLAIN_CONDITION, Removal
from eyechart.data.result import Measure, Result, Verdict, measures_table, speak
from eyechart.data.several import CHOICES
from eyechart.data.tables import COUNTS, empty
from eyechart.scoring import chosen_score
from eyechart.statistics import mean

N_PICTURES = "pictures"  # column of the rows of a study, if a removal chooses among them


def study_data(settings: PerceptionSettings, data: Dataset) -> Result:
    """Choose the judged examples and describe the donor pools; nothing is drawn yet."""
    parts = data.divided(learns=False)
    judged = _judged(parts, data.name)
    removals = removals_of(settings, data)
    check_emap(settings, judged)
    how = chosen_score(settings.score, judged.examples)
    base = score_baseline(parts.learn, judged.examples, how, settings.majority)
    pools = make_pools(settings, judged, removals)
    chosen = [each for each in removals if each.kind in CHOICES]
    rows = _rows(judged, base.scores, pools, chosen)
    counts = [count_references(data, parts), *(_count_donors(name, pool, judged) for name, pool in pools.items())]
    floor = list(_measure_majority(rows, how, base.note))
    tables = {
        "counts": pl.concat([*counts, _count_few(rows, chosen)]),
        "donors": _donors_table(pools, judged),
        "majority": base.majority,
        "notes": pl.DataFrame({"note": _notes(settings, judged, base.note)}),
        **label_sentiment(settings.sentiment, data, judged),
    }
    return Result(
        audit=settings.name,
        subject=data.name,
        settings=asdict(settings),
        measures=measures_table(floor),
        rows=rows,
        tables=tables,
        views=study_views(tables),
        verdict=Verdict(
            "not tested",
            QUESTION,
            "no model yet",
            _sentence(floor, pools, judged),
            floor[0].key if floor else None,
            settings.margin,
        ),
    )


def _judged(parts: DatasetParts, name: str) -> Dataset:
    """Keep the judged examples that have a reference; donors are taken from them too."""
    judged = parts.judge.take(pl.col("answer").is_not_null())
    if judged.height < 2:
        found = f"{judged.height} in {name}"
        raise DataError("at least two judged examples, to take modalities from each other", found, "add more examples")
    return judged


def judged_part(data: Dataset, study: Result) -> Dataset:
    """Return the examples that a study judges; donors are taken from them too."""
    return data.take(pl.col("id").is_in(study.rows["id"].implode()))


def learned_part(data: Dataset, study: Result) -> Dataset:
    """Return the examples that a study learned from; studies of older versions name their split."""
    split = study.settings.get("majority_split")
    if split is None:
        return data.divided(learns=False).learn
    return data.take(pl.col("split") == split if "split" in data.columns else pl.lit(value=False))


def make_pools(settings: PerceptionSettings, judged: Dataset, removals: tuple[Removal, ...]) -> dict[str, DonorPool]:
    """Build the donor pool of every modality that is removed; reject a permuted modality without donors."""
    named = dict.fromkeys(name for each in removals for name in each.modalities)
    pools = {name: make_pool(judged, name, settings.donors) for name in named}
    for name in {name for each in removals if each.kind == PERMUTE for name in each.modalities}:
        _check_donors(pools[name])
    return pools


def _rows(judged: Dataset, majority: pl.Series, pools: dict[str, DonorPool], chosen: Sequence[Removal]) -> pl.DataFrame:
    """Describe each judged example: its cluster, the score of the most frequent answer, what can be removed of it."""
    rows = judged.examples.select("id", judged.clusters().alias("cluster"), majority)
    if chosen:
        rows = rows.with_columns(_count_pictures(judged, chosen[0]).alias(N_PICTURES))
    for pool in pools.values():
        rows = rows.join(_choices(pool), on="id", how="left", validate="1:1")
    return rows


def _count_pictures(judged: Dataset, removal: Removal) -> pl.Series:
    """Count the pictures of each example; reject data of which no example has several."""
    counts = judged.count_pictures()
    if not (counts > 1).any():
        found = f"at most one picture an example in {judged.name}"
        raise DataError(f"examples with several pictures for {removal.name!r}", found, "leave this removal out")
    return counts


def _count_few(rows: pl.DataFrame, chosen: Sequence[Removal]) -> pl.DataFrame:
    few = int((rows[N_PICTURES].fill_null(0) < 2).sum()) if chosen else 0
    return _counts([(each.name, "left out", "fewer than two pictures", few) for each in chosen])


def donor_column(modality: str) -> str:
    """Name the column with the number of donors of each example, null where it lacks the modality."""
    return f"{modality} donors"


def _check_donors(pool: DonorPool) -> None:
    if not (pool.choices > 0).any():
        alike = ", which all have the same value" if pool.twins.size.max(initial=0) == len(pool.ids) else ""
        found = f"none among {len(pool.ids)} examples{alike}" if len(pool.ids) else "no example with a value"
        advice = f"leave {pool.modality} out of `modalities`, or bring data in which it varies"
        raise DataError(f"donors of {pool.modality!r} by the policy {pool.policy!r}", found, advice)


def _choices(pool: DonorPool) -> pl.DataFrame:
    return pl.DataFrame({"id": pool.ids, donor_column(pool.modality): pool.choices})


def _count_donors(name: str, pool: DonorPool, judged: Dataset) -> pl.DataFrame:
    without_donor = int((pool.choices == 0).sum())
    lacking = judged.examples.height - len(pool.ids)
    reason = "no donor with as many pictures" if pool.by_pictures else "no donor"
    return _counts([(name, "left out", reason, without_donor), (name, "left out", f"no {name} of its own", lacking)])


def _counts(rows: list[tuple[str | None, str, str | None, int]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=empty(COUNTS).schema, orient="row").filter(pl.col("n") > 0)


def _donors_table(pools: dict[str, DonorPool], judged: Dataset) -> pl.DataFrame:
    schema = {"modality": pl.String, "policy": pl.String, "pool": pl.Int64, "contents": pl.Int64, "fewest": pl.Int64}
    rows = [
        (name, pool.policy, len(pool.ids), judged.examples[name].drop_nulls().n_unique(), int(pool.choices.min()))
        for name, pool in pools.items()
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _notes(settings: PerceptionSettings, judged: Dataset, base: str) -> Iterator[str]:
    yield base
    yield f"donors by the policy {settings.donors!r} from the {judged.examples.height:,} judged examples"
    yield f"intervals are {ESTIMAND}"


def _measure_majority(rows: pl.DataFrame, how: str, note: str) -> Iterator[Measure]:
    present = rows.drop_nulls("majority")
    if present.height:
        measure = make_measure(
            "majority",
            mean(present["majority"], present["cluster"]),
            of="majority",
            condition=PLAIN_CONDITION,
            score=how,
            better="neither",
        )
        yield replace(measure, note=f"{measure.note}; {note}")


def _sentence(floor: list[Measure], pools: dict[str, DonorPool], judged: Dataset) -> str:
    majority = (
        f"The most frequent answer scores {speak(asdict(floor[0]))} points" if floor else "There is no majority score"
    )
    contents = ", ".join(f"{name} {judged.examples[name].n_unique():,}" for name in pools)
    distinct = f", with these numbers of distinct contents: {contents}" if contents else ""
    return f"{majority}; {judged.examples.height:,} examples can be asked{distinct}."
