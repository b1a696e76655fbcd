"""Reading a question in a real browser, in both languages, by keyboard, and without scripts."""

import re

from playwright.sync_api import Browser, Page, expect

from .conftest import Server

GTP = "/study/parallelism/gtp"
TP = "/study/communication/tp-communication"


def test_question_is_found_from_the_home_page_and_read(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="Read the first question").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Generalized Tensor Parallelism")

    for heading in ("Concepts", "The picture", "The 30-second answer", "Work it out", "Sources"):
        expect(page.get_by_role("heading", level=2, name=heading)).to_be_visible()
    expect(page.locator("section[aria-labelledby=picture] .tl-svg").first).to_be_visible()
    expect(page.locator(".katex").first).to_be_attached()


def test_both_languages_show_the_same_parts(page: Page) -> None:
    page.goto(GTP)
    english = page.locator("article [id]").evaluate_all(
        "all => all.map((one) => one.id).filter((id) => !id.includes('error'))"
    )
    page.get_by_role("navigation", name="Language").get_by_role("link", name="中文").click()
    expect(page.get_by_role("heading", level=2, name="核心概念")).to_be_visible()

    chinese = page.locator("article [id]").evaluate_all(
        "all => all.map((one) => one.id).filter((id) => !id.includes('error'))"
    )

    assert chinese == english


def test_spoken_answer_is_english_with_a_chinese_gloss(page: Page) -> None:
    page.goto(f"{GTP}?lang=zh")

    expect(page.locator(".say-text")).to_have_attribute("lang", "en")
    expect(page.locator(".gloss")).to_contain_text("中文释义")


def test_contents_follow_the_reader(page: Page) -> None:
    page.goto(GTP)
    contents = page.get_by_role("navigation", name="On this page")

    contents.get_by_role("link", name="Must-hit points").click()

    expect(contents.get_by_role("link", name="Must-hit points")).to_have_attribute("aria-current", "true")
    expect(page.get_by_role("heading", name="Must-hit points")).to_be_in_viewport()


def test_ticked_points_are_counted_and_stay(page: Page) -> None:
    page.goto(GTP)
    points = page.locator(".must input")
    points.nth(0).check()
    points.nth(1).check()
    expect(page.locator("[data-check-count]")).to_have_text(re.compile(r"^2 of \d+ said$"))

    page.reload()

    expect(points.nth(1)).to_be_checked()
    expect(page.locator("[data-check-count]")).to_have_text(re.compile(r"^2 of "))


def test_thirty_second_timer_runs_and_stops(page: Page) -> None:
    page.clock.install()
    page.goto(GTP)
    timer = page.get_by_role("button", name="Time me: 30 s")
    timer.click()
    running = page.locator("[data-timer]")
    expect(running).to_contain_text("Stop")

    page.clock.run_for(31_000)

    expect(running).to_have_attribute("data-state", "over")


def test_follow_ups_open_by_keyboard_and_all_together(page: Page) -> None:
    page.goto(GTP)
    first = page.locator(".followup").first
    first.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(first.locator(".followup-body")).to_be_visible()

    page.get_by_role("button", name="Open all").click()

    expect(page.locator(".followup:not([open])")).to_have_count(0)
    expect(page.get_by_role("button", name="Close all")).to_be_visible()


def test_link_to_a_follow_up_opens_it(page: Page) -> None:
    page.goto(GTP)
    anchor = page.locator(".followup").nth(2).get_attribute("id")

    page.goto(f"{GTP}#{anchor}")

    expect(page.locator(f"#{anchor} .followup-body")).to_be_visible()


def test_citation_leads_to_its_source(page: Page) -> None:
    page.goto(TP)
    cite = page.locator(".cite a").first
    target = cite.get_attribute("href") or ""

    cite.click()

    expect(page.locator(target)).to_be_in_viewport()


def test_todays_cards_arrive_after_the_page(page: Page) -> None:
    page.goto(GTP)

    expect(page.locator("#today")).to_contain_text("cards")


def test_home_page_offers_the_last_question_again(page: Page) -> None:
    page.goto(TP)
    page.goto("/")

    page.get_by_role("link", name="Go on").click()

    expect(page).to_have_url(re.compile(TP))


def test_reading_needs_no_scripts(plain_page: Page) -> None:
    plain_page.goto(TP)

    expect(plain_page.locator("section[aria-labelledby=picture] .tl-svg").first).to_be_visible()
    expect(plain_page.locator(".math").first).to_contain_text("\\(")
    expect(plain_page.get_by_role("button", name="Time me: 30 s")).to_be_hidden()
    plain_page.locator(".followup summary").first.click()
    expect(plain_page.locator(".followup-body").first).to_be_visible()


def test_print_shows_the_answers_and_hides_the_frame(page: Page) -> None:
    page.goto(GTP)
    page.emulate_media(media="print")

    expect(page.get_by_role("navigation", name="Main")).to_be_hidden()
    expect(page.locator(".followup-body").first).to_be_visible()


def test_phone_has_the_contents_as_a_strip_that_follows(browser: Browser, server: Server) -> None:
    context = browser.new_context(base_url=server.url, viewport={"width": 390, "height": 844}, reduced_motion="reduce")
    page = context.new_page()
    page.goto(GTP)
    strip = page.get_by_role("navigation", name="On this page")

    strip.get_by_role("link", name="Sources").click()

    expect(strip).to_be_in_viewport()
    expect(strip.get_by_role("link", name="Sources")).to_be_in_viewport()
    context.close()
