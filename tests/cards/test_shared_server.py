"""Several people on one server with a shared database: each browser is its own learner, known to the database by a hash."""

import re
import uuid
from collections.abc import Callable, Iterator

import psycopg
import pytest
from fastapi.testclient import TestClient
from sqlalchemy.engine import make_url

from app.settings import Settings

MakeClient = Callable[..., TestClient]


@pytest.fixture
def shared(settings: Settings, postgres_server: str) -> Iterator[Settings]:
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    url = make_url(postgres_server).set(database=name).render_as_string(hide_password=False)
    yield settings.model_copy(update={"database_url": url})
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def answer(client: TestClient) -> str:
    """Answer the next card; its id."""
    front = fields(client.get("/quiz/card").text, "get")
    back = fields(client.get("/quiz/card", params={**front, "skip": "1"}).text, "post")
    response = client.post("/quiz/card", data={**back, "grade": "3"})
    assert response.status_code == 200
    return back["card"]


def fields(html: str, method: str) -> dict[str, str]:
    form = re.search(rf'<form[^>]*action="/quiz/card" method="{method}".*?</form>', html, re.DOTALL)
    assert form is not None
    return dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', form[0]))


def test_people_on_one_server_learn_apart(shared: Settings, make_client: MakeClient) -> None:
    ada, grace = make_client(shared), make_client(shared)

    first = answer(ada)

    assert 'action="/quiz/undo"' in ada.get("/quiz/card").text
    assert 'action="/quiz/undo"' not in grace.get("/quiz/card").text
    assert answer(grace) == first, "both begin at the beginning"


def test_looking_makes_no_learner(shared: Settings, make_client: MakeClient) -> None:
    visitor = make_client(shared)

    for address in ("/quiz", "/quiz/card", "/quiz/today", "/progress"):
        assert "learner" not in visitor.get(address).headers.get("set-cookie", "")


def test_the_database_does_not_hold_what_the_cookie_holds(shared: Settings, make_client: MakeClient) -> None:
    client = make_client(shared)
    answer(client)
    secret = client.cookies["learner"]

    with psycopg.connect(shared.database_url) as connection:
        learners = [row[0] for row in connection.execute("SELECT learner FROM card_state")]

    assert len(learners) == 1
    assert re.fullmatch("[0-9a-f]{64}", learners[0])
    assert secret not in learners[0]


@pytest.mark.parametrize("cookie", ["", "local", "x" * 31, "'; DROP TABLE review; --", "%FC" * 20])
def test_a_made_up_cookie_is_nobody(shared: Settings, make_client: MakeClient, cookie: str) -> None:
    client = make_client(shared)
    client.headers["Cookie"] = f"learner={cookie}"

    assert client.get("/quiz").status_code == 200
    assert 'action="/quiz/undo"' not in client.get("/quiz/card").text
    assert client.post("/quiz/undo", data={"entry": "1"}).status_code == 404
