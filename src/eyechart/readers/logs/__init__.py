"""Read what other tools log of a model's answers: one reader for each tool, found by its name or by the content.

A reader is a function `reader(contents, wanted) -> Log`: files of one format, of which it makes one table of answers.
What it cannot use it drops and counts (see `counting`); where it cannot go on it raises a FileFormatError.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from eyechart.readers.logs.content import Content
from eyechart.readers.logs.log import Log, Wanted
from eyechart.registry import Registry

LogReader: TypeAlias = Callable[[Sequence[Content], Wanted], Log]

LOG_FORMATS: Registry[LogReader] = Registry(
    "log format",
    {
        "table": "eyechart.readers.logs.table:read_answer_table",
        "inspect": "eyechart.readers.logs.inspect_ai:read_inspect",
        "eee": "eyechart.readers.logs.eee:read_eee",
        "lmms-eval": "eyechart.readers.logs.lmms_eval:read_lmms_eval",
        "lm-eval": "eyechart.readers.logs.lm_eval:read_lm_eval",
        "vlmeval": "eyechart.readers.logs.vlmeval:read_vlmeval",
        "llava": "eyechart.readers.logs.llava:read_llava",
    },
)
