"""Files of a run that are missing or torn are one line on a page, wherever they are needed."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from starlette.testclient import TestClient

from eyechart.cli import main
from eyechart.data.store import Store
from eyechart.viewing.server import Guard, build_explorer

PAGES = {  # file -> pages that need it
    "data/examples.parquet": ("/examples", "/examples.csv", "/example?id=e/041", "/rules"),
    "data/images.parquet": ("/examples", "/example?id=e/041"),
    "studies/rules/rules.parquet": ("/rules", "/rules.csv"),
    "studies/rules/rows.parquet": ("/examples", "/example?id=e/041"),
    "studies/rules/settings.json": ("/",),
    "results/org%2Fone/accuracy/rows.parquet": ("/examples?model=org/one&fate=right", "/example?id=e/041"),
    "answers/org%2Fone/plain.parquet": ("/example?id=e/041", "/compare", "/examples?model=org/one&fate=wrong"),
    "probes/plain.parquet": ("/example?id=e/041", "/picture?id=e/041"),
    "division.json": ("/",),
}
ONLY_COLUMNS = ("/", "/picture?id=e/041")  # pages that read no rows of them


@pytest.fixture
def visitor(fresh: Store, guard: Guard) -> Iterator[TestClient]:
    """Open a run that a test may change; an error of ours that no page shows is raised here."""
    here, cookies = "http://127.0.0.1:8000", {guard.cookie: guard.token}
    with TestClient(build_explorer(fresh, guard), base_url=here, cookies=cookies) as opened:
        yield opened


def spoil(path: Path) -> None:
    """Overwrite the rows of a table, but not what names its columns."""
    pl.read_parquet(path).write_parquet(path, compression="zstd", statistics=False)
    content = path.read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    path.write_bytes(b"PAR1" + b"\xff" * (len(content) - footer - 4) + content[-footer:])


def cases() -> Iterator[tuple[str, str, Callable[[Path], None]]]:
    for name, pages in PAGES.items():
        yield from ((name, page, lambda file: os.truncate(file, 20)) for page in pages)
        if name.endswith(".parquet") and "images" not in name:
            yield from ((name, page, spoil) for page in pages if page not in ONLY_COLUMNS)


@pytest.mark.parametrize(("name", "page", "damage"), [*cases()])
def test_a_page_says_what_is_damaged(
    fresh: Store, visitor: TestClient, name: str, page: str, damage: Callable[[Path], None]
) -> None:
    damage(fresh.folder / name)
    answer = visitor.get(page)

    assert answer.status_code == 500
    assert "<title>Not readable" in answer.text
    assert "to be intact; found a damaged file (" in answer.text
    assert damage is spoil or str(fresh.folder / name) in answer.text


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("data/examples.parquet", "/examples"),
        ("data/images.parquet", "/examples"),
        ("studies/rules/settings.json", "/"),
    ],
)
def test_a_page_says_which_file_is_missing(fresh: Store, visitor: TestClient, name: str, page: str) -> None:
    (fresh.folder / name).unlink()
    answer = visitor.get(page)

    assert answer.status_code == 500
    assert "<title>Not readable" in answer.text
    assert f"a file at {fresh.folder / name}; found none" in answer.text


def test_what_there_never_was_is_not_found(visitor: TestClient) -> None:
    for path in ("/nowhere", "/example?id=none"):
        answer = visitor.get(path)

        assert answer.status_code == 404
        assert "<title>Not found" in answer.text


def test_the_command_line_says_that_rows_are_damaged(
    fresh: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(fresh.data_folder / "examples.parquet")
    monkeypatch.setattr("sys.argv", ["eyechart", "report", str(fresh.folder)])
    with pytest.raises(SystemExit) as leaving:
        main()

    assert leaving.value.code == 1
    assert capsys.readouterr().err.startswith("eyechart: expected tables to be intact; found a damaged file (parquet")
