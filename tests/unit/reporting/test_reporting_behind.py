"""The report holds the examples behind each verdict on a model: as many as the measure counts, the worst first."""

from pathlib import Path

import pytest

from eyechart.audits import make_audit
from eyechart.data.store import Store
from eyechart.formats import read
from eyechart.models import load
from eyechart.reporting import collect, report
from eyechart.reporting.behind import MOST, Finding, find_behind
from eyechart.runs.run import Run
from packed import unpacked


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Store:
    run = Run(Store(tmp_path_factory.mktemp("behind") / "run")).start(read("world", images=40, seed=2))
    run.study([make_audit(name, {}) for name in ("accuracy", "perception")])
    run.audit(load("world:cheater"))
    return run.store


@pytest.fixture(scope="module")
def found(judged: Store) -> dict[str, Finding]:
    return {each.audit: each for each in find_behind(judged, collect(judged).sections)}


def test_a_finding_shows_the_first_of_the_examples_it_counts(judged: Store, found: dict[str, Finding]) -> None:
    sections = {each.audit: each for each in collect(judged).sections if each.role == "result"}

    assert set(found) == set(sections)
    for audit, finding in found.items():
        assert finding.n == sections[audit].headline.n  # type: ignore[union-attr]
        assert len(finding.rows) == min(MOST, finding.n)


def test_the_worst_come_first_with_question_reference_and_answers(judged: Store, found: dict[str, Finding]) -> None:
    finding = found["perception"]
    rows = judged.rows("perception", "cheater")
    examples = {row["id"]: row for row in judged.data.examples.to_dicts()}
    assert rows is not None
    worst = sorted(rows.scan().collect()["perception image"])[: len(finding.rows)]

    assert finding.head[:4] == ("example", "question", "reference", "cheater")
    assert [float(row[-1]) for row in finding.rows] == pytest.approx([round(value, 3) for value in worst])
    for name, question, reference, *_ in finding.rows:
        assert (question, reference) == (examples[name]["question"], examples[name]["answer"])


def test_the_page_has_them_where_a_cell_leads_and_names_the_explorer(judged: Store, tmp_path: Path) -> None:
    page = report(judged.folder, tmp_path / "page.html").read_text(encoding="utf-8")
    whole = unpacked(page)

    assert "examples behind it" in whole
    assert "examples behind it" not in page, "they cost nothing before they are opened"
    assert f"eyechart view {judged.folder}" in page
    assert page.count('href="#section-') == 2
