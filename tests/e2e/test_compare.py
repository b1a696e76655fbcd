"""The comparison and a measured profile in a real browser: both themes, a phone, no script, the keyboard."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from app.bench.home import home_id
from app.bench.store import RunStore
from app.core.db import Database
from app.settings import Settings
from tests.e2e.conftest import Server
from tests.e2e.test_accessibility import AXE, RUN_AXE
from tests.web.runs import everything, h100, keep, sweep

WAIT_MS = 30_000
"""A page is there in a moment, but not on a machine that measures meanwhile."""


@pytest.fixture(scope="module")
def runs(server: Server) -> Iterator[dict[str, int]]:
    """A laptop's run with every finding, a slower one, and two of H100s."""
    database = Database(Settings(data=server.data).database)
    store = RunStore(database, home=home_id(server.data))
    yield {
        "rich": everything(store),
        "slow": keep(store, sweep(factor=2.0), machine={"torch": "2.9.0"}),
        "h100": h100(store),
        "nodes": h100(store, ranks=16, hosts=2, gb_per_s=330),
    }
    database.dispose()


@pytest.fixture(params=[("light", "en-US"), ("dark", "zh-CN")], ids=["light-en", "dark-zh"])
def themed(request: pytest.FixtureRequest, browser: Browser, server: Server) -> Iterator[Page]:
    theme, locale = request.param
    context = browser.new_context(base_url=server.url, color_scheme=theme, locale=locale, reduced_motion="reduce")
    yield context.new_page()
    context.close()


def addresses(runs: dict[str, int]) -> list[str]:
    return [
        f"/bench/compare?runs={runs['rich']},{runs['slow']}",
        f"/bench/compare?runs={runs['h100']},{runs['nodes']}&datasheet=h100-sxm",
        f"/hardware/run-{runs['rich']}",
        f"/hardware/run-{runs['h100']}",
    ]


def test_axe_finds_nothing_serious(themed: Page, runs: dict[str, int]) -> None:
    for address in addresses(runs):
        themed.goto(address)
        themed.locator(".chart").scroll_into_view_if_needed()
        expect(themed.locator(".chart[data-state='drawn']")).to_be_visible(timeout=WAIT_MS)
        themed.evaluate(AXE.read_text())

        violations: list[Any] = themed.evaluate(RUN_AXE)

        assert (address, violations) == (address, [])


def test_a_phone_shows_the_pages_without_sideways_scroll(
    browser: Browser, server: Server, runs: dict[str, int]
) -> None:
    context = browser.new_context(base_url=server.url, viewport={"width": 390, "height": 844})
    phone = context.new_page()
    for address in addresses(runs):
        phone.goto(address)
        root: list[int] = phone.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert root[0] <= root[1], address
        assert phone.locator("h1").count() == 1
    context.close()


def test_a_choice_changes_the_comparison_and_the_address(page: Page, runs: dict[str, int]) -> None:
    page.goto(f"/bench/compare?runs={runs['rich']},{runs['slow']}")
    expect(page.locator("#compare-sizes")).to_have_text("All-reduce, size by size", timeout=WAIT_MS)

    page.locator("#compare-operation").focus()
    page.locator("#compare-operation").select_option("all_gather")

    expect(page.locator("#compare-sizes")).to_have_text("All-gather, size by size", timeout=WAIT_MS)
    expect(page.locator("#compare-operation")).to_be_focused()
    assert "operation=all_gather" in page.url
    page.reload()
    expect(page.locator("#compare-sizes")).to_have_text("All-gather, size by size", timeout=WAIT_MS)
    page.go_back()
    expect(page.locator("#compare-sizes")).to_have_text("All-reduce, size by size", timeout=WAIT_MS)


def test_a_run_is_added_held_against_and_left_out(page: Page, runs: dict[str, int]) -> None:
    page.goto(f"/bench/compare?runs={runs['rich']}")

    page.get_by_label("Add a run").select_option(str(runs["slow"]))
    expect(page.locator(".compare-sides > li")).to_have_count(2, timeout=WAIT_MS)
    page.get_by_role("link", name="Hold the others against it").click()
    expect(page.locator(".compare-sides > li").first).to_contain_text(f"Run {runs['slow']}", timeout=WAIT_MS)
    page.get_by_role("link", name=f"Leave out (Run {runs['rich']})").click()

    expect(page.locator(".compare-sides > li")).to_have_count(1, timeout=WAIT_MS)


def test_the_posted_range_is_drawn_behind_the_curves(page: Page, runs: dict[str, int]) -> None:
    page.goto(f"/bench/compare?runs={runs['h100']}")
    page.locator("#compare-chart").scroll_into_view_if_needed()
    expect(page.locator("#compare-chart[data-state='drawn']")).to_be_visible(timeout=WAIT_MS)

    names = page.locator("#compare-chart .legendtext").all_text_contents()

    assert names == ["posted by others", f"Run {runs['h100']}"]


def test_the_link_of_a_comparison_is_copied(page: Page, runs: dict[str, int]) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"/bench/compare?runs={runs['rich']},{runs['slow']}&operation=all_gather")

    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("[data-done='true']")).to_be_visible(timeout=WAIT_MS)

    copied: str = page.evaluate("navigator.clipboard.readText()")
    assert copied.endswith(f"/bench/compare?runs={runs['rich']},{runs['slow']}&operation=all_gather")


def test_everything_works_without_javascript(plain_page: Page, runs: dict[str, int]) -> None:
    plain_page.goto(f"/bench/compare?runs={runs['rich']},{runs['slow']}")
    plain_page.locator("#compare-operation").select_option("all_gather")
    plain_page.get_by_role("button", name="Show").click()

    assert plain_page.locator("#compare-sizes").inner_text() == "All-gather, size by size"
    assert plain_page.locator(".compare-sides > li").count() == 2
    assert not plain_page.locator(".profile-figure").first.is_visible()
