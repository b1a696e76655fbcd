"""Static files: cached for ever under their version, checked again under any other, compressed once."""

from fastapi.testclient import TestClient


def address(client: TestClient) -> str:
    text: str = client.get("/lab").text
    start = text.index("/static/")
    return text[start : start + len("/static/") + 12]


def test_version_in_the_address_makes_a_file_immutable(client: TestClient) -> None:
    answer = client.get(address(client) + "/css/app.css")

    assert answer.status_code == 200
    assert "immutable" in answer.headers["Cache-Control"]
    assert answer.headers["Content-Encoding"] == "gzip"


def test_an_old_version_is_served_but_not_kept(client: TestClient) -> None:
    answer = client.get("/static/000000000000/css/app.css")

    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-cache"


def test_files_outside_of_the_list_are_not_served(client: TestClient) -> None:
    base = address(client)

    for name in ("package.json", "../pyproject.toml", "css/../package.json", "node_modules/katex/package.json", ""):
        assert client.get(f"{base}/{name}").status_code == 404


def test_pages_are_checked_again_each_time(client: TestClient) -> None:
    answer = client.get("/lab")

    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert "HX-Request" in answer.headers["Vary"]
    assert "Cookie" in answer.headers["Vary"]


def test_large_pages_are_compressed_when_asked_for(client: TestClient) -> None:
    assert client.get("/lab", headers={"Accept-Encoding": "gzip"}).headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in client.get("/lab", headers={"Accept-Encoding": "identity"}).headers
