"""Find where the last of several options in a text ends, if options may have several lines each."""

import re
from collections.abc import Sequence

_INSTRUCTION = re.compile(
    r"\W*(?:(?:your |the (?:correct |best |final |right )?)?answers?\b|please\b|respond\b|response\b|reply\b|select\b"
    r"|choose\b|pick\b|think\b|give\b|provide\b|output\b|write\b|return only\b|only\b|do not\b|don't\b|let's\b|note\b"
    r"|question\b|assistant\b|solution\b|explain\b|reason\b|first,)",
    re.IGNORECASE,
)
_GAP = re.compile(r"\n[ \t]*\n")


def find_last_end(text: str, begin: int, before: Sequence[str]) -> int | None:
    """Return where the option that begins somewhere ends, given the texts of those before it; None if nothing says.

    Where all others are single lines, so is the last. Else it goes on to a blank line, unless the others have any, or
    to a line that instructs. If there is neither, it ends with the text, or has as many lines as each other one.
    """
    sizes = [len(option.strip().splitlines()) for option in before]
    most, has_gaps = max(sizes, default=1), any(_GAP.search(option.strip()) for option in before)
    end, n_lines = begin, 0
    for line in text[begin:].splitlines(keepends=True):
        is_over = n_lines > 0 and (_INSTRUCTION.match(line) is not None or (not line.strip() and not has_gaps))
        if is_over or (most == 1 and n_lines == 1):
            return end
        end += len(line)
        n_lines += bool(line.strip()) or has_gaps
    if n_lines <= most:
        return end
    return _end_of_lines(text, begin, most) if len(set(sizes)) == 1 else None


def _end_of_lines(text: str, begin: int, n: int) -> int:
    return begin + sum(len(line) for line in text[begin:].splitlines(keepends=True)[:n])
