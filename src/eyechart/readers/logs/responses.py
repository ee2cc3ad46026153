"""The answers inside the `resps` and `filtered_resps` of lm-eval and lmms-eval, however deep they are nested.

A generated answer is `"cat"`, `["cat"]` or `[["cat"]]`; several texts are several draws. An option's likelihood is a
pair `[-1.5, true]`, in some versions written as text; there is one for each option of a question.
"""

from collections.abc import Iterator
from typing import NamedTuple

from eyechart.readers.logs.log import Row, member, write_answer

UNPARSED = "[invalid]"  # what lm-eval's filters put where they find no answer


class Likelihood(NamedTuple):
    """How likely a model finds one option."""

    logprob: float


def read_answers(record: dict[str, object], key: str | None, options: list[str]) -> list[Row]:
    """Make a row for each answer of a sample; options are those whose likelihoods it may hold."""
    chosen = list(_leaves(record.get("filtered_resps", record.get("resps"))))
    likelihoods = [leaf for leaf in chosen if isinstance(leaf, Likelihood)]
    if likelihoods:
        return [_choose(key, likelihoods, options)]
    texts = [leaf for leaf in chosen if isinstance(leaf, str)]
    if not texts:
        return [Row(key, None, None, "failed")]
    raw = [leaf for leaf in _leaves(record.get("resps")) if isinstance(leaf, str)] or texts  # not logged where equal
    if len(raw) != len(texts):  # a filter made one of several: the first stands for all
        raw = raw[:1] * len(texts)
    return [_row(key, *pair, draw) for draw, pair in enumerate(zip(texts, raw, strict=True))]


def read_options(arguments: object) -> list[str]:
    """List the options whose likelihoods were asked: the second argument of each request."""
    requests = arguments.values() if isinstance(arguments, dict) else arguments if isinstance(arguments, list) else ()
    found = [_second(request) for request in requests]
    return [text.strip() for text in found if isinstance(text, str)]


def _row(key: str | None, text: str, raw: str, draw: int) -> Row:
    if text == UNPARSED:
        return Row(key, None, raw, "unparsed", draw)
    return Row(key, text, raw, "ok", draw)


def _choose(key: str | None, likelihoods: list[Likelihood], options: list[str]) -> Row:
    """Answer with the likeliest option; where the log does not name the options, there is no answer to be had."""
    if len(options) != len(likelihoods):
        return Row(key, None, None, "unparsed")
    pairs = zip(options, likelihoods, strict=True)
    scores: list[dict[str, object]] = [{"answer": text, "score": found.logprob} for text, found in pairs]
    best = max(range(len(options)), key=lambda at: likelihoods[at].logprob)
    return Row(key, options[best], options[best], "ok", scores=scores, score_kind="logprob")


def _leaves(value: object) -> Iterator[str | Likelihood]:
    if isinstance(value, list):
        found = _read_likelihood(value)
        if found is not None:
            yield found
        else:
            for part in value:
                yield from _leaves(part)
    else:
        text = write_answer(value)
        if text is not None:
            yield text


def _read_likelihood(pair: list[object]) -> Likelihood | None:
    if len(pair) != 2 or str(pair[1]) not in {"True", "False"} or isinstance(pair[0], bool):
        return None
    try:
        return Likelihood(float(pair[0]))  # type: ignore[arg-type]  # what is no number raises
    except (TypeError, ValueError):
        return None


def _second(request: object) -> object:
    if isinstance(request, list):
        return request[1] if len(request) > 1 else None
    return member(request, "arg_1")
