"""The tables of figures in docs are those that `make docs` writes from recorded results."""

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PROJECT = Path(__file__).parent.parent
DOCS = PROJECT / "docs"
PAGES = sorted(page.relative_to(DOCS) for page in DOCS.rglob("*.md"))
RESULTS = sorted(path.stem for path in PROJECT.glob("benchmarks/results/*.json"))
ONE_LINE_EACH = {"mutants"}  # each of its rows is tried again when its own line of code changes, not on one commit


@pytest.fixture
def make_tables(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Load the script, which puts the benchmarks on the path."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    spec = spec_from_file_location("make_tables", DOCS / "make_tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((PROJECT / "benchmarks" / "results" / f"{name}.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_page_has_the_figures_of_the_recorded_results(page: Path, make_tables: ModuleType) -> None:
    content = (DOCS / page).read_text(encoding="utf-8")
    if "results: zoo -->" in content:
        pytest.importorskip("torch")

    assert make_tables.fill(content) == content


@pytest.mark.parametrize("name", sorted({*RESULTS} - ONE_LINE_EACH))
def test_a_result_says_how_it_was_measured(name: str) -> None:
    found = load(name)

    assert found.keys() == {"command", "commit", "machine", "recorded", "rows"}
    assert found["command"].startswith(("python benchmarks/", "eyechart "))
    assert all(found[key] for key in ("commit", "machine", "rows"))
