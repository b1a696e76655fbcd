"""A timeline in a real browser: playing, stepping, scrubbing, reasons, comparing, zoom, a phone, no JavaScript."""

import re

from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Server

CHAIN = "/timelines/gtp-chain"


def opened(page: Page, path: str = CHAIN) -> Page:
    page.goto(path)
    page.wait_for_selector("[data-timeline][data-ready]")
    return page


def clock(page: Page) -> float:
    return float(page.inner_text("[data-clock]").split("/")[0])


def test_a_timeline_plays_pauses_and_plays_on(page: Page) -> None:
    opened(page)
    page.select_option("[data-speed]", "4")
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".tl-svg")).to_have_attribute("data-playing", "")
    expect(page.locator("[data-clock]")).to_have_text(re.compile(r"^([1-9]|1\d)\."))
    page.get_by_role("button", name="Pause").click()
    stopped = clock(page)
    page.wait_for_timeout(200)

    assert 1 < stopped == clock(page)
    page.get_by_role("button", name="Play").click()
    expect(page.locator("[data-now]")).to_contain_text("end of the run")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    assert clock(page) == 14


def test_steps_go_to_the_next_moment_and_say_what_runs(page: Page) -> None:
    opened(page)
    step = page.get_by_role("button", name="Step", exact=True)
    step.click()
    expect(page.locator("[data-now]")).to_have_text("2\u2009ms · AG W2, GEMM 1")
    step.click()
    expect(page.locator("[data-now]")).to_have_text("4\u2009ms · GEMM 1")
    page.get_by_role("button", name="Step back").click()
    expect(page.locator("[data-now]")).to_have_text("2\u2009ms · AG W2, GEMM 1")


def test_the_keyboard_scrubs(page: Page) -> None:
    opened(page)
    page.locator("[data-box]").focus()
    for key, at in (("ArrowRight", 2), ("ArrowRight", 4), ("ArrowLeft", 2), ("End", 14), ("Home", 0)):
        page.keyboard.press(key)
        assert clock(page) == at, key
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_the_pointer_scrubs_between_the_lanes(page: Page) -> None:
    opened(page)
    place = page.evaluate(
        """() => {
          const svg = document.querySelector('.tl-svg');
          const matrix = svg.getScreenCTM();
          const x = Number(svg.dataset.left) + 7 * Number(svg.dataset.scale);
          return [matrix.a * x + matrix.e, svg.getBoundingClientRect().bottom - 6];
        }"""
    )
    page.mouse.move(*place)
    page.mouse.down()
    assert abs(clock(page) - 7) < 0.05
    page.mouse.move(place[0] + 100, place[1])
    page.mouse.up()
    assert clock(page) > 7.5


def test_pointing_at_a_block_says_what_it_is_and_what_it_waited_for(page: Page) -> None:
    opened(page)
    page.locator(".tl-op", has_text="GEMM 2").hover()
    tip = page.locator("[data-tip]")

    expect(tip).to_be_visible()
    expect(tip).to_contain_text("start 5, duration 3\u2009ms")
    expect(tip).to_contain_text("waited for GEMM 1")
    page.mouse.move(5, 5)
    expect(tip).to_be_hidden()


def test_a_gap_says_why_it_is_there(page: Page) -> None:
    opened(page)
    page.locator(".tl-gap-exposed").click()

    expect(page.locator("[data-now]")).to_contain_text("GEMM 1 waits for AG W1, which ends at 2\u2009ms.")


def test_blocks_and_gaps_are_reached_by_arrow_keys(page: Page) -> None:
    opened(page)
    page.locator("[data-box]").focus()
    page.keyboard.press("Tab")
    expect(page.locator(".tl-gap-exposed")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("[data-now]")).to_contain_text("waits for AG W1")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".tl-op", has_text="GEMM 1")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".tl-op", has_text="AG W2")).to_be_focused()
    expect(page.locator("[data-tip]")).to_contain_text("AG W2")


def test_a_change_redraws_and_stands_in_the_address(page: Page) -> None:
    opened(page)
    page.get_by_label("All-gather ms", exact=True).fill("4")
    expect(page.locator(".timeline-tiles")).to_contain_text("19\u2009ms")

    assert page.url.endswith("?all_gather=4")
    page.wait_for_selector("[data-timeline][data-ready]")
    page.get_by_role("button", name="Step", exact=True).click()
    assert clock(page) == 4


def test_a_change_survives_the_switch_of_the_language(page: Page) -> None:
    opened(page)
    page.fill("#input-layers", "6")
    expect(page).to_have_url(re.compile("layers=6"))
    page.get_by_role("link", name="中文").click()

    expect(page.locator("#input-layers")).to_have_value("6")
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")


def test_a_chosen_zoom_stays_when_the_figure_is_redrawn(page: Page) -> None:
    opened(page)
    page.get_by_role("link", name="2×").click()
    expect(page).to_have_url(re.compile("zoom=2"))
    page.fill("#input-layers", "6")

    expect(page).to_have_url(re.compile("layers=6.*zoom=2"))
    expect(page.locator(".timeline-zoom [aria-current]")).to_have_text("2×")


def test_what_was_open_stays_open_when_the_figure_is_redrawn(page: Page) -> None:
    opened(page)
    page.get_by_text("The same as a table").click()
    page.get_by_label("critical path").check()
    page.get_by_label("All-gather ms", exact=True).fill("4")
    expect(page.locator(".timeline-tiles")).to_contain_text("19\u2009ms")

    expect(page.locator(".timeline-table")).to_have_attribute("open", "")
    expect(page.get_by_label("critical path")).to_be_checked()


def test_the_critical_path_pales_the_rest(page: Page) -> None:
    opened(page)
    page.get_by_label("critical path").check()

    assert page.locator(".tl-op:not([data-critical])").first.evaluate("node => getComputedStyle(node).opacity") < "0.5"
    assert page.locator(".tl-op[data-critical]").first.evaluate("node => getComputedStyle(node).opacity") == "1"


def test_two_schedules_stand_on_one_axis(page: Page) -> None:
    opened(page)
    page.get_by_role("link", name="No prefetch (cold start)").click()
    page.wait_for_selector("[data-timeline][data-ready]")

    expect(page.locator(".tl-track")).to_have_count(2)
    expect(page.locator(".timeline-verdict")).to_contain_text("6\u2009ms longer")
    page.get_by_role("button", name="Step", exact=True).click()
    expect(page.locator("[data-now]")).to_have_text(re.compile("A: AG W2, A: GEMM 1, B: GEMM 1"))


def test_a_datasheet_fills_the_times_in(page: Page) -> None:
    opened(page)
    page.get_by_label("Fill in from").select_option("h100-sxm")
    expect(page.locator(".timeline-origins")).to_contain_text("H100 SXM")
    page.get_by_label("Sequence length s").fill("8192")

    expect(page.locator("#filled-gemm")).to_contain_text("0.277935")
    assert "sequence_length=8192" in page.url


def test_zoom_widens_the_picture_and_keeps_it_alive(page: Page) -> None:
    opened(page)
    page.get_by_role("link", name="2×").click()
    expect(page.get_by_role("link", name="2×")).to_have_attribute("aria-current", "true")
    page.get_by_role("button", name="Step", exact=True).click()

    expect(page.locator(".tl-playhead")).to_have_attribute("visibility", "visible")
    assert page.evaluate("document.querySelector('[data-box]').scrollWidth") > 1.5 * page.evaluate(
        "document.querySelector('[data-box]').clientWidth"
    )


def test_the_picture_is_saved_as_png(page: Page) -> None:
    opened(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="PNG").click()
    start = download.value.path().read_bytes()[:8]

    assert download.value.suggested_filename == "gtp-chain.png"
    assert start == b"\x89PNG\r\n\x1a\n"


def test_without_motion_playing_goes_from_moment_to_moment(browser: Browser, server: Server) -> None:
    context = browser.new_context(base_url=server.url, locale="en-US", reduced_motion="reduce")
    page = opened(context.new_page())
    page.select_option("[data-speed]", "2")
    page.get_by_role("button", name="Play").click()
    seen = set()
    for _ in range(12):
        page.wait_for_timeout(100)
        seen.add(clock(page))
    context.close()

    assert len(seen) > 1
    assert seen <= {0, 2, 4, 5, 7, 8, 10, 11, 14}


def test_a_phone_scrolls_the_picture_and_not_the_page(browser: Browser, server: Server) -> None:
    context = browser.new_context(base_url=server.url, locale="zh-CN", viewport={"width": 390, "height": 800})
    page = context.new_page()
    for slug in ("gtp-chain", "tp-layer", "ring-all-reduce"):
        opened(page, f"/timelines/{slug}")
        assert page.evaluate("document.documentElement.scrollWidth") == 390, slug
        assert page.evaluate("document.querySelector('[data-box]').scrollWidth") > 390, slug
    context.close()


def test_without_javascript_the_figure_the_table_and_the_form_work(plain_page: Page) -> None:
    plain_page.goto(CHAIN)
    expect(plain_page.locator("svg.tl-svg")).to_be_visible()
    expect(plain_page.get_by_role("button", name="Play")).to_have_count(0)
    plain_page.get_by_text("The same as a table").click()
    expect(plain_page.get_by_role("cell", name="AG W1").first).to_be_visible()
    plain_page.get_by_label("All-gather ms", exact=True).fill("4")
    plain_page.get_by_role("button", name="Draw").click()

    expect(plain_page.locator(".timeline-tiles")).to_contain_text("19\u2009ms")
    plain_page.get_by_label("All-gather ms", exact=True).fill("four")
    plain_page.get_by_role("button", name="Draw").click()
    expect(plain_page.get_by_text("Enter a number")).to_be_visible()
    expect(plain_page.get_by_label("All-gather ms", exact=True)).to_have_value("four")
