"""Every page: nothing serious for axe-core in either theme, no sideways scroll on a phone, one h1."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from app.calculators import catalog as calculators
from app.content.library import Library
from app.settings import ROOT
from app.timelines import catalog as timelines

from .conftest import Server

AXE = ROOT / "static" / "node_modules" / "axe-core" / "axe.min.js"
LIBRARY = Library(ROOT / "content")
PATHS = [
    "/",
    "/study",
    *(f"/study/{topic.slug}" for topic in LIBRARY.topics),
    *(f"/study/{question.topic}/{question.slug}" for question in LIBRARY.questions()),
    "/search?q=busbw",
    "/quiz",
    "/quiz/card",
    "/progress",
    "/calculators",
    *(f"/calculators/{slug}" for slug in calculators.calculators()),
    "/timelines",
    *(f"/timelines/{scenario.slug}" for scenario in timelines.scenarios()),
    "/bench",
    "/bench?dtype=half&extras=chosen&env=PATH%3D1",
    "/bench/nodes",
    "/bench/nodes?launcher=slurm",
    "/bench/nodes/local",
    "/bench/import",
    "/hardware",
    "/hardware/h100-sxm",
    "/lab",
    "/no-such-page",
]
RUN_AXE = """async () => {
  const result = await axe.run(document, {resultTypes: ["violations"]});
  return result.violations
    .filter((violation) => ["serious", "critical"].includes(violation.impact))
    .map((violation) => `${violation.id}: ${violation.nodes.slice(0, 4).map((node) => node.html.slice(0, 160)).join(" | ")}`);
}"""


@pytest.fixture(scope="module", params=[("light", "en"), ("dark", "zh")], ids=["light-en", "dark-zh"])
def themed(request: pytest.FixtureRequest, browser: Browser, server: Server) -> Iterator[Page]:
    theme, language = request.param
    locale = "zh-CN" if language == "zh" else "en-US"
    context = browser.new_context(base_url=server.url, color_scheme=theme, locale=locale, reduced_motion="reduce")
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("path", PATHS)
def test_axe_finds_nothing_serious(themed: Page, path: str) -> None:
    themed.goto(path)
    # Evaluated through the debugger, which the page's content security policy does not bind.
    themed.evaluate(AXE.read_text())

    violations: list[Any] = themed.evaluate(RUN_AXE)

    assert violations == []


@pytest.fixture(scope="module")
def phone(browser: Browser, server: Server) -> Iterator[Page]:
    context = browser.new_context(base_url=server.url, viewport={"width": 390, "height": 844}, device_scale_factor=2)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("path", PATHS)
def test_phone_shows_every_page_without_sideways_scroll(phone: Page, path: str) -> None:
    phone.goto(path)

    root: list[int] = phone.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")

    assert root[0] <= root[1]
    assert phone.locator("h1").count() == 1
