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


def open_all(page: "Page") -> None:
    """Open every folded part, those inside others too, and wait until they are unpacked."""
    waiting = "document.querySelectorAll('details:not([open]):not(.menu)')"
    while page.evaluate(f"{waiting}.length"):
        page.evaluate(f"{waiting}.forEach(part => part.open = true)")
        page.wait_for_function("!document.querySelector('details[data-later][open] > script')")


def test_every_chart_is_drawn_with_marks_when_it_is_opened(read_report: Callable[..., "Page"]) -> None:
    page = read_report()
    open_all(page)
    charts = page.locator("figure[data-chart]")
    for place in range(charts.count()):
        charts.nth(place).scroll_into_view_if_needed()
    page.wait_for_function("document.querySelectorAll('figure[data-chart=waiting]').length === 0")

    drawn = page.evaluate(
        """() => [...document.querySelectorAll('figure[data-chart=live]')].map(figure => {
            const svg = figure.querySelector('.chart svg'), box = svg.getBoundingClientRect();
            return {marks: svg.querySelectorAll('[class*=mark-] path, [class*=mark-] line, [class*=mark-] text').length,
                    name: svg.getAttribute('aria-label'), width: box.width, height: box.height} })"""
    )
    assert len(drawn) == charts.count() > 3
    for chart in drawn:
        assert chart["name"]
        assert chart["marks"] > 2
        assert chart["width"] > 200
        assert chart["height"] > 40


def test_the_first_screen_answers_before_anything_is_opened(read_run: "Page") -> None:
    page = read_run
    for seen in (".lead", ".matrix", ".showcase img", ".showcase .scene:nth-child(2) table"):
        box = page.locator(seen).first.bounding_box()
        assert box["y"] + min(box["height"], 400) < 900, seen
    assert page.locator(".lead").inner_text().startswith("blind is right")
    assert page.evaluate("document.querySelectorAll('*').length") < 6000
    stops = "a[href], button, input, summary, [tabindex='0']"
    assert page.locator(f":is({stops}):visible").count() < 120


def test_keys_and_the_switch_change_what_is_shown(read_run: "Page") -> None:
    page = read_run

    def shown() -> list[bool]:
        return page.locator(".scene").evaluate_all(
            "all => all.map(one => getComputedStyle(one).visibility === 'visible')"
        )

    assert shown().index(True) == 1, "the most telling contrast comes first"
    page.keyboard.press("1")
    assert [place for place, is_shown in enumerate(shown()) if is_shown] == [0]
    assert page.evaluate("document.activeElement.id") == "scene-1"
    page.keyboard.press("ArrowRight")
    assert [place for place, is_shown in enumerate(shown()) if is_shown] == [1]
    told = " ".join(page.locator(".scene").nth(1).inner_text().split())
    assert told.endswith("100 %")
    assert "0 %" in told


def test_a_term_is_explained_where_it_stands(read_run: "Page") -> None:
    page = read_run
    button = page.locator(".terms button", has_text="margin").first
    button.scroll_into_view_if_needed()
    button.click()

    assert "smallest difference that matters" in page.locator(".terms [popover]:popover-open").inner_text()


def test_a_cell_leads_to_its_audit(read_run: "Page") -> None:
    page = read_run
    links = page.locator(".matrix thead a")
    assert links.count() == 5
    for place in range(links.count()):
        assert page.locator(f"section.audit{links.nth(place).get_attribute('href')}").count() == 1


def test_nothing_in_the_report_shuts_people_out_by_day_or_night(
    read_report: Callable[..., "Page"], find_barriers: Callable[["Page"], list[str]]
) -> None:
    assert find_barriers(read_report()) == []


def test_the_report_reads_on_a_phone(read_report: Callable[..., "Page"]) -> None:
    page = read_report(size="phone")

    assert page.evaluate("document.documentElement.scrollWidth") == 390
    open_all(page)
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_the_first_screen_is_three_screens_of_a_phone(open_page: Any, written: str) -> None:  # noqa: ANN401
    page = open_page(written, "phone")
    page.goto(written)

    assert page.locator(".lead").bounding_box()["y"] < 200
    assert page.locator(".matrix td.first").first.bounding_box()["y"] < 844
    last = page.locator(".showcase").bounding_box()
    assert last["y"] + last["height"] < 3 * 844


def test_pictures_have_their_boxes_inside(read_run: "Page") -> None:
    page = read_run
    open_all(page)
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
    open_all(page)
    chart = page.locator("figure[data-chart]", has_text="Accuracy with everything").first
    chart.scroll_into_view_if_needed()
    chart.locator("xpath=self::*[@data-chart='live']").wait_for()
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


def test_a_link_at_the_top_leads_to_its_part(open_page: Any, compared: str) -> None:  # noqa: ANN401
    page = open_page(compared)
    page.goto(compared)
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
    open_all(page)
    button = page.locator(f"button[data-save={kind}]:visible").first
    button.locator("xpath=ancestor::figure[@data-chart]").scroll_into_view_if_needed()
    button.locator("xpath=ancestor::figure[@data-chart='live']").wait_for()
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
        open_all(page)
        figure = page.locator("figure[data-chart]:has(button[data-save=svg]:visible)").first
        figure.scroll_into_view_if_needed()
        figure.locator("xpath=self::*[@data-chart='live']").wait_for()
        button = figure.locator("button[data-save=svg]")
        with page.expect_download() as waiting:
            button.click()
        saved.append(set(re.findall(r' (?:fill|stroke)="([^"]+)"', waiting.value.path().read_text(encoding="utf-8"))))

    assert len(saved[0]) > 2
    assert saved[0] == saved[1]


def test_a_table_can_be_saved(read_report: Callable[..., "Page"]) -> None:
    page = read_report()
    open_all(page)
    button = page.locator("button[data-save=csv]:visible").first
    with page.expect_download() as waiting:
        button.click()

    assert waiting.value.path().read_text(encoding="utf-8").count("\n") > 1


def test_all_measures_can_be_saved(read_run: "Page") -> None:
    page = read_run
    page.locator(".menu summary").click()
    with page.expect_download() as waiting:
        page.locator("button[data-packed=measures-csv]").click()

    head, *rows = waiting.value.path().read_text(encoding="utf-8").splitlines()
    assert head.startswith("audit,subject,name")
    assert len(rows) > 50


def test_the_night_is_dark_in_the_report(read_report: Callable[..., "Page"]) -> None:
    colors = [
        read_report(scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]
    assert colors[0] != colors[1]
