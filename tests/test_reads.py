"""A run reads what it needs and nothing twice: tables, and the page that is printed and written."""

from pathlib import Path
from unittest.mock import Mock

import polars as pl
import pytest

from eyechart.cli import main, results, running

AUDIT = ("-m", "world:seer", "-m", "world:cheater", "-a", "accuracy", "-a", "rules", "-a", "perception")


def count_reads(monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[list[str], int]:
    """List the tables that a command opens, and count how often it collects the page."""
    readers = [Mock(wraps=getattr(pl, name)) for name in ("read_parquet", "scan_parquet")]
    collecting = Mock(wraps=running.collect)
    with monkeypatch.context() as patched:
        for name, reader in zip(("read_parquet", "scan_parquet"), readers, strict=True):
            patched.setattr(pl, name, reader)
        for module in (running, results):
            patched.setattr(module, "collect", collecting)
        patched.setattr("sys.argv", ["eyechart", *words])
        with pytest.raises(SystemExit) as leaving:
            main()
    assert not leaving.value.code
    return [str(call.args[0]) for reader in readers for call in reader.call_args_list], collecting.call_count


def test_an_audit_reads_few_tables_and_collects_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three audits on two models; when every reader read for itself they opened 553 tables."""
    data, run = str(tmp_path / "data"), str(tmp_path / "run")
    count_reads(monkeypatch, "read", "world", "-o", data, "--set", "images=40")

    opened, pages = count_reads(monkeypatch, "audit", data, *AUDIT, "-o", run)

    assert 0 < len(opened) <= 60
    assert pages == 1


def test_a_report_opens_each_table_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, run = str(tmp_path / "data"), str(tmp_path / "run")
    count_reads(monkeypatch, "read", "world", "-o", data, "--set", "images=40")
    count_reads(monkeypatch, "audit", data, *AUDIT, "-o", run)

    opened, pages = count_reads(monkeypatch, "report", run, "-o", str(tmp_path / "again.html"))

    of_studies = [path for path in opened if "/data/" not in path]
    assert len(of_studies) == len(set(of_studies)) > 20
    assert pages == 1
