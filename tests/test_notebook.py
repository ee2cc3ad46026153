"""The tutorial notebook runs as it is, in an empty folder, and what it shows are our pieces of HTML."""

import os
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
NOTEBOOK = PROJECT / "docs" / "tutorials" / "first_look.ipynb"


def test_the_tutorial_notebook_runs_and_shows_its_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient", reason="nbclient runs the notebook: pip install 'eyechart[dev]'")
    pytest.importorskip("ipykernel", reason="ipykernel runs the notebook: pip install 'eyechart[dev]'")
    nbformat = pytest.importorskip("nbformat", reason="nbformat reads the notebook: pip install 'eyechart[dev]'")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))  # the same code as the tests
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)

    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()

    shown = [output.data for cell in notebook.cells for output in cell.get("outputs", ()) if "data" in output]
    assert all("text/html" in data for data in shown)
    assert "Dataset world-0" in shown[0]["text/html"]
    assert "yes: looks" in shown[1]["text/html"]
    assert shown[2]["text/plain"].splitlines()[1].startswith("perception of blind: no, ignores image: perception 0.0")
    assert "difference from blind" in shown[-2]["text/html"]
    assert "<iframe" in shown[-1]["text/html"]
    assert (tmp_path / "first_look.html").is_file()


def test_the_notebook_is_kept_without_what_it_shows() -> None:
    """Otherwise each run would change the file by megabytes."""
    text = NOTEBOOK.read_text(encoding="utf-8")

    assert '"execution_count": null' in text
    assert '"output_type"' not in text
