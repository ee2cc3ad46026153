"""The report opens from disk in a real browser: no network, no complaint, charts that come alive."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytest.importorskip("playwright")


@pytest.fixture
def read_report(open_page: Any, written: str) -> Callable[..., "Page"]:  # noqa: ANN401 - a fixture of this folder
    def opened(size: str = "desktop", scheme: str = "light") -> "Page":
        page = open_page(written, size, scheme)
        page.goto(written)
        return page

    return opened


def test_every_chart_comes_alive_with_marks(read_report: Callable[..., "Page"]) -> None:
    page = read_report()
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    charts = page.locator("figure[data-chart]")
    for place in range(charts.count()):
        charts.nth(place).scroll_into_view_if_needed()
    page.wait_for_function("document.querySelectorAll('figure[data-chart=still]').length === 0")

    drawn = page.evaluate(
        """() => [...document.querySelectorAll('figure[data-chart=live]')].map(figure => {
            const svg = figure.querySelector('.chart svg'), box = svg.getBoundingClientRect();
            return {marks: svg.querySelectorAll('[class*=mark-] path, [class*=mark-] line, [class*=mark-] text').length,
                    width: box.width, height: box.height} })"""
    )
    assert len(drawn) == charts.count() > 3
    for chart in drawn:
        assert chart["marks"] > 2
        assert chart["width"] > 200
        assert chart["height"] > 40


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_in_the_report_shuts_people_out(
    read_report: Callable[..., "Page"], find_barriers: Callable[["Page"], list[str]], scheme: str
) -> None:
    assert find_barriers(read_report(scheme=scheme), scheme) == []


def test_the_report_reads_on_a_phone(read_report: Callable[..., "Page"]) -> None:
    page = read_report(size="phone")

    assert page.evaluate("document.documentElement.scrollWidth") == 390
    title, verdicts = page.locator("h1").bounding_box(), page.locator(".verdicts").first.bounding_box()
    assert title["y"] < 300
    assert verdicts["width"] <= 390
    assert page.locator(".badge").first.is_visible()


def test_verdicts_come_before_figures_and_pictures_have_their_boxes_inside(read_report: Callable[..., "Page"]) -> None:
    page = read_report()
    verdicts, figure = page.locator(".verdicts").first.bounding_box(), page.locator("figure").first.bounding_box()
    assert verdicts["y"] < figure["y"]

    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    picture = page.locator(".picture", has=page.locator(".frame")).first
    picture.scroll_into_view_if_needed()
    outer, inner = picture.bounding_box(), picture.locator(".frame").first.bounding_box()
    assert outer["x"] - 2 <= inner["x"] <= inner["x"] + inner["width"] <= outer["x"] + outer["width"] + 2
    assert inner["width"] > 2


def test_a_table_can_be_saved(read_report: Callable[..., "Page"]) -> None:
    page = read_report()
    button = page.locator("button[data-save=csv]:visible").first
    with page.expect_download() as waiting:
        button.click()

    assert waiting.value.path().read_text(encoding="utf-8").count("\n") > 1


def test_the_night_is_dark_in_the_report(read_report: Callable[..., "Page"]) -> None:
    colors = [
        read_report(scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]
    assert colors[0] != colors[1]
