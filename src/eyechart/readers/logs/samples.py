"""What the samples of lm-eval and lmms-eval have in common."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from eyechart.readers.counting import Count, dropped, noted
from eyechart.readers.logs.content import Content
from eyechart.readers.logs.log import Log, Row, lay_out, write_key
from eyechart.readers.logs.responses import read_answers, read_options

DOC_KEYS = ("question_id", "questionId", "id", "qid")  # by which datasets name their questions

Sample: TypeAlias = dict[str, object]
_Find: TypeAlias = Callable[[Sample], str | None]


class Samples(NamedTuple):
    """The records of a log, and what became of its other entries."""

    records: list[Sample]
    counts: list[Count]


def read_samples(contents: Sequence[Content]) -> Samples:
    """Gather the records of all files."""
    entries = [entry for content in contents for entry in content.records]
    records = [entry for entry in entries if isinstance(entry, dict)]
    return Samples(records, [dropped("entry that is no record", len(entries) - len(records))])


def find_key(parts: Iterable[object], names: Sequence[str]) -> str | None:
    """Find the first of these names in the first part that has an id under one."""
    for part in parts:
        if isinstance(part, dict):
            for name in names:
                key = write_key(part.get(name))
                if key is not None:
                    return key
    return None


def gather(samples: Samples, find_key: _Find, find_condition: _Find = lambda _: None) -> Log:
    """Read the answers of each sample under its key, and its condition where the log carries one.

    Where no sample has one, the number of the row is the id; where only some have, the two are never mixed.
    """
    keys = [find_key(sample) for sample in samples.records]
    counts = list(samples.counts)
    if all(key is None for key in keys):
        keys = [write_key(sample.get("doc_id")) for sample in samples.records]
        counts.append(noted("id is the row's number in the split (doc_id)", len(keys)))
    rows: list[Row] = []
    for key, sample in zip(keys, samples.records, strict=True):
        found = read_answers(sample, key, read_options(sample.get("arguments")))
        condition = find_condition(sample)
        rows += found if condition is None else [row._replace(condition=condition) for row in found]
    unnamed = sum(row.status == "unparsed" and row.raw is None for row in rows)
    counts.append(noted("likelihoods of options that the log does not name", unnamed))
    return Log(lay_out(rows), counts)
