"""A calculator in a real browser: typing, the address, the plot, errors, presets, themes, and no JavaScript at all."""

import pytest
from playwright.sync_api import BrowserContext, Page, expect

SLUGS = ["busbw", "collective-time", "gtp-memory", "tp-communication"]


def test_typing_changes_the_result_the_address_and_the_plot(page: Page) -> None:
    page.goto("/calculators/tp-communication")
    expect(page.locator("#calculator-chart")).to_have_attribute("data-state", "drawn")
    expect(page.locator("#calculator-headline")).to_contain_text("112\u2009MiB")

    size = page.get_by_label("Tensor-parallel size t", exact=True)
    size.fill("16")

    expect(page.locator("#calculator-headline")).to_contain_text("120\u2009MiB")
    expect(size).to_be_focused()
    assert page.url.endswith("/calculators/tp-communication?tensor_parallel_size=16")
    expect(page.locator("#calculator-chart .textpoint text")).to_have_text("1.341")
    expect(page.locator(".calculator-step .katex").first).to_be_visible()
    expect(page.locator("#calculator-status")).to_contain_text("120\u2009MiB")

    page.reload()
    expect(size).to_have_value("16")
    expect(page.locator("#calculator-headline")).to_contain_text("120\u2009MiB")


def test_a_wrong_input_is_explained_at_the_field_and_mended_by_typing_on(context: BrowserContext) -> None:
    page = context.new_page()  # not the `page` fixture: Chromium logs every answer with status 422 as an error
    page.goto("/calculators/busbw")
    ranks = page.get_by_label("Ranks n", exact=True)

    ranks.fill("0")

    expect(page.locator("#calculator-ranks-error")).to_have_text("Must be at least 1.")
    expect(ranks).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#calculator-headline")).to_contain_text("437.5")

    ranks.fill("4")
    expect(page.locator("#calculator-ranks-error")).to_be_empty()
    expect(ranks).not_to_have_attribute("aria-invalid", "true")
    expect(page.locator("#calculator-headline")).to_contain_text("375")


def test_any_result_can_be_plotted_against_any_input(page: Page) -> None:
    page.goto("/calculators/collective-time")

    page.get_by_label("Plot", exact=True).select_option("bus_bandwidth_gb_per_s")
    page.get_by_label("against").focus()
    page.get_by_label("against").select_option("algorithm")

    expect(page.locator("#calculator-chart .bars .point")).to_have_count(6)
    assert "sweep=algorithm" in page.url
    assert "plot=bus_bandwidth_gb_per_s" in page.url
    expect(page.get_by_label("against")).to_be_focused()


def test_a_preset_fills_the_form_and_back_brings_the_old_one(page: Page) -> None:
    page.goto("/calculators/tp-communication")
    page.get_by_text("Fill in a model or a machine").click()
    page.get_by_role("button", name="Llama 3 70B").click()

    expect(page.get_by_label("Layers L", exact=True)).to_have_value("80")
    assert "layers=80" in page.url
    expect(page.locator("#calculator-chart")).to_have_attribute("data-state", "drawn")

    page.go_back()
    expect(page.get_by_label("Layers L", exact=True)).to_have_value("1")


@pytest.mark.parametrize("slug", SLUGS)
def test_every_page_draws_formulas_and_plot_under_the_policy(page: Page, slug: str) -> None:
    page.goto(f"/calculators/{slug}")
    expect(page.locator("#calculator-chart")).to_have_attribute("data-state", "drawn")
    page.locator("#calculator-chart .point, #calculator-chart .points path").first.hover(force=True)

    expect(page.locator(".math[data-drawn=failed]")).to_have_count(0)
    expect(page.locator(".math[data-drawn=true]").first).to_be_visible()


def test_the_plot_follows_the_theme(page: Page) -> None:
    page.emulate_media(color_scheme="light")
    page.goto("/calculators/busbw")
    label = page.locator("#calculator-chart .textpoint text")
    light = label.evaluate("element => getComputedStyle(element).fill")

    page.emulate_media(color_scheme="dark")

    expect(label).not_to_have_css("fill", light)


def test_a_phone_shows_everything_without_scrolling_sideways(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    for path in ("/calculators", *(f"/calculators/{slug}" for slug in SLUGS)):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") == 390, path


def test_without_javascript_the_form_has_a_button_and_the_plot_a_table(plain_page: Page) -> None:
    plain_page.goto("/calculators/tp-communication")
    plain_page.get_by_label("Tensor-parallel size t", exact=True).fill("16")
    plain_page.get_by_role("button", name="Calculate").last.click()

    expect(plain_page.locator("#calculator-headline")).to_contain_text("120\u2009MiB")
    plain_page.get_by_text("The same as a table").click()
    expect(plain_page.locator(".calculator-table [aria-current]")).to_contain_text("16")

    plain_page.get_by_label("Tensor-parallel size t", exact=True).fill("none")
    plain_page.get_by_role("button", name="Calculate").last.click()
    expect(plain_page.locator("#calculator-tensor_parallel_size-error")).to_have_text(
        "Enter a whole number, such as 4096."
    )
