"""Make a planted world: plan, cast, scenes, questions, answers, options, people, truth."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.dataset import Dataset, Images
from eyechart.readers.counting import count_table, read_rows
from eyechart.tables import EVIDENCE, OBJECT
from eyechart.world.cast import FIRST, SECOND, Cast, draw_cast
from eyechart.world.cells import HEIGHT, WIDTH
from eyechart.world.grammar import parse_questions
from eyechart.world.options import NO_OPTION, draw_options
from eyechart.world.people import ask_people
from eyechart.world.plan import TYPES, Flags, Ints, Plan, draw_plan
from eyechart.world.program import ATTRIBUTES, answer_from, find_objects
from eyechart.world.questions import ask_questions
from eyechart.world.scenes import draw_roles, objects_table
from eyechart.world.settings import SPLITS, Settings
from eyechart.world.shortcuts import NO_RULE, PRIORS, RULE_TYPES, rules_of
from eyechart.world.truth import make_truth
from eyechart.world.vocabulary import BIGGER, QUESTION_TYPES

STAGES = ("plan", "cast", "scenes", "options", "people")  # each draws from a stream of its own
_TEXTS = tuple(text for kind in QUESTION_TYPES.values() for text in (*kind.answers, *kind.foils))
_STARTS = np.cumsum([0, *(len(kind.answers) + len(kind.foils) for kind in QUESTION_TYPES.values())])[:-1]


@dataclass(frozen=True)
class World:
    """A dataset whose shortcuts are known, and the table that lists them."""

    settings: Settings
    data: Dataset
    truth: pl.DataFrame


class Draft(NamedTuple):
    """Everything that is drawn before the program looks at the scenes."""

    names: pl.Series
    plan: Plan
    cast: Cast
    scene: pl.DataFrame
    questions: pl.DataFrame


def make_world(settings: Settings) -> World:
    """Make the world of the settings, without pictures."""
    streams = draw_streams(settings.seed)
    draft = draw_draft(settings, streams)
    found = find_objects(draft.questions.with_columns(image=draft.names.gather(draft.questions["at"])), draft.scene)
    answered = draft.questions.join(answer_from(found), on="row", how="left", validate="1:1", maintain_order="left")
    examples = _examples(settings, draft, answered.with_columns(pl.col("answer").fill_null("no")), streams)
    examples = examples.with_columns(_evidence(examples.height, found))
    images = _images(draft)
    counts = count_table([read_rows(examples.height)])
    data = Dataset(f"world-{settings.seed}", examples, Images(images), counts=counts)
    labels = images.select("image", labels=pl.col("objects").list.eval(pl.element().struct.field("label")))
    words = parse_questions(examples["question"]).select("question", "words")
    worded = examples.join(words, on="question", how="left", validate="m:1")
    return World(settings, data, make_truth(settings, worded, labels))


def draw_streams(seed: int) -> dict[str, np.random.Generator]:
    """Open one stream of random numbers for each stage."""
    children = np.random.SeedSequence(seed).spawn(len(STAGES))
    return {stage: np.random.default_rng(child) for stage, child in zip(STAGES, children, strict=True)}


def draw_draft(settings: Settings, streams: dict[str, np.random.Generator]) -> Draft:
    """Draw plan, cast and scenes, and word the questions."""
    plan = draw_plan(settings, streams["plan"])
    cast = draw_cast(plan, streams["cast"])
    digits = max(6, len(str(settings.images - 1)))
    number = pl.int_range(settings.images, eager=True).cast(pl.String).str.zfill(digits)
    names = (f"w{settings.seed}-" + number).alias("image")
    scene = objects_table(draw_roles(plan, cast, streams["scenes"]), names, streams["scenes"])
    return Draft(names, plan, cast, scene, ask_questions(plan, cast))


def _examples(
    settings: Settings, draft: Draft, answered: pl.DataFrame, streams: dict[str, np.random.Generator]
) -> pl.DataFrame:
    at, type_at = answered["at"].to_numpy(), answered["type_at"].to_numpy()
    codes, planted = _options(settings, draft, streams["options"])
    answer_types = [kind.answer_type for kind in QUESTION_TYPES.values()]
    table = answered.select(
        id=draft.names.gather(at) + "-" + (pl.col("row") % settings.questions).cast(pl.String),
        image=draft.names.gather(at),
        question="question",
        answer="answer",
        answers=ask_people(answered["answer"], type_at, settings.noise, streams["people"]),
        choices=_choices(codes[at, type_at], type_at, streams["options"]),
        question_type="question_type",
        answer_type=pl.Series(answer_types).gather(type_at),
        split=pl.Series(SPLITS).gather(draft.plan.split[at]),
        planted=_planted(settings, draft.plan, at, type_at),
        decoys=_decoys(settings, planted[at, type_at]),
    )
    rules = (each for name in RULE_TYPES for each in rules_of(name, settings))
    suggested = {each.name: each.answer for each in (*rules, *PRIORS)}
    suggestion = pl.col("planted").replace_strict(suggested, default=None, return_dtype=pl.String)
    return table.with_columns(conflict=(suggestion != pl.col("answer")).fill_null(value=False))


def _options(settings: Settings, draft: Draft, rng: np.random.Generator) -> tuple[Ints, Flags]:
    """Give the options of each image and type, the target in front, as places in the type's answers and foils."""
    decoys, planted = draw_options(settings, draft.plan, draft.cast, rng)
    target = draft.plan.answers.copy()
    bigger = np.where(draft.cast.first_is_bigger, draft.cast.things[:, FIRST], draft.cast.things[:, SECOND])
    target[:, TYPES.index(BIGGER)] = bigger
    return np.concatenate([target[:, :, None], decoys], axis=2), planted


def _choices(codes: Ints, type_at: Ints, rng: np.random.Generator) -> pl.Series:
    """Shuffle options and turn them into text."""
    mixed = np.take_along_axis(codes, np.argsort(rng.random(codes.shape), axis=1), axis=1)
    places = np.where(mixed == NO_OPTION, NO_OPTION, mixed + _STARTS[type_at][:, None])
    texts = pl.Series(_TEXTS).gather(pl.Series(places.ravel()).replace(NO_OPTION, None))
    return texts.reshape(places.shape).arr.to_list().list.drop_nulls()


def _planted(settings: Settings, plan: Plan, at: Ints, type_at: Ints) -> pl.Series:
    """Name the shortcut whose cue fires on each question."""
    rules = {name: rules_of(name, settings) for name in RULE_TYPES}
    names = [each.name for some in rules.values() for each in some]
    place = np.full(len(at), NO_RULE)
    for number, (name, some) in enumerate(rules.items()):
        fires = np.where(type_at == TYPES.index(name), plan.fires[at, number], NO_RULE)
        counts = (fires != NO_RULE) & np.array([each.kind in settings.plant for each in some])[fires]
        place = np.where(counts, number * len(some) + fires, place)
    for number, prior in enumerate(PRIORS if "prior" in settings.plant else ()):
        place[type_at == TYPES.index(str(prior.question_type))] = len(names) + number
    return pl.Series([*names, *(prior.name for prior in PRIORS)]).gather(pl.Series(place).replace(NO_RULE, None))


def _decoys(settings: Settings, planted: Flags) -> pl.Expr:
    """Say of what sort the decoys are: `prior` where the options leak because the answers of the type do."""
    priors = [prior.question_type for prior in PRIORS] if "prior" in settings.plant else []
    leaks = pl.col("question_type").is_in(priors)
    return (
        pl.when(pl.Series(planted))
        .then(pl.lit("planted"))
        .when(leaks)
        .then(pl.lit("prior"))
        .otherwise(pl.lit("neutral"))
    )


def _evidence(n: int, found: pl.DataFrame) -> pl.Series:
    """List the objects each answer rests on; a thing that is not there leaves an empty list."""
    ordered = found.sort("row", "index")
    lists = ordered.group_by("row", maintain_order=True).agg(evidence=pl.struct("label", "box").cast(EVIDENCE))
    rows = pl.DataFrame({"row": pl.int_range(n, eager=True)})
    return rows.join(lists, on="row", how="left", validate="1:1", maintain_order="left")["evidence"].fill_null([])


def _images(draft: Draft) -> pl.DataFrame:
    scored = pl.struct("label", "box", score=pl.lit(1.0)).cast(OBJECT)
    lists = draft.scene.group_by("image", maintain_order=True).agg(
        objects=scored, **{many: pl.col(one) for many, one in ATTRIBUTES.items()}
    )
    known = pl.DataFrame({"image": draft.names}).join(
        lists, on="image", how="left", validate="1:1", maintain_order="left"
    )
    return known.select(
        "image",
        pl.lit(None, pl.String).alias("path"),
        pl.lit(WIDTH, pl.Int64).alias("width"),
        pl.lit(HEIGHT, pl.Int64).alias("height"),
        *(pl.col(name).fill_null([]) for name in ("objects", *ATTRIBUTES)),
    )
