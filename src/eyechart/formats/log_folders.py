"""Find the newest run in the work folder of a tool, where each run has a file or folder named by its time."""

import re
from collections.abc import Mapping
from itertools import groupby

from eyechart.formats.answer_files import AnswerFile
from eyechart.formats.rows import RowCount, noted

# 20261119_210941 (EvalScope, OpenCompass, lmms-eval), T20260818-032032 (VLMEvalKit), 2026-11-19T21-27-38.303634
# (lighteval, lm-eval), 2026-11-19T21-27-38+00-00_task_vpAwJ3Bk8mbdDS3aNoRtYc (inspect, whose runs have an id too)
_TIME = re.compile(
    r"(?<![0-9A-Za-z])T?((?:19|20)\d{2}-?\d{2}-?\d{2}[_T-]\d{2}-?\d{2}-?\d{2}(?:\.\d+)?)(?:[+-]\d{2}-\d{2})?(?![0-9])"
)
_RUN_ID = re.compile(r"_[0-9A-Za-z]{22}(?=\.eval$|\.json$)")


def keep_newest(groups: Mapping[str, list[AnswerFile]]) -> tuple[dict[str, list[AnswerFile]], list[RowCount]]:
    """Keep the newest of the files of a tool whose names differ only by the time of their run, and say which it is."""
    kept, counts = {}, []
    for name, files in groups.items():
        newest = files if name == "table" else _select(files)
        stamps = sorted({stamp for file in newest if (stamp := _stamp(file.source.name))})
        kept[name] = newest
        reason = f"file of an older run, skipped: the newest is {stamps[-1] if stamps else ''}"
        counts.append(noted(reason, len(files) - len(newest)))
    return kept, counts


def _select(files: list[AnswerFile]) -> list[AnswerFile]:
    ordered = sorted(files, key=lambda file: (_place(file.source.name), _stamp(file.source.name)))
    parts = [list(part) for _, part in groupby(ordered, key=lambda file: _place(file.source.name))]
    return [file for part in parts for file in part if _stamp(file.source.name) == _stamp(part[-1].source.name)]


def _place(name: str) -> str:
    """Return a path without what differs from run to run."""
    return _RUN_ID.sub("", _TIME.sub("*", name)) if _TIME.search(name) else name


def _stamp(name: str) -> str:
    """Return the time of a run as digits, so that later ones sort behind earlier ones; empty if there is none."""
    return " ".join(re.sub(r"\D", "", stamp) for stamp in _TIME.findall(name))
