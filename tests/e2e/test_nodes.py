"""Nodes in a browser: this machine is tested, another is attached, planned for and removed, with and without JavaScript."""

import pytest
from playwright.sync_api import Page, expect

ANSWER_MS = 90_000
"""A probe imports PyTorch; the page itself gives up after half a minute."""


@pytest.mark.gloo
def test_this_machine_answers_while_the_page_watches(page: Page) -> None:
    page.goto("/bench/nodes")
    page.get_by_role("link", name="local", exact=True).click()

    page.get_by_role("button", name="Test").click()

    plan = page.get_by_role("link", name="Plan a run here")
    expect(plan).to_be_visible(timeout=ANSWER_MS)
    expect(page.get_by_role("progressbar")).to_have_count(0)
    expect(page.get_by_role("region", name="What its hosts offer")).to_contain_text("127.0.0.1")
    plan.click()
    expect(page.get_by_label("Node", exact=True)).to_have_value("local")


def test_a_node_is_attached_planned_for_and_removed(page: Page) -> None:
    page.goto("/bench/nodes?launcher=ssh")
    page.get_by_label("Name", exact=True).fill("two-gpus")
    page.get_by_label("Hosts (needed)").fill("me@192.0.2.1\nme@192.0.2.2")
    page.get_by_role("button", name="Add the node").click()
    expect(page.get_by_role("heading", name="two-gpus")).to_be_visible()

    page.goto("/bench")
    hosts = page.get_by_label("Hosts", exact=True)
    expect(hosts).to_be_hidden()
    page.get_by_label("Node", exact=True).select_option("two-gpus")
    expect(hosts).to_be_visible()
    expect(page.locator("#plan code")).to_contain_text("me@192.0.2.2")
    expect(page.locator("#plan")).to_contain_text("2 ranks on 2 hosts")

    page.goto("/bench/nodes/two-gpus")
    page.locator("summary", has_text="Remove this node").click()
    page.get_by_role("button", name="Remove it now").click()
    page.wait_for_url("**/bench/nodes")
    expect(page.get_by_role("link", name="two-gpus")).to_have_count(0)


def test_the_same_without_javascript(plain_page: Page) -> None:
    page = plain_page
    page.goto("/bench/nodes?launcher=ssh")
    page.get_by_label("Name", exact=True).fill("Two GPUs")
    page.get_by_label("Hosts (needed)").fill("me@192.0.2.1")
    page.get_by_role("button", name="Add the node").click()
    expect(page.locator("#node-name-error")).to_contain_text("lower-case letters")
    expect(page.get_by_label("Hosts (needed)")).to_have_value("me@192.0.2.1")

    page.get_by_label("Name", exact=True).fill("one-gpu")
    page.get_by_role("button", name="Add the node").click()
    page.wait_for_url("**/bench/nodes/one-gpu")
    page.goto("/bench/nodes/one-gpu")
    page.locator("summary", has_text="Remove this node").click()
    page.get_by_role("button", name="Remove it now").click()

    expect(page.get_by_role("link", name="one-gpu")).to_have_count(0)
