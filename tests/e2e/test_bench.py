"""The main job in a browser: measure this machine, watch it happen, and see the result drive a timeline."""

import json
import os
import re
import signal
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Server

RUN_MS = 180_000
"""A quick run takes some 25 seconds on a quiet machine."""


@pytest.fixture(autouse=True)
def no_runner_is_left(server: Server) -> Iterator[None]:
    """The runner waits some minutes for more work; the test does not."""
    yield
    lock = server.data / "runner.lock"
    if lock.exists() and (text := lock.read_text()):
        try:
            os.kill(json.loads(text)["pid"], signal.SIGTERM)
        except ProcessLookupError:
            return


def start_run(page: Page) -> str:
    """A quick run of two operations is started; the address of its page."""
    page.goto("/bench")
    page.get_by_label("Reduce-scatter").uncheck()
    page.get_by_role("button", name="Start the run").click()
    page.wait_for_url("**/bench/runs/*")
    return page.url


@pytest.mark.gloo
def test_a_quick_run_is_watched_to_its_end_and_drives_a_timeline(page: Page) -> None:
    address = start_run(page)
    row = page.get_by_role("region", name="All-reduce").locator("tbody tr")
    expect(row.nth(1)).to_be_visible(timeout=RUN_MS)
    expect(page.get_by_role("progressbar")).to_be_visible()
    expect(page.locator("#run-chart[data-state=drawn]")).to_be_visible()
    expect(row.nth(3)).to_be_visible(timeout=RUN_MS)
    page.goto("/hardware")
    page.goto(address)
    expect(row.nth(3)).to_be_visible()

    use = page.get_by_role("link", name="Use in timelines")
    expect(use).to_be_visible(timeout=RUN_MS)
    expect(page.get_by_role("progressbar")).to_have_count(0)
    expect(row).to_have_count(9)
    expect(page.get_by_text("GEMM, ")).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(2500)
    assert [url for url in asked if "/bench/runs/" in url] == []

    run = address.rpartition("/")[2]
    page.goto(f"/timelines/ring-all-reduce?profile=run-{run}")
    expect(page.locator("svg").filter(has_text=re.compile("rank", re.IGNORECASE)).first).to_be_visible()
    expect(page.locator("#input-profile")).to_have_value(f"run-{run}")
    expect(page.get_by_text("Where the durations come from")).to_contain_text(f"Run {run}")


@pytest.mark.gloo
def test_a_run_is_cancelled_from_its_page(page: Page) -> None:
    start_run(page)
    expect(page.get_by_role("region", name="All-reduce").locator("tbody tr").first).to_be_visible(timeout=RUN_MS)

    page.get_by_role("button", name="Cancel").click()

    expect(page.locator("#run .badge").first).to_have_text("cancelled", timeout=60_000)
    expect(page.get_by_role("button", name="Delete this run")).to_be_visible()


@pytest.mark.gloo
def test_a_run_is_started_and_cancelled_without_javascript(plain_page: Page) -> None:
    start_run(plain_page)
    expect(plain_page.get_by_role("link", name="Reload")).to_be_visible()

    plain_page.get_by_role("button", name="Cancel").click()

    # The page reloads itself every few seconds.
    expect(plain_page.locator("#run .badge").first).to_have_text("cancelled", timeout=60_000)


def test_choices_change_the_command_and_a_wrong_one_is_refused_at_once(page: Page) -> None:
    page.goto("/bench")

    page.get_by_label("Ranks").fill("3")
    expect(page.locator("#plan code")).to_contain_text("--nproc-per-node 3")
    page.get_by_label("All-reduce").uncheck()
    page.get_by_label("All-gather").uncheck()
    expect(page.locator("#plan")).to_contain_text("1 operation ×")


@pytest.mark.parametrize("path", ["/bench", "/hardware", "/hardware/h100-sxm", "/owner"])
def test_nothing_is_cut_off_on_a_phone(page: Page, path: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(path)

    assert page.evaluate("document.documentElement.scrollWidth") <= 390
