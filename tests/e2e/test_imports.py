"""Importing a log in a browser: a file, pasted text, a confirmation, both themes, a phone, with and without JavaScript."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from app.bench.import_store import ImportStore
from app.bench.importers.read import read_log
from app.bench.imports import draft
from app.core.clock import utc_now
from app.core.db import Database
from app.settings import Settings
from tests.e2e.conftest import Server
from tests.e2e.test_accessibility import AXE, RUN_AXE

LOGS = Path(__file__).parents[1] / "golden" / "nccl_logs"
FIVE = LOGS / "17-h100-10x8-five-collectives-80ranks.txt"
GUESSED = LOGS / "10-a100-8x4-alltoall-trailing-mpich-line.txt"
TORN = LOGS / "62-h100-mpich-prefix-inside-rows.txt"
SOUND = LOGS / "41-h100-2x8-a3mega-tcpxo-command-quoted.txt"
TABLES = LOGS / "80-othertool-nvbandwidth-v06-gh200.txt"


@pytest.fixture(scope="module")
def kept(server: Server) -> Iterator[list[str]]:
    """The addresses of logs that others imported."""
    database = Database(Settings(data=server.data).database)
    store, found = ImportStore(database), []
    for path in (TORN, TABLES, LOGS / "37-h200-2x8-all-dtypes-fp8-ucx-warnings.txt"):
        data = path.read_bytes()
        import_id, _ = store.keep(draft(read_log(data), name=path.name, data=data), now=utc_now())
        found.append(f"/bench/imports/{import_id}")
    yield found
    database.dispose()


@pytest.fixture(params=[("light", "en-US"), ("dark", "zh-CN")], ids=["light-en", "dark-zh"])
def themed(request: pytest.FixtureRequest, browser: Browser, server: Server) -> Iterator[Page]:
    theme, locale = request.param
    context = browser.new_context(base_url=server.url, color_scheme=theme, locale=locale, reduced_motion="reduce")
    yield context.new_page()
    context.close()


def violations(page: Page) -> list[Any]:
    page.evaluate(AXE.read_text())
    found: list[Any] = page.evaluate(RUN_AXE)
    return found


def test_axe_finds_nothing_serious(themed: Page, kept: list[str]) -> None:
    for address in ("/bench/import", *kept, "/bench"):
        themed.goto(address)

        assert (address, violations(themed)) == (address, [])

    themed.goto("/bench/import")
    themed.locator("#import-file").set_input_files(TORN)
    themed.locator("button[value='preview']").click()
    expect(themed.locator("#import-read")).to_be_visible()

    assert violations(themed) == []


def test_a_phone_shows_it_without_sideways_scroll(browser: Browser, server: Server, kept: list[str]) -> None:
    context = browser.new_context(base_url=server.url, viewport={"width": 390, "height": 844})
    page = context.new_page()
    for address in ("/bench/import", *kept, "/bench"):
        page.goto(address)

        root: list[int] = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")

        assert (address, root[0] <= root[1]) == (address, True)
    context.close()


def test_a_file_is_previewed_in_place_kept_and_computed_with(page: Page) -> None:
    page.goto("/bench")
    page.get_by_role("link", name="Import a log").click()
    page.get_by_label("or a file").set_input_files(FIVE)

    page.get_by_role("button", name="Preview").click()

    expect(page.get_by_role("heading", name="Run 2: All-gather, 80 ranks")).to_be_visible()
    expect(page.locator("#import-preview-chart[data-state='drawn']")).to_be_visible(timeout=30_000)
    page.get_by_role("button", name="Keep", exact=True).click()
    page.wait_for_url("**/bench/imports/*")
    expect(page.locator("h1")).to_contain_text("Import")
    expect(page.locator("#import-chart[data-state='drawn']")).to_be_visible(timeout=30_000)
    page.get_by_role("link", name="Use in timelines").first.click()
    page.wait_for_url("**/timelines/gtp-chain?profile=import-*")
    expect(page.locator(".timeline-facts").first).to_contain_text("all operations · measured elsewhere")


@pytest.fixture
def own(browser: Browser, server: Server) -> Iterator[Page]:
    """Not the `page` fixture: Chromium logs every answer with status 422 as an error."""
    context = browser.new_context(base_url=server.url, locale="en-US", viewport={"width": 1360, "height": 900})
    context.set_default_timeout(15_000)
    yield context.new_page()
    context.close()


def test_a_wrong_confirmation_says_why_and_a_right_one_opens_the_profile(own: Page) -> None:
    own.goto("/bench/import")
    own.get_by_label("The log").fill(GUESSED.read_text(encoding="utf-8"))
    own.get_by_role("button", name="Keep", exact=True).click()
    own.wait_for_url("**/bench/imports/*")
    expect(own.get_by_text("confirm them first")).to_be_visible()

    own.get_by_label("Operation", exact=True).select_option("all_to_all")
    own.get_by_label("Ranks", exact=True).fill("4")
    own.get_by_role("button", name="Confirm").click()
    expect(own.locator("#ranks-1-error")).to_contain_text("it would be 0.75 times")
    expect(own.get_by_label("Ranks", exact=True)).to_have_value("4")

    own.get_by_label("Ranks", exact=True).fill("32")
    own.get_by_role("button", name="Confirm").click()
    own.get_by_role("link", name="As a hardware profile").click()
    expect(own.locator("h1")).to_contain_text("all_to_all, 32 ranks")

    own.go_back()
    own.get_by_role("button", name="Take it back").click()
    expect(own.get_by_text("confirm them first")).to_be_visible()


def test_what_cannot_be_read_is_said_at_the_field_and_stays_in_the_box(own: Page) -> None:
    own.goto("/bench/import")
    own.get_by_role("button", name="Preview").click()
    expect(own.locator("#import-error")).to_have_text("Paste a log or choose a file.")

    own.get_by_label("The log").fill("nothing of use\nhere")
    own.get_by_role("button", name="Preview").click()
    expect(own.locator("#import-preview")).to_contain_text("There is nothing to keep.")
    own.get_by_role("button", name="Keep", exact=True).click()

    expect(own.locator("#import-error")).to_contain_text("No result rows were found")
    expect(own.get_by_label("The log")).to_have_value("nothing of use\nhere")


def test_everything_works_without_javascript(plain_page: Page) -> None:
    page = plain_page
    page.goto("/bench/import")
    page.get_by_label("or a file").set_input_files(SOUND)
    page.get_by_label("Hide host names").check()
    page.get_by_role("button", name="Preview").click()
    assert page.get_by_text("host-1, host-2").first.is_visible()
    assert not page.locator(".import-figure").first.is_visible()

    page.get_by_role("button", name="Keep", exact=True).click()
    page.wait_for_url("**/bench/imports/*")
    assert page.get_by_text(SOUND.name).is_visible()
    assert page.get_by_text("hosts hidden").is_visible()
    assert page.get_by_role("region", name="Run 1: All-reduce, 16 ranks").locator("tbody tr").count() == 31

    page.get_by_role("button", name="Delete this import").click()
    page.wait_for_url("**/bench#imports")
    assert page.get_by_text(SOUND.name).count() == 0
