"""A bundle in a real browser, from disk: no server, no network, everything of the run."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytest.importorskip("playwright")
pytest.importorskip("fastapi")

PAGES = ("index.html", "examples.html", "examples.html#n=1&condition=rest", "audit-grounding.html", "rules.html")


@pytest.fixture
def turn(open_page: Any, bundled: str) -> Callable[..., "Page"]:  # noqa: ANN401
    """Open a page of the bundle; any request that leaves its folder fails the test."""

    def opened(name: str, size: str = "desktop") -> "Page":
        page = open_page(bundled, size)
        page.goto(f"{bundled}/{name}")
        if name.startswith("examples"):
            page.wait_for_selector("#list > *")
        return page  # type: ignore[no-any-return]

    return opened


@pytest.mark.parametrize("name", PAGES)
def test_nothing_shuts_people_out_and_a_phone_shows_pages_in_their_width(
    turn: Callable[..., "Page"], find_barriers: Callable[["Page"], list[str]], name: str
) -> None:
    page = turn(name, "phone")

    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.locator("h1").count() == 1
    assert find_barriers(page) == []


def test_a_cell_leads_to_the_examples_it_counts_and_one_opens(turn: Callable[..., "Page"]) -> None:
    page = turn("audit-grounding.html")
    page.locator(".dotted td.number a").first.click()
    page.wait_for_selector("table.pictured")
    total = int(page.locator(".pager strong").first.inner_text().replace(",", ""))
    assert total > 10
    page.locator("td.question a").first.click()
    page.wait_for_selector("[aria-label='What is shown'] img")
    page.locator("figure.picture img").evaluate("image => image.decode()")
    page.get_by_role("navigation", name="Condition").get_by_role("link", name="rest", exact=True).click()
    page.wait_for_selector(".covered rect")

    answers = page.locator("table.stacked tbody tr.here td").all_inner_texts()
    assert len(answers) == 2
    assert all(text.strip() for text in answers)


def test_a_search_finds_what_a_model_gets_wrong(turn: Callable[..., "Page"]) -> None:
    page = turn("examples.html")
    every = page.locator(".pager strong").first.inner_text()
    page.get_by_label("model").select_option("blind")
    page.get_by_label("its answer is").select_option("wrong")
    page.wait_for_selector("table.list .fate.wrong")

    assert page.locator("table.list .fate.right").count() == 0
    assert int(page.locator(".pager strong").first.inner_text()) < int(every)
    page.get_by_label("text").fill("<img src=x onerror=alert(1)>")
    page.get_by_label("text").press("Enter")
    page.get_by_text("No example matches").wait_for()
    page.go_back()
    page.wait_for_selector("table.list .fate.wrong")
