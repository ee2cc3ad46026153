"""The pages of the survey: a name, one example after another, and the results."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from eyechart.data.queries import ExplorerQuery
from eyechart.viewing.pictures import draw
from eyechart.viewing.questionnaire import Questionnaire
from eyechart.viewing.rendering import (
    Endpoint,
    Receiver,
    address,
    fill_page,
    read_query,
    send_missing,
    send_static,
)
from eyechart.viewing.responses import HumanAnswer, measure_agreement, open_log, save_answers, save_origin

MOST_BYTES = 20_000  # of a form
MOST_NAME = 60
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class SurveyPages:
    """The survey's pages, which ask people and save their answers."""

    def __init__(self, plan: Questionnaire) -> None:
        self.plan = plan
        self.log = open_log(plan.run)
        save_origin(plan.run, len(plan.items), plan.seed)

    def pages(self) -> dict[str, Endpoint]:
        """List the pages by their paths."""
        return {
            "/": self.welcome,
            "/item": self.item,
            "/done": self.done,
            "/agreement": self.agreement,
            "/seen": self.picture,
            "/static/{name}": send_static,
        }

    def forms(self) -> dict[str, Receiver]:
        """List the receivers of forms by their paths."""
        return {"/begin": self.begin, "/answer": self.answer}

    def welcome(self, _request: Request) -> Response:
        """Ask for a name."""
        return _page("ask_welcome.html", {"n": len(self.plan.items), "variants": self.plan.variants})

    async def begin(self, request: Request) -> Response:
        """Give a person a number and show the first example."""
        person = " ".join((await _form(request)).get("person").split())[:MOST_NAME]
        if not person:
            return RedirectResponse("/", 303)
        self.log.register(person)
        return RedirectResponse(address("/item", {"person": person}), 303)

    def item(self, request: Request) -> Response:
        """Show the requested example, or the first without an answer."""
        query = read_query(request)
        person, number = query.get("person"), self.log.number(query.get("person"))
        if number is None:
            return RedirectResponse("/", 303)
        order, answers = self.plan.order(person), self.log.answers_of(person)
        item = query.one_of("id", order) or next((name for name in order if name not in answers), "")
        if not item:
            return RedirectResponse(address("/done", {"person": person}), 303)
        variant = self.plan.variant(number, item)
        options = self.plan.options(person, item, variant.condition)
        content = {
            "person": person,
            "id": item,
            "variant": variant,
            "shown": self.plan.shown[variant.condition][item],
            "options": list(zip(LETTERS, options, strict=False)),
            "given": answers[item].answer if item in answers else "",
            "number": order.index(item) + 1,
            "n": len(order),
            "before": order[order.index(item) - 1] if order.index(item) else "",
        }
        return _page("ask_item.html", content)

    async def answer(self, request: Request) -> Response:
        """Save an answer and continue."""
        form = await _form(request)
        person, item, given = form.get("person"), form.get("id"), form.get("answer")
        number = self.log.number(person)
        if number is None or item not in self.plan.items:
            return send_missing("This question was not asked.")
        condition = self.plan.variant(number, item).condition
        options = self.plan.options(person, item, condition)
        if not given or (options and given not in options):
            return RedirectResponse(address("/item", {"person": person, "id": item}), 303)
        probe = self.plan.shown[condition][item]["probe"]
        self.log.add(HumanAnswer(person, number, item, condition, probe, given, datetime.now(UTC).isoformat()))
        save_answers(self.plan.run, self.log.answers(), condition)
        return RedirectResponse(address("/item", {"person": person}), 303)

    def done(self, request: Request) -> Response:
        """Thank the person."""
        person = read_query(request).get("person")
        return _page("ask_done.html", {"person": person, "n": len(self.log.answers_of(person))})

    def agreement(self, _request: Request) -> Response:
        """Show people's accuracy and agreement."""
        rows = list(measure_agreement(self.plan, self.log.answers()))
        return _page("ask_agreement.html", {"here": "agreement", "rows": rows})

    def picture(self, request: Request) -> Response:
        """Send the picture of an example, if the person may see it."""
        query = read_query(request)
        item, number = query.get("id"), self.log.number(query.get("person"))
        if number is None or item not in self.plan.items:
            return Response(status_code=404)
        shown = self.plan.shown[self.plan.variant(number, item).condition][item]
        image = shown.get("image")
        picture = None if image is None else draw(self.plan.run, image, shown, "large")
        return Response(status_code=404) if picture is None else Response(picture, media_type="image/webp")


def _page(template: str, content: dict[str, Any]) -> HTMLResponse:
    return HTMLResponse(fill_page(template, {"here": "ask", **content}))


async def _form(request: Request) -> ExplorerQuery:
    """Read a form, up to a limit."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            return ExplorerQuery(())
    return ExplorerQuery(tuple(parse_qsl(body.decode("utf-8", "replace"))))
