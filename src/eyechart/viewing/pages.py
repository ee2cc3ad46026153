"""The pages of the explorer: each reads its address and the run, and fills a template."""

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from time import sleep
from typing import Any

import polars as pl
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

from eyechart.base.errors import EyechartError
from eyechart.data.furniture import ROWS_PER_PAGE, ExplorerQuery, ListPage, Sheet
from eyechart.data.store import Store
from eyechart.data.stored import TableFile
from eyechart.reporting.collect import collect_looks
from eyechart.reporting.palette import Palette
from eyechart.viewing import audit, comparing, example, examples, inventory
from eyechart.viewing.behind import behind_cell
from eyechart.viewing.browsing import BrowsedDataset, dataset_content
from eyechart.viewing.comparing import ModelPair
from eyechart.viewing.furniture import AuditPage, ExplorerFurniture
from eyechart.viewing.glances import first_screen
from eyechart.viewing.pictures import PICTURE_PLACES, SIDES, boxes_fit, list_pictures, measure, picture_of
from eyechart.viewing.rendering import (
    Endpoint,
    address,
    fill_fragment,
    fill_page,
    flatten,
    read_query,
    send_csv,
    send_missing,
    send_static,
)

BOXES = ("evidence", "objects", "none")
PAUSE = 0.5  # seconds before loading more in the background


def routes(store: Store, furniture: ExplorerFurniture) -> dict[str, Endpoint]:
    """List the pages of a run by their paths, including those of audits."""
    explorer = Explorer(store, furniture)
    pages = {page.path: explorer.sheet(page) for page in furniture.pages()}
    files = {f"{page.path}.csv": explorer.sheet_csv(page) for page in furniture.pages()}
    return {
        "/": explorer.overview,
        "/glance": explorer.glance,
        "/audit": explorer.audit,
        "/report.html": explorer.report,
        "/overview.csv": explorer.overview_csv,
        "/examples": explorer.examples,
        "/examples.csv": explorer.examples_csv,
        "/example": explorer.example,
        "/example.csv": explorer.example_csv,
        "/compare": explorer.compare,
        "/compare.csv": explorer.compare_csv,
        "/paired": explorer.paired,
        "/picture": explorer.picture,
        "/looks.css": explorer.looks,
        "/static/{name}": send_static,
        **pages,
        **files,
    }


class Explorer:
    """Answer requests about one run."""

    def __init__(self, store: Store, furniture: ExplorerFurniture) -> None:
        self.store = store
        self.furniture = furniture

    def overview(self, request: Request) -> Response:
        """Show what was found, and every verdict in a sentence; of a dataset, what can be run on it."""
        if isinstance(self.store, BrowsedDataset):
            return self._page("dataset.html", "/", read_query(request), dataset_content(self.store))
        content = {
            "run": inventory.overview(self.store, self.furniture),
            "audits": audit.list_audits(self.store),
            **self._links(),
            **first_screen(self.store),
        }
        return self._preparing(self._page("overview.html", "/", read_query(request), content))

    def glance(self, request: Request) -> Response:
        """Show the example to play with, however long it takes to choose it."""
        return self._page("glance.html", "/", read_query(request), first_screen(self.store, None))

    def audit(self, request: Request) -> Response:
        """Show what an audit found, and all its measures."""
        query = read_query(request)
        content = audit.audit_content(self.store, query)
        if content is None:
            return send_missing("This run has no audit of that name.")
        own = [page for page in self.furniture.menu(self.store) if page.audit == content["audit"]]
        return self._page("audit.html", "/audit", query, content | {"own": own})

    def report(self, _request: Request) -> Response:
        """Send the report, if there is one."""
        if not self.store.report_file.is_file():
            return send_missing("This run has no report yet: `eyechart report RUN` writes it.")
        return FileResponse(self.store.report_file, filename=self.store.report_file.name)

    def overview_csv(self, _request: Request) -> Response:
        """Send the verdicts."""
        return send_csv([inventory.verdict_table(self.store).write_csv()], "verdicts")

    def looks(self, _request: Request) -> Response:
        """Send the style sheet with the colours of conditions."""
        return Response(self._palette().rules(), media_type="text/css")

    def sheet(self, page: AuditPage) -> Endpoint:
        """Make the endpoint of a page that an audit provides."""

        def show(request: Request) -> Response:
            query = read_query(request)
            sheet = page.build(self.store, query)
            if sheet is None:
                return send_missing(self._why_missing(page.audit))
            return self._preparing(
                self._page(sheet.template or "sheet.html", page.path, query, _sheet_content(sheet, query))
            )

        return show

    def sheet_csv(self, page: AuditPage) -> Endpoint:
        """Make the endpoint of the whole table of a page that an audit provides."""

        def send(request: Request) -> Response:
            sheet = page.build(self.store, read_query(request))
            if sheet is None:
                return send_missing(self._why_missing(page.audit))
            return send_csv(sheet.csv or _in_parts(flatten(_rows(sheet))), page.page.path)

        return send

    def examples(self, request: Request) -> Response:
        """Show the examples that match a search."""
        query = read_query(request)
        search = examples.read_search(query, self.store)
        leaf = ListPage(query.page, len(examples.find_examples(self.store, search)))
        content = {
            "search": search,
            "leaf": leaf,
            "examples": examples.page_of_examples(self.store, search, leaf.start),
            "facets": examples.facets(self.store, search.model),
            "numbers": examples.numbers(self.store, search.model),
            "models": inventory.models(self.store),
            "conditions": inventory.conditions_of(self.store, search.model) if search.model else [],
            "fates": examples.FATES,
            "pictured": inventory.has_pictures(self.store),
        }
        return self._page("examples.html", "/examples", query, content)

    def examples_csv(self, request: Request) -> Response:
        """Send all examples that match a search."""
        search = examples.read_search(read_query(request), self.store)
        ids = examples.find_examples(self.store, search)
        return send_csv(examples.examples_as_csv(self.store, search, ids), "examples")

    def example(self, request: Request) -> Response:
        """Show everything about one example."""
        query = read_query(request)
        one = example.find_example(self.store, query.get("id"))
        if one is None:
            return send_missing("There is no such example.")
        shown = example.shown_under(self.store, one["id"])
        condition = query.one_of("condition", tuple(shown), "plain")
        probe = shown.get(condition, {})
        content = {
            "one": one,
            "shown": shown,
            "condition": condition,
            "probe": probe,
            "boxes": query.one_of("boxes", BOXES, "evidence"),
            "people": example.human_answers(one),
            "facts": example.further_facts(one),
            "answers": example.answers_to(self.store, one, shown),
            "findings": list(example.findings(self.store, one["id"])),
            "beside": self._beside(one["id"]),
            "question": self._question(one, probe),
        }
        return self._page("example.html", "/examples", query, content | self._picture_facts(one, probe, condition))

    def example_csv(self, request: Request) -> Response:
        """Send every answer to one example."""
        one = example.find_example(self.store, read_query(request).get("id"))
        if one is None:
            return send_missing("There is no such example.")
        answers = example.answers_to(self.store, one, example.shown_under(self.store, one["id"]))
        rows = [(model, name, *answer) for model, given in answers.items() for name, answer in given.items()]
        columns = {"model": pl.String, "condition": pl.String, "answer": pl.String, "right": pl.Boolean}
        return send_csv([pl.DataFrame(rows, schema=columns, orient="row").write_csv()], "answers")

    def compare(self, request: Request) -> Response:
        """Show where two models differ."""
        query, pair = read_query(request), ModelPair.read(read_query(request), self.store)
        if pair is None:
            return self._page("no_pair.html", "/compare", query, {})
        table = pair.answers(self.store)
        chosen = table.filter(pl.col("cell") == pair.cell)
        leaf = ListPage(query.page, chosen.height)
        rows = chosen[leaf.start : leaf.start + ROWS_PER_PAGE]
        questions = examples.take_examples(self.store, examples.ExampleSearch(), rows["id"])
        content = {
            "pair": pair,
            "lead": pair.lead(self.store, table),
            **pair.matrix(self.store),
            **self._links(),
            "models": inventory.models(self.store),
            "conditions": inventory.conditions_of(self.store, pair.first),
            "audits": comparing.common_audits(self.store, pair.first, pair.second),
            "cells": comparing.count_cells(table),
            "pictured": inventory.has_pictures(self.store),
            "leaf": leaf,
            "examples": rows.join(questions, on="id", validate="1:1", maintain_order="left").to_dicts(),
        }
        return self._page("compare.html", "/compare", query, content)

    def paired(self, request: Request) -> Response:
        """Show the paired table of two models, which takes a while for many examples."""
        query = read_query(request)
        pair = ModelPair.read(query, self.store)
        if pair is None or not pair.audit:
            return send_missing("This run does not have two models judged by the same audit.")
        content = {"pair": pair, "grid": pair.paired_table(self.store)}
        return self._page("paired.html", "/compare", query, content)

    def compare_csv(self, request: Request) -> Response:
        """Send every example both models answered, with the cell it falls in."""
        pair = ModelPair.read(read_query(request), self.store)
        if pair is None:
            return send_missing("This run does not have two models.")
        return send_csv(_in_parts(pair.answers(self.store)), "compared")

    def picture(self, request: Request) -> Response:
        """Send a picture as it is seen under a condition."""
        query = read_query(request)
        size = query.one_of("size", tuple(SIDES), "large")
        condition = query.one_of("condition", inventory.conditions(self.store), "plain")
        number = int(query.one_of("place", PICTURE_PLACES, "0"))
        picture = picture_of(self.store, query.get("id"), condition, size, number)
        if picture is None:
            return Response(status_code=404)
        return Response(picture, media_type="image/webp", headers={"Cache-Control": "private, max-age=600"})

    def _page(self, template: str, here: str, query: ExplorerQuery, content: dict[str, Any]) -> HTMLResponse:
        """Render a page with the menu and the colours of this run."""
        shared = {"here": here, "asked": query, "menu": self.furniture.menu(self.store)}
        return HTMLResponse(fill_page(template, shared | content, self._palette()))

    def _links(self) -> dict[str, Any]:
        """Return what the matrix links to: the page of an audit, and the examples behind a cell."""
        return {
            "link": lambda audit: address("/audit", {"audit": audit}),
            "open": behind_cell,
        }

    def _palette(self) -> Palette:
        return _palette(self.store, self.furniture, inventory.plans(self.store))

    def _preparing(self, page: HTMLResponse) -> HTMLResponse:
        """Load what other pages need after this one has been sent."""
        page.background = BackgroundTask(self._prepare)
        return page

    def _prepare(self) -> None:
        sleep(PAUSE)  # lets an immediate click be served first
        with suppress(EyechartError):  # the page that needs it says what is wrong
            self.furniture.prepare(self.store)

    def _beside(self, name: str) -> list[str]:
        """Render the sections that audits add to the page of an example."""
        sheets = self.furniture.beside(self.store, name)
        return [
            fill_fragment(sheet.template or "beside.html", _sheet_content(sheet, ExplorerQuery(())), self._palette())
            for sheet in sheets
        ]

    def _why_missing(self, audit: str) -> str:
        if audit in self.store.studies():
            return "This run has nothing of that kind."
        return f"This run has no study of {audit}: `eyechart study DATA -a {audit} -o RUN` makes one."

    def _question(self, one: dict[str, Any], probe: dict[str, Any]) -> str | None:
        """Find the question asked under a condition: the example's own, a donor's, or none."""
        giver = probe.get("question_from", one["id"])
        source = one if giver == one["id"] else example.find_example(self.store, giver or "")
        return source["question"] if source else None

    def _picture_facts(self, one: dict[str, Any], probe: dict[str, Any], condition: str) -> dict[str, Any]:
        """Find which pictures are shown, with their sizes and boxes; a donor's lacks the example's evidence."""
        giver = probe.get("image_from", one["id"])
        source = one if giver == one["id"] else example.find_example(self.store, giver or "") or {}
        facts = example.image_facts(self.store, source.get("image"))
        size = example.size_of(facts)
        pictures = list_pictures(self.store, one["id"], condition) if source.get("image") is not None else []
        traits = measure(self.store, pictures[0][0]) if pictures else None
        if traits is not None and (size is None or traits.orientation != 1):
            size = traits.upright
        fits = traits is None or boxes_fit(self.store, pictures[0][0], traits)
        own = one if giver == one["id"] else {}
        marked = [] if len(pictures) < 2 else example.marks(self.store, own, probe, pictures)
        return {
            "marked": marked,
            "pictured": inventory.has_pictures(self.store),
            "own": giver == one["id"] and fits,
            "image": source.get("image"),
            "pictures": pictures,
            "size": size,
            "objects": example.boxed_objects(facts) if fits else [],
        }


def _in_parts(table: pl.DataFrame) -> Iterator[str]:
    yield table.clear().write_csv()
    yield from (part.write_csv(include_header=False) for part in table.iter_slices(examples.AT_ONCE))


def _sheet_content(sheet: Sheet, query: ExplorerQuery) -> dict[str, Any]:
    """Return the content of a sheet for its template: its own, or a page of its table."""
    if sheet.template:
        return {"title": sheet.title, "reading": sheet.reading, **sheet.content}
    table = _rows(sheet)
    leaf = ListPage(query.page, table.height)
    return {"title": sheet.title, "reading": sheet.reading, "leaf": leaf, "table": table[leaf.start : leaf.end]}


def _rows(sheet: Sheet) -> pl.DataFrame:
    return pl.DataFrame() if sheet.table is None else sheet.table


@lru_cache(maxsize=4)
def _palette(store: Store, furniture: ExplorerFurniture, _stamps: tuple[TableFile, ...]) -> Palette:
    looks = dict.fromkeys((*collect_looks(store), *furniture.looks()))
    return Palette(tuple(looks))
