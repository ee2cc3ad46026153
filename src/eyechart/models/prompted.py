"""Models that are asked in words: probes become prompts and pictures, and what is said becomes answers."""

import json
from dataclasses import dataclass, field

import polars as pl

from eyechart.dataset import Images
from eyechart.errors import ModelError
from eyechart.models.cache import ShortMemory
from eyechart.models.cached import Cached
from eyechart.models.extraction import extract
from eyechart.models.prompts import Template, choose_template, list_labels, write_prompts
from eyechart.models.shown import Asker, Said, Shown, place_of
from eyechart.pictures import Picture, show_pictures
from eyechart.probes import SEVERAL
from eyechart.protocols import Where
from eyechart.tables import ANSWERS

CALLS = {"key": pl.String, "known": pl.Boolean, "pictures": pl.Int64, "tokens": pl.Int64}
_Scored = dict[str, str | float]


@dataclass(frozen=True)
class Prompted:
    """Show probes to an asker (which a cache may be wrapped around: it is an asker too) and read its answers."""

    name: str
    asker: Asker
    template: Template = field(default_factory=lambda: choose_template(None))
    draws: int = 1  # how often each probe is asked
    blind: bool = False  # a model without eyes: pictures are not even opened

    @property
    def identity(self) -> str:
        """Write everything that decides an answer beside what is shown, as JSON: the asker and the words around."""
        words = {"prompt": self.template.identity, "words": self.template.digest}
        return json.dumps(json.loads(self.asker.identity) | words)

    @property
    def place(self) -> Where:
        """Run where the asker wants to."""
        return place_of(self.asker)

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """Answer a batch of filled probes, each as often as it is to be asked."""
        shown = self.show(probes, images)
        return pl.concat([self._draw(shown._replace(draw=draw), probes) for draw in range(self.draws)])

    def show(self, probes: pl.DataFrame, images: Images) -> Shown:
        """Write the prompts of filled probes and open their pictures, if it has eyes."""
        if self.blind:
            prompts = write_prompts(probes, self.template).to_list()
            return Shown(prompts, [None] * probes.height, list_labels(probes, self.template).to_list())
        return show(probes, images, self.template)

    def foresee(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """List the calls that filled probes would take (key, known, pictures, tokens), without making any."""
        shown = self.show(probes, images)
        cached = self.asker if isinstance(self.asker, Cached) else Cached(self.asker, ShortMemory())
        calls = [call for draw in range(self.draws) for call in cached.foresee(shown._replace(draw=draw))]
        return pl.DataFrame(calls, schema=CALLS, orient="row")

    def _draw(self, shown: Shown, probes: pl.DataFrame) -> pl.DataFrame:
        said = self.asker.answer_shown(shown)
        if len(said) != probes.height:
            raise ModelError(f"{probes.height} answers from {self.name}", f"{len(said)}", "ask it anew")
        return read_said(said, probes, self.template).with_columns(draw=pl.lit(shown.draw, pl.Int64))


def show(probes: pl.DataFrame, images: Images, template: Template) -> Shown:
    """Write the prompts of filled probes and open their pictures."""
    prompts = write_prompts(probes, template).to_list()
    pictures = list(show_pictures(probes, images))
    return Shown(prompts, pictures, list_labels(probes, template).to_list(), _show_further(probes, images))


def read_said(said: list[Said], probes: pl.DataFrame, template: Template) -> pl.DataFrame:
    """Make a table of answers (id, answer, raw, status, scores, score_kind) out of what was said, in probe order.

    Where asking failed, `raw` tells why.
    """
    raw = pl.Series("raw", [one.failed if one.failed is not None else one.raw for one in said], pl.String)
    failed = pl.Series("failed", [one.failed is not None or one.raw is None for one in said], pl.Boolean)
    refused = pl.Series("refused", [one.refused for one in said], pl.Boolean)
    status = pl.when(failed).then(pl.lit("failed")).when(refused).then(pl.lit("refused")).otherwise("status")
    found = extract(raw, probes, template).select(
        pl.when(~failed & ~refused).then("answer").alias("answer"), raw, status.alias("status")
    )
    scores = pl.Series("scores", _name_scores(said, probes, template), ANSWERS.columns["scores"].dtype)
    kind = pl.when(pl.col("scores").is_not_null()).then(pl.lit("logprob")).alias("score_kind")
    return probes.select("id").with_columns(*found, scores).with_columns(kind)


def _name_scores(said: list[Said], probes: pl.DataFrame, template: Template) -> list[list[_Scored] | None]:
    """Put the options in the place of their labels."""
    labels = list_labels(probes, template).to_list()
    options = probes["choices"].to_list() if "choices" in probes.columns else labels
    meant = [dict(zip(names or (), texts or (), strict=True)) for names, texts in zip(labels, options, strict=True)]
    return [_scored(one, names) if one.scores else None for one, names in zip(said, meant, strict=True)]


def _scored(one: Said, meant: dict[str, str]) -> list[_Scored]:
    return [{"answer": meant.get(name, name), "score": score} for name, score in one.scores or ()]


def _show_further(probes: pl.DataFrame, images: Images) -> list[tuple[Picture, ...]] | None:
    """Open the pictures after the first where probes have several and their picture was not taken away."""
    if SEVERAL not in probes.columns or "image" not in probes.columns:
        return None
    later = pl.when(pl.col("image") == pl.col(SEVERAL).list.first()).then(pl.col(SEVERAL).list.slice(1))
    rows = probes.drop("hidden", strict=False).with_row_index("row").with_columns(later.alias("image"))
    rows = rows.filter(pl.col("image").list.len() > 0).explode("image")
    found: list[tuple[Picture, ...]] = [()] * probes.height
    for row, picture in zip(rows["row"], show_pictures(rows, images), strict=True):
        found[row] += () if picture is None else (picture,)
    return found
