"""The pages people answer on: a name, one example after another, and what came of it."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from eyechart.asked import Asked
from eyechart.viewing.asking.agreement import agree
from eyechart.viewing.asking.answers import open_log, save_answers, save_origin
from eyechart.viewing.asking.log import Said
from eyechart.viewing.asking.plan import Questionnaire
from eyechart.viewing.pages import Endpoint, Receiver, missing, read_asked, send_static
from eyechart.viewing.pictures import draw
from eyechart.viewing.setting import address, set_page

MOST_BYTES = 20_000  # of a form
MOST_NAME = 60
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Asker:
    """Ask people, and keep what they say."""

    def __init__(self, plan: Questionnaire) -> None:
        self.plan = plan
        self.log = open_log(plan.run)
        self.store = plan.run
        save_origin(plan.run, len(plan.items), plan.seed)

    def shown(self) -> dict[str, Endpoint]:
        """List the pages by their paths."""
        return {
            "/": self.welcome,
            "/item": self.item,
            "/done": self.done,
            "/agreement": self.agreement,
            "/seen": self.picture,
            "/static/{name}": send_static,
        }

    def sent(self) -> dict[str, Receiver]:
        """List what forms are sent to."""
        return {"/begin": self.begin, "/answer": self.answer}

    def welcome(self, _request: Request) -> Response:
        """Ask for a name."""
        return _page("ask_welcome.html", {"n": len(self.plan.items), "parts": self.plan.parts})

    async def begin(self, request: Request) -> Response:
        """Give a person a number and show the first example."""
        person = " ".join((await _form(request)).get("person").split())[:MOST_NAME]
        if not person:
            return RedirectResponse("/", 303)
        self.log.welcome(person)
        return RedirectResponse(address("/item", {"person": person}), 303)

    def item(self, request: Request) -> Response:
        """Show an example: the one that is named, or the first that is not answered."""
        asked = read_asked(request)
        person, number = asked.get("person"), self.log.number(asked.get("person"))
        if number is None:
            return RedirectResponse("/", 303)
        order, said = self.plan.order(person), self.log.by(person)
        at = asked.one_of("id", order) or next((name for name in order if name not in said), "")
        if not at:
            return RedirectResponse(address("/done", {"person": person}), 303)
        part = self.plan.part(number, at)
        options = self.plan.options(person, at, part.condition)
        content = {
            "person": person,
            "id": at,
            "part": part,
            "shown": self.plan.shown[part.condition][at],
            "options": list(zip(LETTERS, options, strict=False)),
            "given": said[at].answer if at in said else "",
            "place": order.index(at) + 1,
            "n": len(order),
            "before": order[order.index(at) - 1] if order.index(at) else "",
        }
        return _page("ask_item.html", content)

    async def answer(self, request: Request) -> Response:
        """Keep an answer and go on."""
        form = await _form(request)
        person, at, given = form.get("person"), form.get("id"), form.get("answer")
        number = self.log.number(person)
        if number is None or at not in self.plan.items:
            return missing("Nobody was asked this.")
        part = self.plan.part(number, at)
        options = self.plan.options(person, at, part.condition)
        if not given or (options and given not in options):
            return RedirectResponse(address("/item", {"person": person, "id": at}), 303)
        probe = self.plan.shown[part.condition][at]["probe"]
        self.log.add(Said(person, number, at, part.condition, probe, given, datetime.now(UTC).isoformat()))
        save_answers(self.plan.run, self.log.said(), part.condition)
        return RedirectResponse(address("/item", {"person": person}), 303)

    def done(self, request: Request) -> Response:
        """Thank a person."""
        person = read_asked(request).get("person")
        return _page("ask_done.html", {"person": person, "n": len(self.log.by(person))})

    def agreement(self, _request: Request) -> Response:
        """Show how people did and how far they agree."""
        return _page("ask_agreement.html", {"here": "agreement", "rows": list(agree(self.plan, self.log.said()))})

    def picture(self, request: Request) -> Response:
        """Send the picture of an example to a person who may see it."""
        asked = read_asked(request)
        at, number = asked.get("id"), self.log.number(asked.get("person"))
        if number is None or at not in self.plan.items:
            return Response(status_code=404)
        shown = self.plan.shown[self.plan.part(number, at).condition][at]
        image = shown.get("image")
        found = None if image is None else draw(self.store, image, shown, "large")
        return Response(status_code=404) if found is None else Response(found, media_type="image/webp")


def _page(template: str, content: dict[str, Any]) -> HTMLResponse:
    return HTMLResponse(set_page(template, {"here": "ask", **content}))


async def _form(request: Request) -> Asked:
    """Read a form, up to a limit."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            return Asked(())
    return Asked(tuple(parse_qsl(body.decode("utf-8", "replace"))))
