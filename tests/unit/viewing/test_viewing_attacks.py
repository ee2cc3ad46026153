"""A site that the same browser has open, or a flood of requests, gets nothing from the explorer or the survey."""

import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from starlette.testclient import TestClient

from eyechart.data.store import Store
from eyechart.viewing.server import POLICY, Guard, build_survey

HERE = "http://127.0.0.1:8000"
ATTACKS = [
    ("post", {"Origin": "http://evil.example"}, 403),
    ("post", {"Origin": "null"}, 403),  # a sandboxed frame, or a page from a file
    ("post", {"Origin": "http://127.0.0.1:8001"}, 403),  # another program on this machine
    ("post", {"Origin": "http://127.0.0.1:8000.evil.example"}, 403),
    ("post", {"Origin": "http://localhost:8000", "Host": "evil.example:8000"}, 421),  # a name made to point here
    ("post", {}, 403),
    ("get", {}, 405),
    ("put", {"Origin": HERE}, 405),
]


FORMS = ("application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x")


@pytest.fixture
def survey(run: Store, guard: Guard) -> Iterator[TestClient]:
    """Enter the survey as the person whose browser the other site uses: with the cookie."""
    app = build_survey(run, guard, 2)
    with TestClient(app, base_url=HERE, cookies={guard.cookie: guard.token}, follow_redirects=False) as client:
        yield client


@pytest.mark.parametrize("path", ["/begin", "/answer"])
@pytest.mark.parametrize(("method", "headers", "status"), ATTACKS)
def test_another_site_cannot_answer_with_the_cookie_of_a_person(
    survey: TestClient, path: str, method: str, headers: dict[str, str], status: int
) -> None:
    """All that a browser sends for a foreign page without asking first: forms of three types, and links."""
    body = None if method == "get" else b"person=eve&id=00&answer=red"
    replies = [survey.request(method, path, content=body, headers={"Content-Type": kind, **headers}) for kind in FORMS]

    assert {reply.status_code for reply in replies} == {status}
    assert not any("set-cookie" in reply.headers for reply in replies)
    assert survey.get("/item?person=eve").headers["location"] == "/", "she was never let in"


def test_a_token_in_the_address_is_no_way_around_the_origin(survey: TestClient, guard: Guard) -> None:
    reply = survey.post(
        f"/begin?token={guard.token}", data={"person": "eve"}, headers={"Origin": "http://evil.example"}
    )

    assert reply.status_code == 403
    assert guard.token not in reply.text


def test_every_page_of_the_survey_carries_the_policy_and_no_inline_script(survey: TestClient) -> None:
    for path in ("/", "/agreement", "/done?person=x", "/item?person=x", "/nowhere"):
        page = survey.get(path)

        assert page.headers["Content-Security-Policy"] == POLICY, path
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bon\w+=|\bstyle=", page.text), path


def fetch(address: str, **headers: str) -> int:
    try:
        with urlopen(Request(address, headers=headers), timeout=20) as reply:  # noqa: S310 - our own server
            return int(reply.status)
    except HTTPError as refused:
        return refused.code


def test_a_flood_of_strangers_keeps_nobody_out(run: Store) -> None:
    """Connections that say nothing or never end, and requests without the token, while the owner reads on."""
    command = [sys.executable, "-m", "eyechart", "view", str(run.folder), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, ExitStack() as flood:
        try:
            assert server.stdout is not None
            entrance = server.stdout.readline().split()[-1]
            base, _, token = entrance.partition("/?token=")
            port = int(base.rpartition(":")[2])
            cookie = f"eyechart-{port}={token}"
            assert fetch(base + "/", Cookie=cookie) == 200
            head = f"POST /begin HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 1000000000\r\n"
            for n in range(120):
                open_one = flood.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
                open_one.sendall((head if n % 2 else head + "\r\n" + "x" * 10_000).encode())
            codes = {fetch(f"{base}/examples?n={n}", Cookie="other=1") for n in range(200)}
            began = time.monotonic()
            owner = fetch(base + "/", Cookie=cookie)
        finally:
            server.kill()

    assert codes == {403}
    assert owner == 200
    assert time.monotonic() - began < 10
