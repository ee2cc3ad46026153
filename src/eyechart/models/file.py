"""A model known only by the answers it left in files, one file for each condition."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from eyechart.dataset import Images
from eyechart.errors import ModelError
from eyechart.models.extraction import extract
from eyechart.models.prompts import choose_template
from eyechart.probes import OWN
from eyechart.readers.logs.table import COLUMNS
from eyechart.readers.predictions import PredictionFile, read_predictions
from eyechart.registry import unknown_name
from eyechart.settings import fit_settings

# of a log, beside its path and columns
_SETTINGS: dict[str, Any] = {"format": str, "scorer": str, "unfinished": bool, "extract": bool, "name": str}
_ENDINGS = {".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".parquet", ".xlsx", ".eval", ".gz", ".zip"}


@dataclass(frozen=True)
class PredictionFiles:
    """Answer probes by looking their ids up; what is not in the files stays unanswered."""

    name: str
    paths: Mapping[str, Path]
    columns: Mapping[str, str] = field(default_factory=dict)  # our name -> theirs
    format: str = "auto"
    scorer: str | None = None
    unfinished: bool = False
    extract: bool = False  # find the answers in what was said, as where a model is asked here

    @cached_property
    def files(self) -> dict[str, PredictionFile]:
        """Read the files when the first answer is asked for; a file with a column `condition` holds several.

        Answers are put in the order of their ids, so that finding those of a batch takes no look at all of them.
        """
        found: dict[str, PredictionFile] = {}
        for condition, path in self.paths.items():
            unordered, counts = read_predictions(
                path, dict(self.columns), format=self.format, scorer=self.scorer, unfinished=self.unfinished
            )
            answers = unordered.sort("id", maintain_order=True).rechunk()
            if "condition" not in answers.columns:
                found[condition] = PredictionFile(answers, counts)
                continue
            for (name,), part in answers.group_by("condition", maintain_order=True):
                own = pl.when(pl.col("status") == "read").then(part.height).otherwise("n").alias("n")
                found[str(name)] = PredictionFile(part.drop("condition"), counts.with_columns(own))
        return found

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:  # noqa: ARG002 - part of the contract
        """Find the answers to a batch."""
        found = _of_ids(self._answers(probes), probes["id"])
        return _find_answers(found, probes) if self.extract else found

    def holds(self, condition: str) -> bool:
        """Tell whether a file has answers under a condition."""
        return condition in self.files

    def stock(self, probes: pl.DataFrame) -> pl.DataFrame:
        """Count what the file holds: read and dropped rows, ids that were asked and are missing, ids nobody asked."""
        answers = self._answers(probes)
        condition = str(probes["condition"][0])
        extra = answers.join(probes, on="id", how="anti")["id"].n_unique()
        missing = probes.join(answers, on="id", how="anti").height
        if answers.height and missing == probes.height:
            told = f"none: {answers['id'][0]!r} and the like, where {probes['id'][0]!r} was asked"
            advice = "name the column that holds the ids of the data, as predictions:FILE,id=COLUMN"
            raise ModelError(f"answers of {self.name} to what was asked under {condition!r}", told, advice)
        found = pl.DataFrame(
            {
                "condition": [condition] * 2,
                "status": ["missing", "extra"],
                "reason": ["asked, but not in the file", "in the file, but not asked"],
                "n": [missing, extra],
            }
        )
        read = self.files[condition].counts.with_columns(pl.lit(condition).alias("condition"))
        return pl.concat([read, found]).filter(pl.col("n") > 0)

    def _answers(self, probes: pl.DataFrame) -> pl.DataFrame:
        condition = str(probes["condition"][0])
        if condition not in self.files:
            advice = "add it: predictions:" + ("FILE" if condition == OWN else f"{OWN}=...,{condition}=FILE")
            raise ModelError(f"a file of answers for condition {condition!r}", ", ".join(self.files), advice)
        return self.files[condition].answers


def open_predictions(spec: str) -> PredictionFiles:
    """Open `answers.json`, or `plain=all.json,evidence=part.json`.

    `it.csv,id=qid,answer=said` names the columns, `log.eval,format=inspect,scorer=match,unfinished=yes` the settings;
    `logs,extract=yes` finds the answers in what was said by the rules for models that are asked here. The model is
    called as the file, or `it.csv,name=llava-1.5`.
    """
    parts = _divide(spec)
    for condition, path in parts.paths.items():
        if not path.exists():
            known = (*COLUMNS, *_SETTINGS)
            if get_close_matches(condition, known, n=1, cutoff=0.75):
                raise unknown_name("column or setting of predictions", condition, known)
            raise ModelError(f"a predictions file at {path}", "none", "check the path after 'predictions:'")
    if not parts.paths:
        raise ModelError("a predictions file", f"none in {spec!r}", "name the file before its columns and settings")
    settings: dict[str, Any] = fit_settings("predictions", _SETTINGS, parts.settings)
    name = _name_of(next(iter(parts.paths.values())))
    return replace(PredictionFiles(name, parts.paths, parts.columns), **settings)


def _name_of(path: Path) -> str:
    """Name a model as its file, without endings of formats; dots of versions are no endings."""
    while path.suffix.lower() in _ENDINGS:
        path = path.with_suffix("")
    return path.name or path.resolve().name  # the folder one is in has no name of its own


def _of_ids(answers: pl.DataFrame, ids: pl.Series) -> pl.DataFrame:
    """Select the answers, which are in the order of their ids, to some of them."""
    ends = pl.DataFrame({side: answers["id"].search_sorted(ids, side) for side in ("left", "right")})
    rows = ends.select(pl.int_ranges("left", "right").explode(empty_as_null=False, keep_nulls=False)).to_series()
    return answers[rows]


def _find_answers(found: pl.DataFrame, probes: pl.DataFrame) -> pl.DataFrame:
    """Find the answers in what was said, and put options in the place of their letters; failures stay what they are."""
    asked = found.select("id").join(probes, on="id", how="left", validate="m:1", maintain_order="left")
    said = found.select(pl.coalesce(pl.col("^raw$"), "answer").alias("raw")).to_series()
    read = extract(said, asked, choose_template(None))
    settled = pl.col("status").is_in(["failed", "refused"]) if "status" in found.columns else said.is_null()
    status = pl.col("status") if "status" in found.columns else pl.lit("failed")
    return found.with_columns(
        said,
        answer=pl.when(settled).then("answer").otherwise(read["answer"]),
        status=pl.when(settled).then(status).otherwise(read["status"]),
    )


class _Parts(NamedTuple):
    paths: dict[str, Path]
    columns: dict[str, str]
    settings: dict[str, str]


def _divide(spec: str) -> _Parts:
    found = _Parts({}, {}, {})
    for part in [spec] if Path(spec).exists() else spec.split(","):
        name, equals, value = part.partition("=")
        if not equals or Path(part).exists():
            found.paths[OWN] = Path(part)
        elif name in COLUMNS:
            found.columns[name] = value
        elif name in _SETTINGS:
            found.settings[name] = value
        else:
            condition, path = _find_path(part)
            found.paths[condition] = path
    return found


def _find_path(part: str) -> tuple[str, Path]:
    """Divide `image=blank=there.json` at the equals sign before a path that exists, else at the first."""
    words = part.split("=")
    splits = [("=".join(words[:at]), Path("=".join(words[at:]))) for at in range(1, len(words))]
    return next((one for one in splits if one[1].exists()), splits[0])
