"""Read the samples that lm-eval logs with `--log_samples`, and the parts that lmms-eval's samples share with them.

A task with several filters has a line per filter for the same question; only one filter's answers are used.

The answers are in `resps` and `filtered_resps`, which are nested differently from task to task. A generated answer is
`"cat"`, `["cat"]` or `[["cat"]]`; several texts are several draws. An option's likelihood is a pair `[-1.5, true]`, in
some versions written as text; there is one for each option of a question.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from string import ascii_uppercase
from typing import TypeAlias

from eyechart.base.registry import unknown_name
from eyechart.formats.answer_files import AnswerFile
from eyechart.formats.log_rows import (
    AnswerRow,
    LogOptions,
    Sample,
    member,
    read_options,
    read_samples,
    tabulate_answers,
    write_answer,
    write_key,
)
from eyechart.formats.rows import CountedTable, RowCount, dropped, noted

DOC_KEYS = ("question_id", "questionId", "id", "qid")  # fields that datasets use for the ids of questions
UNPARSED = "[invalid]"  # written by lm-eval's filters if they find no answer

_Find: TypeAlias = Callable[[Sample], str | None]


def read_lm_eval_log(files: Sequence[AnswerFile], options: LogOptions) -> CountedTable:
    """Read answers by the id of the doc, or by the number of the row if it has none."""
    samples, counts = read_samples(files)
    kept, more = _filter(samples, options.scorer)
    table, notes = read_responses(kept, lambda sample: find_key([sample.get("doc")], DOC_KEYS))
    return CountedTable(table, [*counts, *more, *notes])


def read_responses(samples: Sequence[Sample], find_id: _Find, find_condition: _Find = lambda _: None) -> CountedTable:
    """Read the answers of each sample under its id, and its condition where the log holds one.

    If no sample has an id, the number of the row is the id; if only some have one, the two are never mixed.
    """
    ids = [find_id(sample) for sample in samples]
    counts: list[RowCount] = []
    if all(one is None for one in ids):
        ids = [write_key(sample.get("doc_id")) for sample in samples]
        counts.append(noted("id is the row's number in the split (doc_id)", len(ids)))
    rows: list[AnswerRow] = []
    for key, sample in zip(ids, samples, strict=True):
        answers = _read_answers(sample, key)
        condition = find_condition(sample)
        rows += answers if condition is None else [row._replace(condition=condition) for row in answers]
    unnamed = sum(row.status == "unparsed" and row.raw is None for row in rows)
    counts.append(noted("likelihoods of options that the log does not name", unnamed))
    return CountedTable(tabulate_answers(rows), counts)


def find_key(parts: Iterable[object], names: Sequence[str]) -> str | None:
    """Return the id under the first of these names, in the first part that has one."""
    for part in parts:
        if isinstance(part, dict):
            for name in names:
                key = write_key(part.get(name))
                if key is not None:
                    return key
    return None


def _filter(samples: list[Sample], chosen: str | None) -> tuple[list[Sample], list[RowCount]]:
    names = tuple(dict.fromkeys(str(sample["filter"]) for sample in samples if "filter" in sample))
    if chosen is not None and chosen not in names:
        raise unknown_name("filter of this log", chosen, names)
    if len(names) < 2:
        return samples, []
    name = chosen or names[0]
    kept = [sample for sample in samples if str(sample.get("filter", name)) == name]
    counts = [dropped(f"answer by another filter than {name!r}", len(samples) - len(kept))]
    if chosen is None:
        counts.append(noted(f"answer by filter {name!r}, the first of {', '.join(names)}", len(kept)))
    return kept, counts


def _read_answers(sample: Sample, key: str | None) -> list[AnswerRow]:
    """Make a row for each answer of a sample."""
    responses = list(_leaves(sample.get("filtered_resps", sample.get("resps"))))
    likelihoods = [leaf for leaf in responses if isinstance(leaf, float)]
    shown = read_options(_find_prompt(sample))
    if likelihoods:
        return [choose_likeliest(key, likelihoods, _list_continuations(sample.get("arguments")), shown)]
    texts = [leaf for leaf in responses if isinstance(leaf, str)]
    if not texts:
        return [AnswerRow(key, None, None, "failed")]
    raw = [leaf for leaf in _leaves(sample.get("resps")) if isinstance(leaf, str)] or texts  # not logged if equal
    if len(raw) != len(texts):  # a filter merged several: use the first for all
        raw = raw[:1] * len(texts)
    pairs = enumerate(zip(texts, raw, strict=True))
    rows = [
        AnswerRow(key, None, whole, "unparsed", draw) if text == UNPARSED else AnswerRow(key, text, whole, "ok", draw)
        for draw, (text, whole) in pairs
    ]
    return [row._replace(options=shown) for row in rows]


def _list_continuations(arguments: object) -> list[str]:
    """List the texts whose likelihoods were computed: the second argument of each request."""
    texts = [_argument(request, 1) for request in _requests(arguments)]
    return [text.strip() for text in texts if isinstance(text, str)]


def _find_prompt(sample: Sample) -> object:
    """Return the prompt: lmms-eval logs it as the input, lm-eval as the first argument of each request."""
    return sample.get("input") or next((_argument(one, 0) for one in _requests(sample.get("arguments"))), None)


def _requests(arguments: object) -> list[object]:
    return list(arguments.values()) if isinstance(arguments, dict) else arguments if isinstance(arguments, list) else []


def choose_likeliest(
    key: str | None, likelihoods: list[float], options: list[str], shown: list[str] | None
) -> AnswerRow:
    """Answer with the likeliest option; there is no answer if the log does not name the options.

    Letters, where only they were tried, stand for the options that the prompt shows.
    """
    if len(options) != len(likelihoods):
        return AnswerRow(key, None, None, "unparsed")
    if shown is not None and options == list(ascii_uppercase[: len(shown)]):
        options = shown
    pairs = zip(options, likelihoods, strict=True)
    scores: list[dict[str, object]] = [{"answer": text, "score": logprob} for text, logprob in pairs]
    best = options[max(range(len(options)), key=likelihoods.__getitem__)]
    return AnswerRow(key, best, best, "ok", scores=scores, score_kind="logprob")


def _leaves(value: object) -> Iterator[str | float]:
    """Yield the texts, and as floats the likelihoods, in nested lists."""
    if isinstance(value, list):
        likelihood = _read_likelihood(value)
        if likelihood is not None:
            yield likelihood
        else:
            for part in value:
                yield from _leaves(part)
    else:
        text = write_answer(value)
        if text is not None:
            yield text


def _read_likelihood(pair: list[object]) -> float | None:
    if len(pair) != 2 or str(pair[1]) not in {"True", "False"} or isinstance(pair[0], bool):
        return None
    try:
        return float(pair[0])  # type: ignore[arg-type]  # a value that is not a number raises
    except (TypeError, ValueError):
        return None


def _argument(request: object, place: int) -> object:
    if isinstance(request, list):
        return request[place] if len(request) > place else None
    return member(request, f"arg_{place}")
