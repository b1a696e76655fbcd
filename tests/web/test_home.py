"""The home page: a first visit, a later one, and an empty content folder."""

from collections.abc import Callable
from pathlib import Path

from fastapi.testclient import TestClient

from app.settings import Settings


def test_first_visit_names_three_ways_in(site: TestClient) -> None:
    text = site.get("/").text

    for door in ("/study", "/quiz", "/bench"):
        assert f'<a class="panel door" href="{door}">' in text
    assert "Read the first question" in text


def test_map_shows_written_and_planned_questions(site: TestClient) -> None:
    text = site.get("/").text

    assert '<a class="map-node" href="/study/parallelism/ring">' in text
    assert "TP linear layers (planned)" in text


def test_cookie_that_names_nothing_is_ignored(site: TestClient) -> None:
    text = site.get("/", headers={"Cookie": "last=parallelism/gone"}).text

    assert "Continue reading" not in text


def test_empty_content_folder_says_what_to_do(
    settings: Settings, tmp_path: Path, make_client: Callable[..., TestClient]
) -> None:
    client = make_client(settings.model_copy(update={"content": tmp_path / "nowhere"}))

    assert "content/README.md" in client.get("/").text
    assert "No questions yet" in client.get("/study").text
