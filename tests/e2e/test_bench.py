"""The main job in a browser: measure this machine, watch it happen, and see the result drive a timeline."""

import json
import os
import re
import signal
from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from app.bench.result import RunResult
from app.bench.spec import OPERATIONS
from app.bench.store import RunStore
from app.core.db import Database, sqlite_url
from tests.bench.findings import FINDINGS
from tests.conftest import NOON
from tests.e2e.conftest import Server
from tests.e2e.test_accessibility import AXE, RUN_AXE
from tests.hardware import rows as rows_of

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
    page.locator("#bench-more-head").click()
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

    page.get_by_label("Ranks", exact=True).fill("3")
    expect(page.locator("#plan code")).to_contain_text("--nproc-per-node 3")
    page.locator("#bench-more-head").click()
    page.get_by_label("All-reduce").uncheck()
    page.get_by_label("All-gather").uncheck()
    expect(page.locator("#plan")).to_contain_text("1 operation ×")


def test_a_wrong_choice_is_told_before_anything_starts(context: BrowserContext) -> None:
    page = context.new_page()  # the browser logs the answer's status as an error
    page.goto("/bench")
    page.locator("#bench-more-head").click()

    page.get_by_label("Environment variables").fill("PATH=/tmp")
    page.get_by_label("Environment variables").blur()

    expect(page.locator("#plan .field-error")).to_contain_text("PATH may not be set")
    expect(page.get_by_role("button", name="Start the run")).to_be_disabled()


def test_choices_that_do_not_apply_are_out_of_sight_and_the_address_holds_the_rest(page: Page) -> None:
    page.goto("/bench")
    root, redop = page.get_by_label("Root", exact=True), page.get_by_label("Reduction")
    expect(root).to_be_hidden()

    page.locator("#bench-more-head").click()

    expect(root).to_be_hidden()
    expect(redop).to_be_visible()
    for operation in ("All-reduce", "Reduce-scatter"):
        page.get_by_label(operation).uncheck()
    page.get_by_label("Broadcast").check()
    expect(root).to_be_visible()
    expect(redop).to_be_hidden()
    expect(page.get_by_role("checkbox", name="Memory copies")).to_be_hidden()
    page.get_by_label("These:").check()
    page.get_by_role("checkbox", name="Memory copies").check()
    page.get_by_label("Largest message").fill("2M")
    page.get_by_label("Largest message").blur()
    page.wait_for_url(re.compile(r"operation=broadcast.*max_size=2M"))
    expect(page.locator("#plan")).to_contain_text("Also: Memory copies")
    assert "dtype" not in page.url

    page.reload()

    expect(page.get_by_label("Largest message")).to_have_value("2M")
    expect(page.get_by_role("checkbox", name="Memory copies")).to_be_checked()
    expect(page.get_by_label("All-reduce")).not_to_be_checked()


@pytest.mark.gloo
def test_a_run_with_extras_shows_what_it_found_and_can_be_run_again(page: Page) -> None:
    query = "operation=all_reduce&extras=chosen&extra=overlap&extra=links&extra=copies&extra=topology&max_size=64K"
    page.goto(f"/bench?{query}")
    page.get_by_role("button", name="Start the run").click()
    page.wait_for_url("**/bench/runs/*")

    again = page.get_by_role("link", name="Run again")
    expect(again).to_be_visible(timeout=RUN_MS)
    expect(page.locator(".bench-overlap")).not_to_have_count(0)
    expect(page.locator(".bench-bar-both").first).to_be_visible()
    cells = page.locator(".bench-heat[data-kind=one_way] td[data-level]")
    expect(cells).to_have_count(2)
    assert float(cells.first.inner_text()) > 0
    expect(page.get_by_role("region", name="Memory copies")).to_contain_text("within host memory")
    expect(page.locator("[data-copy-link]")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Everything (zip)").click()
    assert download.value.suggested_filename.endswith("everything.zip")

    again.click()

    expect(page.get_by_label("Largest message")).to_have_value("64K")
    expect(page.get_by_role("checkbox", name="Every pair of ranks")).to_be_checked()


@pytest.fixture(scope="module")
def found(server: Server) -> str:
    """The address of a run that ended with everything a run may find."""
    database = Database(sqlite_url(server.data / "ringside.sqlite3"))
    store = RunStore(database, home="another")
    rows = [rows_of.row(1024 << power, 100 + (1 << power), operation=name) for name in OPERATIONS for power in range(6)]
    result = RunResult(spec=rows_of.spec(), finished=True).add_all((*rows, rows_of.gemm(), *FINDINGS))
    run_id = store.record(result, "done", node="local", command=("torchrun",), began=NOON, ended=NOON)
    database.dispose()
    return f"/bench/runs/{run_id}"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1360])
def test_all_that_a_run_found_is_readable_for_everyone(
    browser: Browser, server: Server, found: str, theme: Literal["light", "dark"], width: int
) -> None:
    viewport: ViewportSize = {"width": width, "height": 844}
    context = browser.new_context(base_url=server.url, color_scheme=theme, viewport=viewport, reduced_motion="reduce")
    page = context.new_page()
    page.goto(found)
    expect(page.locator("#run-chart[data-state=drawn]")).to_be_visible()
    page.evaluate(AXE.read_text())

    assert page.evaluate(RUN_AXE) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


@pytest.mark.parametrize(
    "path",
    ["/bench", "/bench?dtype=half", "/bench/nodes", "/bench/nodes/local", "/hardware", "/hardware/h100-sxm", "/owner"],
)
def test_nothing_is_cut_off_on_a_phone(page: Page, path: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(path)

    assert page.evaluate("document.documentElement.scrollWidth") <= 390
