"""The pages of the explorer: each reads its address, asks the run, and sets a template."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import lru_cache
from time import sleep
from typing import Any

import polars as pl
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from eyechart.asked import PAGE, Asked, Leaf
from eyechart.furniture import Sheet
from eyechart.reporting.collect import collect_looks
from eyechart.reporting.palette import Palette
from eyechart.store import Store
from eyechart.stored import Stamped
from eyechart.viewing import comparing, example, examples, facets, inventory, overview
from eyechart.viewing.brought import AuditPage, Brought
from eyechart.viewing.pictures import SIDES, measure, picture_of
from eyechart.viewing.setting import set_fragment, set_missing, set_page, static

Endpoint = Callable[[Request], Response]
Receiver = Callable[[Request], Awaitable[Response]]  # of a form
BOXES = ("evidence", "objects", "none")
MOST_PICTURES = 100  # of one example
PAUSE = 0.5  # seconds before more is loaded behind a page


def read_asked(request: Request) -> Asked:
    """Read the query string of a request."""
    return Asked(tuple(request.query_params.multi_items()))


def missing(sentence: str) -> HTMLResponse:
    """Say that there is no such thing."""
    return HTMLResponse(set_missing(sentence), 404)


def as_csv(parts: Iterable[str], name: str) -> StreamingResponse:
    """Send a table as a file, part by part."""
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return StreamingResponse(parts, media_type="text/csv; charset=utf-8", headers=headers)


def routes(store: Store, brought: Brought) -> dict[str, Endpoint]:
    """List the pages of a run by their paths, with those that audits bring."""
    explorer = Explorer(store, brought)
    pages = {page.path: explorer.sheet(page) for page in brought.pages()}
    files = {f"{page.path}.csv": explorer.sheet_csv(page) for page in brought.pages()}
    return {
        "/": explorer.overview,
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


def send_static(request: Request) -> Response:
    """Send one of our own few files."""
    found = static(request.path_params["name"])
    if found is None:
        return Response(status_code=404)
    return Response(found[0], media_type=found[1], headers={"Cache-Control": "private, max-age=300"})


class Explorer:
    """Answer requests about one run."""

    def __init__(self, store: Store, brought: Brought) -> None:
        self.store = store
        self.brought = brought

    def overview(self, request: Request) -> Response:
        """Show verdicts and counts."""
        told = {"run": overview.look_over(self.store, self.brought)}
        return self._preparing(self._page("overview.html", "/", read_asked(request), told))

    def overview_csv(self, _request: Request) -> Response:
        """Send the verdicts."""
        summary = overview.look_over(self.store, self.brought).summary
        return as_csv([overview.as_table(summary).write_csv()], "verdicts")

    def looks(self, _request: Request) -> Response:
        """Send the colours that audits have for their conditions."""
        return Response(self._palette().rules(), media_type="text/css")

    def sheet(self, page: AuditPage) -> Endpoint:
        """Answer requests for a page that an audit brings."""

        def show(request: Request) -> Response:
            asked = read_asked(request)
            sheet = page.build(self.store, asked)
            if sheet is None:
                return missing(self._why_not(page.audit))
            return self._preparing(self._page(sheet.template or "sheet.html", page.path, asked, _told(sheet, asked)))

        return show

    def sheet_csv(self, page: AuditPage) -> Endpoint:
        """Answer requests for the whole table of a page that an audit brings."""

        def send(request: Request) -> Response:
            sheet = page.build(self.store, read_asked(request))
            if sheet is None:
                return missing(self._why_not(page.audit))
            return as_csv(sheet.csv or _in_parts(_flat(_rows(sheet))), page.page.path)

        return send

    def examples(self, request: Request) -> Response:
        """List examples."""
        asked = read_asked(request)
        search = examples.read_search(asked, self.store)
        leaf = Leaf(asked.page, len(examples.find_examples(self.store, search)))
        told = {
            "search": search,
            "leaf": leaf,
            "examples": examples.page_of_examples(self.store, search, leaf.start),
            "facets": facets.facets(self.store, search.model),
            "numbers": facets.numbers(self.store, search.model),
            "models": inventory.models(self.store),
            "conditions": inventory.conditions_of(self.store, search.model) if search.model else [],
            "fates": examples.FATES,
            "pictured": inventory.has_pictures(self.store),
        }
        return self._page("examples.html", "/examples", asked, told)

    def examples_csv(self, request: Request) -> Response:
        """Send all examples that fit."""
        search = examples.read_search(read_asked(request), self.store)
        ids = examples.find_examples(self.store, search)
        return as_csv(examples.examples_as_csv(self.store, search, ids), "examples")

    def example(self, request: Request) -> Response:
        """Show all about one example."""
        asked = read_asked(request)
        one = example.find_example(self.store, asked.get("id"))
        if one is None:
            return missing("There is no such example.")
        shown = example.shown_under(self.store, one["id"])
        condition = asked.one_of("condition", tuple(shown), "plain")
        probe = shown.get(condition, {})
        told = {
            "one": one,
            "shown": shown,
            "condition": condition,
            "probe": probe,
            "boxes": asked.one_of("boxes", BOXES, "evidence"),
            "people": example.people_said(one),
            "facts": example.further_facts(one),
            "answers": example.answers_to(self.store, one, shown),
            "findings": list(example.findings(self.store, one["id"])),
            "beside": self._beside(one["id"]),
            "question": self._question(one, probe),
        }
        return self._page("example.html", "/examples", asked, told | self._picture_facts(one, probe))

    def example_csv(self, request: Request) -> Response:
        """Send every answer to one example."""
        one = example.find_example(self.store, read_asked(request).get("id"))
        if one is None:
            return missing("There is no such example.")
        answers = example.answers_to(self.store, one, example.shown_under(self.store, one["id"]))
        rows = [(model, name, *given) for model, found in answers.items() for name, given in found.items()]
        columns = {"model": pl.String, "condition": pl.String, "answer": pl.String, "right": pl.Boolean}
        return as_csv([pl.DataFrame(rows, schema=columns, orient="row").write_csv()], "answers")

    def compare(self, request: Request) -> Response:
        """Show where two models differ."""
        asked, pair = read_asked(request), comparing.read_pair(read_asked(request), self.store)
        if pair is None:
            return self._page("no_pair.html", "/compare", asked, {})
        table = comparing.side_by_side(self.store, pair)
        chosen = table.filter(pl.col("cell") == pair.cell)
        leaf = Leaf(asked.page, chosen.height)
        rows = chosen[leaf.start : leaf.start + PAGE]
        questions = examples.take_examples(self.store, examples.ExampleSearch(), rows["id"])
        told = {
            "pair": pair,
            "models": inventory.models(self.store),
            "conditions": inventory.conditions_of(self.store, pair.first),
            "audits": comparing.common_audits(self.store, pair.first, pair.second),
            "cells": comparing.count_cells(table),
            "pictured": inventory.has_pictures(self.store),
            "leaf": leaf,
            "examples": rows.join(questions, on="id", validate="1:1", maintain_order="left").to_dicts(),
        }
        return self._page("compare.html", "/compare", asked, told)

    def paired(self, request: Request) -> Response:
        """Show the paired table of two models, which takes a while where there are many examples."""
        asked = read_asked(request)
        pair = comparing.read_pair(asked, self.store)
        if pair is None or not pair.audit:
            return missing("Two models that one audit judged are not here.")
        content = {"pair": pair, "grid": comparing.paired_table(self.store, pair)}
        return self._page("paired.html", "/compare", asked, content)

    def compare_csv(self, request: Request) -> Response:
        """Send every example both models answered, with the cell it falls in."""
        pair = comparing.read_pair(read_asked(request), self.store)
        if pair is None:
            return missing("This run has not two models.")
        return as_csv(_in_parts(comparing.side_by_side(self.store, pair)), "compared")

    def picture(self, request: Request) -> Response:
        """Send a picture as it is seen under a condition."""
        asked = read_asked(request)
        size = asked.one_of("size", tuple(SIDES), "large")
        condition = asked.one_of("condition", inventory.conditions(self.store), "plain")
        place = int(asked.one_of("place", tuple(map(str, range(1, MOST_PICTURES))), "0"))
        found = picture_of(self.store, asked.get("id"), condition, size, place)
        if found is None:
            return Response(status_code=404)
        return Response(found, media_type="image/webp", headers={"Cache-Control": "private, max-age=600"})

    def _page(self, template: str, here: str, asked: Asked, content: dict[str, Any]) -> HTMLResponse:
        """Set a page, with the menu and the colours of this run."""
        given = {"here": here, "asked": asked, "menu": self.brought.menu(self.store), **content}
        return HTMLResponse(set_page(template, given, self._palette()))

    def _palette(self) -> Palette:
        return _palette(self.store, self.brought, inventory.plans(self.store))

    def _preparing(self, found: HTMLResponse) -> HTMLResponse:
        """Load what other pages need while this one is being looked at."""
        found.background = BackgroundTask(self._prepare)
        return found

    def _prepare(self) -> None:
        sleep(PAUSE)  # who goes on at once is served first
        self.brought.prepare(self.store)

    def _beside(self, name: str) -> list[str]:
        """Set the sections that audits have about an example."""
        sheets = self.brought.beside(self.store, name)
        return [
            set_fragment(sheet.template or "beside.html", _told(sheet, Asked(())), self._palette()) for sheet in sheets
        ]

    def _why_not(self, audit: str) -> str:
        if audit in self.store.studies():
            return "There is nothing of that kind in this run."
        return f"This run has no study of {audit}: `eyechart study DATA -a {audit} -o RUN` makes one."

    def _question(self, one: dict[str, Any], probe: dict[str, Any]) -> str | None:
        """Find the question that is asked under a condition: the example's own, a donor's, or none."""
        giver = probe.get("question_from", one["id"])
        found = one if giver == one["id"] else example.find_example(self.store, giver or "")
        return found["question"] if found else None

    def _picture_facts(self, one: dict[str, Any], probe: dict[str, Any]) -> dict[str, Any]:
        """Say which picture is shown, how large it is, and what lies in it; a donor's has not the example's boxes."""
        giver = probe.get("image_from", one["id"])
        source = one if giver == one["id"] else example.find_example(self.store, giver or "") or {}
        facts = example.sizes_of(self.store, source.get("image"))
        size = (facts.get("width"), facts.get("height"))
        if None in size and source.get("image") is not None:
            size = measure(self.store, source["image"]) or size
        return {
            "pictured": inventory.has_pictures(self.store),
            "own": giver == one["id"],
            "image": source.get("image"),
            "size": None if None in size else size,
            "objects": [each for each in facts.get("objects") or () if each["box"] is not None],
        }


def _in_parts(table: pl.DataFrame) -> Iterator[str]:
    yield table.clear().write_csv()
    yield from (part.write_csv(include_header=False) for part in table.iter_slices(examples.AT_ONCE))


def _told(sheet: Sheet, asked: Asked) -> dict[str, Any]:
    """Say what a template shows of a sheet: its own content, or a page of its table."""
    if sheet.template:
        return {"title": sheet.title, "reading": sheet.reading, **sheet.content}
    table = _rows(sheet)
    leaf = Leaf(asked.page, table.height)
    return {"title": sheet.title, "reading": sheet.reading, "leaf": leaf, "table": table[leaf.start : leaf.end]}


def _rows(sheet: Sheet) -> pl.DataFrame:
    return pl.DataFrame() if sheet.table is None else sheet.table


def _flat(table: pl.DataFrame) -> pl.DataFrame:
    """Write lists and records as text, which is all that CSV can hold."""
    nested = [name for name, kind in table.schema.items() if kind.is_nested()]
    return table.with_columns(pl.Series(name, map(example.say, table[name]), pl.String) for name in nested)


@lru_cache(maxsize=4)
def _palette(store: Store, brought: Brought, _now: tuple[Stamped, ...]) -> Palette:
    looks = dict.fromkeys((*collect_looks(store), *brought.looks()))
    return Palette(tuple(looks))
