"""A few questions of each cell, with what was shown and what was said under each condition (Fig. 2)."""

from dataclasses import replace

import polars as pl

from eyechart.audits.grounding.answers import Heard
from eyechart.audits.grounding.audit import GroundingAudit
from eyechart.audits.grounding.cells import CELLS
from eyechart.audits.grounding.probing import probe_evidence
from eyechart.dataset import Dataset
from eyechart.result import Result
from eyechart.tables import PROBES

SHOWN = 3  # questions of each cell


def example_table(
    audit: GroundingAudit, data: Dataset, study: Result, heard: Heard, rows: pl.DataFrame
) -> pl.DataFrame:
    """List the first questions of each cell, a row for each condition."""
    chosen = _choose(rows)
    few = replace(study, rows=study.rows.join(chosen, on="id", how="semi"))
    content = data.scan("image", "question", "answer", "evidence").collect()
    asked = chosen.join(content, on="id", validate="1:1").rename({"answer": "reference", "evidence": "boxes"})
    parts = [_under(condition, probes, asked, heard) for condition, probes in _probes(audit, data, few)]
    table = pl.concat(parts) if parts else pl.DataFrame()
    return table.sort("question", "id", "at").drop("at", "id") if table.height else table


def _choose(rows: pl.DataFrame) -> pl.DataFrame:
    """Choose by id; a question whose draws disagree is in the cell that most of them say."""
    most = pl.max_horizontal(*CELLS)
    cell = pl.coalesce(pl.when(pl.col(name) == most).then(pl.lit(said)) for name, said in CELLS.items())
    named = rows.select("id", cell.alias("cell")).drop_nulls().sort("cell", "id")
    return named.group_by("cell", maintain_order=True).head(SHOWN)


def _probes(audit: GroundingAudit, data: Dataset, few: Result) -> list[tuple[str, pl.DataFrame]]:
    return list(probe_evidence(replace(audit, extra=()), data, few)) if few.rows.height else []


def _under(condition: str, probes: pl.DataFrame, asked: pl.DataFrame, heard: Heard) -> pl.DataFrame:
    given = heard.tables[condition].unique("id", keep="first", maintain_order=True).select("id", "given")
    shown = asked.join(given, on="id", how="left", validate="1:1").join(probes, on="id", validate="1:1")
    kept = (
        pl.col(name) if name in probes.columns else pl.lit(None, PROBES.columns[name].dtype).alias(name)
        for name in ("hidden", "removal")
    )
    return shown.select(
        "id",
        "condition",
        "image",
        "boxes",
        *kept,
        "reference",
        question=pl.format("{}: {}", "cell", "question"),
        answer="given",
        at=pl.lit(list(heard.tables).index(condition)),
    )
