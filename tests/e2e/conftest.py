"""A real server process and a real Chromium for the tests in this folder.

The browser is Debian's `chromium` (or the path in `RINGSIDE_CHROMIUM`). A test fails when the page
logs an error, so a script blocked by the content security policy cannot go unseen.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass(frozen=True)
class Server:
    """A running `ringside serve`."""

    url: str
    data: Path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("e2e")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app as a user starts it, on its own data folder."""
    data = tmp_path_factory.mktemp("e2e-data")
    port = free_port()
    environment = {**os.environ, "RINGSIDE_DATA": str(data), "RINGSIDE_HOST": "127.0.0.1", "RINGSIDE_PORT": str(port)}
    log = (data / "server.log").open("w")
    process = subprocess.Popen([sys.executable, "-m", "app", "serve"], env=environment, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(url, process, data / "server.log")
        yield Server(url=url, data=data)
    finally:
        process.terminate()
        process.wait(20)
        log.close()


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(f"{url}/healthz", timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(log.read_text())


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium per module: while Playwright runs, its event loop keeps other modules' `asyncio.run` from working."""
    executable = os.environ.get("RINGSIDE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    assert executable, "the browser tests need Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser, server: Server) -> Iterator[BrowserContext]:
    context = browser.new_context(base_url=server.url, locale="en-US", viewport={"width": 1360, "height": 900})
    context.set_default_timeout(15_000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page of a fresh profile; the test fails when the page logs an error."""
    page = context.new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    assert errors == []


@pytest.fixture
def plain_page(browser: Browser, server: Server) -> Iterator[Page]:
    """A page with JavaScript off."""
    context = browser.new_context(base_url=server.url, locale="en-US", java_script_enabled=False)
    context.set_default_timeout(15_000)
    yield context.new_page()
    context.close()
