r"""Phrases around an answer: those that announce, refuse, deny or hedge it, and reasoning before it.

All patterns are for Polars, whose regular expressions take linear time but cannot look around.
"""

import polars as pl

# Typographic quotes and dashes, and the full-width forms of ASCII that Chinese and Japanese texts use.
_PLAIN = dict(
    zip(
        "\u2018\u2019\u201c\u201d\u2013\u2014\u2212\u3001\u3002\u3010\u3011\u300c\u300d", '\'\'""---,.[]""', strict=True
    )
)
_PLAIN |= {chr(0xFEE0 + code): chr(code) for code in range(0x21, 0x7F)} | {"\u3000": " ", "\u00a0": " ", "\r": "\n"}

# Opening and closing marks of reasoning, as several families of models write them.
_REASONING = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "<reflection>": "</reflection>",
    r"<\|begin_of_thought\|>": r"<\|end_of_thought\|>",
    r"\[THINK\]": r"\[/THINK\]",
    "\u25c1think\u25b7": "\u25c1/think\u25b7",
    r"<\|channel\|>analysis<\|message\|>": r"<\|channel\|>final<\|message\|>",
}
_SPECIAL = (
    r"<\|?/?(?:s|pad|eos|bos|im_end|im_start|eot_id|end_of_text|endoftext|end|return|begin_of_box|end_of_box)\|?>"
)

_FIELD = r"""["'](?:final[ _]?)?(?:answer|choice|option|prediction)["']\s*:\s*"""

# What is set apart as the answer: the last of these counts, tags before boxes before fields of JSON.
SET_APART = (
    r"(?is)^.*<answer>(.*?)(?:</answer>|$)",
    r"(?s)^.*\\boxed\{((?:[^{}]|\{[^{}]*\})*)\}",
    rf"(?is)^.*{_FIELD}\[([^\]]*)\]",
    rf"(?is)^.*{_FIELD}\"([^\"\n]*)\"",
    rf"(?is)^.*{_FIELD}'([^'\n]*)'",
    rf"(?is)^.*{_FIELD}([^\s\[\"',}}][^,}}\n]*)",
)
_KINDS = r"(?:(?:final|correct|best|right|most\s+\w+|only|closest|proper|appropriate)\s+)*"
_BE = r"(?:is|was|would\s+be|should\s+be|must\s+be|will\s+be|seems\s+to\s+be|appears\s+to\s+be)"
ANNOUNCED = (
    rf"(?i)\b(?:(?:the|my|your)\s+)?{_KINDS}(?:answer|correct\s+(?:option|choice)|(?:option|choice)\s+here)"
    rf"(?:\s+(?:to|for)\s+(?:the|this)\s+question)?(?:\s+{_BE}(?:\s*:)?|\s*[*_]{{0,2}}\s*[:=])"
    r"|(?:正确)?(?:答案|选项)(?:编号)?\s*(?:应该|应)?\s*(?:是|为|选|:)\s*:?|应?该?选择?\s*:?"
)

REFUSED = (
    r"(?i)^\W*(?:(?:i'?m|i am) (?:very |so |really |deeply )?sorry|sorry,?\s+(?:but )?(?:i|there)\b|i apologi[sz]e"
    r"|my apologies|unfortunately,? i\b|i can(?:not|'?t| not)\b|(?:i'?m|i am) (?:currently )?(?:unable|not able)"
    r"|i won'?t\b|i will not\b|i (?:do not|don'?t) (?:have (?:the ability|access)|see (?:any|an|the) image)"
    r"|as an? (?:ai|language model|text-based)|(?:there is|there's) no image"
    r"|no image (?:was|is|has been) (?:provided|attached|given)"
    r"|(?:it is|it's) (?:not possible|impossible) to (?:tell|determine|say|answer|know)"
    r"|unable to (?:tell|determine|answer|see|view|identify)"
    r"|(?:please|could you) (?:provide|share|upload|attach).* image"
    r"|(?:很?抱歉|对不起)|(?:我)?(?:无法|不能)(?:看|识别|确定|回答|判断|查看))"
)
DENIED = (
    r"\b(?:not|neither|nor|never|cannot|except|rather than|instead of|unlike|but for|either|both|doubt\w*|hardly|barely"
    r"|scarcely|unlikely|unsure|uncertain|far from|anything but|other than|den(?:y|ies|ied)|disbelieve|refuse to"
    r"|question (?:if|whether)|wonder|hard to (?:believe|tell|say)|difficult to (?:tell|say)|no longer|used to be)\b"
    r"|n't\b|不|没有|并非"
)
CERTAIN = r"\b(?:without (?:a|any) doubt|(?:there is |there's |i have )?no doubt(?: that)?)\b"  # denies nothing

# What people put around an answer without changing it: words of opinion, and a subject with its verb.
_OPINION = (
    r"(?i)^(?:(?:i|we)(?:'d| would| will|'ll)? (?:say|guess|think|believe|choose|pick|go with|answer)"
    r"(?: that)?[ :,]+(?:(?:it|this|that)(?:'s| is) )?"
    r"|(?:in my opinion|to me|from the (?:image|picture|photo)|based on the (?:image|picture|photo))[ ,]+"
    r"|(?:it|this|that|they|these) (?:looks?|seems?|appears?) (?:like |to be )+|looks like )"
)
_SUBJECT = (
    r"(?i)^(?:it|this|that|they|these)(?:'s|'re| is| are| was| were| would be| must be| should be)"
    r" +(?:likely |probably |most likely )?"
)
_TAIL = (
    r"(?i)[ ,]+(?:to me|i (?:think|believe|guess|would say|'d say)|in my opinion"
    r"|in (?:the|this) (?:image|picture|photo))$"
)


def straighten(text: pl.Expr) -> pl.Expr:
    """Replace typographic quotes and dashes and full-width characters by plain ones."""
    plain = text.str.replace_many(list(_PLAIN), list(_PLAIN.values()))
    return pl.when(text.str.contains(r"[^\t\n -~]")).then(plain).otherwise(text)


def strip_reasoning(text: pl.Expr) -> pl.Expr:
    """Remove reasoning: between its marks, up to a lone closing mark, and after a lone opening mark."""
    bare = text
    for opening, closing in _REASONING.items():
        bare = bare.str.replace(f"(?is)^.*{closing}", "").str.replace(f"(?is){opening}.*$", "")
    marked = text.str.contains(r"[<\[\x{25c1}]")
    return pl.when(marked).then(bare.str.replace_all(_SPECIAL, "")).otherwise(text).str.strip_chars()


def strip_markup(text: pl.Expr) -> pl.Expr:
    r"""Remove Markdown, `\text{}` and the like, quotes and brackets around the whole, and closing punctuation."""
    bare = text.str.replace_all(r"\\(?:text|mathrm|mathbf|textbf)\{([^{}]*)\}", "$1").str.replace_all(r"\*\*|__|`", "")
    bare = bare.str.strip_chars_start(" \t\n\"'#>*").str.strip_chars_end(" \t\n\"'.!?,;:*")
    return bare.str.replace(r"^[(\[]([^()\[\]]*)[)\]]$", "$1").str.strip_chars()


def strip_opinion(text: pl.Expr) -> pl.Expr:
    """Remove the words of opinion around an answer: "it looks like red to me" says "red"."""
    return text.str.replace(_OPINION, "").str.replace(_TAIL, "").str.strip_chars()


def strip_sentence(text: pl.Expr) -> pl.Expr:
    """Remove also a subject with its verb: "I think it is red" says "red", unless the text is a quotation."""
    return strip_opinion(text).str.replace(_SUBJECT, "").str.strip_chars()
