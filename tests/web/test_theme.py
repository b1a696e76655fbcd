"""The theme is chosen without JavaScript, kept in a cookie, and there at the first paint."""

import pytest
from fastapi.testclient import TestClient


def test_chosen_theme_stands_on_the_next_page(client: TestClient) -> None:
    client.post("/theme", data={"theme": "dark"})

    assert 'data-theme="dark"' in client.get("/lab").text


def test_system_theme_leaves_the_choice_to_the_style_sheet(client: TestClient) -> None:
    client.post("/theme", data={"theme": "dark"})
    client.post("/theme", data={"theme": "system"})

    assert "data-theme" not in client.get("/lab").text


def test_unknown_theme_in_the_cookie_is_ignored(client: TestClient) -> None:
    assert "data-theme" not in client.get("/lab", headers={"Cookie": 'theme="><script>'}).text


def test_form_returns_to_the_page_it_stood_on(client: TestClient) -> None:
    answer = client.post(
        "/theme",
        data={"theme": "light"},
        headers={"Referer": "http://127.0.0.1/search?q=busbw"},
        follow_redirects=False,
    )

    assert answer.headers["Location"] == "/search?q=busbw"


@pytest.mark.parametrize(
    "referrer", ["https://evil.example/x", "http://127.0.0.1//evil.example", "http://127.0.0.1/\\evil.example", "", "x"]
)
def test_form_never_leads_to_another_site(client: TestClient, referrer: str) -> None:
    answer = client.post("/theme", data={"theme": "light"}, headers={"Referer": referrer}, follow_redirects=False)

    assert answer.headers["Location"] in {"/", "/evil.example"}


def test_htmx_gets_an_event_instead_of_a_page(client: TestClient) -> None:
    answer = client.post("/theme", data={"theme": "dark"}, headers={"HX-Request": "true"})

    assert answer.status_code == 204
    assert answer.headers["HX-Trigger"] == '{"theme": {"value": "dark"}}'
