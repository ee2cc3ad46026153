"""Change the code in small ways, one at a time, and see whether a room's own tests notice.

    python tools/mutate.py statistics rules        thirty mutants of each room (all rooms, where none are named)
    python tools/mutate.py rules --show            list the survivors of earlier runs
    python tools/mutate.py rules --survivors       try them again, after tests were added

A mutant replaces an operator, reverses a comparison or changes a constant. It is named after the function it is in, and
its name and the seed decide whether it is tried: everybody tries the same ones, and changes elsewhere move none. Each
is written into a copy of the project, and the room's tests run there until the first failure. Outcomes go to
benchmarks/results/mutants.json as they come, each with the commit it was tried on; a mutant that is there already is
not tried again, so a run can be stopped and resumed at any time.
"""

import argparse
import ast
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT / "benchmarks"))

from record import Row, commit, keep, load_rows  # noqa: E402 - scripts of another folder

COPIED = ("src", "tests", "docs", "pyproject.toml")  # what tests of rooms read
PATIENCE = 6  # a mutant that takes so many times as long never ends, and has been noticed

# room -> its source, its own tests
ROOMS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "statistics": (("src/eyechart/statistics",), ("tests/unit/statistics",)),
    "scoring": (("src/eyechart/scoring",), ("tests/unit/scoring",)),
    "mining": (("src/eyechart/mining",), ("tests/unit/mining",)),
    "splits": (("src/eyechart/audits/splits",), ("tests/unit/audits/splits",)),
    "rules": (("src/eyechart/audits/rules",), ("tests/unit/audits/rules", "tests/unit/viewing/test_viewing_rules.py")),
    "perception": (("src/eyechart/audits/perception",), ("tests/unit/audits/perception",)),
    "cache": (
        ("src/eyechart/models/cache.py",),
        ("tests/unit/models/test_cache.py", "tests/unit/models/test_prompted.py", "tests/test_recorded_keys.py"),
    ),
    "run": (
        ("src/eyechart/runs/run.py", "src/eyechart/runs/interview.py"),
        ("tests/unit/data/test_store.py", "tests/unit/runs"),
    ),
}

# Survivors that change nothing a user could see, each with the reason; at most three in a room.
EQUIVALENT = {
    "src/eyechart/models/cache.py: 60 -> 61": "how long another process that writes is waited for",
    "src/eyechart/models/cache.py AnswerCache._prepare: version > VERSION -> version >= VERSION": "equal ones returned",
    "src/eyechart/models/cache.py CachedBackend.foresee: True -> False": "both lists have an entry for each of a batch",
    "src/eyechart/scoring/__init__.py _longest_answers: 0 -> 1": "none and a single one are both scored by `exact`",
    "src/eyechart/statistics/crossed.py surely_above: "
    "se > least * (1 + 1e-9) + 1e-12 -> se >= least * (1 + 1e-09) + 1e-12": "the limit is itself only rounding",
    "src/eyechart/statistics/leads.py: 1000 -> 1001": "a sample more, where a thousand are off by a hundredth",
    "src/eyechart/mining/superset.py make_table: 0 -> 1": "a table may be larger than it has to be",
    "src/eyechart/mining/leaf.py lay_out_bits: end - first -> (end + first)": "counts too small for rules stay so",
    "src/eyechart/mining/levels.py exact_support: 1 -> 2 #2": "no count is below 0",
    "src/eyechart/runs/interview.py Asking: 512 -> 513": "how many questions a batch has",
    "src/eyechart/audits/perception/probing.py Rounds.asked: "
    "chance < stage.share -> chance <= stage.share": "a hash of 64 bits is never exactly a share",
    "src/eyechart/audits/rules/search.py: 12 -> 13": "how many orders are remembered",
    "src/eyechart/audits/rules/search.py: 20 -> 21": "which of two ways leads to the same page",
    "src/eyechart/audits/rules/search.py _load: 1 -> 2": "either way one part is read where there are no rules",
}

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}


class Mutant(NamedTuple):
    """One small change: which part of a line becomes what."""

    key: str  # the file, the function, the change, and which of several such changes of the function
    path: str  # from the project's folder
    line: int
    start: int  # in UTF-8 bytes
    end: int
    after: str


def find_mutants(path: Path) -> Iterator[Mutant]:
    """List every small change of a file, but for those in annotations and docstrings."""
    text = path.read_text(encoding="utf-8")
    place = path.relative_to(PROJECT).as_posix()
    seen: Counter[str] = Counter()
    for scope, node in _behaviour(ast.parse(text), ""):
        before = ast.get_source_segment(text, node)
        if before is None or "\n" in before:
            continue
        for changed in _changes(node):
            after = ast.unparse(changed)
            shown = f"({after})" if isinstance(node, ast.BinOp | ast.BoolOp) else after
            key = f"{place}{scope}: {before} -> {shown}"
            seen[key] += 1
            which = f" #{seen[key]}" if seen[key] > 1 else ""
            yield Mutant(key + which, place, node.lineno, node.col_offset, node.end_col_offset or 0, shown)


def _behaviour(tree: ast.AST, scope: str) -> Iterator[tuple[str, ast.expr]]:
    """Walk over the expressions of a tree that decide what it does, each with the function or class it is in."""
    if isinstance(tree, ast.FunctionDef | ast.ClassDef):
        scope = f"{scope}.{tree.name}" if scope else f" {tree.name}"
    for name, value in ast.iter_fields(tree):
        if name in {"annotation", "returns", "type_params", "decorator_list"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):  # parts of those have no sure place
                if isinstance(child, ast.expr):
                    yield scope, child
                yield from _behaviour(child, scope)


def _changes(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(left, [op], [right]) if type(op) in COMPARISONS:
            yield ast.Compare(left, [COMPARISONS[type(op)]()], [right])
        case ast.BinOp(left, op, right) if type(op) in OPERATORS and not _is_text(left):
            yield ast.BinOp(left, OPERATORS[type(op)](), right)
        case ast.BoolOp(op, values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand) | ast.UnaryOp(ast.USub(), operand) | ast.UnaryOp(ast.Invert(), operand):
            yield operand
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(float(value)):
            yield ast.Constant(value * 2 if value else 1.0)
        case _:
            return


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def draw(room: str, n: int, seed: int) -> list[Mutant]:
    """Draw mutants of a room, a second one of a line only where all lines have one."""
    sources = [path for folder in ROOMS[room][0] for path in _files(PROJECT / folder)]
    found = [mutant for path in sources for mutant in find_mutants(path)]
    found.sort(key=lambda mutant: hashlib.sha256(f"{seed} {room} {mutant.key}".encode()).digest())
    before: Counter[tuple[str, int]] = Counter()
    turns: dict[str, int] = {}
    for mutant in found:
        before[mutant.path, mutant.line] += 1
        turns[mutant.key] = before[mutant.path, mutant.line]
    return sorted(found, key=lambda mutant: turns[mutant.key])[:n]


def _files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]


@contextmanager
def copied(workers: int) -> Iterator[SimpleQueue[Path]]:
    """Lend a copy of the project to each worker, so that tests can be edited meanwhile."""
    copies: SimpleQueue[Path] = SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        for i in range(workers):
            copy = Path(folder) / str(i)
            for name in COPIED:
                source = PROJECT / name
                copy.mkdir(exist_ok=True)
                (shutil.copytree if source.is_dir() else shutil.copy)(source, copy / name)
            copies.put(copy)
        yield copies


def survives(mutant: Mutant, tests: tuple[str, ...], copy: Path, patience_s: float) -> bool:
    """Run a room's tests on a copy of the project with one change in it."""
    target = copy / mutant.path
    original = target.read_bytes()
    stamp = target.stat()
    lines = original.splitlines(keepends=True)
    line = lines[mutant.line - 1]
    lines[mutant.line - 1] = line[: mutant.start] + mutant.after.encode() + line[mutant.end :]
    target.write_bytes(b"".join(lines))
    try:
        return passes(_likeliest_first(mutant, tests), copy, patience_s)
    finally:
        target.write_bytes(original)
        os.utime(target, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def passes(tests: Iterable[str], copy: Path, patience_s: float | None = None) -> bool:
    """Run tests on a copy of the project until the first failure; who never ends fails."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": str(copy / "src")}
    try:
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=patience_s, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _likeliest_first(mutant: Mutant, tests: tuple[str, ...]) -> list[str]:
    """List the files of tests: those named after the changed file, those that import it, the others; longest first."""
    files = [path for place in tests for path in _files(PROJECT / place) if path.name.startswith("test_")]
    words = set(Path(mutant.path).stem.split("_"))
    module = mutant.path.removeprefix("src/").removesuffix(".py").replace("/", ".")

    def rank(path: Path) -> tuple[int, bool, int]:
        text = path.read_text(encoding="utf-8")
        return len(words & set(path.stem.split("_"))), f"from {module} " in text, len(text)

    return [str(path.relative_to(PROJECT)) for path in sorted(files, key=rank, reverse=True)]


def save_results(rows: list[Row], seed: int) -> None:
    """Write all outcomes, the rooms and their mutants in order."""
    keep(
        "mutants",
        sorted((row for row in rows if row["room"] in ROOMS), key=lambda row: (row["room"], row["mutant"])),
        command=f"python tools/mutate.py --seed {seed}",
        recorded="hours; each row says on which commit it was tried",
    )


def try_room(room: str, wanted: list[Mutant], seed: int, copies: SimpleQueue[Path], *, survivors: bool = False) -> None:
    """Try a room's mutants that were not tried before, and print how many its tests notice."""
    keys = {mutant.key for mutant in wanted}
    kept = [row for row in load_rows("mutants") if row["room"] != room or row["mutant"] in keys]
    if survivors:
        kept = [row for row in kept if row["room"] != room or not row["survived"] or row["mutant"] in EQUIVALENT]
    known = {row["mutant"] for row in kept if row["room"] == room}
    untried = [mutant for mutant in wanted if mutant.key not in known]
    tried_on = commit()
    patience_s = PATIENCE * _seconds_unchanged(room, copies) if untried else 0.0

    def attempt(mutant: Mutant) -> None:
        copy = copies.get()
        survived = survives(mutant, ROOMS[room][1], copy, patience_s)
        copies.put(copy)
        kept.append({"room": room, "mutant": mutant.key, "survived": survived, "commit": tried_on})
        print(f"{room}: {'SURVIVED' if survived else 'killed  '} {mutant.key} (line {mutant.line})", flush=True)
        save_results(kept, seed)

    with ThreadPoolExecutor(copies.qsize()) as pool:
        list(pool.map(attempt, untried))
    save_results(kept, seed)
    counted = [row for row in kept if row["room"] == room and row["mutant"] not in EQUIVALENT]
    killed = sum(not row["survived"] for row in counted)
    print(f"{room}: {killed} of {len(counted)} killed, beside {len(wanted) - len(counted)} equivalent", flush=True)


def _seconds_unchanged(room: str, copies: SimpleQueue[Path]) -> float:
    """Time a room's tests without any change; they have to pass."""
    copy = copies.get()
    start = time.perf_counter()
    if not passes(ROOMS[room][1], copy):
        sys.exit(f"{room}: its tests fail without any change; mend them first")
    copies.put(copy)
    return time.perf_counter() - start


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", help=f"some of {', '.join(ROOMS)}")
    parser.add_argument("--mutants", type=int, default=30, help="of each room [default: 30]")
    parser.add_argument("--seed", type=int, default=2026, help="what draws them [default: 2026]")
    parser.add_argument("--workers", type=int, default=2, help="test runs side by side [default: 2]")
    parser.add_argument("--show", action="store_true", help="list survivors, try nothing")
    parser.add_argument("--survivors", action="store_true", help="try survivors again")
    given = parser.parse_args()
    if unknown := set(given.rooms) - set(ROOMS):
        parser.error(f"no such room: {', '.join(sorted(unknown))}; choose among {', '.join(ROOMS)}")
    rooms = given.rooms or list(ROOMS)
    if given.show:
        for room in rooms:
            survived = [row["mutant"] for row in load_rows("mutants") if row["room"] == room and row["survived"]]
            rows = [mutant for mutant in survived if mutant not in EQUIVALENT]
            print(f"{room}: {len(rows)} survivors", *rows, sep="\n  ")
        return
    with copied(given.workers) as copies:
        for room in rooms:
            wanted = draw(room, given.mutants, given.seed)
            try_room(room, wanted, given.seed, copies, survivors=given.survivors)


if __name__ == "__main__":
    main()
