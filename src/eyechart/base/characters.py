r"""Make texts storable: characters that files and terminals do not take stay visible, as their escapes.

A surrogate without its other half cannot be written as UTF-8 at all; a NUL ends a text for many programs; other control
characters move the cursor of a terminal or colour what follows. They become `\ud83d`, `\x00` and `\x1b`.
"""

from typing import Final

_KEPT = "\t\n\r"
ESCAPES: Final = {chr(code): f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in _KEPT}
_TABLE = str.maketrans(ESCAPES)


def storable(text: str) -> str:
    r"""Escape control characters, except for tabs and ends of lines, and lone surrogates; join halves that meet.

    >>> storable("red\x00")
    'red\\x00'
    """
    if not text.isascii():
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        text = whole.encode("utf-8", "backslashreplace").decode()
    return text.translate(_TABLE)
