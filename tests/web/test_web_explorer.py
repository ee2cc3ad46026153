"""The explorer in a real browser: searching, sorting, paging, looking; with a mouse and without, by day and night."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytest.importorskip("playwright")
pytest.importorskip("fastapi")

Explore = Callable[..., "Page"]
PATHS = (
    "/",
    "/rules?state=confirmed",
    "/rule?rule=0",
    "/examples?model=blind&fate=wrong",
    "/example?id={one}",
    "/compare?first=seer&second=blind",
    "/audit?audit=grounding",
)
SHIFTS = """window.shifts = 0; new PerformanceObserver(list => list.getEntries().forEach(
    entry => { window.shifts += entry.hadRecentInput ? 0 : entry.value }
)).observe({type: "layout-shift", buffered: true})"""


@pytest.fixture(scope="session")
def one(folder: Any) -> str:  # noqa: ANN401 - a path
    """Name an example that was judged and has evidence to be hidden."""
    return str(pl.read_parquet(folder / "probes" / "rest.parquet")["id"][0])


def numbers(page: "Page", column: int) -> list[float]:
    cells = page.locator(f"table.list tbody tr td:nth-child({column})").all_inner_texts()
    return [float(cell) for cell in cells if cell not in ("", "-")]


@pytest.mark.parametrize("path", PATHS)
def test_nothing_shuts_people_out_by_day_or_night(
    explore: Explore, one: str, find_barriers: Callable[["Page"], list[str]], path: str
) -> None:
    page = explore(path.format(one=one))
    page.wait_for_load_state("networkidle")

    assert page.locator("h1").count() == 1
    assert find_barriers(page) == []


@pytest.mark.parametrize("path", PATHS)
def test_a_phone_shows_pages_in_their_width(explore: Explore, one: str, path: str) -> None:
    page = explore(path.format(one=one), size="phone")

    assert page.evaluate("document.documentElement.scrollWidth") == 390
    heading, main = (page.locator(name).bounding_box() for name in ("h1", "main"))
    assert heading["x"] >= main["x"]
    assert heading["x"] + heading["width"] <= 390
    assert heading["y"] < 844 / 2, "what the page is about stands in its upper half"


def test_the_night_is_dark(explore: Explore) -> None:
    day, night = (
        explore("/", scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    )
    brightness = [sum(map(int, re.findall(r"\d+", color)[:3])) for color in (day, night)]
    assert brightness[0] > 600
    assert brightness[1] < 150


def test_the_first_screen_answers_and_its_example_can_be_played_with(explore: Explore) -> None:
    page = explore("/")
    page.wait_for_selector(".showcase")

    for seen in (".lead", ".matrix", ".showcase img"):
        box = page.locator(seen).first.bounding_box()
        assert box["y"] + min(box["height"], 400) < 900, seen
    assert page.locator(".lead").inner_text().startswith("blind is right")
    page.keyboard.press("2")
    shown = page.locator(".scene").evaluate_all("all => all.map(one => getComputedStyle(one).visibility)")
    assert [place for place, state in enumerate(shown) if state == "visible"] == [1]
    image = page.locator(".scene img").nth(1)
    image.evaluate("image => image.decode()")
    assert "condition=" in image.get_attribute("src")


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_nothing_moves_while_the_first_page_arrives(explore: Explore, size: str) -> None:
    page = explore("/", size=size)
    page.add_init_script(SHIFTS)
    page.reload()
    page.wait_for_load_state("networkidle")

    assert page.evaluate("window.shifts") < 0.02


def test_a_cell_opens_the_examples_it_counts(explore: Explore) -> None:
    page = explore("/audit?audit=grounding&subject=blind")
    link = page.locator(".measures td[data-label=n] a").first
    n = link.inner_text()
    link.click()
    page.wait_for_url("**/examples?**")

    assert page.locator(".pager strong").first.inner_text() == n


def test_a_comparison_opens_on_the_model_that_looks_and_says_who_leads(explore: Explore) -> None:
    page = explore("/compare")

    assert page.locator("h1").inner_text() == "seer and blind"
    assert page.locator(".lead").inner_text().startswith("seer leads: seer is right")
    rows = page.locator(".matrix tbody tr").evaluate_all("all => all.map(row => row.getBoundingClientRect().right)")
    assert len(rows) == 2
    assert max(rows) <= 1280


def test_a_search_for_a_word_finds_rules_with_it_and_stands_in_the_address(explore: Explore) -> None:
    page = explore("/rules")
    word = page.locator(".cue.word").first.inner_text()
    page.get_by_label("words").fill(word)
    page.get_by_label("words").press("Enter")
    page.wait_for_url(f"**/rules?word={word}")

    rows = page.locator("table.list tbody tr")
    assert (
        0
        < rows.count()
        == rows.filter(has=page.locator(".cue.word", has_text=re.compile(f"^{re.escape(word)}$"))).count()
    )


def test_a_choice_searches_at_once_and_back_undoes_it(explore: Explore) -> None:
    page = explore("/rules")
    before = page.locator(".pager strong").first.inner_text()
    page.get_by_label("on held-out images").select_option("confirmed")
    page.wait_for_url("**/rules?state=confirmed")
    assert set(page.locator("table.list .state").all_inner_texts()) == {"confirmed"}

    page.go_back()
    page.wait_for_url("**/rules")
    assert page.locator(".pager strong").first.inner_text() == before
    assert page.get_by_label("words").is_enabled()


def test_a_heading_sorts_both_ways(explore: Explore) -> None:
    page = explore("/rules")
    for way in ("descending", "ascending"):
        page.locator("th a", has_text="examples").click()
        page.wait_for_selector(f"th[aria-sort={way}]")
        found = numbers(page, 4)
        assert len(found) > 5
        assert found == sorted(found, reverse=way == "descending")


def test_a_rule_opens_with_its_examples_and_boxes_on_them(explore: Explore) -> None:
    page = explore("/rules?kind=mixed")
    page.locator("td.when a").first.click()
    page.wait_for_url("**/rule?rule=*")

    picture = page.locator(".card .picture").first
    picture.locator("img").evaluate("image => image.decode()")
    assert page.locator(".card").count() > 0
    outer, inner = picture.bounding_box(), picture.locator("rect").first.bounding_box()
    assert inner["x"] >= outer["x"] - 2
    assert inner["x"] + inner["width"] <= outer["x"] + outer["width"] + 2
    assert 4 < inner["width"] < outer["width"]


def test_lists_are_paged_with_the_mouse_with_keys_and_back(explore: Explore) -> None:
    page = explore("/examples")
    first = page.locator("td.question small").first.inner_text()
    page.get_by_role("link", name="Next").first.click()
    page.wait_for_url("**/examples?page=2")
    second = page.locator("td.question small").first.inner_text()
    page.keyboard.press("n")
    page.wait_for_url("**/examples?page=3")
    page.keyboard.press("p")
    page.wait_for_url("**/examples?page=2")
    assert page.locator("td.question small").first.inner_text() == second != first
    for _ in range(3):
        page.go_back()
    page.wait_for_url("**/examples")
    assert page.locator("td.question small").first.inner_text() == first


def test_examples_are_filtered_by_model_correctness_and_group(explore: Explore) -> None:
    page = explore("/examples")
    page.get_by_label("model").select_option("blind")
    page.wait_for_url("**/examples?model=blind")
    page.get_by_label("its answer is").select_option("wrong")
    page.wait_for_url("**fate=wrong**")
    assert page.locator("table.list .fate.right").count() == 0
    assert page.locator("table.list .fate.wrong").count() == page.locator("table.list tbody tr").count() > 0

    page.get_by_label("group").select_option("rules.kind=counterexample")
    page.wait_for_url("**where=rules.kind**")
    few = page.locator(".pager strong").first.inner_text()
    page.locator(".chip").click()
    page.wait_for_function("!location.search.includes('where')")
    assert int(page.locator(".pager strong").first.inner_text()) > int(few)


def test_an_example_shows_its_picture_as_each_condition_does(explore: Explore, one: str) -> None:
    page = explore(f"/example?id={one}")

    def look() -> Any:  # noqa: ANN401 - what the canvas holds
        image = page.locator("figure.picture img")
        image.evaluate("image => image.decode()")
        return image.evaluate(
            """image => { const canvas = document.createElement("canvas"); canvas.width = canvas.height = 32;
            const pen = canvas.getContext("2d"); pen.drawImage(image, 0, 0, 32, 32);
            return Array.from(pen.getImageData(0, 0, 32, 32).data) }"""
        )

    plain = look()
    assert page.locator("figure.picture rect").count() > 0
    page.get_by_role("navigation", name="Condition").get_by_role("link", name="rest", exact=True).click()
    page.wait_for_url("**condition=rest**")
    assert look() != plain
    page.get_by_role("link", name="no boxes").click()
    page.wait_for_url("**boxes=none**")
    assert page.locator("figure.picture rect").count() == 0
    assert page.get_by_role("heading", name="What the models said").is_visible()
    assert page.get_by_role("heading", name="Confirmed rules that apply").is_visible()


def test_a_condition_has_a_round_dot_of_its_own_colour(explore: Explore, one: str) -> None:
    page = explore(f"/example?id={one}")
    dots = page.evaluate(
        """() => [...document.querySelectorAll(".switch .dot")].map(dot => {
            const probe = document.createElement("i"), box = dot.getBoundingClientRect();
            probe.style.color = `var(--condition-${dot.className.split("of-")[1]})`;
            document.body.append(probe);
            return {wanted: getComputedStyle(probe).color, color: getComputedStyle(dot).backgroundColor,
                    family: dot.className, width: box.width, height: box.height} })"""
    )
    assert len({dot["color"] for dot in dots}) == len({dot["family"] for dot in dots}) > 3
    for dot in dots:
        assert dot["color"] == dot["wanted"]
        assert 4 < dot["width"] == dot["height"]


def test_two_models_are_compared_and_the_paired_table_arrives(explore: Explore) -> None:
    page = explore("/compare?first=seer&second=blind")
    page.wait_for_selector("[data-load] table")
    shown = page.locator(".cross td a").all_inner_texts()

    assert "[" in page.locator("[data-load] td:nth-child(3)").first.inner_text()
    page.locator(".cross td a").last.click()
    page.wait_for_url("**cell=neither**")
    total = page.locator("section:has(#examples) .pager strong")
    assert shown[-1] == (total.first.inner_text() if total.count() else "0")


def test_any_view_can_be_taken_home(explore: Explore) -> None:
    page = explore("/examples?model=blind&fate=wrong")
    total = int(page.locator(".pager strong").first.inner_text())
    with page.expect_download() as waiting:
        page.get_by_role("link", name="CSV of this view").click()

    assert pl.read_csv(waiting.value.path()).height == total


def test_the_keyboard_goes_everywhere(explore: Explore) -> None:
    page = explore("/rules?state=confirmed")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["x"] >= 0, "it can be seen while it has the focus"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "word"
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('td.when a')"):
            break
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    page.keyboard.press("Enter")
    page.wait_for_url("**/rule?rule=*")
    assert outline != "none", "where the focus is can be seen"


def test_what_is_typed_is_shown_and_not_run(explore: Explore) -> None:
    """A dialog would fail the test."""
    page = explore("/examples")
    page.get_by_label("text").fill("<script>alert(1)</script><img src=x onerror=alert(2)>")
    page.get_by_label("text").press("Enter")
    page.wait_for_url("**text=**")

    assert page.get_by_label("text").input_value().startswith("<script>")
    assert page.get_by_text("No example matches").is_visible()


def test_a_person_answers_with_the_keyboard_alone(open_page: Any, asking: Any, find_barriers: Any) -> None:  # noqa: ANN401
    page = open_page(asking.base)
    page.goto(asking.entrance)
    page.wait_for_url(f"{asking.base}/")
    page.get_by_label("your name").fill("ann")
    page.keyboard.press("Enter")
    for place in range(1, 7):
        page.wait_for_selector(f"text=Question {place} of 6")
        if place < 3:
            assert find_barriers(page) == []
        page.keyboard.press("b")
        page.keyboard.press("Enter")
    page.wait_for_url("**/done**")
    page.get_by_role("link", name="How people did").click()

    assert page.locator("table.list tbody tr").count() == 4
    assert sum(numbers(page, 4)) == 6
