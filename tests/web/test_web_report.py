"""The report opens from disk in a real browser: no network, no complaint, charts that come alive."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytest.importorskip("playwright")


@pytest.fixture(params=["written", "compared"])
def read_report(request: pytest.FixtureRequest, open_page: Any) -> Callable[..., "Page"]:  # noqa: ANN401
    """Open the page of a run, or that of models side by side: what holds for one holds for the other."""
    address = request.getfixturevalue(request.param)

    def opened(size: str = "desktop", scheme: str = "light") -> "Page":
        page = open_page(address, size, scheme)
        page.goto(address)
        return page

    return opened


@pytest.fixture
def read_run(open_page: Any, written: str) -> "Page":  # noqa: ANN401
    """Open the page of a run."""
    page = open_page(written)
    page.goto(written)
    return page  # type: ignore[no-any-return]


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


def test_nothing_in_the_report_shuts_people_out_by_day_or_night(
    read_report: Callable[..., "Page"], find_barriers: Callable[["Page"], list[str]]
) -> None:
    assert find_barriers(read_report()) == []


def test_the_report_reads_on_a_phone(read_report: Callable[..., "Page"]) -> None:
    page = read_report(size="phone")

    assert page.evaluate("document.documentElement.scrollWidth") == 390
    title, table = (
        page.locator("h1").bounding_box(),
        page.locator("#verdicts table, #leaders .scroll").first.bounding_box(),
    )
    assert title["y"] < 300
    assert table["width"] <= 390


def test_a_measure_with_a_long_name_does_not_widen_a_phone(open_page: Any, written: str) -> None:  # noqa: ANN401
    page = open_page(written, "phone")
    page.goto(written)
    page.evaluate(
        """document.querySelectorAll('.verdicts .number').forEach(
            cell => cell.dataset.label = 'without the picture and the question over chance, points')"""
    )

    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_no_label_lies_over_its_number_on_a_phone(open_page: Any, written: str) -> None:  # noqa: ANN401
    page = open_page(written, "phone")
    page.goto(written)

    room = page.locator("td.number[data-label]:has(.value)").first.evaluate(
        """cell => {
            const word = document.createElement("span");
            word.textContent = cell.dataset.label = "a measure with a long name";
            word.style.cssText = "position: absolute; white-space: nowrap; font-size: 0.82rem";
            cell.append(word);
            const width = word.getBoundingClientRect().width;
            return cell.querySelector(".value").getBoundingClientRect().x - cell.getBoundingClientRect().x - width;
        }"""
    )
    assert room > 0


def test_verdicts_come_before_figures_and_pictures_have_their_boxes_inside(read_run: "Page") -> None:
    page = read_run
    verdicts, figure = page.locator(".verdicts").first.bounding_box(), page.locator("figure").first.bounding_box()
    assert verdicts["y"] < figure["y"]
    assert page.locator(".badge").first.is_visible()

    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    picture = page.locator(".picture", has=page.locator(".frame")).first
    picture.scroll_into_view_if_needed()
    outer, inner = picture.bounding_box(), picture.locator(".frame").first.bounding_box()
    assert outer["x"] - 2 <= inner["x"] <= inner["x"] + inner["width"] <= outer["x"] + outer["width"] + 2
    assert inner["width"] > 2
    cut = page.evaluate(
        """() => [...document.querySelectorAll(".framed")].map(each => {
            const label = each.getBoundingClientRect(), picture = each.parentElement.getBoundingClientRect();
            return Math.max(picture.top - label.top, picture.left - label.left, label.right - picture.right) })"""
    )
    assert cut
    assert max(cut) < 1, "names of framed things are inside the picture"


def test_a_condition_has_one_colour_in_galleries_tables_and_charts(read_run: "Page") -> None:
    page = read_run
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    for name in ("plain", "evidence", "rest"):
        colors = page.evaluate(
            """name => {
                const paint = (found, pseudo, what) => found && getComputedStyle(found, pseudo)[what];
                const chart = [...document.querySelectorAll("figure .chart")].find(
                    each => each.getAttribute("aria-label").startsWith("Accuracy with everything"));
                const probe = document.createElement("i");
                probe.style.color = `var(--condition-${name})`;
                document.body.append(probe);
                const wanted = getComputedStyle(probe).color;
                const bars = [...chart.querySelectorAll("svg path")].map(each => getComputedStyle(each).fill);
                return [wanted, paint(document.querySelector(`.card .dot.of-${name}`), null, "backgroundColor"),
                        paint(document.querySelector(`td.under.of-${name}`), "::before", "backgroundColor"),
                        bars.find(color => color === wanted)];
            }""",
            name,
        )
        assert len(set(colors)) == 1, (name, colors)


def test_a_link_at_the_top_leads_to_its_part(read_report: Callable[..., "Page"]) -> None:
    page = read_report()
    links = page.locator(".contents a")
    assert links.count() > 4
    for place in range(links.count()):
        target = links.nth(place).get_attribute("href")
        assert page.locator(target).count() == 1
    links.last.click()
    assert page.evaluate("location.hash") == "#again"


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_chart_can_be_saved(read_report: Callable[..., "Page"], kind: str) -> None:
    page = read_report()
    button = page.locator(f"button[data-save={kind}]:visible").first
    button.scroll_into_view_if_needed()
    with page.expect_download() as waiting:
        button.click()

    content = waiting.value.path().read_bytes()
    assert content.startswith(b"<svg" if kind == "svg" else b"\x89PNG")
    assert b"var(" not in content, "the colours are spelled out"


def test_a_chart_that_is_saved_at_night_has_the_colours_of_the_day(read_report: Callable[..., "Page"]) -> None:
    """A file goes on white, whatever its reader's page looked like."""
    saved = []
    for scheme in ("light", "dark"):
        page = read_report(scheme=scheme)
        figure = page.locator("figure[data-chart]:has(button[data-save=svg]:visible)").first
        figure.scroll_into_view_if_needed()
        figure.locator("xpath=self::*[@data-chart='live']").wait_for()  # a still chart has other marks
        button = figure.locator("button[data-save=svg]")
        with page.expect_download() as waiting:
            button.click()
        saved.append(set(re.findall(r' (?:fill|stroke)="([^"]+)"', waiting.value.path().read_text(encoding="utf-8"))))

    assert len(saved[0]) > 2
    assert saved[0] == saved[1]


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
