"""Write a run as a static site: pages, and the examples in shards that load as scripts, so that it works from disk."""

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from eyechart.base.errors import DataError
from eyechart.base.files import our_version, replacing_folder
from eyechart.base.progress import tracked
from eyechart.data.furniture import ExplorerQuery
from eyechart.data.store import Store
from eyechart.reporting.collect import collect_looks, collect_section
from eyechart.reporting.dots import Axis, read_cells, say_cells
from eyechart.reporting.glance import Cell, Glance
from eyechart.reporting.page import render_standings
from eyechart.reporting.palette import Palette
from eyechart.reporting.standings import collect_standings
from eyechart.viewing import inventory
from eyechart.viewing.audit import list_audits
from eyechart.viewing.furniture import AuditPage, ExplorerFurniture, gather_furniture
from eyechart.viewing.glances import ScenePicture, first_screen
from eyechart.viewing.pictures import draw, picture_of
from eyechart.viewing.rendering import STATIC, address, fill_page, flatten
from eyechart.viewing.shards import PER_INDEX, PER_SHARD, Shards

NOT_IN_NAMES = re.compile(r"[^\w-]+")
MARK = "bundle.json"
PICTURES = 5000  # distinct ones, of the first examples that have one
MOST_ROWS = 10_000  # of a table of an audit's own page
SHOWN_ROWS = 200
SCRIPT = "bundle.js"


def write_bundle(store: Store, folder: Path, audits: tuple[str, ...] = ()) -> dict[str, int]:
    """Write the site, replacing only one that we wrote; count what was written."""
    store.manifest  # noqa: B018 - fails at once when this is no run
    with replacing_folder(folder, mark=MARK) as draft:
        return Bundle(store, draft, gather_furniture(audits)).write()


class Bundle:
    """A site that is being written."""

    def __init__(self, store: Store, folder: Path, furniture: ExplorerFurniture) -> None:
        self.store = store
        self.folder = folder
        self.run = inventory.overview(store, furniture)
        self.audits = list_audits(store)
        self.own = furniture.menu(store)
        self.palette = Palette(tuple(dict.fromkeys((*collect_looks(store), *furniture.looks()))))
        self.menu = [("index.html", "Overview"), *((f"{page.page.path}.html", page.page.title) for page in self.own)]
        self.menu.append(("examples.html", "Examples"))

    def write(self) -> dict[str, int]:
        """Write everything; count examples, pictures and pages."""
        for folder in ("static", "data", "pictures"):
            (self.folder / folder).mkdir()
        compared = self._write_comparison()
        screen = first_screen(self.store, None)
        pictures = self._write_pictures()
        examples = self._write_examples(screen["glance"], pictures)
        self._write_index(screen, len(pictures))
        for audit in self.audits:
            self._write_audit(audit, screen["glance"])
        for page in self.own:
            self._write_table(page)
        self._write_static()
        about = {"kind": "bundle", "eyechart": our_version(), "run": self.run["name"], "examples": examples}
        (self.folder / MARK).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
        pages = 2 + compared + len(self.audits) + len(self.own)
        return {"pages": pages, "examples": examples, "pictures": len(pictures)}

    def _fill(self, template: str, file: str, content: Mapping[str, Any]) -> None:
        shared = {"here": file, "menu": self.menu, "run": self.run, "link": _link, "open": partial(_open, self.audits)}
        text = fill_page(template, {**shared, **content}, self.palette)
        (self.folder / file).write_text(text, encoding="utf-8")

    def _write_comparison(self) -> bool:
        """Write the page of models side by side, where there are any to compare."""
        try:
            page = render_standings(collect_standings([self.store]))
        except DataError:  # fewer than two models were judged by one audit
            return False
        (self.folder / "compare.html").write_text(page, encoding="utf-8")
        self.menu.append(("compare.html", "Compare"))
        return True

    def _write_pictures(self) -> dict[str, int]:
        """Write a small picture of each image, of the first examples that have one, and number them."""
        if not inventory.has_pictures(self.store):
            return {}
        shown = self.store.examples.scan().select("image").drop_nulls().unique(maintain_order=True).head(PICTURES)
        images = shown.collect()["image"].to_list()
        numbers: dict[str, int] = {}
        with tracked("pictures", len(images)) as advance:
            for image in images:
                picture = draw(self.store, image, {}, "medium")
                if picture is not None:
                    number = numbers[image] = len(numbers)
                    file = self.folder / "pictures" / str(number // 1000) / f"{number}.webp"
                    file.parent.mkdir(exist_ok=True)
                    file.write_bytes(picture)
                advance(1)
        return numbers

    def _write_examples(self, glance: Glance, pictures: Mapping[str, int]) -> int:
        shards = Shards.gather(self.store, glance.models, pictures)
        n = shards.examples.height
        with tracked("examples", 2 * n) as advance:
            for kind, each, parts in (("index", PER_INDEX, shards.index()), ("shard", PER_SHARD, shards.shards())):
                for number, part in enumerate(parts):
                    (self.folder / "data" / f"{kind}-{number}.js").write_text(part, encoding="utf-8")
                    advance(min(each, n - number * each))
        cells = [cell for line in glance.models for cell in line.cells]
        about = {
            "examples": n,
            "perIndex": PER_INDEX,
            "perShard": PER_SHARD,
            "conditions": self.run["conditions"],
            "families": {name: self.palette.family(name) for name in self.run["conditions"]},
            "better": {cell.audit: cell.better for cell in cells},
        }
        text = f"bundle.begin({json.dumps(about, ensure_ascii=False)});\n"
        (self.folder / "data" / "about.js").write_text(text, encoding="utf-8")
        self._fill("bundle_examples.html", "examples.html", {"judging": [audit for audit, _ in glance.heads]})
        return n

    def _write_index(self, screen: Mapping[str, Any], pictures: int) -> None:
        scenes = dict(self._scenes(screen)) if screen["glance"].showcase else {}
        left_out = list(self._left_out(pictures))
        content = {**screen, "scenes": scenes, "audits": self.audits, "left_out": left_out}
        self._fill("bundle_index.html", "index.html", content)

    def _scenes(self, screen: Mapping[str, Any]) -> Iterator[tuple[str, ScenePicture]]:
        """Write the pictures of the example of the first screen as each condition shows them."""
        for number, (condition, picture) in enumerate(screen["scenes"].items()):
            shown = picture_of(self.store, screen["glance"].showcase.id, condition, "medium")
            if shown is not None:
                file = f"pictures/scene-{number}.webp"
                (self.folder / file).write_bytes(shown)
                yield condition, picture._replace(url=file)

    def _left_out(self, pictures: int) -> Iterator[str]:
        if pictures:
            images = self.run["counts"][1][1]
            yield "pictures as a condition edits them: boxes are covered in grey instead"
            yield "further pictures of an example"
            if pictures < images:
                yield f"{images - pictures:,} of {images:,} pictures: those after the first {PICTURES:,}, or not found"
        yield "answers of later draws, and objects in pictures"
        yield "the rows of audits, but for the values that the verdicts on models rest on"
        yield f"rows of {', '.join(page.page.title for page in self.own) or 'tables'} after the first {MOST_ROWS:,}"

    def _write_audit(self, audit: str, glance: Glance) -> None:
        cells = [(line.model, cell) for line in glance.models for cell in line.cells if cell.audit == audit]
        measured = [(model, cell) for model, cell in cells if cell.value is not None]
        sections = [section for section in self.run["sections"] if section.audit == audit]
        models = [section.subject if section.role == "result" else None for section in sections]
        found = [(model or "the data", collect_section(self.store, audit, model)) for model in models]
        content = {
            "audit": audit,
            "question": self.audits[audit],
            "sections": sections,
            "axis": Axis.of(cell for _, cell in cells),
            "cells": measured,
            "title": say_cells(measured),
            "reading": read_cells(measured),
            "subjects": [(name, section.measures) for name, section in found if section and section.measures],
        }
        self._fill("bundle_audit.html", _link(audit), content)

    def _write_table(self, page: AuditPage) -> None:
        """Write the table of a page of an audit, as far as it fits, as a file and on a page."""
        sheet = page.build(self.store, ExplorerQuery(()))
        if sheet is None:
            return
        table = pl.DataFrame() if sheet.table is None else sheet.table
        table = (_take(sheet.csv, MOST_ROWS) if sheet.csv is not None else flatten(table))[:MOST_ROWS]
        file = f"data/{page.page.path}.csv"
        (self.folder / file).write_text(table.write_csv(), encoding="utf-8")
        content = {"title": sheet.title, "reading": sheet.reading, "table": table[:SHOWN_ROWS], "total": table.height}
        self._fill("bundle_table.html", f"{page.page.path}.html", {**content, "file": file})

    def _write_static(self) -> None:
        ours = {name: package for name, (package, _) in STATIC.items()} | {SCRIPT: "eyechart.viewing"}
        for name, package in ours.items():
            text = files(package).joinpath(name).read_text(encoding="utf-8")
            (self.folder / "static" / name).write_text(text, encoding="utf-8")
        (self.folder / "static" / "looks.css").write_text(self.palette.rules(), encoding="utf-8")


def _link(audit: str) -> str:
    return f"audit-{NOT_IN_NAMES.sub('-', audit)}.html"


def _open(audits: Mapping[str, str], model: str, cell: Cell | None) -> str:
    """Return the address of the examples behind a cell, or of those that a model gets right."""
    if not model or (cell is not None and cell.audit not in audits):
        return ""
    chosen = {"fate": "right"} if cell is None else {"audit": cell.audit}
    return f"examples.html#{address('', {'model': model, **chosen})[1:]}"


def _take(parts: Iterable[str], most: int) -> pl.DataFrame:
    """Read parts of a CSV file, all as text, until there are enough rows."""
    kept: list[str] = []
    for part in parts:
        kept.append(part)
        if sum(each.count("\n") for each in kept) > most:
            break
    text = "".join(kept)
    return pl.read_csv(io.StringIO(text), infer_schema=False) if text else pl.DataFrame()
