"""An error in the form the caller expects: a page, a notice for htmx, or JSON; always with a remedy."""

from collections.abc import Callable

import pytest
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient

from app.core.clock import utc_now
from app.core.errors import AppError, Conflict, Forbidden, InvalidInput, NotFound, Unavailable
from app.core.i18n import Text
from app.main import create_app
from app.settings import Settings

REMEDY = Text("Do this instead.", "请改这样做。")
ERRORS: dict[str, Callable[[], Exception]] = {
    "forbidden": lambda: Forbidden(Text("Not yours.", "不是你的。"), remedy=REMEDY),
    "missing": lambda: NotFound(Text("Not here.", "不在这里。"), remedy=REMEDY),
    "conflict": lambda: Conflict(Text("Moved on.", "已经变了。"), remedy=REMEDY),
    "invalid": lambda: InvalidInput({"layers": Text("Must be <5>.", "必须是 <5>。")}),
    "unavailable": lambda: Unavailable(Text("Not there.", "没有安装。"), remedy=REMEDY),
    "bug": lambda: RuntimeError("secret detail"),
}
STATUS = {"forbidden": 403, "missing": 404, "conflict": 409, "invalid": 422, "unavailable": 503, "bug": 500}


@pytest.fixture
def failing(settings: Settings) -> TestClient:
    """An app with an address for every kind of error, and no re-raising of what is not ours."""
    app: FastAPI = create_app(settings, clock=utc_now)

    def fail(kind: str, number: int = 0) -> None:
        error = ERRORS[kind]()
        raise error

    app.add_api_route("/fail/{kind}", fail)
    app.add_api_route("/fail/{kind}/{number}", fail)
    app.add_api_route("/api/fail/{kind}", fail)
    return TestClient(
        app, base_url="http://127.0.0.1", headers={"Accept-Language": "en"}, raise_server_exceptions=False
    )


@pytest.mark.parametrize("path", ["/", "/study", "/api/timelines", "/nowhere"])
def test_head_answers_as_get_does_without_the_body(client: TestClient, path: str) -> None:
    whole, head = client.get(path), client.head(path)

    assert head.status_code == whole.status_code
    assert head.headers["Content-Type"] == whole.headers["Content-Type"]
    assert head.headers["Content-Length"] == whole.headers["Content-Length"]
    assert head.content == b""


@pytest.mark.parametrize("kind", list(STATUS))
def test_page_keeps_the_status_and_the_frame(failing: TestClient, kind: str) -> None:
    answer = failing.get(f"/fail/{kind}")

    assert answer.status_code == STATUS[kind]
    assert answer.text.startswith("<!doctype html>")
    assert 'aria-label="Main"' in answer.text
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("kind", ["forbidden", "missing", "conflict", "unavailable"])
def test_remedy_is_shown_in_the_language_of_the_reader(failing: TestClient, kind: str) -> None:
    assert REMEDY.zh in failing.get(f"/fail/{kind}?lang=zh").text


def test_htmx_gets_a_notice_for_its_own_place(failing: TestClient) -> None:
    answer = failing.get("/fail/conflict", headers={"HX-Request": "true"})

    assert answer.status_code == 409
    assert answer.headers["HX-Retarget"] == "#notice"
    assert answer.text.lstrip().startswith('<div class="notice"')
    assert "<html" not in answer.text


def test_history_restore_gets_the_whole_page(failing: TestClient) -> None:
    answer = failing.get("/fail/missing", headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})

    assert answer.text.startswith("<!doctype html>")


def test_json_has_message_remedy_and_fields(failing: TestClient) -> None:
    assert failing.get("/api/fail/missing").json() == {"error": "Not here.", "remedy": "Do this instead."}
    assert failing.get("/api/fail/invalid").json()["fields"] == {"layers": "Must be <5>."}


def test_field_messages_are_shown_and_escaped(failing: TestClient) -> None:
    text = failing.get("/fail/invalid").text

    assert "<code>layers</code> Must be &lt;5&gt;." in text


def test_a_bug_is_logged_but_not_shown(failing: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    answer = failing.get("/fail/bug")

    assert "secret detail" not in answer.text
    assert "secret detail" in caplog.text


def test_a_number_in_the_path_that_is_none_is_a_missing_page(failing: TestClient) -> None:
    assert failing.get("/fail/missing/abc").status_code == 404


def test_unknown_address_is_a_page_with_a_way_on(failing: TestClient) -> None:
    answer = failing.get("/nothing/here")

    assert answer.status_code == 404
    assert 'href="/search"' in answer.text


def test_wrong_method_names_the_right_ones(failing: TestClient) -> None:
    answer = failing.post("/lab")

    assert answer.status_code == 405
    assert answer.headers["Allow"] == "GET"


def test_error_needs_no_known_handler(failing: TestClient) -> None:
    """The base class itself can be raised: the status is 500, the message is shown."""

    def fail(request: Request) -> None:
        raise AppError(Text("Plain.", "普通错误。"))

    assert isinstance(failing.app, FastAPI)
    failing.app.add_api_route("/plain", fail)

    assert "Plain." in failing.get("/plain").text
