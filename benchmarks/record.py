"""Keep what a script measured in `results/NAME.json`, from which `make docs` writes the tables of the documentation.

A file says which command measured its rows, on which commit and machine, and, where the rows cannot be measured
again at will (hours, a GPU, timings of one machine), why: `recorded`. One line is one row.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results")
Row = dict[str, Any]


def add_flag(parser: argparse.ArgumentParser) -> None:
    """Let people ask for the rows to be kept."""
    parser.add_argument("--record", action="store_true", help="keep the rows in benchmarks/results")


def load(name: str) -> dict[str, Any]:
    """Read a results file; one without rows where nothing was recorded yet."""
    file = RESULTS / f"{name}.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {"rows": []}
    return found


def load_rows(name: str) -> list[Row]:
    """Read the rows of a results file."""
    return list(load(name)["rows"])


def keep(name: str, rows: Iterable[Row], **head: str) -> None:
    """Write a results file whole or not at all; what `head` does not say is that of this process."""
    here = {"command": command(), "commit": commit(), "machine": machine(), "recorded": ""}
    fields = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in (here | head).items()]
    lines = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
    draft = RESULTS / f".{name}.draft"
    RESULTS.mkdir(exist_ok=True)
    draft.write_text("{\n " + ",\n ".join(fields) + f',\n "rows": [\n{lines}\n ]\n}}\n', encoding="utf-8")
    draft.replace(RESULTS / f"{name}.json")


def command() -> str:
    """Name this script and its options; a folder of somebody's own is only called one."""
    words = ["FOLDER" if Path(word).is_dir() else word for word in sys.argv[1:]]
    return " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *words])


def commit() -> str:
    """Name the commit that runs, with a `+` if files but results were changed since; nothing where there is no git."""
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ":/", ":(top,exclude)benchmarks/results")
    return _git("rev-parse", "--short", "HEAD") + ("+" if changed else "")


def _git(*words: str) -> str:
    asked = ["git", *words]
    return subprocess.run(asked, cwd=RESULTS.parent, capture_output=True, text=True, check=False).stdout.strip()


def machine() -> str:
    """Describe the machine by what figures may depend on."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return f"{os.cpu_count()} cores, {model or platform.machine()}, Python {platform.python_version()}"
