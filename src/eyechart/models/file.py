"""Treat answers in files, one file for each condition, as a model."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import polars as pl

from eyechart.base.errors import ModelError
from eyechart.base.registry import unknown_name
from eyechart.base.settings import fit_settings
from eyechart.data.images import Images
from eyechart.data.probes import PLAIN_CONDITION
from eyechart.formats.predictions import COLUMNS, PredictionFile, read_predictions
from eyechart.language.prompts import choose_template
from eyechart.models.extraction import extract

Extraction = Literal["auto", "yes", "no"]
# settings of a log, besides its path and columns
_SETTINGS: dict[str, Any] = {"format": str, "scorer": str, "unfinished": bool, "extract": Extraction, "name": str}
_ENDINGS = {".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".parquet", ".xlsx", ".eval", ".gz", ".zip"}


@dataclass(frozen=True)
class PredictionFiles:
    """Answer probes by looking up their ids; probes not in the files stay unanswered."""

    name: str
    paths: Mapping[str, Path]
    columns: Mapping[str, str] = field(default_factory=dict)  # our name -> theirs
    format: str = "auto"
    scorer: str | None = None
    unfinished: bool = False
    extract: Extraction = "auto"  # yes: from the response, as for models that eyechart asks; auto: when judged

    @property
    def identity(self) -> str:
        """Return how the answers are read: a run that judges them needs it."""
        return json.dumps({"kind": "predictions", "extract": self.extract})

    @cached_property
    def files(self) -> dict[str, PredictionFile]:
        """Read the files when the first answer is needed; a file with a column `condition` holds several conditions.

        Answers are sorted by id, so that those of a batch are found without a scan of all.
        """
        files: dict[str, PredictionFile] = {}
        for condition, path in self.paths.items():
            unordered, counts, layout = read_predictions(
                path, dict(self.columns), format=self.format, scorer=self.scorer, unfinished=self.unfinished
            )
            answers = unordered.sort("id", maintain_order=True).rechunk()
            if "condition" not in answers.columns:
                files[condition] = PredictionFile(answers, counts, layout)
                continue
            for (name,), part in answers.group_by("condition", maintain_order=True):
                own = pl.when(pl.col("status") == "read").then(part.height).otherwise("n").alias("n")
                files[str(name)] = PredictionFile(part.drop("condition"), counts.with_columns(own), layout)
        return files

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:  # noqa: ARG002 - part of the contract
        """Look up the answers to a batch."""
        answers = _select_ids(self._answers(probes), probes["id"])
        if self.extract == "auto" and "options" in answers.columns:
            return _read_listed(answers, probes)
        return _extract_answers(answers, probes) if self.extract == "yes" else answers

    def holds(self, condition: str) -> bool:
        """Return whether a file has answers under a condition."""
        return condition in self.files

    def stock(self, probes: pl.DataFrame) -> pl.DataFrame:
        """Count the rows read and dropped, the ids that are missing and the ids that were not asked."""
        answers = self._answers(probes)
        condition = str(probes["condition"][0])
        extra = answers.join(probes, on="id", how="anti")["id"].n_unique()
        missing = probes.join(answers, on="id", how="anti").height
        if answers.height and missing == probes.height:
            found = f"none: {answers['id'][0]!r} and the like, where {probes['id'][0]!r} was asked"
            advice = "name the column with the ids of the dataset, as in predictions:FILE,id=COLUMN"
            raise ModelError(f"answers of {self.name} to what was asked under {condition!r}", found, advice)
        lookup = pl.DataFrame(
            {
                "condition": [condition] * 2,
                "status": ["missing", "extra"],
                "reason": ["asked, but not in the file", "in the file, but not asked"],
                "n": [missing, extra],
            }
        )
        read = self.files[condition].counts.with_columns(pl.lit(condition).alias("condition"))
        return pl.concat([read, lookup]).filter(pl.col("n") > 0)

    def _answers(self, probes: pl.DataFrame) -> pl.DataFrame:
        condition = str(probes["condition"][0])
        if condition not in self.files:
            advice = "add it: predictions:" + (
                "FILE" if condition == PLAIN_CONDITION else f"{PLAIN_CONDITION}=...,{condition}=FILE"
            )
            raise ModelError(f"a file of answers for condition {condition!r}", ", ".join(self.files), advice)
        return self.files[condition].answers


def open_predictions(spec: str) -> PredictionFiles:
    """Open `answers.json`, or `plain=all.json,evidence=part.json`.

    `it.csv,id=qid,answer=text` names the columns, `log.eval,format=inspect,scorer=match,unfinished=yes` the settings;
    `logs,extract=yes` extracts the answers from texts by the rules for models that eyechart asks. The model is named
    after the file unless a name is given, as in `it.csv,name=llava-1.5`.
    """
    paths, columns, given = _split_spec(spec)
    for condition, path in paths.items():
        if not path.exists():
            known = (*COLUMNS, *_SETTINGS)
            if get_close_matches(condition, known, n=1, cutoff=0.75):
                raise unknown_name("column or setting of predictions", condition, known)
            raise ModelError(f"a predictions file at {path}", "none", "check the path after 'predictions:'")
    if not paths:
        raise ModelError("a predictions file", f"none in {spec!r}", "give the file before its columns and settings")
    settings: dict[str, Any] = fit_settings("predictions", _SETTINGS, given)
    name = _name_model(next(iter(paths.values())))
    return replace(PredictionFiles(name, paths, columns), **settings)


def _name_model(path: Path) -> str:
    """Name a model after its file, without suffixes of formats; dots in versions are kept."""
    while path.suffix.lower() in _ENDINGS:
        path = path.with_suffix("")
    return path.name or path.resolve().name  # the current folder has no name of its own


def _select_ids(answers: pl.DataFrame, ids: pl.Series) -> pl.DataFrame:
    """Select the answers to some ids from a table sorted by id."""
    ends = pl.DataFrame({side: answers["id"].search_sorted(ids, side) for side in ("left", "right")})
    rows = ends.select(pl.int_ranges("left", "right").explode(empty_as_null=False, keep_nulls=False)).to_series()
    return answers[rows]


def _read_listed(answers: pl.DataFrame, probes: pl.DataFrame) -> pl.DataFrame:
    """Find the options in answers that are none as they stand, while the order in which they were shown is known."""
    stand = pl.col("answer").is_in(pl.col("options")) | pl.col("options").is_null() | pl.col("answer").is_null()
    found = _extract_answers(answers.with_columns(raw="answer"), probes)
    read = pl.when(~stand & (found["status"] == "ok")).then(found["answer"]).otherwise("answer")
    return answers.with_columns(answer=read)


def _extract_answers(answers: pl.DataFrame, probes: pl.DataFrame) -> pl.DataFrame:
    """Extract the answers from texts, and replace letters by their options; failures are unchanged.

    The options are those of the log where it lists them: it may have shown them in another order than the data.
    """
    rows = answers.select("id").join(probes, on="id", how="left", validate="m:1", maintain_order="left")
    if "options" in answers.columns:
        own = [pl.col("choices")] if "choices" in rows.columns else []
        rows = rows.with_columns(pl.coalesce(answers["options"], *own).alias("choices"))
    raw = answers.select(pl.coalesce(pl.col("^raw$"), "answer").alias("raw")).to_series()
    extracted = extract(raw, rows, choose_template(None))
    known = "status" in answers.columns
    settled = pl.col("status").is_in(["failed", "refused"]) if known else raw.is_null()
    status = pl.col("status") if known else pl.lit("failed")
    return answers.with_columns(
        raw,
        answer=pl.when(settled).then("answer").otherwise(extracted["answer"]),
        status=pl.when(settled).then(status).otherwise(extracted["status"]),
    )


def _split_spec(spec: str) -> tuple[dict[str, Path], dict[str, str], dict[str, str]]:
    """Split a model string into files by condition, columns and settings."""
    paths: dict[str, Path] = {}
    columns: dict[str, str] = {}
    settings: dict[str, str] = {}
    for part in [spec] if Path(spec).exists() else spec.split(","):
        name, equals, value = part.partition("=")
        if not equals and "id" in columns and not Path(part).exists():
            columns["id"] += f",{part}"  # a further column of a joined id
        elif not equals or Path(part).exists():
            paths[PLAIN_CONDITION] = Path(part)
        elif name in COLUMNS:
            columns[name] = value
        elif name in _SETTINGS:
            settings[name] = value
        else:
            condition, path = _find_path(part)
            paths[condition] = path
    return paths, columns, settings


def _find_path(part: str) -> tuple[str, Path]:
    """Split `image=blank=there.json` at the equals sign before a path that exists, else at the first."""
    words = part.split("=")
    splits = [("=".join(words[:n]), Path("=".join(words[n:]))) for n in range(1, len(words))]
    return next((split for split in splits if split[1].exists()), splits[0])
