"""Who may call: known hosts, and for anything that changes something only pages of this origin."""

from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient

from app.settings import Settings


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8000", "LOCALHOST", "[::1]:8000"])
def test_loopback_names_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:80",
        "",
        "[::1",
        "a@b",
        "evil.example@127.0.0.1",
        "127.0.0.1#evil.example",
        "127.0.0.1/evil.example",
        "127.0.0.1:80:80",
        "127.0.0.1:x",
        "127.0.0.1?",
    ],
)
def test_unknown_hosts_are_refused(client: TestClient, host: str) -> None:
    answer = client.get("/healthz", headers={"Host": host})

    assert answer.status_code == 403


def test_refusal_names_the_remedy_and_runs_no_script(client: TestClient) -> None:
    answer = client.get("/", headers={"Host": "evil.example"})

    assert "RINGSIDE_ALLOWED_HOSTS" in answer.text
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]


def test_a_host_named_in_the_settings_is_answered(settings: Settings, make_client: Callable[..., TestClient]) -> None:
    client = make_client(settings.model_copy(update={"allowed_hosts": ("Ringside.Example",)}))

    assert client.get("/healthz", headers={"Host": "ringside.example:80"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
    ],
)
def test_a_form_on_another_site_changes_nothing(client: TestClient, headers: dict[str, str]) -> None:
    answer = client.post("/theme", data={"theme": "dark"}, headers=headers, follow_redirects=False)

    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "headers", [{}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, {"Origin": "http://127.0.0.1"}]
)
def test_a_form_of_this_site_is_accepted(client: TestClient, headers: dict[str, str]) -> None:
    answer = client.post("/theme", data={"theme": "dark"}, headers=headers, follow_redirects=False)

    assert answer.status_code == 303


def test_reading_from_another_site_is_allowed(client: TestClient) -> None:
    assert client.get("/lab", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200
