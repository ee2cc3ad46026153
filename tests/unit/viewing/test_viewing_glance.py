"""The first page says what was found, at once, and every number leads to the examples it counts."""

import html
import re
import threading
from collections.abc import Iterator

import polars as pl
import pytest
from starlette.testclient import TestClient

from eyechart.base.files import write_table
from eyechart.data.store import Store
from eyechart.viewing import glances
from eyechart.viewing.glances import Playground, Playgrounds, first_screen, read_playground
from eyechart.viewing.server import Guard, build_explorer

LINK = re.compile(r'href="(/examples\?[^"]+)">([^<]*)</a>')
TOTAL = re.compile(r"of <strong>([\d,]+)</strong>")


def links(page: str) -> list[tuple[str, str]]:
    return [(html.unescape(address), text) for address, text in LINK.findall(page)]


def count(client: TestClient, address: str) -> int:
    found = TOTAL.search(client.get(address).text)
    return int(found[1].replace(",", "")) if found else 0


def test_the_first_page_has_sentences_matrix_and_example(client: TestClient, run: Store, nasty: str) -> None:
    screen = first_screen(run, None)
    page = client.get("/").text

    assert nasty not in page
    assert screen["glance"].sentences
    assert all(each in html.unescape(page) for each in screen["glance"].sentences)
    assert page.count('<td class="first"') == len(screen["glance"].models) == 2
    assert screen["glance"].showcase is not None
    assert 'id="scene-1"' in client.get("/glance").text


def test_cells_lead_to_the_examples_they_count(client: TestClient, run: Store) -> None:
    found = [(address, text) for address, text in links(client.get("/").text) if "has=" in address]
    n = first_screen(run, None)["glance"].models[0].cells[0].n

    assert len(found) >= 2
    assert {count(client, address) for address, _ in found if "model=org" in address} == {n}


def test_every_number_of_an_audit_that_is_a_link_opens_as_many_examples(client: TestClient) -> None:
    page = client.get("/audit?audit=accuracy").text
    counted = [(address, text) for address, text in links(page) if text.replace(",", "").isdecimal()]

    assert counted
    for address, text in counted:
        assert count(client, address) == int(text.replace(",", ""))


def test_an_audit_that_was_not_run_has_no_page(client: TestClient) -> None:
    assert client.get("/audit?audit=nothing").status_code == 404
    assert client.get("/report.html").status_code == 404


def test_the_report_is_offered_where_there_is_one(fresh: Store) -> None:
    fresh.report_file.write_text("<p>the report", encoding="utf-8")
    guard = Guard("a-token", ["127.0.0.1"], 8000)
    cookies = {guard.cookie: "a-token"}
    with TestClient(build_explorer(fresh, guard), base_url="http://127.0.0.1:8000", cookies=cookies) as opened:
        assert 'href="/report.html"' in opened.get("/").text
        sent = opened.get("/report.html")

    assert sent.text == "<p>the report"
    assert "attachment" in sent.headers["content-disposition"]


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Hold back what is read in the background."""
    go = threading.Event()

    def read(store: Store) -> Playground:
        go.wait(60)
        return read_playground(store)

    monkeypatch.setattr(glances, "_playgrounds", Playgrounds(read))
    monkeypatch.setattr(glances, "PATIENCE", 0.0)
    yield go
    go.set()


def test_the_first_page_does_not_wait_for_the_example(client: TestClient, run: Store, held: threading.Event) -> None:
    assert first_screen(run, 0)["waiting"]
    go_later = threading.Timer(0.2, held.set)
    go_later.start()

    assert 'id="scene-1"' in client.get("/glance").text


def test_answers_are_read_once_while_their_files_stay(fresh: Store) -> None:
    calls: list[Store] = []

    def read(store: Store) -> Playground:
        calls.append(store)
        return Playground()

    kept = Playgrounds(read)
    kept.get(fresh, None)
    kept.get(fresh, None)
    assert len(calls) == 1
    file = fresh.answer_file("org/one", "plain")
    write_table(pl.read_parquet(file).head(3), file)
    kept.get(fresh, None)

    assert len(calls) == 2


def test_answers_that_cannot_be_read_leave_the_verdicts(fresh: Store) -> None:
    fresh.answer_file("org/one", "plain").write_bytes(b"no table")
    screen = first_screen(fresh, None)

    assert screen["glance"].models
    assert screen["glance"].showcase is None
    assert not screen["waiting"]
