"""What models say around an answer: reasoning, announcements, refusals, decoration."""

import re
from collections.abc import Sequence

from eyechart.text import NUMBER_WORDS

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


def straighten(text: str) -> str:
    """Write typographic quotes and dashes as typewriters do."""
    return text.translate(_STRAIGHT)


def strip_reasoning(text: str) -> str:
    """Cut out reasoning: between its marks, up to a lone closing mark, and from a lone opening mark on."""
    for opening, closing in _REASONING.items():
        text = text.rpartition(closing)[2] if closing in text else text.partition(opening)[0]
    return _SPECIAL.sub("", text).strip()


def announced(text: str) -> str | None:
    """Give what the text itself calls its answer; the last where there are several, None where there is none."""
    for pattern in _ANSWER:
        found = [said for said in pattern.findall(text) if plain(said)]
        if found:
            return undress(str(found[-1]))
    return None


def is_refusal(text: str) -> bool:
    """Tell whether the text begins like a refusal."""
    return _REFUSAL.match(text) is not None


def negated(text: str, options: Sequence[str]) -> bool:
    """Tell whether something is denied, so that what is named may be what is not meant; options may hold such words."""
    said = plain(text)
    for option in sorted(map(plain, options), key=len, reverse=True):
        said = said.replace(option, " ") if option else said
    return _DENIAL.search(said) is not None


def plain(text: str) -> str:
    """Take case, decoration, outer punctuation and runs of spaces away, for comparing."""
    return " ".join(undress(straighten(text)).lower().split())


def leading_yes_no(text: str) -> str | None:
    """Give the yes or no that a text is, or that stands in front of a comma or the like; None if both are said."""
    head = re.match(r"\W*(yes|no)\b\W*?(?:$|[,.;:!\n*-](?!\s*\d))", text, re.IGNORECASE)
    if head is None:
        return None
    other = "no" if head[1].lower() == "yes" else "yes"
    return None if re.search(rf"\b{other}\b", text, re.IGNORECASE) else head[1].lower()


def only_number(text: str) -> str | None:
    """Give the one number that is said, in digits or as a word up to twenty; None where there are none or several."""
    digits = {str(found).replace(",", "") for found in _NUMBER.findall(text)}
    words = {str(found).lower() for found in _NUMBER_WORD.findall(text)} - {"none"}
    if len(digits | {NUMBER_WORDS.get(word, word) for word in words}) != 1:
        return None
    return digits.pop() if digits else words.pop()


def first_line(text: str, words: int) -> str | None:
    """Give the first line without its decoration, unless it is longer than a short answer."""
    line = next((each for each in map(undress, text.split("\n")) if each), "")
    return line if line and len(line.split()) <= words else None


def undress(text: str) -> str:
    r"""Take away Markdown, quotes, `\text{}`, brackets around the whole, and the full stop."""
    bare = re.sub(r"\\(?:text|mathrm|mathbf)\{([^{}]*)\}", r"\1", text)
    bare = re.sub(r"\*\*|__|`", "", bare).strip()
    bare = bare.lstrip(" \t\r\n\"'#>*").rstrip(" \t\r\n\"'.!,;:*")
    whole = re.fullmatch(r"[\(\[]([^()\[\]]*)[\)\]]", bare)
    return whole[1].strip() if whole else bare
