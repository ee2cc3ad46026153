"""Answerers with known behaviour, which know only what a probe shows and the rules of the world.

seer      looks: runs the program on the visible objects; "unknown" if they do not suffice
reader    does the same from the pixels of the rendered picture
cheater   follows planted rules of some kinds, else gives the usual answer of the type; never looks at evidence
leaner    follows planted rules of some kinds, and looks if none of them fires
blind     uses the question alone: word rules, then the usual answer
deaf      uses the picture alone: names the most common visible colour
guesser   picks one of the options, or of the answers of the type, at random
refuser   answers as another does, but says that it cannot see an image where there is none
talker    looks, and answers in sentences; shouter in another case or with punctuation; letterer by the option's letter
mumbler   says something from which no answer can be read
hedger    looks, but offers its answer beside another one
abstainer looks, but says that it is not sure about half of the examples
mixture   answers each example by one of several answerers, in known shares

An answerer is found by its name, which follows "world:" in a model's specification.
"""

from collections.abc import Callable
from dataclasses import dataclass
from string import ascii_uppercase

import numpy as np
import polars as pl

from eyechart.base.errors import SettingError
from eyechart.base.hashing import combine, hash_text, uniform
from eyechart.base.registry import unknown_name
from eyechart.data.images import Images
from eyechart.data.protocols import Model
from eyechart.world.behaviour import Answerer
from eyechart.world.program import answer_from, find_objects
from eyechart.world.reader import PixelReader
from eyechart.world.shortcuts import CROSSES, PRIORS, RULES, Shortcut
from eyechart.world.sight import in_sight, read_probes, scene_shown, whole_pictures
from eyechart.world.vocabulary import BIGGER, CUE_OBJECTS, QUESTION_TYPES, THERE, UNKNOWN, YES_NO

NO_QUESTION = "yes"  # the usual answer if there is no question
REFUSAL = "I cannot see an image."
DOUBT = "I am not sure."
ABSTAINS, WORDING = 1, 2  # seeds of draws by example, apart from those of mixtures
USUAL = {name: kind.answers[0] for name, kind in QUESTION_TYPES.items() if name != BIGGER} | {
    str(prior.question_type): str(prior.answer) for prior in PRIORS
}


@dataclass(frozen=True)
class Seer(Answerer):
    """Answer from the visible objects."""

    name: str = "seer"

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """Run the program on the visible objects."""
        rows = read_probes(probes)
        scene = scene_shown(rows, images)
        seen = answer_from(in_sight(find_objects(rows, scene), rows))
        absent = whole_pictures(rows.filter(pl.col("question_type") == THERE), scene)
        denied = absent.join(seen, on="row", how="anti").select("row", answer=pl.lit("no"))
        answered = rows.join(pl.concat([seen, denied]), on="row", how="left", validate="1:1", maintain_order="left")
        return answered.select("id", pl.col("answer").fill_null(UNKNOWN))


@dataclass(frozen=True)
class Cheater(Answerer):
    """Follow the first rule of the given kinds that fires."""

    name: str
    kinds: tuple[str, ...]

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """Follow the rules, else give the usual answer."""
        rows = read_probes(probes)
        return rows.select("id", answer=pl.coalesce(suggested(rows, images, self.kinds), usual_answer()))


@dataclass(frozen=True)
class Leaner(Answerer):
    """Follow the rules of the given kinds, and look if none of them fires."""

    name: str
    kinds: tuple[str, ...]

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """Follow the rules, else answer from the visible objects."""
        seen = Seer().answer(probes, images)["answer"]
        return probes.select("id", answer=pl.coalesce(suggested(read_probes(probes), images, self.kinds), seen))


def suggested(rows: pl.DataFrame, images: Images, kinds: tuple[str, ...]) -> pl.Series:
    """Return for each probe the answer of the first rule of these kinds that fires, else null."""
    known = (*RULES, *PRIORS, *(each for some in CROSSES.values() for each in some))
    rules = [each for kind in kinds for each in known if each.kind == kind]
    if any(each.objects for each in rules):
        rows = _with_cues(rows, images)
    answers = [pl.when(fires(each)).then(pl.lit(each.answer)) for each in rules]
    return rows.select(pl.coalesce(*answers, pl.lit(None, pl.String)).alias("answer")).to_series()


def fires(rule: Shortcut) -> pl.Expr:
    """Return whether the cue of a rule is in the question and visible."""
    cue = pl.col("question_type") == rule.question_type
    for word in rule.words:
        cue &= pl.col("words").list.contains(word)
    for label in rule.objects:
        cue &= pl.col("cues").list.contains(label)
    return cue


def usual_answer() -> pl.Expr:
    """Return the most likely answer of a type without a cue; of two things, the one named first."""
    by_type = pl.col("question_type").replace_strict(USUAL, default=None, return_dtype=pl.String)
    first = pl.when(pl.col("question_type") == BIGGER).then("first")
    return pl.coalesce(by_type, first, pl.lit(NO_QUESTION))


def _with_cues(rows: pl.DataFrame, images: Images) -> pl.DataFrame:
    scene = scene_shown(rows, images).filter(pl.col("label").is_in(CUE_OBJECTS))
    seen = in_sight(rows.select("row", "image").join(scene, on="image"), rows)
    cues = seen.group_by("row").agg(cues=pl.col("label"))
    return rows.join(cues, on="row", how="left", validate="1:1", maintain_order="left")


@dataclass(frozen=True)
class OptionCheater(Answerer):
    """Choose the option of the highest rank, without looking; without options, give the usual answer."""

    name: str
    rank: Callable[[pl.Expr], pl.Expr]

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:  # noqa: ARG002 - the contract of a model
        """Choose among the options."""
        rows = read_probes(probes)
        return rows.select("id", answer=pl.coalesce(pick(rows, self.rank(pl.col("choices"))), usual_answer()))


def by_use(text: pl.Expr) -> pl.Expr:
    """Prefer planted priors to other answers, and those to foils."""
    foils = [text for kind in QUESTION_TYPES.values() for text in kind.foils]
    return text.is_in([prior.answer for prior in PRIORS]).cast(pl.Int8) - text.is_in(foils).cast(pl.Int8)


def by_length(text: pl.Expr) -> pl.Expr:
    """Prefer short texts."""
    return -text.str.len_chars().cast(pl.Int64)


@dataclass(frozen=True)
class Refuser(Answerer):
    """Answer as another does, but only where there is a picture."""

    name: str
    member: Model

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """Say that there is no image, else answer."""
        answers = _aligned(self.member, probes, images)
        return read_probes(probes).select(
            "id", answer=pl.when(pl.col("image").is_null()).then(pl.lit(REFUSAL)).otherwise(answers)
        )


@dataclass(frozen=True)
class Hedger(Answerer):
    """Look, and offer another answer beside the one found, so that none is chosen."""

    name: str = "hedger"

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """Name two answers."""
        one, other = (_aligned(model, probes, images) for model in (Seer(), Guesser(seed=1)))
        return probes.select("id", answer=pl.format("either {} or {}", one, other))


@dataclass(frozen=True)
class Abstainer(Answerer):
    """Look, but abstain from half of the examples, the same under every condition."""

    name: str = "abstainer"

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """Say "not sure", or what is seen."""
        sure = pl.Series(uniform(hash_text(probes["id"], ABSTAINS)) < 0.5)
        return probes.select("id", answer=pl.when(sure).then(_aligned(Seer(), probes, images)).otherwise(pl.lit(DOUBT)))


@dataclass(frozen=True)
class Speaker(Answerer):
    """Look, and say what is seen in one of several ways, the same for an example under every condition."""

    name: str
    ways: Callable[[pl.Expr], tuple[pl.Expr, ...]]

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """Look, and word the answer."""
        rows = read_probes(probes).with_columns(_aligned(Seer(), probes, images))
        ways = self.ways(pl.col("answer"))
        way = pl.Series((uniform(hash_text(rows["id"], WORDING)) * len(ways)).astype(np.int64))
        return rows.select("id", answer=pl.coalesce(pl.when(way == at).then(each) for at, each in enumerate(ways)))


def in_sentences(answer: pl.Expr) -> tuple[pl.Expr, ...]:
    """Word an answer as a sentence."""
    return tuple(pl.format(text, answer) for text in ("The answer is {}.", "It looks like {} to me", "I would say {}."))


def in_other_letters(answer: pl.Expr) -> tuple[pl.Expr, ...]:
    """Write an answer in another case, or with punctuation after it."""
    return answer.str.to_uppercase(), answer.str.to_titlecase(), pl.format("{}.", answer), pl.format("{}!", answer)


def by_letter(answer: pl.Expr) -> tuple[pl.Expr, ...]:
    """Name an option by its letter; an answer that is not offered stays as it is."""
    offered = pl.col("choices").list
    letter = pl.coalesce(
        pl.when(offered.get(at, null_on_oob=True) == answer).then(pl.lit(each))
        for at, each in enumerate(ascii_uppercase)
    )
    return tuple(
        pl.coalesce(each, answer) for each in (letter, pl.format("({})", letter), pl.format("{}. {}", letter, answer))
    )


def say_nothing(answer: pl.Expr) -> tuple[pl.Expr, ...]:  # noqa: ARG001 - one of the ways of a speaker
    """Say what is no answer to any question."""
    return tuple(map(pl.lit, ("", "Hmm ...", "That is a good question!", "It depends on how one looks at it.")))


def _aligned(model: Model, probes: pl.DataFrame, images: Images) -> pl.Series:
    """Return the answers of a model in the order of the probes."""
    answers = model.answer(probes, images)
    return probes.select("id").join(answers, on="id", how="left", validate="1:1", maintain_order="left")["answer"]


@dataclass(frozen=True)
class Deaf(Answerer):
    """Answer from the picture alone."""

    name: str = "deaf"

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """Name the most common visible colour, breaking ties alphabetically."""
        rows = read_probes(probes)
        seen = in_sight(rows.select("row", "image").join(scene_shown(rows, images), on="image"), rows)
        counts = (
            seen.group_by("row", "color").agg(n=pl.len()).sort("row", "n", "color", descending=[False, True, False])
        )
        colors = counts.group_by("row", maintain_order=True).agg(answer=pl.col("color").first())
        answered = rows.join(colors, on="row", how="left", validate="1:1", maintain_order="left")
        return answered.select("id", pl.col("answer").fill_null(UNKNOWN))


@dataclass(frozen=True)
class Guesser(Answerer):
    """Answer at random, but always the same way for the same example."""

    name: str = "guesser"
    seed: int = 0

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:  # noqa: ARG002 - the contract of a model
        """Draw one of the options, or else one of the answers of the type."""
        rows = read_probes(probes)
        answers = {name: list(kind.answers) for name, kind in QUESTION_TYPES.items() if name != BIGGER}
        types = pl.DataFrame({"question_type": list(answers), "possible": list(answers.values())})
        rows = rows.join(types, on="question_type", how="left", validate="m:1", maintain_order="left")
        named = pl.when(pl.col("question_type") == BIGGER).then(pl.concat_list("first", "second"))
        rows = rows.with_columns(choices=pl.coalesce("choices", "possible", named, pl.lit(list(YES_NO))))
        return rows.select("id", answer=pick(rows, pl.lit(0), self.seed))


def pick(rows: pl.DataFrame, rank: pl.Expr, seed: int = 0) -> pl.Series:
    """Pick the option of the highest rank in each row, breaking ties by a hash of id and option."""
    options = rows.select("row", "id", "choices").explode("choices", empty_as_null=False, keep_nulls=False)
    key = pl.Series("key", combine(hash_text(options["id"], seed), hash_text(options["choices"])))
    best = options.with_columns(key, rank=rank).sort("row", "rank", "key").group_by("row", maintain_order=True).last()
    return rows.select("row").join(best, on="row", how="left", validate="1:1", maintain_order="left")["choices"]


@dataclass(frozen=True)
class Mixture(Answerer):
    """Answer each example by one member, the same under every condition, in the given shares."""

    name: str
    members: tuple[Model, ...]
    shares: tuple[float, ...]

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """Assign the probes to members by a hash of their ids, and gather the answers."""
        edges = np.cumsum(self.shares)[:-1]
        member = np.searchsorted(edges, uniform(hash_text(probes["id"])), side="right")
        parts = [each.answer(probes.filter(pl.Series(member == i)), images) for i, each in enumerate(self.members)]
        return pl.concat(parts)


ANSWERERS: dict[str, Model] = {
    "seer": Seer(),
    "reader": PixelReader(),
    "blind": Cheater("blind", ("word",)),
    "deaf": Deaf(),
    "guesser": Guesser(),
    "cheater": Cheater("cheater", ("pair", "object", "word")),
    "cheater:prior": Cheater("cheater:prior", ()),
    "cheater:word": Cheater("cheater:word", ("word",)),
    "cheater:object": Cheater("cheater:object", ("object",)),
    "cheater:pair": Cheater("cheater:pair", ("pair",)),
    "cheater:crossed": Cheater("cheater:crossed", ("crossed",)),
    "cheater:decoy": OptionCheater("cheater:decoy", by_use),
    "cheater:length": OptionCheater("cheater:length", by_length),
    "refuser": Refuser("refuser", Seer()),
    "refuser:decoy": Refuser("refuser:decoy", OptionCheater("cheater:decoy", by_use)),
    "hedger": Hedger(),
    "abstainer": Abstainer(),
    "talker": Speaker("talker", in_sentences),
    "shouter": Speaker("shouter", in_other_letters),
    "letterer": Speaker("letterer", by_letter),
    "mumbler": Speaker("mumbler", say_nothing),
    **{f"leaner:{kind}": Leaner(f"leaner:{kind}", (kind,)) for kind in ("prior", "word", "object", "pair", "crossed")},
}
MIXTURE = "mix:"
_EXAMPLE = '"mix:seer=0.7,blind=0.3"'


def load_answerer(spec: str) -> Model:
    """Find an answerer by name, or mix several: `mix:seer=0.7,blind=0.3`."""
    if spec.startswith(MIXTURE):
        return _mix(spec)
    if spec not in ANSWERERS:
        raise unknown_name("answerer of the world", spec, (*ANSWERERS, f"{MIXTURE}..."))
    return ANSWERERS[spec]


def _mix(spec: str) -> Mixture:
    parts = [part.rpartition("=") for part in spec.removeprefix(MIXTURE).split(",")]
    shares = tuple(_share(text, spec) for _, _, text in parts)
    if abs(sum(shares) - 1) > 1e-9:
        raise SettingError("shares of a mixture that sum to 1", f"{sum(shares):g} in {spec!r}", f"write {_EXAMPLE}")
    return Mixture(spec, tuple(load_answerer(name) for name, _, _ in parts), shares)


def _share(text: str, spec: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise SettingError("each share of a mixture from 0 to 1", f"{text!r} in {spec!r}", f"write {_EXAMPLE}")
    return share
