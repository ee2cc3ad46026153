"""An endpoint's answers come back in order whatever it does on the way, and what it does not answer has a reason."""

import asyncio
import base64
import io
import os
import time
import traceback
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from eyechart.base.errors import DataError, ModelError, SettingError
from eyechart.data.pictures import Picture
from eyechart.language.prompts import PromptBatch
from eyechart.models.backend import Response
from eyechart.models.cache import estimate_tokens
from eyechart.models.endpoint import Endpoint
from eyechart.models.messages import data_url
from servers.starting import Served, misbehaving

KEY = "sk-do-not-tell-anyone-1234567890"
NOISE = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with misbehaving() as served:
        yield served


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def show(*prompts: str, picture: Picture | None = None, choices: list[str] | None = None) -> PromptBatch:
    return PromptBatch(list(prompts), [picture] * len(prompts), [choices] * len(prompts))


def ask(server: Served, model: str, *prompts: str) -> list[Response]:
    return Endpoint(model, server.url, retries=3).respond(show(*prompts))


def test_answers_come_back_in_the_order_of_the_prompts(server: Served) -> None:
    prompts = ["x" * n for n in range(1, 60)]

    assert [one.raw for one in ask(server, "echo", *prompts)] == [str(len(text)) for text in prompts]


def test_each_answer_is_handed_over_when_it_comes(server: Served) -> None:
    places: list[int] = []
    Endpoint("delayed", server.url).respond_each(show(*"abcdefghi"), lambda at, said: places.append(at))

    assert sorted(places) == list(range(9))


@pytest.mark.parametrize("model", ["busy", "broken", "dropping"])
def test_what_passes_is_tried_again(server: Served, model: str) -> None:
    began = time.monotonic()
    said = ask(server, model, "one", "three")
    took = time.monotonic() - began

    assert [one.raw for one in said] == ["3", "5"]
    assert len(server.seen(model)) == 6
    assert model != "busy" or took > 0.6  # it was told to wait 0.3 seconds, twice


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("dead", "status 500 (Error code: 500 - out of order)"),
        ("banned", "status 429"),
        ("malformed", "a reply that is not JSON"),
        ("page", "a reply without an answer"),
        ("odd", "a reply without an answer"),
    ],
)
def test_what_does_not_pass_is_a_failure_with_a_reason(
    server: Served, model: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    (said,) = ask(server, model, "why?")

    assert (said.raw, said.scores, said.refused) == (None, None, False)
    assert said.failed.startswith(reason)
    assert caplog.messages == [f"1 prompts failed, the first: {said.failed}"]


def test_one_bad_prompt_does_not_hurt_the_others(server: Served, caplog: pytest.LogCaptureFixture) -> None:
    good, bad, also = ask(server, "picky", "good", "bad", "fine")

    assert (good.raw, also.raw, bad.raw) == ("4", "4", None)
    assert "I do not like this one" in str(bad.failed)


def test_a_slow_answer_is_given_up(server: Served, caplog: pytest.LogCaptureFixture) -> None:
    (said,) = Endpoint("slow", server.url, timeout=1.0, retries=1).respond(show("why?"))

    assert said == Response(None, failed="no answer in time")
    assert len(server.seen("slow")) == 2


@pytest.mark.parametrize(("model", "found"), [("gone", "no connection"), ("missing", "status 404")])
def test_where_nobody_answers_nothing_goes_on(server: Served, model: str, found: str) -> None:
    with pytest.raises(ModelError, match=f"answers of {model} at .*; found {found}"):
        Endpoint(model, server.url, retries=0, concurrency=2).respond(show(*map(str, range(500))))
    assert len(server.seen(model)) < 10


def test_a_service_that_keeps_failing_is_left_alone(server: Served) -> None:
    heard: list[Response] = []
    endpoint = Endpoint("dead", server.url, retries=0, concurrency=4)
    before = len(server.seen("dead"))

    with pytest.raises(ModelError, match="found status 500"):
        endpoint.respond_each(show(*map(str, range(500))), lambda at, said: heard.append(said))
    assert len(server.seen("dead")) - before < 30
    assert all(one.failed for one in heard)


def test_refusals_and_empty_answers_are_kept_as_such(server: Served) -> None:
    (refusing,) = ask(server, "refusing", "why?")
    (filtered,) = ask(server, "filtered", "why?")
    empty = ask(server, "empty", "why?") + ask(server, "empty", "why?")

    assert refusing == Response("No, thank you.", refused=True, stop="stop", model="refusing")
    assert filtered == Response("", refused=True, stop="content_filter", model="filtered")
    assert empty == [Response("", stop="stop", model="empty")] * 2


def test_options_get_their_log_probabilities_where_they_are_offered(server: Served) -> None:
    asking = Endpoint("letters", server.url, scores=True)
    (said,) = asking.respond(show("which?", choices=["A", "B", "C"]))
    (without,) = replace(asking, model="echo").respond(show("which?", choices=["A", "B"]))
    asking.respond(show("open?"))

    assert (said.raw, said.scores) == ("A", [("A", pytest.approx(-0.5)), ("B", pytest.approx(-1.25))])
    assert without.scores is None
    assert [one["logprobs"] for one in server.seen("letters")] == [True, None]


def test_decoding_is_greedy_unless_a_temperature_is_set(server: Served) -> None:
    Endpoint("lucky", server.url, max_new_tokens=7).respond(show("a"))
    Endpoint("lucky", server.url, temperature=0.5).respond(show("a")._replace(draw=3))
    told = [(one["temperature"], one["max_tokens"], one["seed"]) for one in server.seen("lucky")]

    assert told == [(0.0, 7, None), (0.5, 32, 3)]


def read_data_url(url: str) -> Image.Image:
    head, _, content = url.partition(",")
    image = Image.open(io.BytesIO(base64.b64decode(content, validate=True)))
    assert head == f"data:{Image.MIME[image.format]};base64"
    return image


def test_pictures_are_sent_before_the_text_and_arrive_pixel_by_pixel(server: Served) -> None:
    picture, more = Picture.of(NOISE), Picture.of(NOISE[:9, :9])
    Endpoint("echo", server.url).respond(show("seen?", picture=picture)._replace(further=[(more,)]))
    (parts,) = (one["parts"] for one in server.seen("echo") if one["question"] == "seen?")
    first, second = (read_data_url(part["image_url"]["url"]) for part in parts[:2])

    assert [part["type"] for part in parts] == ["image_url", "image_url", "text"]
    assert (np.asarray(first) == NOISE).all()
    assert (np.asarray(second) == NOISE[:9, :9]).all()


def test_pictures_are_sent_where_the_text_names_them(server: Served) -> None:
    picture, more = Picture.of(NOISE), Picture.of(NOISE[:9, :9])
    named = show("is <image 2> in <image 1>?", picture=picture)._replace(further=[(more,)])
    Endpoint("echo", server.url).respond(named)
    (parts,) = (one["parts"] for one in server.seen("echo") if one["question"] == "is  in ?")

    assert [part.get("text") for part in parts] == ["is ", None, " in ", None, "?"]
    assert read_data_url(parts[1]["image_url"]["url"]).size == (9, 9)
    assert read_data_url(parts[3]["image_url"]["url"]).size == NOISE.shape[1::-1]


def test_large_pictures_become_smaller_and_then_jpeg_and_are_then_refused() -> None:
    picture = Picture.of(NOISE)
    small = read_data_url(data_url(picture, 40, 10**6))
    jpeg = read_data_url(data_url(picture, 80, 14_000))

    assert (small.format, small.size) == ("PNG", (40, 30))
    assert (jpeg.format, jpeg.size) == ("JPEG", (80, 60))
    with pytest.raises(DataError, match="at most 100 bytes"):
        data_url(picture, 80, 100)


def test_a_picture_that_cannot_be_sent_fails_alone(server: Served, caplog: pytest.LogCaptureFixture) -> None:
    shown = PromptBatch(["small", "large"], [None, Picture.of(NOISE)], [None, None])
    small, large = Endpoint("echo", server.url, max_bytes=100).respond(shown)

    assert small.raw == "5"
    assert "a picture of at most 100 bytes" in str(large.failed)


def test_tokens_are_estimated_by_the_stated_formula() -> None:
    tall, huge = Picture.of(np.zeros((1025, 512, 3), np.uint8)), Picture.of(np.zeros((3072, 1024, 3), np.uint8))

    assert estimate_tokens("x" * 9, ()) == 3
    assert estimate_tokens("", (tall, tall)) == 2 * (85 + 170 * 3)
    assert estimate_tokens("", (huge,)) == 85 + 170 * 3  # sent as 1536 x 512


def test_the_key_is_sent_and_never_told(server: Served) -> None:
    with pytest.raises(ModelError, match=r"status 401 .*wrong key: Bearer \*\*\*") as caught:
        ask(server, "forbidden", "why?")

    assert server.seen("forbidden")[0]["headers"]["authorization"] == f"Bearer {KEY}"
    assert KEY not in "".join(traceback.format_exception(caught.value)) + Endpoint("x").identity


def test_another_variable_may_hold_the_key(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_KEY", "sk-other")
    Endpoint("echo", server.url, key="OTHER_KEY").respond(show("other?"))
    (seen,) = (one for one in server.seen("echo") if one["question"] == "other?")

    assert seen["headers"]["authorization"] == "Bearer sk-other"


def test_without_a_key_only_an_endpoint_of_ones_own_is_asked(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")

    assert ask(server, "echo", "free")[0].raw == "4"
    with pytest.raises(ModelError, match="a key in the environment variable OPENAI_API_KEY; found none; set it"):
        Endpoint("gpt").respond(show("why?"))


@pytest.mark.parametrize("url", ["http://me:secret@host/v1", "https://host/v1?api_key=secret"])
def test_an_address_with_a_secret_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(SettingError, match="put the key into the environment") as caught:
        Endpoint("x", url)
    assert "secret" not in str(caught.value)


def test_requests_keep_the_pace(server: Served) -> None:
    began = time.monotonic()
    Endpoint("echo", server.url, per_minute=600).respond(show(*"abcdef"))

    assert time.monotonic() - began > 0.5  # five gaps of a tenth of a second


def test_it_also_answers_inside_a_running_loop(server: Served) -> None:
    async def notebook() -> list[Response]:
        return ask(server, "echo", "in a notebook")

    assert asyncio.run(notebook())[0].raw == "13"


def test_identities_tell_apart_what_answers_differently() -> None:
    base = Endpoint("m", "http://127.0.0.1:1/v1")
    same = [replace(base, concurrency=2), replace(base, timeout=1.0), replace(base, retries=0)]
    same += [replace(base, deadline=1.0), replace(base, max_response=9)]
    other = [replace(base, temperature=0.1), replace(base, max_side=9), replace(base, model="n"), Endpoint("m")]

    assert {one.identity for one in same} == {base.identity}
    assert len({one.identity for one in [base, *other]}) == 5
    assert os.environ["OPENAI_API_KEY"] not in base.identity
