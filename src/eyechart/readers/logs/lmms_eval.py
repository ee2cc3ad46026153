"""Read the samples that lmms-eval logs with `--log_samples`, of every version.

Its `doc_id` is the number of a row in the split, not the id of a question, so a `question_id` that a metric or the
`submission` carries is taken before it. Its `target` is not the reference and is never read.
"""

from collections.abc import Sequence

from eyechart.readers.logs.content import Content
from eyechart.readers.logs.log import Log, Wanted
from eyechart.readers.logs.samples import DOC_KEYS, Sample, find_key, gather, read_samples

CARRIED = ("question_id", "questionId")
OUR_FIELD = "eyechart"  # where the metrics of our own exports carry the condition


def read_lmms_eval(contents: Sequence[Content], wanted: Wanted) -> Log:  # noqa: ARG001 - part of the contract
    """Read answers by question id, or by the number of the row where the log has no other key."""
    return gather(read_samples(contents), _find_key, _find_condition)


def _find_key(sample: Sample) -> str | None:
    carrying = [part for part in sample.values() if isinstance(part, dict)]  # metrics, and in old logs the doc
    return find_key(carrying, CARRIED) or find_key([sample.get("doc")], DOC_KEYS)


def _find_condition(sample: Sample) -> str | None:
    return find_key(sample.values(), (OUR_FIELD,))
