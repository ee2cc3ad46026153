"""Decode files of answers, recognise the tool that wrote them, and refuse files without a model's answers.

The format of a log is recognised by its content: the fields that every file of a tool has.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import orjson

from eyechart.base.errors import FileFormatError, SettingError
from eyechart.formats.limits import require_shallow, require_short_lines
from eyechart.formats.names import ALIASES, looks_like_models
from eyechart.formats.options import find_option_columns
from eyechart.formats.records import (
    LINES,
    TABLE_FORMATS,
    Records,
    begins_list,
    entries_of,
    holds_lines,
    read_records,
    tabulate,
)
from eyechart.formats.sources import SourceFile, decode_json

ANSWER_SUFFIXES = (*TABLE_FORMATS, ".eval")
SEEN = 100  # records whose fields are searched for a known format
ANSWER_NAMES = frozenset({"answer", "prediction", "pred", "text", "response"})
_IMAGES = frozenset({"image", "path", *ALIASES["image"], *ALIASES["path"]})
_OPTIONS = frozenset({"choices", *ALIASES["choices"]}) - {"choice"}
_REFERENCES = frozenset({"answers", "multiple_choice_answer", "direct_answers", "correct_choice_idx"}) | _OPTIONS
# The first whose fields are all present wins, so the more specific come before the more general.
_FIELDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("inspect", frozenset({"eval", "status", "version"})),
    ("eee", frozenset({"evaluation_id", "sample_id"})),
    ("lmms-eval", frozenset({"logs", "doc_id"})),  # the JSON of old versions, which includes the doc as lm-eval does
    ("lm-eval", frozenset({"doc_id", "doc", "filtered_resps"})),
    ("lmms-eval", frozenset({"doc_id", "filtered_resps"})),
    ("vlmeval", frozenset({"index", "prediction"})),
    ("llava", frozenset({"question_id", "text", "answer_id"})),
    ("evalscope", frozenset({"index", "sample_score"})),
    ("evalscope", frozenset({"index", "model_output"})),
    ("helm", frozenset({"request_states"})),
    ("helm", frozenset({"instance_id", "predicted_text"})),
    ("lighteval", frozenset({"doc", "model_response"})),
    ("opencompass", frozenset({"origin_prompt", "prediction"})),
    ("scienceqa", frozenset({"results", "outputs"})),
    ("chat", frozenset({"custom_id", "response"})),
    ("chat", frozenset({"messages"})),
    ("chat", frozenset({"conversations"})),
    ("chat", frozenset({"role", "content"})),
    ("chat", frozenset({"from", "value"})),
)
_FAMILIES = {"lm-eval": "lm-eval or lmms-eval", "lmms-eval": "lm-eval or lmms-eval"}  # logs with the same fields


@dataclass(frozen=True)
class AnswerFile:
    """A file that may hold answers; its content is read and decoded on demand, at most once."""

    source: SourceFile

    @cached_property
    def data(self) -> bytes:
        """Read the bytes; an error if there are none."""
        data = self.source.read()
        if not data or data.isspace():
            raise FileFormatError(f"answers in {self.source.name}", "an empty file", "create or download it again")
        return data

    @property
    def is_json(self) -> bool:
        """Return whether the file is JSON or JSON lines."""
        return self.source.suffix in (".json", *LINES)

    @cached_property
    def is_lines(self) -> bool:
        """Return whether the content is JSON lines: some .json files are, and some .jsonl files are one list."""
        return (self.source.suffix in LINES and not begins_list(self.data)) or holds_lines(self.data)

    @cached_property
    def value(self) -> object:
        """Decode the JSON; JSON lines become a list."""
        return list(self._decode_lines(None)) if self.is_lines else decode_loosely(self.source, self.data)

    @property
    def records(self) -> list[object]:
        """List the entries of a JSON file that should be records."""
        return entries_of(self.source, self.value)

    @cached_property
    def table(self) -> Records:
        """Read the file as a table."""
        if self.source.suffix not in TABLE_FORMATS:
            advice = "leave out the map and the format: the file is recognised by its content"
            raise FileFormatError(f"a table in {self.source.name}", f"a {self.source.suffix} file", advice)
        if self.is_json and not self.is_lines:
            return tabulate(self.records)
        try:
            return read_records(self.source)
        except FileFormatError:
            if not self.is_json:
                raise
            return tabulate(self.records)  # decodes more loosely

    @cached_property
    def names(self) -> frozenset[str]:
        """Return the names of the columns, or of the fields of a JSON file and of its first records."""
        if not self.is_json:
            return frozenset(self.table.table.columns)
        if self.is_lines:
            return _field_names(self._decode_lines(SEEN))
        return _field_names(_first_entries(self.value))

    def _decode_lines(self, most: int | None) -> Iterable[object]:
        require_short_lines(self.source.name, self.data)
        lines = [(number, line) for number, line in enumerate(self.data.split(b"\n"), start=1) if line.strip()][:most]
        return (decode_loosely(self.source, line, number) for number, line in lines)


class Mistake(NamedTuple):
    """A kind of file that is easily mistaken for one with answers."""

    holds: Callable[[AnswerFile], bool]
    found: str
    advice: str


def recognise(file: AnswerFile) -> str:
    """Return the log format of a file: `table` if it has the fields of no tool; raise an error if it is of two."""
    if file.source.suffix == ".eval":
        return "inspect"
    found = tuple(dict.fromkeys(name for name, fields in _FIELDS if fields <= file.names))
    tools = dict.fromkeys(_FAMILIES.get(name, name) for name in found)
    if len(tools.keys() - {"chat"}) > 1:  # many logs hold messages too
        advice = f"give the files of one tool, or say whose it is with format, as in format={found[0]}"
        raise SettingError(f"the log of one tool in {file.source.name}", f"fields of {' and '.join(tools)}", advice)
    return found[0] if found else "table"


def is_dataset(names: frozenset[str]) -> bool:
    """Return whether these are the columns of a dataset: questions with pictures or references, or references alone."""
    if names & (ANSWER_NAMES - {"answer"}) or any(map(looks_like_models, names)):
        return False
    asks = "question" in names and (bool(names & (_IMAGES | _REFERENCES)) or bool(find_option_columns(names)))
    return asks or "multiple_choice_answer" in names


def find_aggregate(file: AnswerFile) -> FileFormatError | None:
    """Build the error for a file of aggregate results, if it is one."""
    if file.source.suffix in (".eval", ".xlsx"):
        return None
    mistake = next((mistake for mistake in AGGREGATES if mistake.holds(file)), None)
    if mistake is None:
        return None
    return FileFormatError(f"answers to individual questions in {file.source.name}", mistake.found, mistake.advice)


def refuse_dataset_folder(path: Path) -> None:
    """Raise an error if the path is a saved dataset folder."""
    if (path / "manifest.json").is_file() and (path / "examples.parquet").is_file():
        raise dataset_error(str(path))


def dataset_error(origin: str) -> FileFormatError:
    """Build the error for a dataset given where answers are expected."""
    advice = "give the model's file; if the column is a model's, say so with map, as in answer=answer"
    return FileFormatError(f"a model's answers in {origin}", "a dataset: questions and references", advice)


def decode_loosely(source: SourceFile, data: bytes, line: int | None = None) -> object:
    """Decode JSON as Python writes it: NaN and Infinity become null, half a surrogate pair becomes a question mark."""
    require_shallow(source.name, data)
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        value = json.loads(data, parse_constant=lambda _: None)
        return orjson.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        named = source if line is None else source._replace(name=f"line {line} of {source.name}")
        return decode_json(named, data)  # raises the error that says where the JSON breaks


def _first_entries(whole: object) -> list[object]:
    """List the value, its first parts, and their first parts: the records are among them."""
    parts = list(islice(whole.values(), SEEN)) if isinstance(whole, dict) else [whole]
    entries = [entry for part in parts if isinstance(part, list) for entry in part[:SEEN]]
    return [whole, *parts, *entries, *(turn for entry in entries if isinstance(entry, list) for turn in entry[:2])]


def _field_names(entries: Iterable[object]) -> frozenset[str]:
    return frozenset(name for entry in entries if isinstance(entry, dict) for name in entry)


def _has_fields(*fields: str) -> Callable[[AnswerFile], bool]:
    return lambda file: set(fields) <= file.names


def _is_summary(file: AnswerFile) -> bool:
    ends = PurePosixPath(file.source.name).stem.endswith(("_acc", "_score"))
    return (ends or "Overall" in file.names) and not file.names & ANSWER_NAMES


# Fields of files in a run of HELM without answers: run_spec, scenario, stats, per_instance_stats, display_requests and
# instances.
_HELM = (
    frozenset({"scenario_spec", "adapter_spec"}),
    frozenset({"definition_path", "tags"}),
    frozenset({"name", "count", "sum_squared"}),
    frozenset({"instance_id", "stats", "train_trial_index"}),
    frozenset({"instance_id", "request"}),
    frozenset({"input", "references"}),
)


def _lacks_answers(*kinds: frozenset[str]) -> Callable[[AnswerFile], bool]:
    """Return whether a file has all fields of one of these kinds, and none that could hold answers."""
    answers = ANSWER_NAMES | {"predicted_text", "request_states"}
    return lambda file: any(kind <= file.names for kind in kinds) and not file.names & answers


AGGREGATES = (
    Mistake(
        _has_fields("results", "configs"),
        "the aggregate results of lm-eval or lmms-eval",
        "log the samples too (--log_samples) and name the samples file",
    ),
    Mistake(
        lambda file: "evaluation_results" in file.names and "sample_id" not in file.names,
        "the aggregate results of an evaluation in the Every Eval Ever form",
        "give the ..._samples.jsonl next to it",
    ),
    Mistake(
        _is_summary,
        "the aggregate scores of VLMEvalKit",
        "give the file of predictions, <model>_<dataset>.xlsx",
    ),
    Mistake(_has_fields("eval_id", "argv"), "the status of a run of VLMEvalKit", "give the file of predictions"),
    Mistake(
        _lacks_answers(frozenset({"dataset_name", "metrics"}), frozenset({"dataset_name", "model_name", "score"})),
        "the report of EvalScope",
        "give the folders reviews and predictions next to it",
    ),
    Mistake(
        _lacks_answers(*_HELM),
        "the specification or the statistics of a run of HELM",
        "give the scenario_state.json or display_predictions.json next to it",
    ),
    Mistake(
        _has_fields("config_general", "results"),
        "the aggregate results of lighteval",
        "save the details too (--save-details) and give their Parquet file",
    ),
    Mistake(
        _lacks_answers(frozenset({"dataset", "version", "metric", "mode"}), frozenset({"accuracy", "details"})),
        "the summary or the scores of OpenCompass",
        "give the folder predictions next to it",
    ),
)
