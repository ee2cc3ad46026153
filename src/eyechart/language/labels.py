"""Labels of options as texts write them, `B`, `(B)`, `B. blue`, `option B`, also with numbers, and the words of a text.

Patterns are for Polars, whose regular expressions take linear time but cannot look around; they expect texts without
Markdown. `mark_labels` parses the label in front of a text into its name, the mark behind it and the rest.
"""

import polars as pl

_CJK = r"\p{Han}\p{Hiragana}\p{Katakana}"
_LETTER = rf"[[\p{{L}}\p{{N}}\p{{M}}]--[{_CJK}]]"
_TOKEN = rf"[-+]?(?:\d+(?:[.,:/]\d+)*|\.\d+)|[{_CJK}]|{_LETTER}+(?:['-]{_LETTER}+)*|[%€£°+/=<>^|&@~]"
_NAME = r"([A-Za-z]|\d{1,2})"
_CALLED = r"(?:(?:option|choice|letter|选项)\W*)"
_REASON = r"(?:because|since|as|which|due|given|for)"
_BRACKETED = rf"(?is)^[\s>\"']*{_CALLED}?[(\[]\s*{_NAME}\s*[)\]](.*)$"
_PUNCTUATED = (
    rf"(?is)^[\s>\"']*({_CALLED}?){_NAME}(\s*\)|\s*[.:](?:\s|$)|[,;](?:\s|$)|\s+-+\s|[^\S\n]*\n|[\s\"'!?]*$|,?\s+"
    rf"(?:{_REASON}|is\s+(?:the\s+)?(?:correct|right|best|answer))\b)(.*)$"
)
_TOGETHER = r"(?s)^[\s>\"']*([A-Z]|\d{1,2})[\s.:)]*(.+)$"
_ALONE = r"^[\s>\"']*(?:(?i:option|choice)\s+)?[(\[]?\s*([A-Za-z]|\d{1,2})\s*[)\]]?[.:)]?[\s!\"']*$"
_FURTHER = (
    r"(?i)^\s*(?:,|/|&|or\b|and\b|nor\b|和|或者?)+\s*(?:and\b|or\b)?\s*(?:option|choice)?[\s(\[]*(?-i:[A-Z]|\d{1,2})"
    r"(?:[\s)\].,:;/&]|$)|(?-i:^[\s.):]+[A-Z](?:[.):,]\s|[.):,]?\s*$))"
)
_MARKED = (
    r"[(\[]\s*(?:[A-Z]|\d{1,2})\s*[)\]]|\*\*\s*[A-Z]\s*[.:)]?\s*(?:\*\*|\s)|\b(?i:option|choice|letter)\s+[(*]*"
    r"(?:[A-Z]|\d{1,2})\b|\b(?:[Ii]t(?:'s|\s+is|\s+must\s+be|\s+should\s+be)|I(?:'d|\s+would|'ll|\s+will)?\s+"
    r"(?:say|choose|pick|select|guess|go\s+with|answer|vote\s+for)|[Cc]hoose|[Ss]elect)\s+[(*\"']*"
    r"[A-Z][)*\"']*(?:[.!,;\n]|\s*$)"
)


def words(text: pl.Expr) -> pl.Expr:
    """Reduce a text to its words and numbers in lower case, each between two spaces of its own."""
    plain = text.str.to_lowercase().str.replace_all(r"\\[()\[\],;! ]|\$|\\(?:text|mathrm|mathbf)\b", " ")
    for _ in range(2):  # 1,000,000
        plain = plain.str.replace_all(r"(\d),(\d{3})\b", "$1$2")
    found = plain.str.extract_all(_TOKEN).list.join("  ")
    return pl.when(found != "").then(pl.format(" {} ", found)).otherwise(pl.lit(""))


def lone_label(text: pl.Expr) -> pl.Expr:
    """Return the label that is the whole text, in capitals: `B`, `(b).`; null if it is anything else."""
    return text.str.extract(_ALONE).str.to_uppercase()


def front_label(text: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Parse the label in front of a text: its name in capitals, and what follows it.

    "A dog" and "I'm sorry" begin with words, not with labels.
    """
    bracketed, marked = text.str.extract_groups(_BRACKETED), text.str.extract_groups(_PUNCTUATED)
    name, mark, rest = (marked.struct.field(str(group)) for group in (2, 3, 4))
    is_word = name.is_in(["a", "A", "i", "I"]) & mark.str.contains(r"^[,;]\s*$") & (marked.struct.field("1") == "")
    name = pl.coalesce(bracketed.struct.field("1"), pl.when(~is_word).then(name)).str.to_uppercase()
    return name, pl.coalesce(bracketed.struct.field("2"), pl.concat_str(mark, rest))


def joined_label(text: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Parse a capital or number in front of a text whatever follows, as in `B blue` or `B.blue`; and what follows."""
    parts = text.str.extract_groups(_TOGETHER)
    return parts.struct.field("1"), parts.struct.field("2")


def adds_label(rest: pl.Expr) -> pl.Expr:
    """Return whether what follows a label adds another one: "A or B", "A, B and C"."""
    return rest.str.contains(_FURTHER)


def marked_labels(text: pl.Expr) -> pl.Expr:
    """List the labels that a text marks as such: `(B)`, `**B**`, `option B`, "it's B."."""
    return text.str.extract_all(_MARKED).list.eval(pl.element().str.extract(r"([A-Z]|\d+)[^A-Za-z\d]*$"))


def label_index(name: pl.Expr, *, lettered: pl.Expr) -> pl.Expr:
    """Return the index that a label names, where options are labelled by letters, or else by numbers."""
    letter = name.str.extract(r"^([A-Z])$").replace_strict(
        {chr(ord("A") + index): index for index in range(26)}, default=None, return_dtype=pl.Int64
    )
    number = name.str.extract(r"^(\d{1,3})$").cast(pl.Int64) - 1
    return pl.when(lettered).then(letter).otherwise(number)
