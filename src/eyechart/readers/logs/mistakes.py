"""Know files that hold no answers of a model, and say what they are."""

from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from eyechart.errors import FileFormatError
from eyechart.readers.logs.content import Content
from eyechart.readers.names import ALIASES

ANSWER_NAMES = frozenset({"answer", "prediction", "pred", "text", "response"})
_PICTURED = frozenset({"image", "path", *ALIASES["image"], *ALIASES["path"]})
_REFERENCES = frozenset({"answers", "multiple_choice_answer", "direct_answers", "correct_choice_idx", "choices"})


class Mistake(NamedTuple):
    """A kind of file that is easily taken for one with answers."""

    holds: Callable[[Content], bool]
    found: str
    advice: str


def _names(*fields: str) -> Callable[[Content], bool]:
    return lambda content: set(fields) <= content.names


def _is_summary(content: Content) -> bool:
    ends = PurePosixPath(content.source.name).stem.endswith(("_acc", "_score"))
    return (ends or "Overall" in content.names) and not content.names & ANSWER_NAMES


def is_dataset(names: frozenset[str]) -> bool:
    """Say whether these are the columns of a dataset: questions with pictures or references, or references alone."""
    if names & (ANSWER_NAMES - {"answer"}):
        return False
    return ("question" in names and bool(names & (_PICTURED | _REFERENCES))) or "multiple_choice_answer" in names


AGGREGATES = (
    Mistake(
        _names("results", "configs"),
        "the aggregate results of lm-eval or lmms-eval",
        "log the samples too (--log_samples) and name the samples file",
    ),
    Mistake(
        lambda content: "evaluation_results" in content.names and "sample_id" not in content.names,
        "the aggregate results of an evaluation in the Every Eval Ever form",
        "name the ..._samples.jsonl beside it",
    ),
    Mistake(
        _is_summary,
        "the aggregate scores of VLMEvalKit",
        "name the file of predictions, <model>_<dataset>.xlsx",
    ),
    Mistake(_names("eval_id", "argv"), "the status of a run of VLMEvalKit", "name the file of predictions"),
)


def find_aggregate(content: Content) -> FileFormatError | None:
    """Build the error for a file of figures about answers, if it is one."""
    if content.source.suffix in (".eval", ".xlsx"):
        return None
    found = next((mistake for mistake in AGGREGATES if mistake.holds(content)), None)
    if found is None:
        return None
    return FileFormatError(f"answers to single questions in {content.source.name}", found.found, found.advice)


def refuse_dataset_folder(path: Path) -> None:
    """Refuse a dataset that was saved as a folder."""
    if (path / "manifest.json").is_file() and (path / "examples.parquet").is_file():
        raise dataset_error(str(path))


def dataset_error(place: str) -> FileFormatError:
    """Build the error for data given as answers."""
    advice = "name the model's file; if the column is a model's, say so with map, such as answer=answer"
    return FileFormatError(f"a model's answers in {place}", "a dataset: questions and references", advice)
