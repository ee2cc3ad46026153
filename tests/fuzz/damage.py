"""Ways to damage files: inside their structure, and byte by byte."""

import copy
import json
import math
from typing import Any

from hypothesis import strategies as st

ODD_TEXT = st.sampled_from(
    ["", " ", "\x00", "\u2028", "é🙂", "\ufeff", "'\"\\", "a\nb", "NaN", "null", "x" * 100_000, "\u202e"]
)
ODD_NUMBERS = st.sampled_from(
    [0, -1, 2**31, 2**53 + 1, 10**30, -(10**30), 0.5, 1e308, -0.0, math.nan, math.inf, -math.inf]
)
ODD_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    ODD_TEXT,
    ODD_NUMBERS,
    st.just([]),
    st.just({}),
    st.just([None]),
    st.just([[1]]),
    st.just({"a": None}),
    st.lists(ODD_NUMBERS, min_size=4, max_size=4),
)


def places(content: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401 - any JSON
    """List every (container, key) inside a JSON structure."""
    found = []
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        found.append((content, key))
        found += places(value)
    return found


@st.composite
def damaged(draw: st.DrawFn, content: Any) -> Any:  # noqa: ANN401 - any JSON
    """Change, remove or repeat up to four places of a structure."""
    broken = copy.deepcopy(content)
    for _ in range(draw(st.integers(1, 4))):
        spots = places(broken)
        if not spots:
            break
        container, key = draw(st.sampled_from(spots))
        deed = draw(st.sampled_from(["change", "change", "remove", "repeat"]))
        if deed == "change":
            container[key] = copy.deepcopy(draw(ODD_VALUES))
        elif deed == "remove":
            del container[key]
        elif isinstance(container, list):
            container.append(copy.deepcopy(container[key]))
    return broken


@st.composite
def torn(draw: st.DrawFn, data: bytes) -> bytes:
    """Cut a file short, overwrite a stretch of it, or repeat one."""
    start = draw(st.integers(0, max(0, len(data) - 1)))
    stop = draw(st.integers(start, len(data)))
    garbage = draw(st.binary(max_size=20))
    return draw(st.sampled_from([data[:start], data[:start] + garbage + data[stop:], data[:stop] + data[start:]]))


def dumps(content: Any) -> bytes:  # noqa: ANN401 - any JSON
    """Write JSON as lenient programs do: NaN and Infinity are written as they are."""
    return json.dumps(content).encode("utf-8", errors="surrogatepass")
