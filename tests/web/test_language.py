"""The language of a page: the address, else the cookie, else the browser."""

import pytest
from fastapi.testclient import TestClient

ENGLISH = 'lang="en"'
CHINESE = 'lang="zh-Hans"'


def html_tag(client: TestClient, path: str, **headers: str) -> str:
    text: str = client.get(path, headers=headers).text
    return text[text.index("<html") : text.index(">", text.index("<html"))]


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        ("en", ENGLISH),
        ("zh-CN,zh;q=0.9,en;q=0.8", CHINESE),
        ("fr-FR, zh-TW;q=0.5, en;q=0.4", CHINESE),
        ("de", ENGLISH),
        ("zh;q=0, en;q=0.1", ENGLISH),
        ("zh;q=oops, en", ENGLISH),
        (",;;", ENGLISH),
    ],
)
def test_browser_preference_decides_without_a_choice(client: TestClient, accepted: str, expected: str) -> None:
    assert expected in html_tag(client, "/lab", **{"Accept-Language": accepted})


def test_address_wins_and_is_remembered(client: TestClient) -> None:
    assert CHINESE in html_tag(client, "/lab?lang=zh")
    assert CHINESE in html_tag(client, "/study")


def test_an_unknown_language_in_the_address_is_not_remembered(client: TestClient) -> None:
    answer = client.get("/lab?lang=fr")

    assert "set-cookie" not in answer.headers
    assert ENGLISH in answer.text


def test_cookie_of_an_unknown_language_is_ignored(client: TestClient) -> None:
    assert ENGLISH in html_tag(client, "/lab", Cookie="lang=<script>")


def test_language_links_keep_every_value_of_a_name(client: TestClient) -> None:
    text = client.get("/bench?operation=all_reduce&operation=all_gather&lang=en").text

    assert 'href="/bench?operation=all_reduce&amp;operation=all_gather&amp;lang=zh"' in text


def test_language_links_keep_the_rest_of_the_address(client: TestClient) -> None:
    text = client.get("/search?q=a%26b&lang=en").text

    assert 'href="/search?q=a%26b&amp;lang=zh"' in text


def test_every_page_names_its_other_language(client: TestClient) -> None:
    text = client.get("/lab").text

    assert '<link rel="alternate" hreflang="zh-Hans" href="/lab?lang=zh">' in text
    assert '<link rel="canonical" href="/lab">' in text
