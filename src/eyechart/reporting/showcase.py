"""One example to play with: shown whole and under each contrast, with the answers of every model.

Audits declare the contrasts (`Furniture.contrasts`), such as "the evidence removed". The example is a typical one: the
models do on it what they mostly do, or, where no contrast was asked, they differ on it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from eyechart.audits import AUDITS
from eyechart.base.hashing import hash_text
from eyechart.base.text import clean_answer, normalize_answer
from eyechart.data.furniture import Look, furniture_of
from eyechart.data.predictions import USABLE
from eyechart.data.probes import PLAIN_CONDITION, fill, source
from eyechart.data.store import Store
from eyechart.data.tables import PICTURE_COLUMNS
from eyechart.reporting.drawing import plain as as_json
from eyechart.scoring import SCORES, auto_score, score

CANDIDATES = 2000  # examples to choose from
RIGHT = 0.5  # the lowest score that counts as right
UNCHANGED = Look(PLAIN_CONDITION, "as it is", "plain")


@dataclass(frozen=True)
class Reply:
    """The answer of a model to the example under one condition; None where it cannot be scored or compared."""

    model: str
    answer: str
    is_right: bool | None
    is_changed: bool | None


@dataclass(frozen=True)
class Scene:
    """The example under one condition: what is shown, and the replies to it."""

    condition: str
    label: str
    color: str  # the family of the condition
    question: str | None  # the question asked
    picture: dict[str, Any] | None  # the image with its edits, as a gallery has them
    replies: tuple[Reply, ...]


@dataclass(frozen=True)
class Showcase:
    """An example with its reference answer, under several conditions."""

    id: str
    question: str
    reference: str
    options: tuple[str, ...]
    scenes: tuple[Scene, ...]


@dataclass(frozen=True)
class Change:
    """The share of a model's answers that change under a contrast."""

    model: str
    audit: str  # that declares the contrast
    condition: str
    label: str
    share: float
    n: int


def find_contrasts(store: Store) -> tuple[tuple[str, str, Look], ...]:
    """Find the conditions of a run that audits set beside the unchanged example: audit, condition and look."""
    conditions = store.conditions()
    declared = ((name, look) for name in AUDITS.names() for look in furniture_of(AUDITS.get(name)).contrasts)
    found = ((name, next(filter(look.fits, conditions), ""), look) for name, look in declared)
    return tuple(each for each in found if each[1])


def measure_changes(store: Store) -> tuple[Change, ...]:
    """Measure for each model and contrast how many answers differ from those to the unchanged example."""
    return tuple(_changes(store, store.models(), find_contrasts(store)))


def _changes(store: Store, models: Iterable[str], contrasts: Sequence[tuple[str, str, Look]]) -> Iterator[Change]:
    for model in models:
        whole = _answers(store, model, PLAIN_CONDITION)
        for audit, condition, look in contrasts if whole is not None else ():
            other = _answers(store, model, condition)
            if whole is None or other is None:
                continue
            both = whole.join(other, on="id", how="inner", suffix=" there")
            changed = pl.col("form").ne_missing(pl.col("form there"))
            share, n = both.select(changed.mean().alias("share"), pl.len().alias("n")).collect().row(0)
            if n:
                yield Change(model, audit, condition, look.label, share, n)


def _answers(store: Store, model: str, condition: str) -> pl.LazyFrame | None:
    """Scan the first usable answer to each example, in normal form."""
    file = store.answer_file(model, condition)
    if not file.is_file():
        return None
    usable = store.lazy(file).filter(pl.col("status").is_in(USABLE) & (pl.col("draw") == 0))
    return usable.select("id", "answer", form=normalize_answer(clean_answer(pl.col("answer"))))


def find_showcase(store: Store) -> Showcase | None:
    """Choose a typical example that was asked under all contrasts; None if nobody has answered anything."""
    models = [model for model in store.models() if PLAIN_CONDITION in store.answered(model)]
    contrasts = [(condition, look) for _, condition, look in find_contrasts(store)]
    asked = [(PLAIN_CONDITION, UNCHANGED), *contrasts] if PLAIN_CONDITION in store.conditions() else []
    if not models or not asked:
        return _show_alone(store)
    answers = _gather(store, models, [condition for condition, _ in asked])
    name = _choose(answers) if answers.height else None
    return None if name is None else _show(store, name, asked, answers.filter(pl.col("id") == name))


def _show_alone(store: Store) -> Showcase | None:
    """Show an example of data that nobody was asked about."""
    if not store.data.height:
        return None
    ids = store.data.scan("id").collect()["id"]
    one = store.data.take(pl.col("id") == ids[int(hash_text(ids).argmin())]).examples.row(0, named=True)
    image = one.get("image")
    picture = dict.fromkeys(PICTURE_COLUMNS) | {"image": image} if image else None
    scene = Scene(PLAIN_CONDITION, UNCHANGED.label, UNCHANGED.color, one.get("question"), picture, ())
    return Showcase(
        one["id"], one.get("question") or "", one.get("answer") or "", tuple(one.get("choices") or ()), (scene,)
    )


def _gather(store: Store, models: Sequence[str], conditions: Sequence[str]) -> pl.DataFrame:
    """Gather the answers of all models to examples that were asked under every condition, scored and compared."""
    asked = [store.probes(condition)["id"] for condition in conditions]
    shared = min(asked, key=len)
    for ids in asked:
        shared = shared.filter(shared.is_in(ids.implode()))
    drawn = shared.gather(hash_text(shared).argsort(kind="stable")[:CANDIDATES]).implode()
    answers = pl.concat(
        pl.collect_all(
            [
                scan.filter(pl.col("id").is_in(drawn)).with_columns(model=pl.lit(model), condition=pl.lit(condition))
                for model in models
                for condition in conditions
                if (scan := _answers(store, model, condition)) is not None
            ]
        )
    )
    wanted = {"id", *(name for each in SCORES.values() for name in each.needs)} - {"given", "ranking"}
    references = store.data.take(pl.col("id").is_in(drawn)).scan(*sorted(wanted & {*store.data.columns})).collect()
    beside = answers.rename({"answer": "given"}).join(references, on="id", maintain_order="left")
    if not beside.height:
        return beside
    whole = answers.filter(pl.col("condition") == PLAIN_CONDITION).select("id", "model", whole="form")
    scored = beside.with_columns(score(beside, auto_score(beside)).alias("score")).join(
        pl.concat([_judged(store, model) for model in models]),
        on=["id", "model", "condition"],
        how="left",
        maintain_order="left",
    )
    return scored.join(whole, on=["id", "model"], maintain_order="left").select(
        "id",
        "model",
        "condition",
        "given",
        is_right=pl.coalesce("judged", "score") >= RIGHT,
        is_changed=pl.col("form").ne_missing(pl.col("whole")),
    )


def _judged(store: Store, model: str) -> pl.DataFrame:
    """Read the scores by which a model was judged, whichever scoring was used."""
    columns = {name: furniture_of(AUDITS.get(name)).scored for name in AUDITS.names()}
    for audit, column in columns.items():
        results = store.results().get(model)
        result = results.get(audit) if results and column else None
        if result is not None and column in result.rows.columns:
            marks = (pl.lit(model).alias("model"), pl.lit(PLAIN_CONDITION).alias("condition"))
            return result.rows.select("id", *marks, pl.col(column).cast(pl.Float64).alias("judged"))
    return pl.DataFrame(schema={"id": pl.String, "model": pl.String, "condition": pl.String, "judged": pl.Float64})


def _choose(answers: pl.DataFrame) -> str:
    """Choose the example on which the replies are most like the models: each does here what it mostly does.

    Where only the unchanged examples were asked, choose one on which the models differ, or a single one is wrong.
    """
    mostly = {name: (pl.col(name).mean() >= RIGHT).over("model", "condition") for name in ("is_right", "is_changed")}
    is_plain = pl.col("condition") == PLAIN_CONDITION
    usual = pl.when(is_plain).then(pl.col("is_right") == mostly["is_right"])
    told = answers.with_columns(is_usual=usual.otherwise(pl.col("is_changed") == mostly["is_changed"]))
    wrong = pl.col("is_right").filter(is_plain).not_().mean().fill_null(0)
    order = (
        [pl.len(), pl.col("is_usual").sum()]
        if (answers["condition"] != PLAIN_CONDITION).any()
        else [pl.len(), pl.min_horizontal(wrong, 0.5) - (wrong - 0.5).abs() / 2]
    )
    ranked = told.group_by("id", maintain_order=True).agg(at.alias(str(n)) for n, at in enumerate(order))
    return str(ranked.sort("0", "1", descending=True, maintain_order=True)["id"][0])


def _show(store: Store, name: str, asked: Iterable[tuple[str, Look]], answers: pl.DataFrame) -> Showcase:
    """Show an example under each condition."""
    own = {source(modality): pl.lit(name) for modality in store.data.modalities}
    keys = {condition: store.probes(condition).filter(pl.col("id") == name) for condition, _ in asked}
    probes = {
        condition: key.with_columns(**{column: ids for column, ids in own.items() if column not in key.columns})
        for condition, key in keys.items()
    }
    givers = {name, *(probe[column][0] for probe in probes.values() for column in own)}
    data = store.data.take(pl.col("id").is_in(list(filter(None, givers))))
    example = data.examples.filter(pl.col("id") == name).row(0, named=True)
    scenes = []
    for condition, look in asked:
        shown = fill(probes[condition], data).row(0, named=True)
        picture = {role: as_json(shown.get(role)) for role in PICTURE_COLUMNS} if shown.get("image") else None
        replies = answers.filter(pl.col("condition") == condition).sort("model")
        rows = replies.select("model", pl.col("given").fill_null(""), "is_right", "is_changed").rows()
        scenes.append(
            Scene(condition, look.label, look.color, shown.get("question"), picture, tuple(Reply(*row) for row in rows))
        )
    return Showcase(
        name, example.get("question") or "", example["answer"] or "", tuple(example.get("choices") or ()), tuple(scenes)
    )
