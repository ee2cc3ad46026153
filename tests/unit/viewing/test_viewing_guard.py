"""Only who has the token, from this very address, sees anything; and no browser is allowed more than it needs."""

import pytest
from starlette.testclient import TestClient

from eyechart.data.store import Store
from eyechart.viewing.furniture import gather_furniture
from eyechart.viewing.pages import routes
from eyechart.viewing.server import HEADERS, Guard, build_explorer

HERE = "http://127.0.0.1:8000"
PATHS = [path for path in routes(None, gather_furniture()) if "{" not in path]  # type: ignore[arg-type]


@pytest.fixture
def stranger(run: Store, guard: Guard) -> TestClient:
    return TestClient(build_explorer(run, guard), base_url=HERE)


@pytest.mark.parametrize("path", [*PATHS, "/static/view.css", "/nowhere"])
def test_without_the_token_nothing_is_shown(stranger: TestClient, path: str) -> None:
    answer = stranger.get(path)

    assert answer.status_code == 403
    assert "data" not in answer.text


def test_a_wrong_token_does_not_help(stranger: TestClient, guard: Guard) -> None:
    assert stranger.get("/?token=another").status_code == 403
    assert stranger.get("/", headers={"Cookie": f"{guard.cookie}=ä".encode()}).status_code == 403


def test_the_token_becomes_a_strict_cookie_and_leaves_the_address(stranger: TestClient, guard: Guard) -> None:
    answer = stranger.get(f"/rules?word=cat&token={guard.token}")

    cookie = answer.headers["set-cookie"].lower()
    assert answer.status_code == 200
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert 'url=/rules?word=cat"' in answer.text
    assert guard.token not in answer.text
    assert stranger.get("/").status_code == 200, "the cookie opens the other pages"


def test_the_token_cannot_send_a_reader_to_another_host(stranger: TestClient, guard: Guard) -> None:
    answer = stranger.get(f"http://127.0.0.1:8000//evil.example/?token={guard.token}")

    assert "url=/evil.example/" in answer.text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1", "127.0.0.1:8001", ""])
def test_a_request_for_another_host_is_refused(client: TestClient, host: str) -> None:
    """A name that was made to point here (DNS rebinding) arrives with its own Host."""
    assert client.get("/", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:8000", "http://127.0.0.1:8001"])
def test_a_request_from_another_site_is_refused(client: TestClient, origin: str) -> None:
    assert client.get("/rules.csv", headers={"Origin": origin}).status_code == 403


def test_a_request_from_our_own_pages_is_not(client: TestClient) -> None:
    assert client.get("/rules.csv", headers={"Origin": HERE}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/nowhere", "/static/view.js", "/rules.csv"])
def test_every_answer_carries_the_policy(client: TestClient, path: str) -> None:
    answer = client.get(path)

    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json"])
def test_nothing_is_told_of_the_program(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_pages_are_read_and_never_written(client: TestClient) -> None:
    assert client.post("/rules", headers={"Origin": HERE}).status_code == 405


def test_a_run_with_nothing_in_it_has_pages(tmp_path_factory: pytest.TempPathFactory, guard: Guard, run: Store) -> None:
    import shutil

    bare = tmp_path_factory.mktemp("bare") / "run"
    bare.mkdir()
    shutil.copytree(run.folder / "data", bare / "data")
    shutil.copy(run.manifest_file, bare)
    shutil.copy(run.division_file, bare)
    with TestClient(build_explorer(Store(bare), guard), base_url=HERE, cookies={guard.cookie: guard.token}) as client:
        codes = {path: client.get(path).status_code for path in ("/", "/examples", "/compare", "/overview.csv")}
        rules = client.get("/rules")
        one = client.get("/example", params={"id": Store(bare).examples.scan().collect()["id"][0]})

    assert set(codes.values()) == {200}
    assert rules.status_code == 404
    assert "no study of rules" in rules.text
    assert one.status_code == 200
