"""What an audit takes after its studies, and what comparing models takes, against an older version in the same run.

    git worktree add --detach ../before b25d05e
    python benchmarks/audit_stages.py --before ../before [--examples 30000] [--demo]

Each version runs in a process of its own, from its own source, and counts the processor seconds of the whole command,
of its studies and of its comparisons. `--demo` also runs `eyechart demo`, whose four models are compared by every
audit. Outcomes go to benchmarks/results/audit_stages.json.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import record

PROJECT = Path(__file__).resolve().parent.parent
AUDITS, MODELS = ("accuracy", "rules", "splits"), ("world:seer", "world:cheater")

# Runs a command in this version's process, and prints the seconds of its stages on the last line. The names of modules
# are those of either version.
STAGES = """
import importlib, json, sys, time
spent = {}
def timed(label, function):
    def run(*given, **named):
        before = time.process_time()
        try:
            return function(*given, **named)
        finally:
            spent[label] = spent.get(label, 0) + time.process_time() - before
    return run
def first(*names):
    for name in names:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            pass
runs, pages = first("eyechart.runs.run", "eyechart.run"), importlib.import_module("eyechart.reporting.collect")
runs.Run.study = timed("study", runs.Run.study)
pages.compare = timed("compare", pages.compare)
from eyechart.cli import main
sys.argv = ["eyechart", *sys.argv[1:]]
before = time.process_time()
try:
    main()
except SystemExit as end:
    if end.code:
        raise
print(json.dumps(spent | {"total": time.process_time() - before}))
"""


def measure(source: Path, command: list[str]) -> dict[str, float]:
    """Run a command from a source tree and return the processor seconds of its stages."""
    environment = os.environ | {"PYTHONPATH": str(source / "src"), "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-c", STAGES, *command], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed in {source}: {done.stderr.strip().splitlines()[-1:]}")
    stages: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return stages | {"after the studies": stages["total"] - stages["study"]}


def commands(folder: Path, examples: int, *, demo: bool) -> dict[str, list[str]]:
    """List what is run, by name."""
    named = [word for audit in AUDITS for word in ("-a", audit)] + [word for model in MODELS for word in ("-m", model)]
    listed = {f"audit of {examples:,} examples": ["audit", str(folder / "data"), *named, "-o", str(folder / "run")]}
    return listed | ({"demo": ["demo", "--out", str(folder / "demo")]} if demo else {})


def main() -> None:
    """Measure both versions in turn and write down what they took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="a checkout of the older version")
    parser.add_argument("--examples", type=int, default=30_000)
    parser.add_argument("--demo", action="store_true", help="also run the demo")
    given = parser.parse_args()
    sources = {"now": PROJECT} | ({"before": given.before} if given.before else {})
    rows: list[dict[str, Any]] = []
    for version, source in sources.items():
        with tempfile.TemporaryDirectory() as folder:
            world = ["read", "world", "--set", f"images={given.examples // 5}", "-o", str(Path(folder) / "data")]
            environment = os.environ | {"PYTHONPATH": str(source / "src")}
            subprocess.run([sys.executable, "-m", "eyechart", *world], env=environment, check=True, capture_output=True)
            for name, command in commands(Path(folder), given.examples, demo=given.demo).items():
                stages = measure(source, command)
                rows.append({"version": version, "command": name} | stages)
                print(version, name, {stage: round(seconds, 1) for stage, seconds in stages.items()})
    if given.before:
        called = f"python benchmarks/audit_stages.py --before b25d05e --examples {given.examples} --demo"
        record.keep("audit_stages", rows, command=called, recorded="processor seconds of one machine")


if __name__ == "__main__":
    main()
