"""Know a log by its content: the fields that every file of a tool has."""

from eyechart.readers.logs.content import Content

# The first whose fields are all there wins, so the more particular stand before the more general.
_SIGNS: tuple[tuple[str, frozenset[str]], ...] = (
    ("inspect", frozenset({"eval", "status", "version"})),
    ("eee", frozenset({"evaluation_id", "sample_id"})),
    (
        "lmms-eval",
        frozenset({"logs", "doc_id"}),
    ),  # the single JSON of old versions, which keeps the doc as lm-eval does
    ("lm-eval", frozenset({"doc_id", "doc", "filtered_resps"})),
    ("lmms-eval", frozenset({"doc_id", "filtered_resps"})),
    ("vlmeval", frozenset({"index", "prediction"})),
    ("llava", frozenset({"question_id", "text", "answer_id"})),
)


def recognise(content: Content) -> str:
    """Name the log format of a file; what has the signs of none is a table."""
    if content.source.suffix == ".eval":
        return "inspect"
    return next((name for name, signs in _SIGNS if signs <= content.names), "table")
