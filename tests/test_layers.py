"""Imports go down: a room knows only rooms of lower levels, and itself; hidden imports count too."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "eyechart"
LEVELS = (
    ("errors",),
    ("registry", "tables", "files", "hashing", "text", "progress", "kernels", "transfer", "asked"),
    ("settings", "web", "stored", "division", "furniture"),
    ("dataset", "result", "scoring", "statistics", "boxes", "pixels"),
    ("predictions", "probes", "pictures"),
    ("store", "protocols"),
    ("readers", "engines"),
    ("mining", "models"),
    ("encode", "wordnet", "neighbours", "writers"),
    ("world",),
    ("audits", "zoo"),
    ("resplit", "exports"),
    ("interview",),
    ("run", "comparison"),
    ("verbs",),
    ("reporting", "contract"),
    ("viewing",),
    ("cli",),
    ("__init__", "__main__"),
)
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
FILES = sorted(SOURCE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> Iterator[str]:
    """Name every module a file imports, wherever in the file the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in {
            "import_module",
            "__import__",
        }:
            yield from (str(word.value) for word in node.args if isinstance(word, ast.Constant))


def climbing(text: str, room: str) -> list[str]:
    """List the imports of a file that go up or sideways."""
    rooms = {name.split(".")[1] for name in imported(ast.parse(text)) if name.startswith("eyechart.")}
    known = {other for other in rooms if other in LEVEL}
    return sorted(other for other in known - {room} if LEVEL[other] >= LEVEL[room])


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down(path: Path) -> None:
    assert room_of(path) in LEVEL, "a new room needs a place among the levels"
    assert climbing(path.read_text(encoding="utf-8"), room_of(path)) == []


def test_the_docs_have_every_room_on_its_level() -> None:
    page = (SOURCE.parent.parent / "docs" / "design.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \d+ \| (.*) \|$", page, re.MULTILINE)

    assert [set(re.findall(r"`(\w+)`", row)) for row in rows] == [set(rooms) for rooms in LEVELS]


def test_nothing_imports_the_front_door() -> None:
    users = [path for path in FILES if "eyechart" in set(imported(ast.parse(path.read_text(encoding="utf-8"))))]

    assert users == []


@pytest.mark.parametrize(
    "text",
    [
        "import eyechart.run",
        "from eyechart import run",
        "def late():\n    from eyechart.run import Run",
        "if TYPE_CHECKING:\n    import eyechart.run",
        "importlib.import_module('eyechart.run')",
    ],
)
def test_the_check_sees_every_way_to_climb(text: str) -> None:
    assert climbing(text, "dataset") == ["run"]
