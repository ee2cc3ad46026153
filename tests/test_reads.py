"""A run reads what it needs and nothing twice: tables, and the page that is printed and written."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import Mock

import polars as pl
import pytest

from eyechart.cli import main, results, running

SCAN = re.compile(r"Parquet SCAN \[([^\],]+)")
AUDIT = ("-m", "world:seer", "-m", "world:cheater", "-a", "accuracy", "-a", "rules", "-a", "perception")


class Reads(NamedTuple):
    """The tables that a command opened, those that its queries read, and how often it collected the page."""

    opened: list[str]
    queried: list[str]
    pages: int


def scanned(frames: Iterable[pl.LazyFrame]) -> list[str]:
    """List the Parquet files that queries read."""
    return [path for frame in frames for path in SCAN.findall(frame.explain(optimized=False))]


def count_reads(monkeypatch: pytest.MonkeyPatch, *words: str) -> Reads:
    readers = [Mock(wraps=getattr(pl, name)) for name in ("read_parquet", "scan_parquet")]
    collecting, queried = Mock(wraps=running.collect), list[str]()
    collect, sink, collect_all = pl.LazyFrame.collect, pl.LazyFrame.sink_parquet, pl.collect_all

    def noting(query: Callable[..., Any]) -> Callable[..., Any]:
        def run(frames: Any, *rest: Any, **more: Any) -> Any:  # noqa: ANN401 - one query or several
            queried.extend(scanned([frames] if isinstance(frames, pl.LazyFrame) else frames))
            return query(frames, *rest, **more)

        return run

    with monkeypatch.context() as patched:
        for name, reader in zip(("read_parquet", "scan_parquet"), readers, strict=True):
            patched.setattr(pl, name, reader)
        patched.setattr(pl.LazyFrame, "collect", noting(collect))
        patched.setattr(pl.LazyFrame, "sink_parquet", noting(sink))
        patched.setattr(pl, "collect_all", noting(collect_all))
        for module in (running, results):
            patched.setattr(module, "collect", collecting)
        patched.setattr("sys.argv", ["eyechart", *words])
        with pytest.raises(SystemExit) as leaving:
            main()
    assert not leaving.value.code
    opened = [str(call.args[0]) for reader in readers for call in reader.call_args_list]
    return Reads(opened, queried, collecting.call_count)


def test_a_query_of_a_file_counts_as_a_read(tmp_path: Path) -> None:
    pl.DataFrame({"x": [1, 2]}).write_parquet(tmp_path / "x.parquet")
    scan, memory = pl.scan_parquet(tmp_path / "x.parquet"), pl.DataFrame({"x": [1]}).lazy()

    assert scanned([scan.filter(pl.col("x") > 1)]) == [str(tmp_path / "x.parquet")]
    assert len(scanned([scan.join(scan, on="x"), memory])) == 2


def test_an_audit_reads_few_tables_and_collects_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three audits on two models; when every reader read for itself they opened 553 tables, without queries."""
    data, run = str(tmp_path / "data"), str(tmp_path / "run")
    count_reads(monkeypatch, "read", "world", "-o", data, "--set", "images=40")

    reads = count_reads(monkeypatch, "audit", data, *AUDIT, "-o", run)

    assert reads.opened
    assert reads.queried
    assert len(reads.opened) + len(reads.queried) <= 64
    assert reads.pages == 1


def test_a_report_opens_each_table_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, run = str(tmp_path / "data"), str(tmp_path / "run")
    count_reads(monkeypatch, "read", "world", "-o", data, "--set", "images=40")
    count_reads(monkeypatch, "audit", data, *AUDIT, "-o", run)

    reads = count_reads(monkeypatch, "report", run, "-o", str(tmp_path / "again.html"))

    of_studies = [path for path in reads.opened if "/data/" not in path]
    assert len(of_studies) == len(set(of_studies)) > 20
    assert [path for path in reads.queried if "/data/" not in path] == []
    assert len(reads.queried) <= 9  # two of them for the example to play with, one for those behind findings
    assert reads.pages == 1
