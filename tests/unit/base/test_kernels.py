"""How kernels are compiled and kept."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mining_reference
from eyechart.base import kernels

SMALL = """
import numpy as np
from eyechart.mining import MiningSettings, Transactions, match, mine
from mining_reference import mine_slowly
rng = np.random.default_rng(0)
rows = [rng.integers(0, 6, 5).tolist() for _ in range(40)]
examples = Transactions.from_rows(rows, rng.integers(0, 3, 40).tolist(), 6, 3)
for asked in [MiningSettings(n, 2, superset=s) for n in (1, 2, 3, 4, 6) for s in ("immediate", "two-sided")]:
    rules, slow = mine(examples, asked, announce=print), mine_slowly(examples, asked)
    assert rules.joints.tolist() == [rule.joint for rule in slow], asked
    assert rules.supports.tolist() == [rule.support for rule in slow], asked
    assert match(rules, examples).supports.tolist() == rules.supports.tolist()
"""


def run(code: str, **environment: str) -> str:
    command = [sys.executable, "-W", "error", "-c", code]
    same = {"PYTHONPATH": os.pathsep.join(sys.path)}  # the code imports from the tests too
    done = subprocess.run(command, env=os.environ | same | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_kernels_give_the_same_uncompiled() -> None:
    shared = os.pathsep.join([str(Path(mining_reference.__file__).parent), os.environ.get("PYTHONPATH", "")])

    assert run(SMALL, NUMBA_DISABLE_JIT="1", PYTHONPATH=shared) == ""


def test_nothing_is_compiled_at_import_nor_numba_imported_with_the_package(tmp_path: Path) -> None:
    run("import sys, eyechart; assert 'numba' not in sys.modules")
    run("import eyechart.mining", NUMBA_CACHE_DIR=str(tmp_path))

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_compilation_is_announced_once_and_kept_where_numba_is_told(tmp_path: Path) -> None:
    small = """
from eyechart.base.kernels import announced, popcount, kernel
@kernel
def count(word):
    return popcount(word)
with announced(print):
    assert count(0b1011) == 3
    assert count(2.0 ** 3 == 8) == 1
"""
    script = tmp_path / "small.py"
    script.write_text(small, encoding="utf-8")
    code = f"import runpy; runpy.run_path({str(script)!r})"

    said = [run(code, NUMBA_CACHE_DIR=str(tmp_path / "cache")) for _ in range(2)]

    assert said == [kernels.COMPILING + "\n", ""]


def test_the_cache_falls_back_to_a_folder_that_can_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder should be", encoding="utf-8")
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(kernels, "_stamp", lambda _: "stamp")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    choose = kernels.cache_folder.__wrapped__
    assert choose(blocked) == tmp_path / "home" / "eyechart-kernels-stamp"

    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    last_resort = choose(blocked)
    assert last_resort.is_dir()
    assert last_resort != choose(blocked)


def test_a_change_in_any_file_of_a_room_compiles_its_kernels_anew(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one", encoding="utf-8")
    before = kernels._stamp(tmp_path)
    (tmp_path / "b.py").write_text("two", encoding="utf-8")

    assert kernels._stamp(tmp_path) != before
