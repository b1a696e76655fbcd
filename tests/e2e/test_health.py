"""The server comes up for a browser."""

from playwright.sync_api import Page


def test_server_is_ready(page: Page) -> None:
    answer = page.goto("/healthz")

    assert answer is not None
    assert answer.status == 200
