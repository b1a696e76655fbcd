"""The quiz in a real browser: by keyboard alone, without JavaScript, while composing with an input method."""

import re

from playwright.sync_api import Locator, Page, expect


def card(page: Page) -> Locator:
    return page.locator("#quiz-card")


def front(page: Page) -> str:
    """The id of the card whose front is shown."""
    expect(card(page)).to_have_attribute("data-state", "front")
    return page.locator(".quiz-reveal input[name=card]").input_value()


def done(page: Page) -> int:
    return int(page.locator(".quiz-progress progress").get_attribute("value") or "0")


def test_three_cards_are_reviewed_and_one_undone_by_keyboard_alone(page: Page) -> None:
    page.goto("/quiz/card?question=gtp")
    before = done(page)
    seen = []

    for grade in "314":
        seen.append(front(page))
        page.keyboard.press("Space")
        expect(card(page)).to_have_attribute("data-state", "back")
        expect(page.locator(".quiz-back")).to_be_focused()
        expect(page.locator(".quiz-grades button small")).to_have_text([re.compile(r"\d\s(min|d)$")] * 4)
        page.keyboard.press(grade)
        expect(page.locator(f".quiz-reveal input[name=card][value='{seen[-1]}']")).to_have_count(0)

    assert len(set(seen)) == 3
    assert front(page) not in seen
    assert done(page) == before + 3

    page.keyboard.press("u")

    expect(page.locator(f".quiz-reveal input[name=card][value='{seen[-1]}']")).to_have_count(1)
    assert done(page) == before + 2
    again = page.reload()
    assert again is not None
    assert again.status == 200, "the address is that of the card shown"
    assert front(page) == seen[-1]
    assert done(page) == before + 2, "an undo outlives a reload"

    page.keyboard.press("Space")
    expect(card(page)).to_have_attribute("data-state", "back")
    page.reload()
    expect(card(page)).to_have_attribute("data-state", "back")


def test_the_interval_on_the_button_is_kept(page: Page) -> None:
    page.goto("/quiz/card?question=gtp")
    page.keyboard.press("Enter")
    easy = page.get_by_role("button", name="Easy")
    expect(easy).to_be_visible()
    days = int(re.findall(r"(\d+)\sd", easy.inner_text())[0])
    page.keyboard.press("4")
    expect(card(page)).to_have_attribute("data-state", "front")

    page.goto("/progress")
    page.get_by_text("As a table").last.click()

    due = page.locator("table", has_text="Cards due").locator("tbody tr").nth(days).locator("td")
    expect(due).not_to_have_text("0")


def test_keys_do_nothing_while_one_types_or_composes(page: Page) -> None:
    drill = "tp-communication/drill/inside-node"
    page.goto(f"/quiz/card?question=tp-communication&card={drill}")
    box = page.locator("#typed")
    expect(box).to_be_focused()

    page.keyboard.type("3 us f")
    expect(box).to_have_value("3 us f")
    assert front(page) == drill
    expect(page.locator(".quiz-card-head")).not_to_contain_text("flagged")

    box.fill("")
    session = page.context.new_cdp_session(page)
    session.send("Input.imeSetComposition", {"text": "ni", "selectionStart": 2, "selectionEnd": 2})
    for key, code in ((" ", "Space"), ("Enter", "Enter"), ("1", "Digit1")):
        pressed = {"key": key, "code": code, "windowsVirtualKeyCode": 229}
        session.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **pressed})
        session.send("Input.dispatchKeyEvent", {"type": "keyUp", **pressed})
    session.send("Input.insertText", {"text": "你"})
    expect(box).to_have_value("你")
    assert front(page) == drill

    # Outside the box too: some input methods stay open where nothing can be typed.
    page.locator("body").evaluate(
        "body => { document.activeElement.blur();"
        " for (const init of [{key: ' ', isComposing: true}, {key: ' ', keyCode: 229}])"
        " body.dispatchEvent(new KeyboardEvent('keydown', {bubbles: true, cancelable: true, ...init})); }"
    )
    page.wait_for_timeout(300)
    assert front(page) == drill

    page.keyboard.press("Space")
    expect(card(page)).to_have_attribute("data-state", "back")


def test_a_drill_is_checked_and_its_steps_are_shown(page: Page) -> None:
    page.goto("/quiz/card?question=tp-communication&card=tp-communication/drill/two-ranks")
    page.locator("#typed").fill("3 h")
    page.keyboard.press("Enter")

    expect(page.locator(".quiz-verdict")).to_contain_text("Not quite")
    expect(page.locator(".quiz-steps .katex").first).to_be_visible()
    expect(page.locator("[data-grade='1']")).to_have_class(re.compile("button-primary"))


def test_help_and_source_are_a_key_away(page: Page) -> None:
    page.goto("/quiz/card?question=gtp")
    page.keyboard.press("?")
    expect(page.get_by_text("open the source")).to_be_visible()

    page.keyboard.press("Space")
    expect(card(page)).to_have_attribute("data-state", "back")
    page.keyboard.press("e")

    page.wait_for_url(re.compile(r"/study/parallelism/gtp#"))


def test_the_browser_tells_its_time_zone(page: Page) -> None:
    page.goto("/quiz")

    cookies = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
    assert cookies["tz"] == page.evaluate("encodeURIComponent(Intl.DateTimeFormat().resolvedOptions().timeZone)")


def test_cards_are_reviewed_without_javascript(plain_page: Page) -> None:
    plain_page.goto("/quiz/card?question=tp-communication")
    first = front(plain_page)

    plain_page.get_by_role("button", name="Show the answer").click()
    plain_page.get_by_role("button", name="Good").click()
    assert front(plain_page) != first
    plain_page.get_by_role("button", name="Undo").click()

    assert front(plain_page) == first


def test_nothing_is_cut_off_on_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    for address in (
        "/quiz",
        "/progress",
        "/quiz/card?question=gtp&card=gtp/timeline/whole-step",
        "/quiz/card?question=tp-communication&card=tp-communication/drill/eighty-layers&reveal=1&skip=1",
    ):
        page.goto(address)
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, address
