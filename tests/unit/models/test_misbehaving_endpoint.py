"""Whatever an endpoint replies, it becomes an answer or a failure with its reason, within bounds of time and size."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from eyechart.base.characters import storable
from eyechart.base.errors import ModelError
from eyechart.language.prompts import PromptBatch, choose_template
from eyechart.models.backend import Response
from eyechart.models.cache import AnswerCache, CachedBackend, MemoryStore
from eyechart.models.endpoint import Endpoint
from eyechart.models.own_names import doubt_names, is_dated_form
from eyechart.models.prompted import read_responses
from servers.starting import Served, misbehaving


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with misbehaving() as served:
        yield served


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")


def ask(endpoint: Endpoint, *prompts: str, choices: list[str] | None = None) -> list[Response]:
    return endpoint.respond(PromptBatch(list(prompts), [None] * len(prompts), [choices] * len(prompts)))


def answers_of(endpoint: Endpoint, *prompts: str) -> pl.DataFrame:
    probes = pl.DataFrame({"id": [str(n) for n in range(len(prompts))], "question": list(prompts)})
    return read_responses(ask(endpoint, *prompts), probes, choose_template("short"))


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("red", "red"),
        ("two\tlines\r\n", "two\tlines\r\n"),
        ("ok \ud83d", "ok \\ud83d"),
        ("\ud83d\ude00", "😀"),  # halves from two parts of a content
        ("a\x00b\x1b[31m\x7f\x85", "a\\x00b\\x1b[31m\\x7f\\x85"),
        ("\\x00 ä \u202e", "\\x00 ä \u202e"),
    ],
)
def test_texts_become_storable_and_lose_nothing_that_can_be_seen(text: str, stored: str) -> None:
    assert storable(text) == stored
    assert storable(stored) == stored
    stored.encode()


def test_half_a_character_is_kept_visible_in_the_table_and_the_cache(server: Served, tmp_path: Path) -> None:
    cached = CachedBackend(Endpoint("halves", server.url), AnswerCache(tmp_path / "it.sqlite"))
    batch = PromptBatch(["why?", "how?"], [None, None], [None, None])
    probes = pl.DataFrame({"id": ["1", "2"], "question": ["why?", "how?"]})
    first, again = (read_responses(cached.respond(batch), probes, choose_template("short")) for _ in range(2))

    assert set(first["raw"]) == {"red \\ud83d\\x00\\x1b[31m"}
    assert first.equals(again)
    assert len(server.seen("halves")) == 2


def test_parts_are_read_by_their_types(server: Served) -> None:
    (said,) = ask(Endpoint("parts", server.url), "why?")

    assert said.raw == "red"


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("number", "content of type 'int' instead of text"),
        ("mapping", "content of type 'dict' instead of text"),
        ("drawing", "content with a part of type 'image_url' instead of text"),
        ("tool", "a reply that calls a tool instead of answering"),
        ("quota", "a reply without an answer"),
        ("endless", "a reply of more than 100,000 bytes"),
        ("bomb", "a reply of more than 100,000 bytes"),
        ("brotli", "a reply in the encoding 'br', which was not asked for"),
        ("torn", "a reply that is not in its encoding 'gzip'"),
        ("nested", "a reply "),
        ("words", "a log-probability of 'much'"),
        ("nan", "a log-probability of nan"),
    ],
)
def test_what_is_no_answer_fails_with_its_reason_and_alone(server: Served, model: str, reason: str) -> None:
    began = time.monotonic()
    said = ask(Endpoint(model, server.url, scores=True, max_response=100_000), "one?", "two?", choices=["A", "B"])

    assert [one.raw for one in said] == [None, None]
    assert all(str(one.failed).startswith(reason) for one in said), said
    assert time.monotonic() - began < 20
    assert len(server.seen(model)) == 2, "another attempt would be paid for, and fail as well"


def test_a_compressed_reply_is_read(server: Served) -> None:
    assert ask(Endpoint("packed", server.url), "why?")[0].raw == "red"


def test_the_limit_of_size_can_be_raised(server: Served) -> None:
    (said,) = ask(Endpoint("bomb", server.url, max_response=60_000_000), "why?")

    assert said.failed is not None
    assert "more than" not in said.failed


@pytest.mark.parametrize("model", ["trickle", "headers"])
def test_a_reply_that_comes_byte_by_byte_is_given_up_at_the_deadline(server: Served, model: str) -> None:
    """Each byte comes in time, so only a deadline for the whole reply ends it: it would take minutes."""
    began = time.monotonic()
    (said,) = ask(Endpoint(model, server.url, timeout=5, deadline=0.5), "why?")

    assert said == Response(None, failed="no whole reply after 0.5 s")
    assert time.monotonic() - began < 5


def test_a_redirect_takes_no_prompt_elsewhere(server: Served) -> None:
    with pytest.raises(ModelError, match="found status 307"):
        ask(Endpoint("elsewhere", server.url, retries=0), "why?")


def test_a_cut_answer_is_unparsed_and_says_so(server: Served) -> None:
    (answer,) = answers_of(Endpoint("cut", server.url), "what color?").to_dicts()

    assert (answer["answer"], answer["status"], answer["stop_reason"]) == (None, "unparsed", "length")
    assert answer["raw"] == "red. The answer is"


def test_the_models_own_name_is_recorded_and_no_part_of_the_key(server: Served) -> None:
    (answer,) = answers_of(Endpoint("other", server.url), "what color?").to_dicts()
    cached = CachedBackend(Endpoint("other", server.url), MemoryStore())
    batch = PromptBatch(["what color?"], [None], [None])
    before = cached.keys(batch)
    cached.respond(batch)

    assert (answer["answer"], answer["model_name"]) == ("red", "another-model")
    assert cached.keys(batch) == before
    assert "another-model" not in cached.identity


@pytest.mark.parametrize(
    ("name", "asked", "same"),
    [
        ("gpt-x", "gpt-x", True),
        ("GPT-X", "gpt-x", True),
        ("gpt-x-2026-08-06", "gpt-x", True),
        ("gpt-x-0806", "gpt-x", True),
        ("claude-y-20261022", "claude-y-latest", True),
        ("gemini-z-preview-05-06", "gemini-z-preview", True),
        ("gpt-x-mini", "gpt-x", False),
        ("gpt-x-mini-2026-08-06", "gpt-x", False),
        ("gpt-x.1", "gpt-x", False),
        ("gpt", "gpt-x", False),
        ("some-other-model-v2", "wrongmodel", False),
    ],
)
def test_dated_forms_of_a_name_are_the_same_model(name: str, asked: str, same: bool) -> None:  # noqa: FBT001 - a table
    assert is_dated_form(name, asked) is same
    assert (doubt_names({name: 3}, asked) is None) is same


def test_a_name_that_changes_is_doubted_even_between_two_dates() -> None:
    assert doubt_names({}, "m") is None
    assert doubt_names({"m-2026-05-13": 1000, "m-2026-08-06": 2}, "m") == (
        "its name changed within the run: 'm-2026-05-13' (1,000 answers), 'm-2026-08-06' (2 answers)"
    )


def test_the_key_is_redacted_in_names_as_well(server: Served) -> None:
    (said,) = ask(Endpoint("parrot", server.url), "why?")

    assert os.environ["OPENAI_API_KEY"] not in repr(said)
