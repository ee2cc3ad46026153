r"""Find the answer in what a model said, by fixed rules: what they do not find is unparsed, never guessed.

The rules in their order, docs/models.md has examples:

1. Reasoning goes (`<think>...</think>` and its like), even where it never ends or only ends.
2. The whole text is an option, a label, yes or no, a number.
3. What is announced counts instead of the rest: `<answer>`, `\boxed{}`, "the answer is", "Answer:"; the last of them.
4. A refusal is a refusal.
5. Where options were listed: a label in front ("B) red"), or the only label or the only option that is named, unless
   something is denied. What contradicts itself is unparsed.
6. Where none were: yes or no in front of a comma, the only number, or a short text in one line.

Rows are read one by one: the model behind them takes a thousand times as long.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

from eyechart.models.prompts import Template, list_labels
from eyechart.models.wording import (
    announced,
    first_line,
    is_refusal,
    leading_yes_no,
    negated,
    only_number,
    plain,
    straighten,
    strip_reasoning,
)

_YES_NO_QUESTION = re.compile(
    r"(?:is|are|was|were|am|do|does|did|can|could|has|have|had|will|would|should|may|might|must)(?:n't)?\b",
    re.IGNORECASE,
)
_COUNTING_QUESTION = re.compile(r"(?:how many|what number|what is the number)\b", re.IGNORECASE)
_LABEL_IN_FRONT = re.compile(
    r"\W*(?:(?:option|choice)\W+)?(\w+)(?:\W*\)|[.:,](?=\s|$)|\**:|\*\*|\s*\n|\s-\s|\s+(?=because|since))\s*(.*)",
    re.IGNORECASE | re.DOTALL,
)
_LONE_LETTER = re.compile(r"\b(?:[B-HJ-Z]\b|[AI](?=[).,:;]|$))")  # A and I are words too


class Found(NamedTuple):
    """What became of one text."""

    answer: str | None
    status: str


UNPARSED = Found(None, "unparsed")
REFUSED = Found(None, "refused")


class Asked(NamedTuple):
    """What is known of the question when its answer is read."""

    expects: str
    options: Sequence[str] = ()
    labels: Sequence[str] = ()  # none where the options were not listed
    words: int = 20

    def labels_in(self, names: set[str]) -> set[int]:
        """Find the options that some of these names are the labels of."""
        return {place for place, label in enumerate(self.labels) if {label, label.lower()} & names}


def extract(raw: pl.Series, probes: pl.DataFrame, template: Template) -> pl.DataFrame:
    """Find answers in texts: a table with `answer` (null unless found) and `status` (ok, refused or unparsed)."""
    asked = _describe(probes, template)
    found = [read_answer(text or "", each) for text, each in zip(raw, asked, strict=True)]
    return pl.DataFrame(found, schema={"answer": pl.String, "status": pl.String}, orient="row")


def read_answer(raw: str, asked: Asked) -> Found:
    """Apply the rules to one text."""
    text = strip_reasoning(straighten(raw))
    if not plain(text):
        return UNPARSED
    return _read_listed(text, asked) if asked.labels else _read_open(text, asked)


def _describe(probes: pl.DataFrame, template: Template) -> list[Asked]:
    none: list[Any] = [None] * probes.height
    questions = probes["question"] if "question" in probes.columns else none
    choices = probes["choices"].to_list() if "choices" in probes.columns else none
    labels = list_labels(probes, template).to_list() if template.choice is not None else none
    return [
        Asked(_expect(question, template), options or (), names or (), template.words)
        for question, options, names in zip(questions, choices, labels, strict=True)
    ]


def _expect(question: str | None, template: Template) -> str:
    """Say what a question asks for, where the template leaves it to the question."""
    if template.expects != "any":
        return template.expects
    if _YES_NO_QUESTION.match(question or ""):
        return "perhaps yes/no"
    return "perhaps number" if _COUNTING_QUESTION.match(question or "") else "text"


def _read_listed(text: str, asked: Asked) -> Found:
    """Read an answer to a question whose options were listed with labels."""
    said = announced(text)
    for part in (text, said) if said else (text,):
        places = _whole(part, asked)
        if places:
            return _settle(places, asked)
    if said:
        return _settle(_in_front(said, asked) or _named(said, asked), asked)
    if is_refusal(text):
        return REFUSED
    return _settle(_in_front(text, asked) or _named(text, asked), asked)


def _settle(places: set[int], asked: Asked) -> Found:
    options = {asked.options[place] for place in places}  # the same option twice is no contradiction
    return Found(options.pop(), "ok") if len(options) == 1 else UNPARSED


def _whole(text: str, asked: Asked) -> set[int]:
    """Find the options whose text, or whose label, is all that is said."""
    said = plain(text)
    return asked.labels_in({said}) | {place for place, option in enumerate(asked.options) if said == plain(option)}


def _in_front(text: str, asked: Asked) -> set[int]:
    """Find the option that the text begins with, by label or by text, and whatever contradicts it further on."""
    head = _LABEL_IN_FRONT.match(text)
    if head is not None and head[1].upper() in asked.labels:
        first, *later = head[2].split("\n")
        listed = {found[1] for found in map(_LABEL_IN_FRONT.match, later) if found}  # the options once more
        others = asked.labels_in({*listed, *_LONE_LETTER.findall(first)})
        return asked.labels_in({head[1]}) | others | _whole(first, asked._replace(labels=()))
    clause = _whole(re.split(r"[,.;:\n]", text, maxsplit=1)[0], asked._replace(labels=()))
    return clause | _mentioned(plain(text), asked.options) if clause else set()


def _named(text: str, asked: Asked) -> set[int]:
    """Find every option that is named by its label in a form no word has ("(B)", "option B"), or by its text."""
    if negated(text, asked.options):
        return set()
    marked = re.findall(r"\((\w+)\)|\b(?:option|choice|letter|number)\s+\(?(\w+)\b", text, re.IGNORECASE)
    return asked.labels_in({name for pair in marked for name in pair}) | _mentioned(plain(text), asked.options)


def _mentioned(said: str, options: Sequence[str]) -> set[int]:
    """Find options in a text, longer ones first, so that `red` is not found in `red and white`."""
    found = set()
    for place, option in sorted(enumerate(options), key=lambda item: -len(plain(item[1]))):
        words = plain(option)
        pattern = rf"(?<!\w){re.escape(words)}(?!\w)"
        if words and re.search(pattern, said):
            found.add(place)
            said = re.sub(pattern, "\0", said)
    return found


def _read_open(text: str, asked: Asked) -> Found:
    """Read an answer to a question without options, or whose options were not listed."""
    said = announced(text)
    if said is None and is_refusal(text):
        return REFUSED
    said = said or text
    for option in asked.options:
        if plain(said) == plain(option):
            return Found(option, "ok")
    if asked.expects.endswith("yes/no"):
        answer = leading_yes_no(said)
    elif asked.expects.endswith("number"):
        answer = only_number(said)
    else:
        answer = None
    if answer is None and asked.expects in {"yes/no", "number"}:
        return UNPARSED
    answer = answer or first_line(said, asked.words)
    return Found(answer, "ok") if answer else UNPARSED
