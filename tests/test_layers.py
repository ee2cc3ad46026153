"""The order of rooms, folders and files: imports go down, nothing goes in a ring, and nothing grows too large.

Imports inside functions count like all others, and so do strings `eyechart.module:object`, which are imported by name.
Only the entries of a `Registry` are free: they are filled from outside, by any room or package.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "eyechart"
LEVELS = (
    ("base",),
    ("data",),
    ("scoring", "statistics"),
    ("engines",),
    ("mining",),
    ("language",),
    ("formats",),
    ("models",),
    ("world",),
    ("audits",),
    ("zoo",),
    ("runs",),
    ("reporting",),
    ("viewing",),
    ("cli",),
    ("__init__", "__main__"),
)
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
FILES = sorted(SOURCE.rglob("*.py"))
FRONT_DOOR = SOURCE / "__init__.py"
REFERENCE = re.compile(r"(eyechart(?:\.\w+)+):\w+")
MOST_LINES, MOST_IN_A_BODY = 350, 40
# Files whose functions import our own modules by name, with what these would otherwise load at the start.
BY_NAME = {
    "audits/decoys/__init__.py": "Numba, for which `eyechart ls audits` should not wait",
    "audits/rules/__init__.py": "Numba, likewise",
    "cli/listing.py": "torch, which lists networks and methods, and may not be installed",
    "cli/models.py": "torch, which only training needs",
    "cli/results.py": "starlette, which only `eyechart view` needs",
    "zoo/train/__init__.py": "torch, which a trained model needs when it is opened",
}

Graph = Mapping[str, set[str]]


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def folder_of(module: str) -> str:
    path = MODULES[module]
    return module if path.name == "__init__.py" else module.rpartition(".")[0]


def imported(tree: ast.AST) -> Iterator[str]:
    """Name every module and name that a file imports, wherever in the file the import is."""
    assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    texts = {name_of(each.targets[0]): each.value.value for each in assigned if isinstance(each.value, ast.Constant)}
    free = {id(word) for call in ast.walk(tree) if is_registry(call) for word in ast.walk(call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and name_of(node.func) in {"import_module", "__import__"}:
            yield from (str(word.value) for word in node.args if isinstance(word, ast.Constant))
        elif isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in free:
            yield from (reference[1] for reference in [REFERENCE.fullmatch(text_of(node, texts))] if reference)


def text_of(node: ast.expr, texts: Mapping[str, object]) -> str:
    """Write out a string, with the constants of its file in place of their names."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part, texts) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return str(texts.get(name_of(node.value), ""))
    return str(node.value) if isinstance(node, ast.Constant) else ""


def is_registry(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and name_of(node.func) == "Registry"


def name_of(function: ast.expr) -> str:
    inner = function.value if isinstance(function, ast.Subscript) else function
    return str(getattr(inner, "attr", getattr(inner, "id", "")))


def module_in(name: str, modules: Mapping[str, object] = MODULES) -> str:
    """Shorten a dotted name to the module that it names, or that it is in."""
    while name not in modules and "." in name:
        name = name.rpartition(".")[0]
    return name


def dependencies(text: str) -> set[str]:
    """List our modules that a file imports."""
    return {module_in(name) for name in imported(ast.parse(text)) if name.split(".")[0] == "eyechart"}


def climbing(text: str, room: str) -> list[str]:
    """List the rooms that a file imports from the same level or above."""
    rooms = {name.split(".")[1] for name in imported(ast.parse(text)) if name.startswith("eyechart.")}
    known = {other for other in rooms if other in LEVEL}
    return sorted(other for other in known - {room} if LEVEL[other] >= LEVEL[room])


def hidden(text: str) -> list[str]:
    """List our modules that are imported inside functions."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    imports = [node for each in functions for node in ast.walk(each) if isinstance(node, ast.Import | ast.ImportFrom)]
    return sorted({name for node in imports for name in imported(node) if name.split(".")[0] == "eyechart"})


def by_name(text: str) -> list[str]:
    """List our modules that `import_object` imports inside functions."""
    tree = ast.parse(text)
    assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    texts = {name_of(each.targets[0]): each.value.value for each in assigned if isinstance(each.value, ast.Constant)}
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    calls = [node for each in functions for node in ast.walk(each) if isinstance(node, ast.Call)]
    targets = [node.args[0] for node in calls if name_of(node.func) == "import_object" and node.args]
    names = [str(texts.get(name_of(node), "")) or text_of(node, texts) for node in targets]
    return sorted({reference[1] for reference in map(REFERENCE.fullmatch, names) if reference})


def rings(graph: Graph) -> list[set[str]]:
    """List the sets of nodes that reach each other."""
    reached = {node: reachable(graph, node) for node in graph}
    found = {frozenset(other for other in reached[node] if node in reached.get(other, ())) for node in graph}
    return sorted((set(ring) for ring in found if len(ring) > 1), key=sorted)


def reachable(graph: Graph, start: str) -> set[str]:
    seen, ahead = set(), [start]
    while ahead:
        for node in graph.get(ahead.pop(), set()) - seen:
            seen.add(node)
            ahead.append(node)
    return seen


def bodies(text: str) -> Iterator[tuple[str, int]]:
    """Name each function with the lines of its body, less its docstring."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            yield node.name, (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def graph_of_modules() -> dict[str, set[str]]:
    return {
        module: dependencies(path.read_text(encoding="utf-8")) - {module}
        for module, path in MODULES.items()
        if path != FRONT_DOOR
    }


each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))


@each_file
def test_imports_go_down(path: Path) -> None:
    room = path.stem if path.parent == SOURCE else path.relative_to(SOURCE).parts[0]

    assert room in LEVEL, "a new room needs a place among the levels, and a file a room"
    assert climbing(path.read_text(encoding="utf-8"), room) == []


@each_file
def test_our_own_modules_are_imported_at_the_top(path: Path) -> None:
    assert hidden(path.read_text(encoding="utf-8")) == []


def test_our_own_modules_are_imported_by_name_only_for_a_reason() -> None:
    """An `import_object` inside a function is an import inside a function, in other words."""
    late = {path.relative_to(SOURCE).as_posix() for path in FILES if by_name(path.read_text(encoding="utf-8"))}

    assert late == set(BY_NAME)


@each_file
def test_files_and_bodies_are_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert len(text.splitlines()) <= MOST_LINES
    assert [(name, lines) for name, lines in bodies(text) if lines > MOST_IN_A_BODY] == []


def test_no_modules_are_in_a_ring() -> None:
    assert rings(graph_of_modules()) == []


def test_no_folders_are_in_a_ring() -> None:
    folders: dict[str, set[str]] = defaultdict(set)
    for module, targets in graph_of_modules().items():
        folders[folder_of(module)] |= {folder_of(target) for target in targets} - {folder_of(module)}

    assert rings(folders) == []


def test_the_docs_have_every_room_on_its_level() -> None:
    page = (SOURCE.parent.parent / "docs" / "design.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \d+ \| (.*) \|$", page, re.MULTILINE)

    assert [set(re.findall(r"`(\w+)`", row)) for row in rows] == [set(rooms) for rooms in LEVELS]


def test_nothing_imports_the_front_door() -> None:
    assert [module for module, targets in graph_of_modules().items() if "eyechart" in targets] == []


@pytest.mark.parametrize(
    "text",
    [
        "import eyechart.runs.run",
        "from eyechart.runs import run",
        "from eyechart import runs",
        "def late():\n    from eyechart.runs.run import Run",
        "if TYPE_CHECKING:\n    import eyechart.runs.run",
        "importlib.import_module('eyechart.runs.run')",
        "PAGES = ('eyechart.runs.run:Run',)",
        "RUN = 'eyechart.runs.run'\nPAGES = (f'{RUN}:Run',)",
    ],
)
def test_the_check_sees_every_way_to_climb(text: str) -> None:
    assert climbing(text, "data") == ["runs"]


def test_only_registries_may_name_what_is_above() -> None:
    assert (
        climbing("ALL: R = Registry[Model]('model', {'zoo': 'eyechart.zoo.train.model:open_zoo'}, SHAPE)", "models")
        == []
    )


def test_the_check_sees_imports_inside_functions() -> None:
    text = "class A:\n    async def late(self):\n        import torch\n        from eyechart.base import b"

    assert hidden(text) == ["eyechart.base.b"]


def test_the_check_sees_imports_by_name() -> None:
    text = "RUN = 'eyechart.runs.run:Run'\ndef late():\n    import_object(RUN)\n    import_object(name)"

    assert by_name(text) == ["eyechart.runs.run"]


def test_the_check_sees_rings() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"e", "f"}, "f": {"e"}}

    assert rings(graph) == [{"b", "c"}, {"e", "f"}]
