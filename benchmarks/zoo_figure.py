"""Draw what each method adds to each network, as coloured cells: `docs/images/zoo.svg`."""

import math
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, variance
from typing import Any

from zoo_rows import METHODS, NETWORKS, SEEDS
from zoo_table import COLUMNS, CROSS_ENTROPY, Measured, seeds_of

FIGURE = Path(__file__).parents[1] / "docs" / "images" / "zoo.svg"
PANELS = ("iid", "shifted", "image", "fpvg")
MOST, DARK = 20, 13  # points, from where on colours are the same, and are read in white
LOSS, NOTHING, GAIN = "#d55e00", "#f7f7f7", "#0072b2"  # after Okabe and Ito: told apart with any colour vision
CELL, LINE = 34, 17  # pixels


def draw(measured: Measured) -> None:
    """Write the figure."""
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    FIGURE.write_text(picture(list(gains(measured))), encoding="utf-8")


def gains(measured: Measured) -> Iterator[dict[str, Any]]:
    """Compare every pair that has all seeds with plain training of the same network by the same loss."""
    for network in ("updn", *NETWORKS):
        for method in METHODS:
            base = "plain-ce" if method in CROSS_ENTROPY else "plain"
            own, plain = (seeds_of(measured, f"{network} {each}") for each in (method, base))
            if method != base and own and plain:
                for panel in PANELS:
                    yield {"network": network, "method": _label(method), "panel": COLUMNS[panel]} | _gain(
                        [100 * each[panel] for each in own], [100 * each[panel] for each in plain]
                    )


def _gain(own: list[float], plain: list[float]) -> dict[str, Any]:
    """Give the difference of two means, in brackets where it is less than twice its standard error."""
    gain = mean(own) - mean(plain)
    error = math.sqrt((variance(own) + variance(plain)) / len(SEEDS))
    label = f"{round(gain):+d}" if round(gain) else "0"
    return {"gain": gain, "label": label if abs(gain) > 2 * error or label == "0" else f"({label})"}


def _label(method: str) -> str:
    return method.rpartition(",")[2]  # `plain@15,hint` is HINT


def picture(rows: list[dict[str, Any]]) -> str:
    """Draw a panel for each measure, methods down, networks across."""
    import altair as alt
    import vl_convert

    methods = [_label(each) for each in sorted(METHODS, key=lambda each: each in CROSS_ENTROPY)]  # by their loss
    color = alt.Scale(domain=[-MOST, 0, MOST], range=[LOSS, NOTHING, GAIN], clamp=True)
    cells = alt.Chart().encode(
        x=alt.X("network:N", sort=["updn", *NETWORKS], title=None, axis=alt.Axis(labelAngle=-40)),
        y=alt.Y("method:N", sort=[each for each in methods if each != "plain"], title=None),
    )
    colors = cells.mark_rect().encode(
        color=alt.Color("gain:Q", scale=color, title="points over plain training", legend=alt.Legend(orient="bottom"))
    )
    dark = (alt.datum.gain < -DARK) | (alt.datum.gain > DARK)
    numbers = cells.mark_text(fontSize=11).encode(
        text="label:N", color=alt.when(dark).then(alt.value("white")).otherwise(alt.value("black"))
    )
    chart = (
        alt.layer(colors, numbers, data=alt.InlineData(values=rows))
        .properties(width=CELL * (1 + len(NETWORKS)), height=LINE * (len(METHODS) - 2))
        .facet(facet=alt.Facet("panel:N", sort=[COLUMNS[each] for each in PANELS], title=None), columns=2)
        .resolve_axis(x="independent")
        # A text for each of a thousand cells would double the file; fonts of browsers are wider than the ones here.
        .configure(aria=False, padding={"left": 25, "top": 5, "bottom": 5, "right": 5})
        .configure_view(stroke=None)
        .configure_axis(ticks=False, domain=False)
    )
    return str(vl_convert.vegalite_to_svg(chart.to_json()))
