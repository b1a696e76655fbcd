"""The frame around every page in a real browser: keyboard, theme, language, menu, and life without scripts."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from .conftest import Server


def test_slash_goes_to_the_search_box_unless_one_types(page: Page) -> None:
    page.goto("/study")
    page.keyboard.press("/")
    box = page.get_by_role("searchbox", name="Search")
    expect(box).to_be_focused()

    page.keyboard.type("a/b")

    expect(box).to_have_value("a/b")


def test_first_tab_offers_to_skip_to_the_content(page: Page) -> None:
    page.goto("/study")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()

    page.keyboard.press("Enter")

    expect(page.locator("#main")).to_be_focused()


def test_theme_changes_in_place_and_stays(page: Page) -> None:
    page.goto("/lab")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")

    page.goto("/study")

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light


def test_system_theme_follows_the_system(page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto("/lab")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="light")

    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark


def test_language_switch_keeps_the_page_and_stays(page: Page) -> None:
    page.goto("/study")
    page.get_by_role("navigation", name="Language").get_by_role("link", name="中文").click()
    expect(page).to_have_url(re.compile(r"/study\?lang=zh$"))

    page.goto("/lab")

    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
    expect(page.get_by_role("heading", level=1)).to_have_text("实验室")


def test_search_answers_while_typing_and_by_arrow_keys(page: Page) -> None:
    page.goto("/search")
    page.get_by_label("Words to find").fill("busbw")
    expect(page.locator("#results mark").first).to_have_text("busbw")
    expect(page).to_have_url(re.compile(r"q=busbw"))
    page.get_by_label("Words to find").press("ArrowDown")
    first = page.locator("#results a").first
    expect(first).to_be_focused()

    first.press("Enter")

    expect(page).to_have_url(re.compile(r"/study/"))


def test_search_finds_chinese_words(page: Page) -> None:
    page.goto("/search")
    page.get_by_label("Words to find").fill("显存")

    expect(page.locator("#results mark").first).to_have_text("显存")


def test_message_says_when_the_server_is_gone(page: Page, server: Server) -> None:
    page.goto("/search")
    page.route("**/search?*", lambda route: route.abort())
    page.on("requestfailed", lambda _request: None)
    page.evaluate("document.dispatchEvent(new CustomEvent('htmx:sendError'))")

    expect(page.get_by_role("status").first).to_contain_text("The server does not answer")


@pytest.fixture
def phone(browser: Browser, server: Server) -> Page:
    context = browser.new_context(base_url=server.url, locale="en-US", viewport={"width": 390, "height": 844})
    return context.new_page()


def test_phone_reaches_every_area_through_the_menu(phone: Page) -> None:
    phone.goto("/study")
    quiz = phone.get_by_role("navigation", name="Main").get_by_role("link", name="Quiz")
    expect(quiz).to_be_hidden()

    phone.get_by_role("button", name="Menu").click()
    expect(quiz).to_be_visible()
    quiz.click()

    expect(phone).to_have_url(re.compile(r"/quiz$"))
    phone.context.close()


def test_escape_closes_the_menu(phone: Page) -> None:
    phone.goto("/study")
    phone.get_by_role("button", name="Menu").click()

    phone.keyboard.press("Escape")

    expect(phone.get_by_role("navigation", name="Main")).to_be_hidden()
    phone.context.close()


@pytest.mark.parametrize("path", ["/", "/study", "/search?q=busbw", "/lab"])
def test_text_at_twice_its_size_fits_the_window(browser: Browser, server: Server, path: str) -> None:
    """200 % zoom on a 1280 pixel window leaves 640 CSS pixels."""
    context = browser.new_context(base_url=server.url, viewport={"width": 640, "height": 480})
    page = context.new_page()
    page.goto(path)

    widths = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")

    assert widths[0] <= widths[1]
    context.close()


def test_without_scripts_theme_language_and_search_work(plain_page: Page) -> None:
    plain_page.goto("/study")
    plain_page.get_by_role("button", name="Dark").click()
    expect(plain_page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(plain_page).to_have_url(re.compile(r"/study$"))

    plain_page.get_by_role("link", name="中文").click()
    expect(plain_page.locator("html")).to_have_attribute("lang", "zh-Hans")

    box = plain_page.get_by_role("searchbox", name="搜索")
    box.fill("显存")
    box.press("Enter")

    expect(plain_page.locator("#results mark").first).to_have_text("显存")


def test_back_button_after_a_live_search_shows_a_whole_page(page: Page) -> None:
    page.goto("/search")
    page.get_by_label("Words to find").fill("busbw")
    expect(page.locator("#results mark").first).to_be_visible()
    page.locator("#results a").first.click()
    expect(page).to_have_url(re.compile(r"/study/"))

    page.go_back()

    expect(page.get_by_role("navigation", name="Main")).to_be_visible()
    expect(page.locator("#results mark").first).to_have_text("busbw")
