"""The arrows that `scale.py` measures: what each runs, on what, and what must have been run before."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

QUESTIONS, WORLD = "questions", "world"
MODEL = f"python:{Path(__file__).with_name('scale_model.py')}:say_yes"
AUDITS = {
    "accuracy": QUESTIONS,
    "splits": QUESTIONS,
    "rules": QUESTIONS,
    "perception": WORLD,
    "grounding": WORLD,
    "decoys": WORLD,
}
EXPORTS = {"splits": "splits", "rules": "rules", "eee": "accuracy"}


class Arrow(NamedTuple):
    """A command of eyechart in a folder of its size, and the arrows whose files it reads."""

    name: str
    data: str
    words: Callable[[Path], list[str]]
    after: tuple[str, ...] = ()


def _run(folder: Path, audit: str) -> str:
    return str(folder / f"run-{audit}")


def _read(kind: str) -> Arrow:
    def words(folder: Path) -> list[str]:
        return ["read", "table", str(folder / f"{QUESTIONS}.{kind}"), "-o", str(folder / f"read-{kind}")]

    return Arrow(f"read {kind}", QUESTIONS, words)


def _of_audit(audit: str, data: str) -> list[Arrow]:
    """List study, probe, predict and judge of one audit."""
    known = f"study {audit}", f"probe {audit}", f"predict {audit}"
    return [
        Arrow(known[0], data, lambda folder: ["study", str(folder / data), "-a", audit, "-o", _run(folder, audit)]),
        Arrow(known[1], data, lambda folder: ["probe", _run(folder, audit)], known[:1]),
        Arrow(known[2], data, lambda folder: ["predict", _run(folder, audit), "-m", MODEL], known[:2]),
        Arrow(f"judge {audit}", data, lambda folder: ["judge", _run(folder, audit), "-m", "say_yes"], known),
        Arrow(f"report {audit}", data, lambda folder: ["report", _run(folder, audit)], (*known, f"judge {audit}")),
    ]


def _export(what: str, audit: str) -> Arrow:
    def words(folder: Path) -> list[str]:
        return ["export", _run(folder, audit), "--to", what, "-o", str(folder / f"export-{what}")]

    return Arrow(f"export {what}", AUDITS[audit], words, (f"report {audit}",))


def _from_file(folder: Path) -> list[str]:
    return ["predict", _run(folder, "accuracy"), "-m", f"predictions:{folder / 'answers.parquet'}"]


ARROWS = {
    arrow.name: arrow
    for arrow in (
        _read("jsonl"),
        _read("parquet"),
        *(arrow for audit, data in AUDITS.items() for arrow in _of_audit(audit, data)),
        Arrow("predict from a file", QUESTIONS, _from_file, ("report accuracy",)),
        *(_export(what, audit) for what, audit in EXPORTS.items()),
    )
}
