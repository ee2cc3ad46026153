"""A model known only by the answers it left in files, one file for each condition."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from eyechart.dataset import Images
from eyechart.errors import ModelError
from eyechart.probes import OWN
from eyechart.readers.predictions import PredictionFile, read_predictions


@dataclass(frozen=True)
class PredictionFiles:
    """Answer probes by looking their ids up; what is not in the files stays unanswered."""

    name: str
    paths: Mapping[str, Path]

    @cached_property
    def files(self) -> dict[str, PredictionFile]:
        """Read the files when the first answer is asked for; a file with a column `condition` holds several."""
        found: dict[str, PredictionFile] = {}
        for condition, path in self.paths.items():
            answers, counts = read_predictions(path)
            if "condition" not in answers.columns:
                found[condition] = PredictionFile(answers, counts)
                continue
            for (name,), part in answers.group_by("condition", maintain_order=True):
                found[str(name)] = PredictionFile(part.drop("condition"), counts)
        return found

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:  # noqa: ARG002 - part of the contract
        """Find the answers to a batch."""
        return self._answers(probes).join(probes.select("id"), on="id", how="semi")

    def stock(self, probes: pl.DataFrame) -> pl.DataFrame:
        """Count what the file holds: read and dropped rows, ids that were asked and are missing, ids nobody asked."""
        answers = self._answers(probes)
        condition = str(probes["condition"][0])
        extra = answers.join(probes, on="id", how="anti").height
        missing = probes.join(answers, on="id", how="anti").height
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
            advice = f"add it: predictions:{OWN}=...,{condition}=FILE"
            raise ModelError(f"a file of answers for condition {condition!r}", ", ".join(self.files), advice)
        return self.files[condition].answers


def open_predictions(spec: str) -> PredictionFiles:
    """Open `answers.json`, or `plain=all.json,evidence=relevant.json` with a file for each condition."""
    pairs = [part.partition("=") for part in spec.split(",")]
    if all(equals for _, equals, _ in pairs):
        paths = {condition: Path(path) for condition, _, path in pairs}
    else:
        paths = {OWN: Path(spec)}
    for path in paths.values():
        if not path.exists():
            raise ModelError(f"a predictions file at {path}", "none", "check the path after 'predictions:'")
    return PredictionFiles(next(iter(paths.values())).name.partition(".")[0], paths)
