"""Make a planted world, or read one like any other dataset: plan, scenes, questions, options, people, truth.

The table of truth lists every planted shortcut and every control, with how often its cue occurred and was right.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import polars as pl

from eyechart.base.errors import SettingError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.tables import EVIDENCE, OBJECT
from eyechart.formats.description import described
from eyechart.formats.rows import count_table, read_rows
from eyechart.world.answers import ask_people, draw_choices, draw_planted, word_longer
from eyechart.world.plan import TYPES, Flags, Ints, WorldPlan, draw_plan
from eyechart.world.program import ATTRIBUTES, answer_from, find_objects
from eyechart.world.questions import ask_questions, parse_questions
from eyechart.world.render import draw_pictures
from eyechart.world.scenes import draw_scenes
from eyechart.world.settings import CROSSED, LENGTH, PLANTED, SPLITS, STRENGTH, Strength, WorldSettings
from eyechart.world.shortcuts import (
    BY_LENGTH,
    CONTROLS,
    CROSSES,
    DECOYS,
    NO_RULE,
    RULE_TYPES,
    RULES,
    Shortcut,
    base_rate,
    priors_of,
    rules_of,
    strength_of,
)
from eyechart.world.vocabulary import HEIGHT, QUESTION_TYPES, WIDTH

SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "shortcut": pl.String,
    "kind": pl.String,
    "question_type": pl.String,
    "words": pl.List(pl.String),
    "objects": pl.List(pl.String),
    "answer": pl.String,
    "strength": pl.Float64,
    "test_strength": pl.Float64,
    "base_rate": pl.Float64,
}


def list_shortcuts(settings: WorldSettings) -> tuple[Shortcut, ...]:
    """List the shortcuts of a world; rules of a kind that is not planted are controls."""
    drawn = [each for some in CROSSES.values() for each in some] if CROSSED in settings.plant else RULES
    rules = (
        each if each.kind in settings.plant else each._replace(kind=f"control-{each.kind}", answer=None)
        for each in drawn
    )
    options = (each for each in (*DECOYS, BY_LENGTH) if each.kind in settings.plant)
    return (*priors_of(settings), *options, *rules, *CONTROLS)


def make_truth(settings: WorldSettings, examples: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Count each cue per split; `labels` has the labels of each image, and `examples` the words of each question."""
    shortcuts = list_shortcuts(settings)
    table = pl.DataFrame([_row(each, settings) for each in shortcuts], schema=SCHEMA, orient="row")
    seen = examples.join(labels, on="image", how="left", validate="m:1")
    counts = [_counts(each, seen) for each in shortcuts]
    return pl.concat([table, pl.concat(counts)], how="horizontal")


def _row(shortcut: Shortcut, settings: WorldSettings) -> dict[str, object]:
    planted = not shortcut.kind.startswith("control")
    return {
        "shortcut": shortcut.name,
        "strength": strength_of(shortcut, settings) if planted else None,
        "test_strength": strength_of(shortcut, settings, "test") if planted else None,
        "base_rate": base_rate(shortcut, settings),
        **shortcut._asdict(),
    }


def _counts(shortcut: Shortcut, seen: pl.DataFrame) -> pl.DataFrame:
    """Count the rows with the cue (n) and those where it was right (hits): options that were planted always are."""
    cue = pl.lit(value=True)
    if shortcut.question_type is not None:
        cue &= pl.col("question_type") == shortcut.question_type
    for column, wanted in (("words", shortcut.words), ("labels", shortcut.objects)):
        for text in wanted:
            cue &= pl.col(column).list.contains(text)
    made = {"decoy": "planted", LENGTH: LENGTH}.get(shortcut.kind)
    hit = pl.col("decoys") == made if made else pl.col("answer") == pl.lit(shortcut.answer)
    return seen.filter(cue).select(
        count.cast(pl.Int64).alias(f"{split}_{name}")
        for split in SPLITS
        for name, count in _two_counts(pl.col("split") == split, hit, shortcut)
    )


def _two_counts(here: pl.Expr, hit: pl.Expr, shortcut: Shortcut) -> tuple[tuple[str, pl.Expr], tuple[str, pl.Expr]]:
    hits = pl.lit(None) if shortcut.kind.startswith("control") else (here & hit).sum()
    return ("n", here.sum()), ("hits", hits)


STAGES = ("plan", "subjects", "scenes", "options", "people", "lengths")  # each draws from its own stream
Streams = dict[str, np.random.Generator]


@dataclass(frozen=True)
class World:
    """A dataset with known shortcuts, and the table that lists them."""

    settings: WorldSettings
    data: Dataset
    truth: pl.DataFrame


@dataclass(frozen=True)
class Draft:
    """A world before the program has answered its questions from the scenes."""

    settings: WorldSettings
    names: pl.Series  # of the images
    plan: WorldPlan
    scene: pl.DataFrame
    questions: pl.DataFrame

    @classmethod
    def draw(cls, settings: WorldSettings, streams: Streams) -> Self:
        """Draw the plan and the scenes, and word the questions."""
        plan = draw_plan(settings, streams["plan"], streams["subjects"])
        digits = max(6, len(str(settings.images - 1)))
        number = pl.int_range(settings.images, eager=True).cast(pl.String).str.zfill(digits)
        names = (f"w{settings.seed}-" + number).alias("image")
        return cls(settings, names, plan, draw_scenes(plan, names, streams["scenes"]), ask_questions(plan))

    def examples(self, streams: Streams) -> pl.DataFrame:
        """Answer the questions, and lay them out as examples."""
        asked = self.questions.with_columns(image=self.names.gather(self.questions["image_index"]))
        objects = find_objects(asked, self.scene)
        answered = asked.join(answer_from(objects), on="row", how="left", validate="1:1", maintain_order="left")
        answered = answered.with_columns(pl.col("answer").fill_null("no"))
        image_index, type_index = answered["image_index"].to_numpy(), answered["type_index"].to_numpy()
        choices, foils = draw_choices(self.settings, self.plan, (image_index, type_index), streams["options"])
        cued = draw_planted(self.settings, LENGTH, self.plan.split[image_index], streams["lengths"])
        answer_types = [kind.answer_type for kind in QUESTION_TYPES.values()]
        table = answered.select(
            id=pl.col("image") + "-" + (pl.col("row") % self.settings.questions).cast(pl.String),
            image="image",
            question="question",
            answer="answer",
            answers=ask_people(answered["answer"], type_index, self.settings.noise, streams["people"]),
            choices=word_longer(choices, answered["answer"], cued, streams["lengths"]),
            question_type="question_type",
            answer_type=pl.Series(answer_types).gather(type_index),
            split=pl.Series(SPLITS).gather(self.plan.split[image_index]),
            planted=_planted(self.settings, self.plan, image_index, type_index),
            decoys=_decoys(self.settings, foils, cued),
        )
        return table.with_columns(conflict=_conflict(self.settings), evidence=_evidence(table.height, objects))

    def images(self) -> pl.DataFrame:
        """Lay out the scenes as a table of images."""
        scored = pl.struct("label", "box", score=pl.lit(1.0)).cast(OBJECT)
        lists = self.scene.group_by("image", maintain_order=True).agg(
            objects=scored, **{many: pl.col(one) for many, one in ATTRIBUTES.items()}
        )
        names = pl.DataFrame({"image": self.names})
        return names.join(lists, on="image", how="left", validate="1:1", maintain_order="left").select(
            "image",
            pl.lit(None, pl.String).alias("path"),
            pl.lit(WIDTH, pl.Int64).alias("width"),
            pl.lit(HEIGHT, pl.Int64).alias("height"),
            *(pl.col(name).fill_null([]) for name in ("objects", *ATTRIBUTES)),
        )


def make_world(settings: WorldSettings) -> World:
    """Make the world for the settings, without pictures."""
    streams = draw_streams(settings.seed)
    draft = Draft.draw(settings, streams)
    examples, images = draft.examples(streams), draft.images()
    counts = count_table([read_rows(examples.height)])
    data = Dataset(f"world-{settings.seed}", examples, Images(images), counts=counts)
    labels = images.select("image", labels=pl.col("objects").list.eval(pl.element().struct.field("label")))
    words = parse_questions(examples["question"]).select("question", "words")
    worded = examples.join(words, on="question", how="left", validate="m:1")
    return World(settings, data, make_truth(settings, worded, labels))


def draw_streams(seed: int) -> Streams:
    """Create a stream of random numbers for each stage."""
    children = np.random.SeedSequence(seed).spawn(len(STAGES))
    return {stage: np.random.default_rng(child) for stage, child in zip(STAGES, children, strict=True)}


def _planted(settings: WorldSettings, plan: WorldPlan, image_index: Ints, type_index: Ints) -> pl.Series:
    """Name the shortcut whose cue fires on each question."""
    rules = {name: rules_of(name, settings) for name in RULE_TYPES}
    names = [each.name for some in rules.values() for each in some]
    priors, index = priors_of(settings), np.full(len(image_index), NO_RULE)
    for number, (name, some) in enumerate(rules.items()):
        fires = np.where(type_index == TYPES.index(name), plan.fires[image_index, number], NO_RULE)
        counts = (fires != NO_RULE) & np.array([each.kind in settings.plant for each in some])[fires]
        index = np.where(counts, number * len(some) + fires, index)
    for number, prior in enumerate(priors):
        index[type_index == TYPES.index(str(prior.question_type))] = len(names) + number
    return pl.Series([*names, *(prior.name for prior in priors)]).gather(pl.Series(index).replace(NO_RULE, None))


def _decoys(settings: WorldSettings, planted: Flags, cued: Flags) -> pl.Expr:
    """Name the kind of decoys: `prior` if the options leak because the answers of the type do."""
    leaks = pl.col("question_type").is_in([prior.question_type for prior in priors_of(settings)])
    return (
        pl.when(pl.Series(planted))
        .then(pl.lit("planted"))
        .when(pl.Series(cued))
        .then(pl.lit(LENGTH))
        .when(leaks)
        .then(pl.lit("prior"))
        .otherwise(pl.lit("neutral"))
    )


def _evidence(n: int, objects: pl.DataFrame) -> pl.Series:
    """List the objects each answer depends on; absent objects leave an empty list."""
    ordered = objects.sort("row", "index")
    lists = ordered.group_by("row", maintain_order=True).agg(evidence=pl.struct("label", "box").cast(EVIDENCE))
    rows = pl.DataFrame({"row": pl.int_range(n, eager=True)})
    return rows.join(lists, on="row", how="left", validate="1:1", maintain_order="left")["evidence"].fill_null([])


def _conflict(settings: WorldSettings) -> pl.Expr:
    """Mark where a cue fires and suggests a wrong answer."""
    rules = (each for name in RULE_TYPES for each in rules_of(name, settings))
    suggested = {each.name: each.answer for each in (*rules, *priors_of(settings))}
    suggestion = pl.col("planted").replace_strict(suggested, default=None, return_dtype=pl.String)
    return (suggestion != pl.col("answer")).fill_null(value=False)


@described(
    needs="nothing: it is generated; --set render=true also draws its pictures",
    sample="what color is the banana please?  yellow\nhow many bottles are there?  2",
)
def read_world(
    path: str | Path | None = None,
    *,
    seed: int = 0,
    images: int = 1000,
    questions: int = 5,
    strength: Strength = STRENGTH,
    test_strength: Strength | None = None,
    plant: tuple[str, ...] = PLANTED,
    noise: float = 0.15,
    shares: tuple[float, float, float] = (0.6, 0.1, 0.3),
    options: int = 4,
    yes: float | None = None,
    render: bool = False,
) -> Dataset:
    """Make the world for these settings (see WorldSettings); with `render`, draw its pictures into `path`."""
    if render and path is None:
        raise SettingError("a folder for the pictures", "render=True without path", "give path, or render=False")
    settings = WorldSettings(seed, images, questions, strength, test_strength, plant, noise, shares, options, yes)
    data = make_world(settings).data
    return draw_into(data, Path(path)) if render and path is not None else data


def draw_into(data: Dataset, folder: Path) -> Dataset:
    """Draw the pictures of a world into a folder, and fill in their paths."""
    return replace(data, images=Images(draw_pictures(data.images.table, folder), folder))
