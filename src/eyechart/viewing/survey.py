"""The survey of people: its pages (a name, one example after another, the results), answers, and agreement.

The answers of the model `human` are in a log with a line of JSON for each, written to disk before the next question is
shown. Agreement on an example is the share of pairs with the same answer (in normal form) among the pairs of people who
saw the same variant of it; its interval is over examples, clustered like any other.
"""

import json
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import polars as pl
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from eyechart.base.errors import FileFormatError
from eyechart.base.files import write_record, write_table
from eyechart.base.text import clean_answer, normalize_answer
from eyechart.data.furniture import ExplorerQuery
from eyechart.data.records import ModelIdentity
from eyechart.data.store import Store
from eyechart.data.tables import ANSWERS, empty
from eyechart.scoring import auto_score, score
from eyechart.statistics import mean
from eyechart.statistics.means import Estimate
from eyechart.viewing.pictures import PICTURE_PLACES, draw
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

HUMAN = "human"


@dataclass(frozen=True)
class HumanAnswer:
    """One answer of one person."""

    person: str
    number: int  # of the person, in order of arrival
    id: str
    condition: str
    probe: str
    answer: str
    at: str  # time in UTC


class SurveyLog:
    """An append-only log of people and their answers; a person's last answer to an example counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._people: dict[str, int] = {}
        self._answers: dict[tuple[str, str], HumanAnswer] = {}
        for line in self._whole_lines():
            self._remember(json.loads(line))

    def number(self, person: str) -> int | None:
        """Return the number of a person; None if not registered."""
        return self._people.get(person)

    def register(self, person: str) -> int:
        """Give a person the next free number, or return the one they have."""
        with self._lock:
            if person not in self._people:
                self._append({"person": person, "number": len(self._people)})
            return self._people[person]

    def add(self, answer: HumanAnswer) -> None:
        """Append an answer and wait until it is on disk."""
        with self._lock:
            self._append(asdict(answer))

    def answers(self) -> list[HumanAnswer]:
        """List the last answer of every person to every example."""
        with self._lock:
            return list(self._answers.values())

    def answers_of(self, person: str) -> dict[str, HumanAnswer]:
        """List the answers of a person, by example."""
        return {answer.id: answer for answer in self.answers() if answer.person == person}

    def _append(self, line: dict[str, object]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._remember(line)

    def _remember(self, line: dict[str, object]) -> None:
        if "answer" in line:
            answer = HumanAnswer(**line)  # type: ignore[arg-type]  # as it was written
            self._answers[answer.person, answer.id] = answer
            self._people.setdefault(answer.person, answer.number)
        else:
            self._people[str(line["person"])] = int(str(line["number"]))

    def _whole_lines(self) -> list[bytes]:
        """Read the lines, removing a last one that was only partly written."""
        if not self.path.is_file():
            return []
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            self.path.write_bytes(whole)
        return whole.splitlines()


def open_log(run: Store) -> SurveyLog:
    """Open the log of a run, refusing to overwrite the answers of another `human`."""
    if not run.people_file.exists() and run.has_answers(HUMAN):
        advice = "ask in another run, or move those answers away"
        raise FileFormatError(f"no answers of {HUMAN!r} from another source in {run.folder}", "some", advice)
    return SurveyLog(run.people_file)


def answer_table(answers: Sequence[HumanAnswer]) -> pl.DataFrame:
    """Lay out answers as those of one model; people who answered the same probe become its draws, in order."""
    if not answers:
        return empty(ANSWERS)
    table = pl.DataFrame([asdict(answer) for answer in answers])
    draw = pl.col("number").rank("ordinal").over("id", "condition").cast(pl.Int64) - 1
    rows = table.select("id", "condition", draw.alias("draw"), "probe", "answer", raw="answer", status=pl.lit("ok"))
    return rows.sort(ANSWERS.key)


def save_answers(run: Store, answers: Sequence[HumanAnswer], condition: str) -> None:
    """Write the answers under one condition to an answer file."""
    table = answer_table([answer for answer in answers if answer.condition == condition])
    write_table(table, run.answer_file(HUMAN, condition))


def save_origin(run: Store, items: int, seed: int) -> None:
    """Record what people were asked as the identity of a model."""
    write_record(ModelIdentity("asked", {"kind": "people", "items": items, "seed": seed}), run.asked_file(HUMAN))


def measure_agreement(plan: Questionnaire, answers: Sequence[HumanAnswer]) -> Iterator[dict[str, Any]]:
    """Measure how often people were right, and how often two agreed, in each variant with answers."""
    examples = plan.data.examples.with_columns(plan.data.clusters().alias("cluster"))
    for variant in plan.variants:
        given = [asdict(each) for each in answers if each.condition == variant.condition and each.id in plan.items]
        if given:
            table = pl.DataFrame(given).rename({"answer": "given"}).join(examples, on="id", validate="m:1")
            choices = [plan.shown[variant.condition][name].get("choices") for name in table["id"]]
            table = table.with_columns(pl.Series("choices", choices, dtype=pl.List(pl.String)))
            right = mean(score(table, auto_score(table)), table["cluster"])
            people = table["person"].n_unique()
            yield {"variant": variant, "people": people, "accuracy": right, "agreement": _agreement(table)}


def _agreement(table: pl.DataFrame) -> Estimate:
    normal = table.with_columns(normalize_answer(clean_answer(pl.col("given"))))
    alike = normal.group_by("id", "cluster", "given").len().with_columns(pl.col("len").cast(pl.Float64))
    pairs = alike.group_by("id", "cluster").agg(
        same=(pl.col("len") * (pl.col("len") - 1)).sum(), all=pl.col("len").sum() * (pl.col("len").sum() - 1)
    )
    several = pairs.filter(pl.col("all") > 0).sort("id")
    return mean(several["same"] / several["all"], several["cluster"])


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
            "pictures": len(self.plan.pictures(variant.condition, item)),
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
        condition = self.plan.variant(number, item).condition
        names, place = self.plan.pictures(condition, item), int(query.one_of("place", PICTURE_PLACES, "0"))
        edits = self.plan.shown[condition][item]
        picture = draw(self.plan.run, names[place], edits, "large", place) if place < len(names) else None
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
