"""Measure the report as its reader gets it: bytes, nodes, tab stops, layout shift, and the seconds it takes to open.

    python benchmarks/page.py [--data FOLDER] [--pictures FOLDER] [--record]

Three runs: the demo; 5,002 real questions of VQA v2 with the answers of three models (files, without pictures); and
A-OKVQA, multiple choice, before any model was asked. FOLDER holds `vqa2/` and `aokvqa/`; it is not part of the project,
and without it only the demo is measured. Seconds are those of one opening from disk in Debian's chromium, until the
page has answered to a key. --pictures keeps first screens: `report.png` of the demo is the picture of the README.
"""

import argparse
import base64
import re
import tempfile
import time
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

import eyechart
from eyechart.audits import make_audit, runnable
from eyechart.data.store import Store
from eyechart.formats.predictions import read_predictions
from eyechart.runs.interview import Asking
from eyechart.runs.run import Run
from real import MODELS, read_vqa2
from record import Row, add_flag
from tables import Layout, report, table

DEMO_RUN = "the demo"
DEMO = ("seer", "cheater", "cheater:decoy", "blind", "guesser")
SIZES = {"desktop": (1440, 900), "phone": (390, 844)}
FLAGS = ("--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync")
STOPS = ":is(a[href], button, input, summary, [tabindex='0']):visible"
WATCH = """window.shift = 0; new PerformanceObserver(all => all.getEntries().forEach(
    each => { window.shift += each.value })).observe({ type: "layout-shift", buffered: true });"""


def make_runs(folder: Path, data: Path | None) -> Iterator[tuple[str, Path]]:
    """Make each run as its users would."""
    world = eyechart.read("world", folder / "pictures", seed=0, images=1000, render=True)
    demo = Run(Store(folder / "demo")).start(world)
    demo.study([make_audit(name, {"by": ["question_type"]}) for name in runnable(world)])
    list(demo.audit_each([eyechart.load(f"world:{name}") for name in DEMO]))
    yield DEMO_RUN, demo.store.folder
    if data is None:
        return
    files = {name: data / "vqa2" / "predictions" / f"pred_{name}.json.gz" for name in MODELS}
    whole, answered = read_vqa2(data), read_predictions(next(iter(files.values()))).answers["id"]
    judged = whole.examples.filter((pl.col("split") == "train") | pl.col("id").is_in(answered.implode()))
    real = Run(Store(folder / "vqa2"), asking=Asking(skip=True)).start(replace(whole, examples=judged))
    real.study([make_audit(name, {}) for name in ("accuracy", "rules", "splits")])
    list(real.audit_each([eyechart.load(f"predictions:{file},name={name}") for name, file in files.items()]))
    yield "VQA v2, three files of answers", real.store.folder
    quiz = Run(Store(folder / "aokvqa")).start(eyechart.read(data / "aokvqa" / "aokvqa_v1p0_val.json.gz"))
    quiz.study([make_audit(name, {}) for name in ("accuracy", "decoys", "rules")])
    yield "A-OKVQA, no model yet", quiz.store.folder


def measure(browser: Any, name: str, run: Path, kept: Path | None) -> Row:  # noqa: ANN401 - a browser of playwright
    """Write the report of a run, open it, and measure."""
    before = time.process_time()
    page = eyechart.report(run, run / "report.html")
    seconds = time.process_time() - before
    html = Path(page).read_text(encoding="utf-8")
    row: Row = {"run": name, "bytes": len(html.encode()), "written": seconds}
    row["without pictures"] = row["bytes"] - sum(map(len, _pictures(html)))
    for size, (width, height) in SIZES.items():
        opened = browser.new_page(viewport={"width": width, "height": height})
        opened.add_init_script(WATCH)
        began = time.perf_counter()
        opened.goto(Path(page).as_uri())
        opened.keyboard.press("1")
        row[f"{size} seconds"] = time.perf_counter() - began
        opened.wait_for_timeout(500)
        row[f"{size} shift"] = opened.evaluate("window.shift")
        row[f"{size} height"] = opened.evaluate("document.documentElement.scrollHeight")
        row |= {
            "nodes": opened.evaluate("document.querySelectorAll('*').length"),
            "stops": opened.locator(STOPS).count(),
        }
        if kept and name == DEMO_RUN:  # what is real stays with its owners
            opened.evaluate("document.activeElement.blur()")
            opened.screenshot(path=kept / ("report.png" if size == "desktop" else f"report-{size}.png"))
        opened.close()
    return row


LAYOUTS: dict[str, Layout] = {
    "budgets": table(
        "| run | bytes | without pictures | nodes | tab stops | seconds to open | on a phone | shift | to write |",
        "| {run} | {bytes:,} | {without pictures:,} | {nodes:,} | {stops} | {desktop seconds:.2f} |"
        " {phone seconds:.2f} | {desktop shift:.3f} | {written:.1f} |",
    ),
}


def main() -> None:
    """Measure each report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of real data")
    parser.add_argument("--pictures", type=Path, help="a folder for first screens")
    add_flag(parser)
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        browser = started.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        rows = [measure(browser, name, run, given.pictures) for name, run in make_runs(Path(folder), given.data)]
        browser.close()
    report("page", LAYOUTS, rows, kept=given.record)


def _pictures(html: str) -> Iterator[str]:
    """List the pictures of a page, those that are packed as they are packed."""
    yield from re.findall(r'src="data:image[^"]*"', html)
    for packed in re.findall(r'<script type="text/plain">([^<]*)</script>', html):
        inside = "".join(re.findall(r'src="data:image[^"]*"', zlib.decompress(base64.b64decode(packed)).decode()))
        yield base64.b64encode(zlib.compress(inside.encode(), 9)).decode()


if __name__ == "__main__":
    main()
