"""The front door is what it says, opens at once, and lets nothing heavy in."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import eyechart

HEAVY = ("torch", "transformers", "ray", "fastapi")
LATE = ("numba", "sklearn", "scipy.stats", "altair", "vl_convert", "rich", "typer")


def modules_after(statement: str) -> set[str]:
    """Name what is loaded in a fresh process after a statement."""
    script = f"{statement}\nimport json, sys\nprint(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_every_name_of_the_front_door_can_be_had() -> None:
    for name in eyechart.__all__:
        assert getattr(eyechart, name).__name__ == name


def test_type_checkers_see_the_same_names_in_the_same_places() -> None:
    tree = ast.parse(Path(eyechart.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.asname: node.module.removeprefix("eyechart.") for node in block.body for alias in node.names}

    assert seen == eyechart._PLACES


def test_no_name_of_the_front_door_is_a_room() -> None:
    """A room of the same name would take a function's place as soon as it is imported."""
    rooms = {path.stem for path in Path(eyechart.__file__).parent.iterdir()}

    assert rooms.isdisjoint(eyechart.__all__)


def test_dir_lists_the_front_door() -> None:
    assert dir(eyechart) == sorted(eyechart.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(eyechart, "glasses")


def test_the_import_brings_nothing_heavy() -> None:
    assert modules_after("import eyechart").isdisjoint([*HEAVY, *LATE, "polars", "numpy"])


def test_using_every_name_brings_nothing_heavy() -> None:
    everything = "import eyechart\nfor name in eyechart.__all__: getattr(eyechart, name)"

    assert modules_after(everything).isdisjoint([*HEAVY, *LATE])
