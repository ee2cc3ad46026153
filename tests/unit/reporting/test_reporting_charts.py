"""Charts are SVG that is safe to inline, follows the page's colours and tells what it leaves out."""

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from jsonschema import Draft7Validator, ValidationError

from eyechart.data.furniture import Look
from eyechart.data.result import Result, View
from eyechart.reporting.chart_style import AGAINST, PAPER
from eyechart.reporting.charts import CHARTS, MOST_BARS, caption, drawable, make_spec
from eyechart.reporting.drawing import Drawing, DrawingColumn, prepare
from eyechart.reporting.palette import Palette

SHADED = Palette((Look(r"image#\d+", "of the image", "#12ab9f"),))
DRAWN = (
    "bars",
    "share histogram",
    "number histogram",
    "word histogram",
    "lines",
    "word lines",
    "matrix",
    "scatter",
    "named scatter",
)


def drawing(result: Result, title: str) -> Drawing:
    return next(prepare(result, view) for view in result.views if view.title == title)


def bars(n: int, *, left_out: int = 0, value: float | None = 0.5, table: str = "t") -> Drawing:
    columns = (
        DrawingColumn("share", "x", "points"),
        DrawingColumn("name", "y", "text"),
        DrawingColumn("n", "n", "count"),
    )
    rows = tuple((value, f"bar {k}", 1000 + k) for k in range(n))
    return Drawing("Bars", "", "bars", table, columns, rows, left_out)


def svg_of(shown: Drawing) -> str:
    """Draw a chart as the runtime in the page does."""
    import vl_convert

    return vl_convert.vegalite_to_svg(make_spec(shown), allowed_base_urls=[])


def words(svg: str) -> list[str]:
    """Read the text of an SVG with an XML parser, which also fails if it is not well-formed."""
    root = ET.fromstring(svg)  # noqa: S314 - our own drawing
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("title", DRAWN)
def test_every_kind_is_well_formed_and_shows_its_data_as_text(kinds: Result, nasty: str, title: str) -> None:
    svg = svg_of(drawing(kinds, title))

    found = words(svg)

    assert found
    assert "<script" not in svg
    if title != "share histogram":  # which has no words in its data
        assert any(nasty in word for word in found)


def test_every_kind_of_view_is_tried(kinds: Result) -> None:
    """Intervals are drawn of comparisons alone, and tried with these."""
    assert {drawing(kinds, title).kind for title in DRAWN} == set(CHARTS) - {"intervals"}


@pytest.fixture(scope="module")
def schema() -> Draft7Validator:
    import altair as alt

    return Draft7Validator(alt.load_schema())


def differences() -> Drawing:
    columns = tuple(DrawingColumn(role, role, "points") for role in ("x", "low", "high"))
    rows = ((-0.1, -0.2, 0.1, "one"), (0.2, 0.1, 0.3, "other"))
    return Drawing("", "", "intervals", "t", (*columns, DrawingColumn("model", "y", "text")), rows)


def with_chance() -> Drawing:
    columns = (*bars(1).columns, DrawingColumn("chance", "chance", "points"))
    return replace(bars(1), columns=columns, rows=((0.5, "bar", 9, 0.25),))


def shades() -> Drawing:
    columns = (*bars(1).columns, DrawingColumn("condition", "color", "text"))
    rows = tuple((0.5, "bar", 9, f"image#{n}") for n in range(3))
    return replace(bars(1), columns=columns, rows=rows)


@pytest.mark.parametrize("title", [*DRAWN, "differences", "chance", "shades"])
def test_every_kind_fits_the_schema_of_vega_lite(schema: Draft7Validator, kinds: Result, title: str) -> None:
    """Pages are made without this check, which takes as long as all the rest of a chart."""
    others = {"differences": differences, "chance": with_chance, "shades": shades}
    shown = others[title]() if title in others else drawing(kinds, title)
    spec = make_spec(shown, SHADED)

    schema.validate(spec)
    with pytest.raises(ValidationError):
        schema.validate(spec | {"width": "wide"})


@pytest.mark.parametrize("title", DRAWN)
def test_a_chart_has_no_colour_of_its_own(kinds: Result, title: str) -> None:
    """Every colour is a variable of the page, with a fallback."""
    painted = re.findall(r'(?:fill|stroke)="([^"]+)"', svg_of(drawing(kinds, title)))

    assert [paint for paint in painted if not re.fullmatch(r"none|transparent|var\(--[a-z0-9-]+, #\w+\)", paint)] == []


@pytest.mark.parametrize("title", DRAWN)
def test_a_chart_fetches_nothing(kinds: Result, title: str) -> None:
    svg = svg_of(drawing(kinds, title))

    assert {address.split("/")[2] for address in re.findall(r"https?://[^\"' ]+", svg)} == {"www.w3.org"}
    assert "href=" not in svg


def test_drawing_twice_gives_the_same_chart(kinds: Result) -> None:
    assert make_spec(drawing(kinds, "bars")) == make_spec(drawing(kinds, "bars"))


def test_a_bar_says_its_number_its_interval_and_n(result: Result) -> None:
    found = words(svg_of(prepare(result, result.views[0])))

    assert "66.7 [65.7, 67.7] · n 42" in found


def test_bars_of_shares_span_0_to_100(result: Result) -> None:
    within = replace(prepare(result, result.views[0]), rows=((0.2, "a", 0.1, 0.3, 9),))

    assert {"0", "20", "40", "60", "80", "100"} <= set(words(svg_of(within)))


def test_bars_of_differences_span_their_values() -> None:
    found = words(svg_of(bars(2, value=-0.031)))

    assert "100" not in found
    assert "-3.1 · n 1,000" in found


def test_a_bar_without_a_value_keeps_its_place() -> None:
    found = words(svg_of(bars(1, value=None)))

    assert "bar 0" in found
    assert "- · n 1,000" in found


def test_many_bars_are_cut_and_counted() -> None:
    many = bars(MOST_BARS + 7)

    found = words(svg_of(many))

    assert f"bar {MOST_BARS - 1}" in found
    assert f"bar {MOST_BARS}" not in found
    assert caption(many) == "Showing the first 30; 7 more are in the table."


def test_many_colours_become_few(kinds: Result) -> None:
    columns = (
        DrawingColumn("x", "x", "number"),
        DrawingColumn("y", "y", "number"),
        DrawingColumn("c", "color", "text"),
    )
    crowded = Drawing("", "", "scatter", "t", columns, tuple((k, k, f"color {k}") for k in range(12)))

    found = words(svg_of(crowded))

    assert "color 6" in found
    assert "color 7" not in found
    assert "(other)" in found


def binned(kinds: Result) -> Drawing:
    table = pl.DataFrame(
        {"from": [-0.1, 0.0, 0.0], "to": [0.0, 0.1, 0.1], "n": [3, 191, 6], "of": ["image", "image", "question"]}
    )
    held = replace(kinds, tables=kinds.tables | {"bins": table})
    roles = {"x": "from", "to": "to", "n": "n", "color": "of"}
    return prepare(held, View("histogram", "bins", "", "", roles, units={"from": "points", "to": "points"}))


def test_a_histogram_of_bins_draws_their_counts(kinds: Result) -> None:
    """What is counted already is not counted again: 200 examples are 200, and not 3 bins."""
    spec, svg = make_spec(binned(kinds)), svg_of(binned(kinds))

    (rows,) = spec["datasets"].values()
    assert sum(row["n"] for row in rows) == 200
    assert spec["encoding"]["y"]["stack"] is None
    assert "200" in words(svg)
    assert "points" in words(svg)


def test_bars_of_two_series_share_their_bin(kinds: Result) -> None:
    (rows,) = make_spec(binned(kinds))["datasets"].values()

    places = {(row["color"], row["x"]): (row["left"], row["right"]) for row in rows}

    assert places == {("image", -10): (-10, -5), ("image", 0): (0, 5), ("question", 0): (5, 10)}


def test_names_that_begin_alike_can_be_told_apart() -> None:
    names = [f"llava-hf/llava-onevision-qwen2-{size}b-ov-chat-hf" for size in (7, 72)]
    columns = (
        DrawingColumn("v", "x", "points"),
        DrawingColumn("of", "y", "text"),
        DrawingColumn("model", "color", "text"),
    )
    beside = replace(bars(2), rows=tuple((0.5, name, 9) for name in names))
    colored = Drawing("", "", "bars", "t", columns, tuple((0.5, "all", name) for name in names))

    assert len({word for word in words(svg_of(beside)) if word.startswith("llava")}) == 2
    legend = [word for word in words(svg_of(colored)) if word.startswith("llava")]
    assert len(set(legend)) == len(legend) == 2
    assert all("…" in word for word in legend)


def test_chance_is_drawn_where_it_is_told() -> None:
    assert AGAINST not in svg_of(bars(1))
    assert AGAINST in svg_of(with_chance())


def test_whiskers_are_seen_on_bars_of_any_colour(result: Result) -> None:
    assert f'stroke="{PAPER}"' in svg_of(prepare(result, result.views[0]))


def test_labels_of_points_stay_inside_the_chart() -> None:
    columns = (
        DrawingColumn("x", "x", "points"),
        DrawingColumn("y", "y", "points"),
        DrawingColumn("name", "label", "text"),
    )
    edges = Drawing("", "", "scatter", "t", columns, ((0.0, 0.0, "first"), (1.0, 1.0, "last")))

    anchors = dict(re.findall(r'text-anchor="(\w+)"[^>]*>(first|last)<', svg_of(edges)))

    assert anchors == {"start": "first", "end": "last"}
    assert make_spec(edges)["layer"][0]["encoding"]["x"]["scale"]["padding"] > 0


def test_a_large_matrix_is_cut_to_a_corner() -> None:
    columns = (DrawingColumn("x", "x", "text"), DrawingColumn("y", "y", "text"), DrawingColumn("v", "color", "points"))
    cells = tuple((f"x{a}", f"y{b}", 0.125) for a in range(MOST_BARS + 1) for b in range(2))
    large = Drawing("", "", "matrix", "t", columns, cells)

    assert words(svg_of(large)).count("12.5") == MOST_BARS * 2
    assert caption(large) == "Showing the first 60; 2 more are in the table."


@pytest.mark.parametrize(
    ("drawn", "said"),
    [
        (bars(3), ""),
        (bars(40, left_out=5), "Showing the first 30; 15 more are not drawn (the table has the first 40)."),
        (bars(40, left_out=5, table="measures"), "Showing the first 30; 15 more are in the table."),
        (replace(bars(4, left_out=5), kind="table"), "Showing the first 4 of 9 rows."),
        (replace(bars(4, left_out=5), kind="scatter"), "Showing 4 of 9 points, evenly spaced in the table."),
        (replace(bars(4, left_out=5), kind="histogram"), "5 rows without a value are not drawn."),
    ],
)
def test_captions_say_what_is_left_out(drawn: Drawing, said: str) -> None:
    assert caption(drawn) == said


@pytest.mark.parametrize("title", ["table", "gallery", "empty bars"])
def test_tables_and_nothing_are_not_drawn(kinds: Result, title: str) -> None:
    assert not drawable(drawing(kinds, title))


def test_bars_of_words_are_a_table(kinds: Result) -> None:
    assert not drawable(prepare(kinds, View("bars", "rules", "", "", {"x": "answer", "y": "answer"})))


def test_a_chart_without_a_needed_role_is_a_table(kinds: Result) -> None:
    assert not drawable(prepare(kinds, View("bars", "rules", "", "", {"x": "support"})))
    assert not drawable(prepare(kinds, View("bars", "rules", "", "")))


def test_a_table_of_bars_keeps_its_order_with_colours(kinds: Result) -> None:
    """The bars of one name stand together, named once."""
    table = pl.DataFrame({"g": ["a", "b", "a"], "v": [3, 2, 1], "c": ["one", "one", "two"]})
    held = replace(kinds, tables={**kinds.tables, "t": table})

    found = words(svg_of(prepare(held, View("bars", "t", "", "", {"x": "v", "y": "g", "color": "c"}))))

    first = [word.split(" · ")[0] for word in found]
    assert [word for word in first if word in ("a", "b", "1", "2", "3")][-5:] == ["a", "b", "3", "1", "2"]
