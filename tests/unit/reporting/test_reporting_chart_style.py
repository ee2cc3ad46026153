"""Long names are cut so that whoever reads them can still tell them apart."""

import pytest

from eyechart.reporting.chart_style import LETTERS, relabel, shorten

STEM = "organisation/model-of-a-long-family"


@pytest.mark.parametrize(
    "names",
    [
        [f"{STEM}-7b-chat-hf", f"{STEM}-72b-chat-hf"],
        [f"7b-{STEM}", f"72b-{STEM}"],
        [f"{STEM}-7b-{STEM}", f"{STEM}-72b-{STEM}"],
        [f"a-{STEM}-x", f"b-{STEM}-x", f"a-{STEM}-y"],
    ],
)
def test_names_that_differ_stay_different(names: list[str]) -> None:
    assert len(set(shorten(names).values())) == len(names)


def test_a_cut_keeps_the_beginning_and_the_end() -> None:
    (short,) = shorten(["a" * 40 + "z" * 40]).values()

    assert len(short) == LETTERS
    assert short.startswith("a")
    assert short.endswith("z")


def test_short_names_stay_as_they_are() -> None:
    assert shorten(["", "seer", "x" * LETTERS]) == {"": "", "seer": "seer", "x" * LETTERS: "x" * LETTERS}
    assert shorten([]) == {}
    assert relabel(["seer"]) == {}
