r"""Extract the answer from a model's text by fixed rules: an answer they do not find is unparsed, never guessed.

The rules, in order (docs/prompts.md has examples):

1. Remove reasoning (`<think>...</think>` and the like), even if it never ends or only ends.
2. Accept a text that is, as a whole, an option, a label, yes or no, or a number.
3. Read only what is announced, if anything: `<answer>`, `\boxed{}`, "the answer is", "Answer:"; the last of them.
4. Recognize refusals.
5. If options were listed, accept a label at the start ("B) red"), or the only label or option named, unless
   something is denied. A contradiction is unparsed.
6. If none were, accept yes or no before a comma, the only number, or a short text in one line.

Rows are read one by one: the model that wrote them takes a thousand times as long.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

from eyechart.base.text import NUMBER_WORDS
from eyechart.language.prompts import Template, list_labels

# Opening and closing marks of reasoning, as several families of models write them.
_REASONING = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "<reflection>": "</reflection>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<|channel|>analysis<|message|>": "<|channel|>final<|message|>",
}
_SPECIAL = re.compile(
    r"<\|?/?(?:s|pad|eos|bos|im_end|im_start|eot_id|end_of_text|endoftext|end|return|begin_of_box|end_of_box)\|?>"
)
_ANSWER = (
    re.compile(r"<answer>(.*?)(?:</answer>|$)", re.DOTALL | re.IGNORECASE),
    re.compile(r"\\boxed\{((?:[^{}]|\{[^{}]*\})*)\}"),
    re.compile(
        r"(?:\b(?:the |my )?(?:final |correct |best |right |most likely )*answer(?: to (?:the|this) question)?"
        r"(?:\s+(?:is|would be|should be|must be)(?:\s*:)?|\s*\*{0,2}\s*:))\s*(?:option |choice )?([^\n]+)",
        re.IGNORECASE,
    ),
)
_REFUSAL = re.compile(
    r"\W*(?:(?:i'?m|i am) (?:very |so )?sorry|sorry,?\s+(?:but )?(?:i|there)\b|i apologi[sz]e|my apologies"
    r"|i can(?:not|'?t| not)\b|(?:i'?m|i am) (?:unable|not able)|i won'?t\b|i will not\b"
    r"|i (?:do not|don'?t) (?:have (?:the ability|access)|see (?:any|an|the) image)"
    r"|as an? (?:ai|language model|text-based)|(?:there is|there's) no image"
    r"|no image (?:was|is|has been) (?:provided|attached|given)"
    r"|(?:it is|it's) (?:not possible|impossible) to (?:tell|determine|say|answer|know)"
    r"|unable to (?:tell|determine|answer|see|view)|(?:please|could you) (?:provide|share|upload|attach).* image)",
    re.IGNORECASE,
)
_DENIAL = re.compile(r"\b(?:not|neither|nor|never|cannot|except|rather than|instead of|unlike)\b|n't\b")
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?!\w)")
_NUMBER_WORD = re.compile(
    rf"\b(?:{'|'.join(NUMBER_WORDS)}|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|twenty)\b", re.IGNORECASE
)
_STRAIGHT = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014", "''\"\"--")
_YES_NO_QUESTION = re.compile(
    r"(?:is|are|was|were|am|do|does|did|can|could|has|have|had|will|would|should|may|might|must)(?:n't)?\b",
    re.IGNORECASE,
)
_COUNTING_QUESTION = re.compile(r"(?:how many|what number|what is the number)\b", re.IGNORECASE)
_LABEL_IN_FRONT = re.compile(
    r"\W*(?:(?:option|choice)\W+)?(\w+)(?:\W*\)|[.:,](?=\s|$)|\**:|\*\*|\s*\n|\s-\s|\s+(?=because|since))\s*(.*)",
    re.IGNORECASE | re.DOTALL,
)
_LONE_LETTER = re.compile(r"\b(?:[B-HJ-Z]\b|[AI](?=[).,:;]|$))")  # A and I are words, too


class ExtractedAnswer(NamedTuple):
    """The answer in a text, and whether there is one: ok, refused or unparsed."""

    answer: str | None
    status: str


UNPARSED = ExtractedAnswer(None, "unparsed")
REFUSED = ExtractedAnswer(None, "refused")


class AnswerContext(NamedTuple):
    """What is known about a question when its answer is read."""

    expects: str
    options: Sequence[str] = ()
    labels: Sequence[str] = ()  # empty if the options were not listed
    words: int = 20

    def labels_in(self, names: set[str]) -> set[int]:
        """Return the indices of the options with these labels."""
        return {index for index, label in enumerate(self.labels) if {label, label.lower()} & names}


def extract(raw: pl.Series, probes: pl.DataFrame, template: Template) -> pl.DataFrame:
    """Extract answers from texts: a table with `answer` (null unless found) and `status` (ok, refused or unparsed)."""
    contexts = _describe_questions(probes, template)
    answers = [read_answer(text or "", context) for text, context in zip(raw, contexts, strict=True)]
    return pl.DataFrame(answers, schema={"answer": pl.String, "status": pl.String}, orient="row")


def read_answer(raw: str, context: AnswerContext) -> ExtractedAnswer:
    """Apply the rules to one text."""
    text = _strip_reasoning(_straighten(raw))
    if not _simplify(text):
        return UNPARSED
    return _read_listed(text, context) if context.labels else _read_open(text, context)


def _describe_questions(probes: pl.DataFrame, template: Template) -> list[AnswerContext]:
    none: list[Any] = [None] * probes.height
    questions = probes["question"] if "question" in probes.columns else none
    choices = probes["choices"].to_list() if "choices" in probes.columns else none
    labels = list_labels(probes, template).to_list() if template.choice is not None else none
    return [
        AnswerContext(_expect(question, template), options or (), names or (), template.words)
        for question, options, names in zip(questions, choices, labels, strict=True)
    ]


def _expect(question: str | None, template: Template) -> str:
    """Return what a question asks for, if the template leaves it to the question."""
    if template.expects != "any":
        return template.expects
    if _YES_NO_QUESTION.match(question or ""):
        return "perhaps yes/no"
    return "perhaps number" if _COUNTING_QUESTION.match(question or "") else "text"


def _read_listed(text: str, context: AnswerContext) -> ExtractedAnswer:
    """Read an answer to a question whose options were listed with labels."""
    announced = _find_announced(text)
    for part in (text, announced) if announced else (text,):
        options = _match_whole(part, context)
        if options:
            return _settle(options, context)
    if announced:
        return _settle(_match_start(announced, context) or _match_anywhere(announced, context), context)
    if _is_refusal(text):
        return REFUSED
    return _settle(_match_start(text, context) or _match_anywhere(text, context), context)


def _settle(indices: set[int], context: AnswerContext) -> ExtractedAnswer:
    options = {context.options[index] for index in indices}  # the same option twice is not a contradiction
    return ExtractedAnswer(options.pop(), "ok") if len(options) == 1 else UNPARSED


def _match_whole(text: str, context: AnswerContext) -> set[int]:
    """Return the options whose text or label equals the whole text."""
    simple = _simplify(text)
    same = {index for index, option in enumerate(context.options) if simple == _simplify(option)}
    return context.labels_in({simple}) | same


def _match_start(text: str, context: AnswerContext) -> set[int]:
    """Return the option that the text begins with, by label or by text, and any that contradict it further on."""
    head = _LABEL_IN_FRONT.match(text)
    if head is not None and head[1].upper() in context.labels:
        first, *later = head[2].split("\n")
        listed = {line[1] for line in map(_LABEL_IN_FRONT.match, later) if line}  # a repetition of the options
        others = context.labels_in({*listed, *_LONE_LETTER.findall(first)})
        return context.labels_in({head[1]}) | others | _match_whole(first, context._replace(labels=()))
    clause = _match_whole(re.split(r"[,.;:\n]", text, maxsplit=1)[0], context._replace(labels=()))
    return clause | _find_options(_simplify(text), context.options) if clause else set()


def _match_anywhere(text: str, context: AnswerContext) -> set[int]:
    """Return all options named by their text, or by their label in a form that no word has ("(B)", "option B")."""
    if _is_negated(text, context.options):
        return set()
    marked = re.findall(r"\((\w+)\)|\b(?:option|choice|letter|number)\s+\(?(\w+)\b", text, re.IGNORECASE)
    labelled = context.labels_in({name for pair in marked for name in pair})
    return labelled | _find_options(_simplify(text), context.options)


def _find_options(text: str, options: Sequence[str]) -> set[int]:
    """Find options in a text, longer ones first: `red` is not to be found in `red and white`."""
    indices = set()
    for index, option in sorted(enumerate(options), key=lambda item: -len(_simplify(item[1]))):
        words = _simplify(option)
        pattern = rf"(?<!\w){re.escape(words)}(?!\w)"
        if words and re.search(pattern, text):
            indices.add(index)
            text = re.sub(pattern, "\0", text)
    return indices


def _read_open(text: str, context: AnswerContext) -> ExtractedAnswer:
    """Read an answer to a question without options, or whose options were not listed."""
    announced = _find_announced(text)
    if announced is None and _is_refusal(text):
        return REFUSED
    text = announced or text
    for option in context.options:
        if _simplify(text) == _simplify(option):
            return ExtractedAnswer(option, "ok")
    if context.expects.endswith("yes/no"):
        answer = _find_yes_no(text)
    elif context.expects.endswith("number"):
        answer = _find_only_number(text)
    else:
        answer = None
    if answer is None and context.expects in {"yes/no", "number"}:
        return UNPARSED
    answer = answer or _first_line(text, context.words)
    return ExtractedAnswer(answer, "ok") if answer else UNPARSED


def _straighten(text: str) -> str:
    """Replace typographic quotes and dashes by plain ones."""
    return text.translate(_STRAIGHT)


def _strip_reasoning(text: str) -> str:
    """Remove reasoning: between its marks, up to a lone closing mark, and after a lone opening mark."""
    for opening, closing in _REASONING.items():
        text = text.rpartition(closing)[2] if closing in text else text.partition(opening)[0]
    return _SPECIAL.sub("", text).strip()


def _find_announced(text: str) -> str | None:
    """Return the last part that the text announces as its answer, or None."""
    for pattern in _ANSWER:
        parts = [part for part in pattern.findall(text) if _simplify(part)]
        if parts:
            return _strip_markup(str(parts[-1]))
    return None


def _is_refusal(text: str) -> bool:
    """Return whether the text begins like a refusal."""
    return _REFUSAL.match(text) is not None


def _is_negated(text: str, options: Sequence[str]) -> bool:
    """Return whether something is denied outside the options: an option named may then not be the answer."""
    rest = _simplify(text)
    for option in sorted(map(_simplify, options), key=len, reverse=True):
        rest = rest.replace(option, " ") if option else rest
    return _DENIAL.search(rest) is not None


def _simplify(text: str) -> str:
    """Normalise case, markup, outer punctuation and runs of spaces for comparison."""
    return " ".join(_strip_markup(_straighten(text)).lower().split())


def _find_yes_no(text: str) -> str | None:
    """Return the yes or no that a text is or begins with; None if it says both."""
    head = re.match(r"\W*(yes|no)\b\W*?(?:$|[,.;:!\n*-](?!\s*\d))", text, re.IGNORECASE)
    if head is None:
        return None
    other = "no" if head[1].lower() == "yes" else "yes"
    return None if re.search(rf"\b{other}\b", text, re.IGNORECASE) else head[1].lower()


def _find_only_number(text: str) -> str | None:
    """Return the one number in a text, in digits or as a word up to twenty; None if there are none or several."""
    digits = {str(number).replace(",", "") for number in _NUMBER.findall(text)}
    words = {str(number).lower() for number in _NUMBER_WORD.findall(text)} - {"none"}
    if len(digits | {NUMBER_WORDS.get(word, word) for word in words}) != 1:
        return None
    return digits.pop() if digits else words.pop()


def _first_line(text: str, words: int) -> str | None:
    """Return the first line without its markup, unless it has more words than a short answer."""
    line = next((each for each in map(_strip_markup, text.split("\n")) if each), "")
    return line if line and len(line.split()) <= words else None


def _strip_markup(text: str) -> str:
    r"""Remove Markdown, quotes, `\text{}`, brackets around the whole, and the full stop."""
    bare = re.sub(r"\\(?:text|mathrm|mathbf)\{([^{}]*)\}", r"\1", text)
    bare = re.sub(r"\*\*|__|`", "", bare).strip()
    bare = bare.lstrip(" \t\r\n\"'#>*").rstrip(" \t\r\n\"'.!,;:*")
    whole = re.fullmatch(r"[\(\[]([^()\[\]]*)[\)\]]", bare)
    return whole[1].strip() if whole else bare
