"""The date of the interview: kept, counted in study days, forgotten, refused when it is none."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from fastapi.testclient import TestClient

from app.settings import Settings


def test_the_home_page_counts_the_days(client: TestClient) -> None:
    answer = client.post("/interview", data={"on": "2026-03-13"})

    assert answer.url.path == "/"
    assert "<strong>12</strong> days to the interview" in answer.text


def test_days_change_with_the_study_day_not_at_midnight(
    settings: Settings, make_client: Callable[..., TestClient]
) -> None:
    client = make_client(settings, clock=lambda: datetime(2026, 3, 2, 3, 0, tzinfo=UTC))

    answer = client.post("/interview", data={"on": "2026-03-13"})

    assert "<strong>12</strong> days to the interview" in answer.text


@pytest.mark.parametrize(
    ("on", "expected"),
    [("2026-03-01", "the interview is today"), ("2026-03-02", "day to the interview"), ("2026-02-01", "is over")],
)
def test_the_day_itself_the_eve_and_the_past_have_their_words(client: TestClient, on: str, expected: str) -> None:
    assert expected in client.post("/interview", data={"on": on}).text


def test_an_empty_field_forgets_the_date(client: TestClient) -> None:
    client.post("/interview", data={"on": "2026-03-13"})

    answer = client.post("/interview", data={"on": ""})

    assert "When is your interview?" in answer.text
    assert "interview" not in client.cookies


@pytest.mark.parametrize("on", ["soon", "2026-13-40", "20260313", "2026-W11-5"])
def test_what_is_no_date_is_refused_and_nothing_is_kept(client: TestClient, on: str) -> None:
    answer = client.post("/interview", data={"on": on})

    assert answer.status_code == 422
    assert "2026-12-24" in answer.text
    assert "interview" not in client.cookies


def test_a_cookie_that_is_no_date_is_ignored(client: TestClient) -> None:
    client.cookies.set("interview", "yesterday")

    assert "When is your interview?" in client.get("/").text
