"""A real browser, a real server, and a run of the planted world with its report."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from eyechart.audits import make_audit
from eyechart.data.store import Store
from eyechart.formats import read
from eyechart.models import load
from eyechart.reporting import report, write_page
from eyechart.reporting.page import render_standings
from eyechart.reporting.standings import collect_standings
from eyechart.runs.run import Run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

AUDITS = ("accuracy", "rules", "splits", "grounding", "perception")
MODELS = ("seer", "blind")
# Mark one of all words that no style can tell apart: contrast takes nearly all of axe's time, and is a matter of style.
MARK_WORDS = """() => {
    const kinds = new Map();
    const parts = (each) => [each.tagName, ...[...each.classList].sort(), each.getAttribute("style")];
    for (const each of document.body.querySelectorAll("*")) {
        if (![...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
        if (!each.checkVisibility()) continue;
        const path = [];
        for (let at = each; at !== document.body; at = at.parentElement) path.push(parts(at).join("."));
        if (!kinds.has(path.join(" "))) kinds.set(path.join(" "), each);
    }
    for (const each of kinds.values()) each.dataset.word = "";
    return kinds.size;
}"""
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


class Server(NamedTuple):
    """A server that runs: where, and the address that lets in."""

    base: str
    entrance: str


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Find the folder that all processes of a test run share, so that what takes long is made once."""
    mine = tmp_path_factory.getbasetemp()
    found = (mine.parent if "PYTEST_XDIST_WORKER" in os.environ else mine) / "web"
    found.mkdir(exist_ok=True)
    return found


def make_once(made: Path, make: Callable[[Path], object]) -> Path:
    """Make a file or folder unless another process has; whoever comes meanwhile waits."""
    done = made.with_name(f"{made.name}.done")
    with made.with_name(f"{made.name}.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            make(made)
            done.touch()
    return made


@pytest.fixture(scope="session")
def folder(place: Path) -> Path:
    """Make a run of the planted world, with pictures."""

    def make(to: Path) -> None:
        run = Run(Store(to)).start(read("world", place / "pictures", images=60, seed=3, render=True))
        run.study([make_audit(name, {}) for name in AUDITS])
        for name in MODELS:
            run.audit(load(f"world:{name}"))

    return make_once(place / "run", make)


@pytest.fixture(scope="session")
def written(folder: Path) -> str:
    """Write the report and give its address."""
    return make_once(folder.parent / "report.html", lambda to: report(folder, to)).as_uri()


@pytest.fixture(scope="session")
def compared(folder: Path) -> str:
    """Write the page of models side by side and give its address."""

    def write(to: Path) -> Path:
        return write_page(render_standings(collect_standings([Store(folder)])), to)

    return make_once(folder.parent / "compare.html", write).as_uri()


@pytest.fixture(scope="session")
def bundled(folder: Path) -> str:
    """Write the run as a static site and give its folder's address."""
    bundle = pytest.importorskip("eyechart.viewing.bundle")
    return make_once(folder.parent / "bundle", lambda to: bundle.write_bundle(Store(folder), to)).as_uri()


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """Open the browser of the system."""
    sync = pytest.importorskip("playwright.sync_api")
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no chromium; install it, or say where it is in CHROMIUM")
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
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
def asking(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    copy = tmp_path_factory.mktemp("asked") / "run"
    shutil.copytree(folder, copy)
    yield from serve(copy, "--ask", "--items", "6")


Open = Callable[..., "Page"]


@pytest.fixture
def open_page(browser: "Browser") -> Iterator[Open]:
    """Open pages whose every complaint, dialog and request elsewhere fails the test."""
    complaints: list[str] = []
    contexts = []

    def opened(home: str, size: str = "desktop", scheme: str = "light", cookies: Any = None) -> "Page":  # noqa: ANN401
        width, height = SIZES[size]
        screen = {"width": width, "height": height}
        context = browser.new_context(viewport=screen, color_scheme=scheme, storage_state=cookies)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message) or dialog.dismiss())
        allowed = (home, "data:", "blob:")
        page.on("request", lambda sent: None if sent.url.startswith(allowed) else complaints.append(sent.url))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def cookies(browser: "Browser", server: Server) -> Any:  # noqa: ANN401 - what a browser keeps
    """Go in by the address with the token once."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(server.entrance)
    page.wait_for_url(f"{server.base}/")
    kept = context.storage_state()
    context.close()
    return kept


@pytest.fixture
def explore(open_page: Open, server: Server, cookies: Any) -> Open:  # noqa: ANN401
    """Open a page of the explorer as somebody who has been let in."""

    def opened(path: str, size: str = "desktop", scheme: str = "light") -> "Page":
        page = open_page(server.base, size, scheme, cookies)
        page.goto(server.base + path)
        return page

    return opened


@pytest.fixture
def find_barriers() -> Callable[..., list[str]]:
    """List what axe finds on a page that shuts people out, by day and by night, when only colours are different."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()

    def found(page: "Page") -> list[str]:
        # Without a list of all that is well axe takes a part of the time.
        # It would fetch style sheets anew, which a page from disk may not.
        shown = {"resultTypes": ["violations"], "preload": False}
        structure = shown | {"rules": {"color-contrast": {"enabled": False}}}
        violations = axe.run(page, options=structure).response["violations"]
        assert page.evaluate(MARK_WORDS) > 5
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            words, contrast = {"include": [["[data-word]"]]}, shown | {"runOnly": ["color-contrast"]}
            violations += axe.run(page, context=words, options=contrast).response["violations"]
        grave = [each for each in violations if each["impact"] in ("serious", "critical")]
        return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in grave]

    return found
