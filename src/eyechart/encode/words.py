"""Words of a question, by the `basic_english` rules of torchtext, which the authors of VQA-CE used.

Lower case; `'` and `.` become words; `"` goes; `<br />`, `;` and `:` become spaces; `,` `(` `)` `!` `?` become words.
So "Man's hat?" is man ' s hat ?, and hyphens and slashes stay inside words.
"""

from collections.abc import Iterator

import polars as pl

_REPLACED = {
    "'": " ' ",
    '"': "",
    ".": " . ",
    "<br />": " ",
    ",": " , ",
    "(": " ( ",
    ")": " ) ",
    "!": " ! ",
    "?": " ? ",
    ";": " ",
    ":": " ",
}


BLOCK = 65_536  # questions whose words are listed at once: lists of all would take many times the room of the texts


def blocks(n: int) -> Iterator[slice]:
    """Divide n questions into blocks."""
    return (slice(at, min(at + BLOCK, n)) for at in range(0, max(n, 1), BLOCK))


def question_words(question: pl.Expr) -> pl.Expr:
    """List the words of each text in order, repeats included; a null or blank text has none."""
    text = question.fill_null("").str.to_lowercase()
    for mark, filler in _REPLACED.items():
        text = text.str.replace_all(mark, filler, literal=True)
    return text.str.extract_all(r"[^\s\x1c-\x1f]+")
