"""Models side by side by the rules they follow, and the line of each, wherever a run is shown."""

import html
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from starlette.testclient import TestClient

from eyechart.audits.rules import RulesAudit
from eyechart.cli import main
from eyechart.data.store import Store
from eyechart.formats import read
from eyechart.reporting import as_dict, collect, render
from eyechart.reporting.overall import read_overall
from eyechart.reporting.page import render_standings, summarise, summarise_standings
from eyechart.reporting.standings import collect_standings
from eyechart.runs.verbs import audit
from eyechart.viewing.server import Guard, build_explorer
from packed import unpacked

MODELS = ("cheater", "seer")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder, world = tmp_path_factory.mktemp("by-model") / "run", read("world", seed=5, images=250)
    for name in MODELS:
        audit(world, f"world:{name}", [RulesAudit(min_support=5, max_items=3)], to=folder)
    return Store(folder)


@pytest.fixture(scope="module")
def client(run: Store) -> Iterator[TestClient]:
    guard = Guard("a-token", ["127.0.0.1"], 8000)
    app = build_explorer(run, guard, ())
    with TestClient(app, base_url="http://127.0.0.1:8000", cookies={guard.cookie: guard.token}) as opened:
        yield opened


def test_the_report_has_them_beside_the_comparison(run: Store) -> None:
    page = collect(run)
    (drawing,) = page.comparisons[0].drawings

    names = [column.name for column in drawing.columns]
    assert names[-4:] == ["cheater: all", "cheater: wrong", "seer: all", "seer: wrong"]
    assert drawing.rows
    assert as_dict(page)["comparisons"][0]["drawings"][0]["title"] == "Rules by model"
    for text in (unpacked(render(page)), summarise(page)):
        assert "Rules by model" in text
        assert "cheater: wrong (points)" in text
        assert str(drawing.rows[0][1]) in html.unescape(text)


def test_a_comparison_has_them(run: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    standings = collect_standings([run])
    monkeypatch.setattr("sys.argv", ["eyechart", "compare", str(run.folder)])
    with pytest.raises(SystemExit):
        main()
    printed = capsys.readouterr().out

    assert standings.contests[0].together == collect(run).comparisons[0].drawings
    assert "Rules by model, in points" in printed
    for text in (render_standings(standings), summarise_standings(standings)):
        assert "Rules by model" in text
    for line in read_overall(run):
        assert line.sentence in render_standings(standings)
        assert line.sentence in summarise_standings(standings)
        assert line.sentence in " ".join(printed.split())


def test_the_explorer_has_a_page_of_them(client: TestClient, run: Store) -> None:
    page, table = client.get("/rules-by-model"), pl.read_csv(client.get("/rules-by-model.csv").content)

    assert page.status_code == 200
    assert "Rules by model" in client.get("/").text
    assert table.height == len(collect(run).comparisons[0].drawings[0].rows)
    assert table["cheater: wrong"].max() == pytest.approx(100)


def test_the_explorer_begins_with_the_line_of_each_model(client: TestClient, run: Store) -> None:
    first = client.get("/").text

    lines = read_overall(run)
    assert [line.model for line in lines] == list(MODELS)
    assert lines == collect(run).overall
    for line in lines:
        assert f"<strong>{line.model}</strong>" in first
        assert f"</span> {line.state}</span></td>" in first
        for command in line.commands:
            assert html.escape(command) in first


def test_with_one_model_the_page_says_what_is_missing(tmp_path: Path) -> None:
    audit(read("world", seed=5, images=40), "world:seer", [RulesAudit()], to=tmp_path / "one")
    guard = Guard("a-token", ["127.0.0.1"], 8000)
    app = build_explorer(Store(tmp_path / "one"), guard, ())
    with TestClient(app, base_url="http://127.0.0.1:8000", cookies={guard.cookie: guard.token}) as opened:
        page = opened.get("/rules-by-model")

    assert page.status_code == 200
    assert "Judge at least two models by rules" in page.text
