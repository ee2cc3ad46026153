"""A real browser, a real server, and a run of the planted world with its report."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from eyechart.audits import make_audit
from eyechart.layout import Layout
from eyechart.models import load
from eyechart.readers import read
from eyechart.reporting import report
from eyechart.run import Run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

AUDITS = ("accuracy", "rules", "splits", "grounding", "perception")
MODELS = ("seer", "blind")
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


class Server(NamedTuple):
    """A server that runs: where, and the address that lets in."""

    base: str
    entrance: str


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a run of the planted world, with pictures."""
    place = tmp_path_factory.mktemp("web")
    run = Run(Layout(place / "run")).start(read("world", place / "pictures", images=60, seed=3, render=True))
    run.study([make_audit(name, {}) for name in AUDITS])
    for name in MODELS:
        run.audit(load(f"world:{name}"))
    return place / "run"


@pytest.fixture(scope="session")
def written(folder: Path) -> str:
    """Write the report and give its address."""
    return report(folder, folder.parent / "report.html").as_uri()


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """Open the browser of the system."""
    sync = pytest.importorskip("playwright.sync_api")
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no chromium; install it, or say where it is in CHROMIUM")
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=chromium, args=flags)
        yield opened
        opened.close()


def serve(*words: str | Path) -> Iterator[Server]:
    """Run the real command until the tests are done."""
    command = [sys.executable, "-m", "eyechart", "view", *map(str, words), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            entrance = process.stdout.readline().split()[-1]
            yield Server(entrance.partition("/?")[0], entrance)
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def server(folder: Path) -> Iterator[Server]:
    yield from serve(folder)


@pytest.fixture(scope="session")
def asking(folder: Path) -> Iterator[Server]:
    copy = folder.with_name("asked")
    shutil.copytree(folder, copy)
    yield from serve(copy, "--ask", "--items", "6")


Open = Callable[..., "Page"]


@pytest.fixture
def open_page(browser: "Browser") -> Iterator[Open]:
    """Open pages whose every complaint, dialog and request elsewhere fails the test."""
    complaints: list[str] = []
    contexts = []

    def opened(home: str, size: str = "desktop", scheme: str = "light") -> "Page":
        width, height = SIZES[size]
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message) or dialog.dismiss())
        allowed = (home, "data:", "blob:")
        page.on("request", lambda sent: None if sent.url.startswith(allowed) else complaints.append(sent.url))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def explore(open_page: Open, server: Server) -> Open:
    """Open a page of the explorer as somebody who has the token."""

    def opened(path: str, size: str = "desktop", scheme: str = "light") -> "Page":
        page = open_page(server.base, size, scheme)
        page.goto(server.entrance)
        page.wait_for_url(f"{server.base}/")
        if path != "/":
            page.goto(server.base + path)
        return page

    return opened


@pytest.fixture
def find_barriers() -> Callable[..., list[str]]:
    """List what axe finds on a page that shuts people out; at night only colours are different."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()

    def found(page: "Page", scheme: str = "light") -> list[str]:
        options = {"runOnly": ["color-contrast"]} if scheme == "dark" else {}
        violations = axe.run(page, options=options).response["violations"]
        grave = [each for each in violations if each["impact"] in ("serious", "critical")]
        return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in grave]

    return found
