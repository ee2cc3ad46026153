"""One colour for each family of conditions: the same in charts and in style, seen by everybody, by day and night."""

import itertools
import re
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from eyechart.data.furniture import Look
from eyechart.reporting.charts import make_spec
from eyechart.reporting.collect import collect_looks
from eyechart.reporting.drawing import Drawing, DrawingColumn
from eyechart.reporting.gallery import arrange_cards
from eyechart.reporting.palette import NO_LOOKS, OTHER, Palette, families, paint, variables

OURS = Palette(collect_looks())
LOOKS = Palette(
    (
        Look(r"image(#\d+)?", "the image of another example", "image"),
        Look("rest", "everything but the evidence", "rest"),
        Look("orig|iou", "sets of options", "options"),
        Look("dimmed", "a darker picture", "#12ab9f"),
        Look("torn", "a picture torn", "image"),
    )
)
STYLE = files("eyechart.reporting").joinpath("style.css").read_text(encoding="utf-8")
# Machado, Oliveira and Fernandes 2009, severity 1: how light that is not perceived as by most is seen.
VISION = {
    "everybody": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def light(color: str) -> np.ndarray:
    """Turn a colour of the screen into amounts of light (IEC 61966-2-1)."""
    parts = np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """Compare two colours as WCAG 2.2 does."""
    low, high = sorted(float(light(color) @ TO_XYZ[1]) for color in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(color: str, vision: str) -> np.ndarray:
    seen = np.clip(np.array(VISION[vision]) @ light(color), 0, 1)
    x, y, z = np.cbrt(TO_XYZ @ seen / [0.9505, 1, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize(
    ("condition", "named"),
    [
        ("plain", "plain"),
        ("image#3", "image"),
        ("image=blank", "image"),
        ("question#0", "question"),
        ("image+question#1", "both"),
        ("question+image#1", "both"),
        ("evidence", "evidence"),
        ("keep@25", "evidence"),
        ("rest", "rest"),
        ("drop@50", "rest"),
        ("without#4", "rest"),
        ("orig", "options"),
        ("iou+qou", "options"),
        ("rotate#2", "options"),
        ("iou+qou-image", "image"),
        ("all-question", "question"),
        ("orig-image-question", "both"),
        ("I+A", "question"),
        ("A", "both"),
        ("audio#1", "other"),
        ("no-such", "other"),
        ("", "other"),
    ],
)
def test_a_condition_has_the_colour_of_what_is_taken_away(condition: str, named: str) -> None:
    """The registered audits bring looks for all of their conditions."""
    assert OURS.family(condition) == named


@pytest.mark.parametrize(("name", "known"), [("plain", True), ("audio#1", True), ("no-such", False), ("", False)])
def test_what_has_a_look_is_a_condition(name: str, known: bool) -> None:  # noqa: FBT001
    assert OURS.are_conditions([name]) == known


def test_only_the_unchanged_condition_is_known_without_looks() -> None:
    assert (NO_LOOKS.family("plain"), NO_LOOKS.describe("plain")) == ("plain", "as it is")
    assert (NO_LOOKS.family("image"), NO_LOOKS.describe("image")) == (OTHER, "")


def test_names_are_taken_for_conditions_only_where_all_are() -> None:
    assert LOOKS.are_conditions(["plain", "image#0", "rest"])
    assert not LOOKS.are_conditions(["plain", "easy"])
    assert not LOOKS.are_conditions([])


def test_a_colour_of_ones_own_is_painted_and_has_a_rule_of_style() -> None:
    assert LOOKS.family("dimmed") == "12ab9f"
    assert LOOKS.paint_condition("dimmed") == "#12ab9f"
    assert LOOKS.rules() == ".dot.of-12ab9f, .under.of-12ab9f { --dot: #12ab9f; }\n"
    assert LOOKS.describe("dimmed") == "a darker picture"
    assert NO_LOOKS.rules() == ""


@pytest.mark.parametrize("color", ["red", "#fff", "#12ab9f; }", "</style>", ""])
def test_what_is_no_colour_is_not_written_into_the_page(color: str) -> None:
    """Looks come with a run, which may come from anywhere."""
    odd = Palette((Look("odd", "odd", color),))

    assert (odd.family("odd"), odd.rules()) == (OTHER, "")


@pytest.mark.parametrize("name", families())
def test_charts_and_style_have_the_same_colour(name: str) -> None:
    """A variable for each family by day and by night, a rule that paints its dot, and charts that use the variable."""
    roots = re.findall(rf"--condition-{name}: (#\w{{6}});", STYLE)
    named = Palette((Look("this", "", name),))

    assert len(roots) == 2
    assert f".dot.of-{name}, .under.of-{name} {{ --dot: var(--condition-{name}); }}" in STYLE
    assert named.paint_condition("this") == paint(f"condition-{name}") == f"var(--condition-{name}, {roots[0]})"


def bars(role: str) -> Drawing:
    columns = (DrawingColumn("value", "x", "points"), DrawingColumn("of", "y" if role == "color" else "z", "text"))
    columns = (*columns, DrawingColumn("condition", role, "text"))
    return Drawing("t", "", "bars", "t", columns, ((0.5, "a", "plain"), (0.4, "a", "image"), (0.2, "b", "rest")))


def svg_of(shown: Drawing) -> str:
    """Draw a chart as the runtime in the page does."""
    import vl_convert

    return vl_convert.vegalite_to_svg(make_spec(shown, LOOKS), allowed_base_urls=[])


@pytest.mark.parametrize("role", ["y", "color"])
def test_marks_of_a_condition_have_its_colour_whatever_else_is_drawn(role: str) -> None:
    svg = svg_of(bars(role))

    for name in ("plain", "image", "rest"):
        assert f'fill="{LOOKS.paint_condition(name)}"' in svg
    assert "var(--series-" not in svg


def test_swatches_of_one_family_differ() -> None:
    """`orig` and `iou` have one colour, so that the second is paler, in the bar and in the legend."""
    rows = ((0.5, "a", "orig"), (0.4, "a", "iou"), (0.2, "b", "rest"))
    svg = svg_of(replace(bars("color"), rows=rows))

    marks = re.findall(r'<path[^>]*fill="(var\(--condition-[^"]+)"[^>]* opacity="([\d.]+)"', svg)
    assert len(marks) == 6
    assert len(set(marks)) == 3


def test_a_card_that_shows_a_condition_says_so() -> None:
    columns = (DrawingColumn("condition", "title", "text"), DrawingColumn("answer", "answer", "text"))
    cards = Drawing("t", "", "gallery", "t", columns, (("image#1", "red"), ("what is it?", "blue")))

    ((_, shown),) = arrange_cards(cards, {}, LOOKS)
    assert [card.condition for card in shown] == ["image#1", None]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_colour_stands_out_from_the_page(scheme: str) -> None:
    """WCAG 2.2 asks for 3 to 1 of what is drawn."""
    colors = variables(scheme)
    faint = {
        (name, ground): contrast(value, colors[ground])
        for name, value in colors.items()
        for ground in ("paper", "raised")
        if name.startswith(("condition-", "mark", "against"))
    }

    assert min(faint.values()) >= 3


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_two_conditions_can_be_told_apart(scheme: str, vision: str) -> None:
    """A distance of about 2 in CIELAB is just seen side by side."""
    colors = {name: lab(value, vision) for name, value in variables(scheme).items() if name.startswith("condition-")}
    distances = {pair: np.linalg.norm(colors[pair[0]] - colors[pair[1]]) for pair in itertools.combinations(colors, 2)}

    assert len(colors) == len(families()) == 8
    assert min(distances.values()) > 10, min(distances, key=distances.__getitem__)
