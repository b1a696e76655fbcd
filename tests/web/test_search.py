"""The search page, whole and as the block htmx asks for."""

import pytest
from fastapi.testclient import TestClient


@pytest.mark.parametrize("query", ["显存", "RING", "ｒｉｎｇ", "chunk buffer"])
def test_finds_the_question(site: TestClient, query: str) -> None:
    assert "/study/parallelism/ring" in site.get("/search", params={"q": query}).text


def test_marks_what_was_searched_for_and_leads_to_its_section(site: TestClient) -> None:
    text = site.get("/search", params={"q": "显存"}).text

    assert "<mark>显存</mark>" in text
    assert 'href="/study/parallelism/ring#concepts"' in text


def test_finds_calculators_beside_questions(site: TestClient) -> None:
    assert 'href="/calculators/busbw"' in site.get("/search?q=busbw").text


def test_htmx_gets_the_results_alone(site: TestClient) -> None:
    answer = site.get("/search?q=ring", headers={"HX-Request": "true"})

    assert "<html" not in answer.text
    assert "/study/parallelism/ring" in answer.text
    assert "HX-Request" in answer.headers["Vary"]


def test_query_is_escaped(site: TestClient) -> None:
    text = site.get("/search", params={"q": "<script>x"}).text

    assert "<script>x" not in text
    assert "&lt;script&gt;x" in text


def test_nothing_found_says_what_to_try(site: TestClient) -> None:
    assert "Try fewer or other words" in site.get("/search?q=zzzz").text


def test_blank_query_lists_everything(site: TestClient) -> None:
    assert "/study/parallelism/tree" in site.get("/search?q=%20%20").text


def test_a_very_long_query_is_cut(site: TestClient) -> None:
    assert site.get("/search", params={"q": "x" * 5000}).status_code == 200
