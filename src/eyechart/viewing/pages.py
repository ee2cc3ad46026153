"""The pages of the explorer: each reads its address, asks the run, and sets a template."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from time import sleep
from typing import Any

import polars as pl
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from eyechart.viewing import comparing, example, examples, facets, met, overview, rules
from eyechart.viewing.asked import PAGE, Asked, Leaf
from eyechart.viewing.pictures import SIDES, measure, picture_of
from eyechart.viewing.setting import set_page, static
from eyechart.viewing.shelf import Shelf

Endpoint = Callable[[Request], Response]
Receiver = Callable[[Request], Awaitable[Response]]  # of a form
BOXES = ("evidence", "objects", "none")
MOST_PICTURES = 100  # of one example
PAUSE = 0.5  # seconds before rules are loaded behind a page


def read_asked(request: Request) -> Asked:
    """Read the query string of a request."""
    return Asked(tuple(request.query_params.multi_items()))


def page(template: str, here: str, asked: Asked, content: dict[str, Any]) -> HTMLResponse:
    """Set a page of the explorer."""
    return HTMLResponse(set_page(template, {"here": here, "asked": asked, **content}))


def missing(sentence: str) -> HTMLResponse:
    """Say that there is no such thing."""
    return HTMLResponse(set_page("missing.html", {"here": "", "sentence": sentence}), 404)


def as_csv(parts: Iterable[str], name: str) -> StreamingResponse:
    """Send a table as a file, part by part."""
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return StreamingResponse(parts, media_type="text/csv; charset=utf-8", headers=headers)


def routes(shelf: Shelf) -> dict[str, Endpoint]:
    """List the pages of a run by their paths."""
    explorer = Explorer(shelf)
    return {
        "/": explorer.overview,
        "/overview.csv": explorer.overview_csv,
        "/rules": explorer.rules,
        "/rules.csv": explorer.rules_csv,
        "/rule": explorer.rule,
        "/rule.csv": explorer.rule_csv,
        "/examples": explorer.examples,
        "/examples.csv": explorer.examples_csv,
        "/example": explorer.example,
        "/example.csv": explorer.example_csv,
        "/compare": explorer.compare,
        "/compare.csv": explorer.compare_csv,
        "/paired": explorer.paired,
        "/picture": explorer.picture,
        "/static/{name}": send_static,
    }


def send_static(request: Request) -> Response:
    """Send one of our own few files."""
    found = static(request.path_params["name"])
    if found is None:
        return Response(status_code=404)
    return Response(found[0], media_type=found[1], headers={"Cache-Control": "private, max-age=300"})


class Explorer:
    """Answer requests about one run."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf

    def overview(self, request: Request) -> Response:
        """Show verdicts and counts."""
        told = {"run": overview.look_over(self.shelf)}
        return self._preparing(page("overview.html", "overview", read_asked(request), told))

    def overview_csv(self, _request: Request) -> Response:
        """Send the verdicts."""
        summary = overview.look_over(self.shelf).summary
        return as_csv([overview.as_table(summary).write_csv()], "verdicts")

    def rules(self, request: Request) -> Response:
        """List rules."""
        asked, file = read_asked(request), self.shelf.rules()
        if file is None:
            return page("no_rules.html", "rules", asked, {})
        search = rules.read_search(asked, self.shelf)
        leaf = Leaf(asked.page, rules.count_rules(file, search))
        found = rules.page_of_rules(file, search, leaf.start)
        told = {"search": search, "leaf": leaf, "rules": found, "states": rules.STATES, "kinds": rules.KINDS}
        return self._preparing(page("rules.html", "rules", asked, told | {"sorts": rules.SORTS}))

    def rules_csv(self, request: Request) -> Response:
        """Send all rules that fit."""
        file = self.shelf.rules()
        if file is None:
            return missing("No rules were mined in this run.")
        return as_csv(rules.rules_as_csv(file, rules.read_search(read_asked(request), self.shelf)), "rules")

    def rule(self, request: Request) -> Response:
        """Show a rule with its examples and counterexamples."""
        asked, rule = read_asked(request), self._rule(request)
        if rule is None:
            return missing("There is no such rule.")
        everywhere = asked.get("part") == "all"
        found = met.show_examples(self.shelf, rule, everywhere=everywhere)
        return page(
            "rule.html",
            "rules",
            asked,
            {"rule": rule, "met": found, "everywhere": everywhere, "pictured": self.shelf.pictured},
        )

    def rule_csv(self, request: Request) -> Response:
        """Send all examples that meet a rule."""
        asked, rule = read_asked(request), self._rule(request)
        if rule is None:
            return missing("There is no such rule.")
        found = met.examples_of(self.shelf, rule, everywhere=asked.get("part") == "all")
        return as_csv([found.write_csv()], f"rule-{rule['rule']}")

    def examples(self, request: Request) -> Response:
        """List examples."""
        asked = read_asked(request)
        search = examples.read_search(asked, self.shelf)
        leaf = Leaf(asked.page, len(examples.find_examples(self.shelf, search)))
        told = {
            "search": search,
            "leaf": leaf,
            "examples": examples.page_of_examples(self.shelf, search, leaf.start),
            "facets": facets.facets(self.shelf, search.model),
            "numbers": facets.numbers(self.shelf, search.model),
            "models": self.shelf.models(),
            "conditions": self.shelf.asked_conditions(search.model) if search.model else [],
            "fates": examples.FATES,
            "pictured": self.shelf.pictured,
        }
        return page("examples.html", "examples", asked, told)

    def examples_csv(self, request: Request) -> Response:
        """Send all examples that fit."""
        search = examples.read_search(read_asked(request), self.shelf)
        ids = examples.find_examples(self.shelf, search)
        return as_csv(examples.examples_as_csv(self.shelf, search, ids), "examples")

    def example(self, request: Request) -> Response:
        """Show all about one example."""
        asked = read_asked(request)
        one = example.find_example(self.shelf, asked.get("id"))
        if one is None:
            return missing("There is no such example.")
        shown = example.shown_under(self.shelf, one["id"])
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
            "answers": example.answers_to(self.shelf, one, shown),
            "findings": list(example.findings(self.shelf, one["id"])),
            "rules": example.rules_met(self.shelf, one["id"]),
            "question": self._question(one, probe),
        }
        return page("example.html", "examples", asked, told | self._picture_facts(one, probe))

    def example_csv(self, request: Request) -> Response:
        """Send every answer to one example."""
        one = example.find_example(self.shelf, read_asked(request).get("id"))
        if one is None:
            return missing("There is no such example.")
        answers = example.answers_to(self.shelf, one, example.shown_under(self.shelf, one["id"]))
        rows = [(model, name, *given) for model, found in answers.items() for name, given in found.items()]
        columns = {"model": pl.String, "condition": pl.String, "answer": pl.String, "right": pl.Boolean}
        return as_csv([pl.DataFrame(rows, schema=columns, orient="row").write_csv()], "answers")

    def compare(self, request: Request) -> Response:
        """Show where two models differ."""
        asked, pair = read_asked(request), comparing.read_pair(read_asked(request), self.shelf)
        if pair is None:
            return page("no_pair.html", "compare", asked, {})
        table = comparing.side_by_side(self.shelf, pair)
        chosen = table.filter(pl.col("cell") == pair.cell)
        leaf = Leaf(asked.page, chosen.height)
        rows = chosen[leaf.start : leaf.start + PAGE]
        questions = examples.take_examples(self.shelf, examples.ExampleSearch(), rows["id"])
        told = {
            "pair": pair,
            "models": self.shelf.models(),
            "conditions": self.shelf.asked_conditions(pair.first),
            "audits": comparing.common_audits(self.shelf, pair.first, pair.second),
            "cells": comparing.count_cells(table),
            "pictured": self.shelf.pictured,
            "leaf": leaf,
            "examples": rows.join(questions, on="id", validate="1:1", maintain_order="left").to_dicts(),
        }
        return page("compare.html", "compare", asked, told)

    def paired(self, request: Request) -> Response:
        """Show the paired table of two models, which takes a while where there are many examples."""
        asked = read_asked(request)
        pair = comparing.read_pair(asked, self.shelf)
        if pair is None or not pair.audit:
            return missing("Two models that one audit judged are not here.")
        return page("paired.html", "compare", asked, {"pair": pair, "grid": comparing.paired_table(self.shelf, pair)})

    def compare_csv(self, request: Request) -> Response:
        """Send every example both models answered, with the cell it falls in."""
        pair = comparing.read_pair(read_asked(request), self.shelf)
        if pair is None:
            return missing("This run has not two models.")
        return as_csv(_in_parts(comparing.side_by_side(self.shelf, pair)), "compared")

    def picture(self, request: Request) -> Response:
        """Send a picture as it is seen under a condition."""
        asked = read_asked(request)
        size = asked.one_of("size", tuple(SIDES), "large")
        condition = asked.one_of("condition", self.shelf.conditions(), "plain")
        place = int(asked.one_of("place", tuple(map(str, range(1, MOST_PICTURES))), "0"))
        found = picture_of(self.shelf, asked.get("id"), condition, size, place)
        if found is None:
            return Response(status_code=404)
        return Response(found, media_type="image/webp", headers={"Cache-Control": "private, max-age=600"})

    def _preparing(self, found: HTMLResponse) -> HTMLResponse:
        """Load the rules while a page is being looked at."""
        found.background = BackgroundTask(self._prepare)
        return found

    def _prepare(self) -> None:
        file = self.shelf.rules()
        if file is not None and not rules.are_loaded(file):
            sleep(PAUSE)  # who goes on at once is served first
            rules.load_rules(file)

    def _rule(self, request: Request) -> Any:  # noqa: ANN401 - a row of a table
        file, number = self.shelf.rules(), read_asked(request).get("rule")
        if file is None or not (number.isascii() and number.isdecimal() and len(number) < 16):
            return None
        return rules.rule_at(file, int(number))

    def _question(self, one: dict[str, Any], probe: dict[str, Any]) -> str | None:
        """Find the question that is asked under a condition: the example's own, a donor's, or none."""
        giver = probe.get("question_from", one["id"])
        found = one if giver == one["id"] else example.find_example(self.shelf, giver or "")
        return found["question"] if found else None

    def _picture_facts(self, one: dict[str, Any], probe: dict[str, Any]) -> dict[str, Any]:
        """Say which picture is shown, how large it is, and what lies in it; a donor's has not the example's boxes."""
        giver = probe.get("image_from", one["id"])
        source = one if giver == one["id"] else example.find_example(self.shelf, giver or "") or {}
        facts = example.sizes_of(self.shelf, source.get("image"))
        size = (facts.get("width"), facts.get("height"))
        if None in size and source.get("image") is not None:
            size = measure(self.shelf, source["image"]) or size
        return {
            "pictured": self.shelf.pictured,
            "own": giver == one["id"],
            "image": source.get("image"),
            "size": None if None in size else size,
            "objects": [each for each in facts.get("objects") or () if each["box"] is not None],
        }


def _in_parts(table: pl.DataFrame) -> Iterator[str]:
    yield table.clear().write_csv()
    yield from (part.write_csv(include_header=False) for part in table.iter_slices(examples.AT_ONCE))
