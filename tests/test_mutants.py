"""The recorded mutants are those of the rooms, and the rooms' own tests notice nine in ten of them."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PROJECT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def mutate() -> Iterator[ModuleType]:
    """Import the script, and forget it and what it imports afterwards."""
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(PROJECT / "tools"), *sys.path])
        import mutate

        yield mutate
    for name in {"mutate", "record"} & (set(sys.modules) - before):
        del sys.modules[name]


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    found: dict[str, Any] = json.loads((PROJECT / "benchmarks/results/mutants.json").read_text(encoding="utf-8"))
    return list(found["rows"])


def test_every_room_has_been_tried_and_notices_nine_mutants_in_ten(
    mutate: ModuleType, rows: list[dict[str, Any]]
) -> None:
    assert {row["room"] for row in rows} == set(mutate.ROOMS)
    for room in mutate.ROOMS:
        own = {row["mutant"]: row for row in rows if row["room"] == room}
        counted = [row for name, row in own.items() if name not in mutate.EQUIVALENT]

        assert len(own) == 30, room
        assert len(own) - len(counted) <= 3, room
        assert sum(not row["survived"] for row in counted) >= 0.9 * len(counted), room
        assert all(row["commit"] for row in own.values()), room


def test_whatever_is_called_equivalent_was_tried_and_noticed_by_no_test(
    mutate: ModuleType, rows: list[dict[str, Any]]
) -> None:
    survived = {row["mutant"] for row in rows if row["survived"]}

    assert sorted(mutate.EQUIVALENT.keys() - survived) == []
    assert all(mutate.EQUIVALENT.values())


def test_a_mutant_keeps_its_name_and_its_turn_when_something_else_changes(
    mutate: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code = "def first(n):\n    return n + 1 > 2 + 1\n\n\nclass Room:\n    def second(self):\n        return 1\n"
    file = tmp_path / "room.py"
    monkeypatch.setattr(mutate, "PROJECT", tmp_path)
    monkeypatch.setitem(mutate.ROOMS, "room", (("room.py",), ()))
    drawn = []
    for text in (code, f"import os\n\n\ndef other():\n    return os\n\n\n{code}"):
        file.write_text(text, encoding="utf-8")
        drawn.append([mutant.key for mutant in mutate.draw("room", 30, 0)])

    assert drawn[0] == drawn[1]
    assert set(drawn[0]) == {
        "room.py Room.second: 1 -> 2",
        "room.py first: 1 -> 2",
        "room.py first: 1 -> 2 #2",
        "room.py first: 2 -> 3",
        "room.py first: 2 + 1 -> (2 - 1)",
        "room.py first: n + 1 -> (n - 1)",
        "room.py first: n + 1 > 2 + 1 -> n + 1 >= 2 + 1",
    }


def test_a_mutant_changes_only_what_it_names(
    mutate: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "room.py").write_text("SIZES = [1, 1]  # é, before 1\n", encoding="utf-8")
    monkeypatch.setattr(mutate, "PROJECT", tmp_path)
    seen = []

    def look(_tests: object, copy: Path, _patience: float) -> bool:
        seen.append((copy / "room.py").read_text(encoding="utf-8"))
        return True

    monkeypatch.setattr(mutate, "passes", look)
    for mutant in mutate.find_mutants(tmp_path / "room.py"):
        assert mutate.survives(mutant, (), tmp_path, 1.0)

    assert seen == ["SIZES = [2, 1]  # é, before 1\n", "SIZES = [1, 2]  # é, before 1\n"]
    assert (tmp_path / "room.py").read_text(encoding="utf-8") == "SIZES = [1, 1]  # é, before 1\n"
