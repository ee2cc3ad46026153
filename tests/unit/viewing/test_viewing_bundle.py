"""A bundle holds a run in scripts and replaces only what we wrote; a dataset can be browsed before any audit."""

import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image
from starlette.testclient import TestClient

from eyechart.base.errors import FileFormatError
from eyechart.cli import main
from eyechart.data.store import Store
from eyechart.data.web import Web
from eyechart.viewing import bundle, shards
from eyechart.viewing.browsing import BrowsedDataset, open_browsed
from eyechart.viewing.bundle import write_bundle
from eyechart.viewing.inventory import lines
from eyechart.viewing.scores import scored
from eyechart.viewing.server import Guard, build_explorer

ONE = "org/one"


@pytest.fixture(scope="module")
def site(run: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(shards, "PER_SHARD", 50)
        patched.setattr(bundle, "PER_SHARD", 50)
        folder = tmp_path_factory.mktemp("site") / "site"
        assert write_bundle(run, folder)["examples"] == 120
    return folder


def read_script(path: Path) -> dict[str, Any]:
    call = path.read_text(encoding="utf-8").strip()
    content: dict[str, Any] = json.loads(call[call.index(",") + 1 : -2])
    return content


def test_every_example_is_in_a_shard_with_every_answer(site: Path, run: Store) -> None:
    parts = [read_script(site / "data" / f"shard-{number}.js") for number in range(3)]
    said: dict[str, str] = {}
    for part in parts:
        places = part["given"].get(ONE, {}).get("plain", {}).get("said", [])
        said |= {name: part["texts"][n] for name, n in zip(part["id"], places, strict=False) if n is not None}
    expected = dict(scored(run, ONE, "plain").select("id", pl.coalesce("given", "status")).iter_rows())

    assert [name for part in parts for name in part["id"]] == [f"e/{n:03}" for n in range(120)]
    assert not (site / "data" / "shard-3.js").exists()
    assert said == expected


def test_the_index_says_what_is_right_and_holds_the_values_behind_the_cells(site: Path, run: Store) -> None:
    part = read_script(site / "data" / "index-0.js")
    scores = dict(scored(run, ONE, "plain").select("id", "score").iter_rows())
    marks = ["-" if scores.get(name) is None else "01"[scores[name] >= 0.5] for name in part["id"]]
    values = part["values"][ONE]["accuracy"]

    assert part["right"][ONE] == "".join(marks)
    assert sum(value is not None for value in values) == lines(run)[0].cells[0].n


def test_a_condition_says_what_it_hides(site: Path) -> None:
    part = read_script(site / "data" / "shard-2.js")
    rest = part["shown"]["rest"]

    assert rest["hidden"][-1] == [[0.0, 0.0, 20.0, 30.0]]
    assert rest["removal"][-1] == "hidden=mask"


def test_pictures_are_written_once_each(site: Path) -> None:
    files = sorted((site / "pictures").glob("*/*.webp"))

    assert len(files) == 12
    with Image.open(files[0]) as picture:
        assert picture.size == (40, 30)


def test_pages_load_nothing_from_elsewhere_and_escape_what_they_show(site: Path, nasty: str) -> None:
    pages = list(site.glob("*.html"))

    assert {"index.html", "examples.html", "audit-accuracy.html", "rules.html"} <= {page.name for page in pages}
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert nasty not in text
        assert 'href="/' not in text
        assert "Content-Security-Policy" in text or page.name == "compare.html"


def test_a_folder_with_other_files_is_left_as_it_is(
    run: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["eyechart", "view", str(run.folder), "--bundle", str(tmp_path)])
    with pytest.raises(SystemExit) as leaving:
        main()

    assert leaving.value.code == 1
    assert "to be empty or written by eyechart" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_bundle_that_cannot_be_finished_leaves_the_former_one(
    site: Path, run: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*")}

    def fail(_self: object) -> None:
        raise FileFormatError("room", "none", "make some")

    monkeypatch.setattr(bundle.Bundle, "_write_static", fail)
    with pytest.raises(FileFormatError):
        write_bundle(run, site)

    assert {path: path.stat().st_mtime_ns for path in site.rglob("*")} == before
    assert [path.name for path in site.parent.iterdir()] == [site.name]


def test_a_dataset_is_browsed_before_any_audit(run: Store) -> None:
    store = open_browsed(run.data_folder, Web())
    guard = Guard("a-token", ["127.0.0.1"], 8000)
    cookies = {guard.cookie: "a-token"}
    with TestClient(build_explorer(store, guard), base_url="http://127.0.0.1:8000", cookies=cookies) as client:
        first = client.get("/").text
        found = client.get("/examples?where=split%3Dtest").text
        picture = client.get("/picture?id=e/001")
        status = {path: client.get(path).status_code for path in ("/example?id=e/001", "/compare", "/overview.csv")}

    assert isinstance(store, BrowsedDataset)
    assert f"eyechart audit {run.data_folder} -m MODEL -o RUN" in first
    assert "the data lack evidence" in first
    assert "<strong>80</strong>" in found
    assert picture.headers["content-type"] == "image/webp"
    assert set(status.values()) == {200}


def test_a_file_of_a_known_kind_is_browsed(tmp_path: Path) -> None:
    file = tmp_path / "questions.csv"
    pl.DataFrame({"question": ["what is it?", "who is it?"], "answer": ["a cat", "a dog"]}).write_csv(file)
    store = open_browsed(file, Web())

    assert store.examples.scan().collect()["answer"].to_list() == ["a cat", "a dog"]
    assert open_browsed(tmp_path, Web()).folder == tmp_path, "a folder that is nothing known is opened as a run"
