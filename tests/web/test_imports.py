"""The import page and the page of an imported log, with the logs that people posted."""

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.bench.importers.document import document
from app.bench.importers.read import read_log
from app.settings import Settings
from app.web import import_form, import_view
from tests.web.logs import FIVE, GUESSED, LOGS, TWO_NODES, keep, send, words
from tests.web.tables import table


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data", watch_content=False, runner_on_demand=False)


def test_a_preview_shows_rows_badges_and_use_and_keeps_nothing(client: TestClient) -> None:
    answer = send(client, FIVE, action="preview", htmx=True)

    shown = words(answer.text)
    assert answer.status_code == 200
    assert "<html" not in answer.text
    assert "Run 3: Reduce-scatter, 8 ranks" in shown
    assert "sound Complete" in shown
    assert "Once it is kept" in shown
    assert len(table(answer.text, "run-1")) == 10
    assert client.get("/api/bench/imports").json() == []


def test_without_javascript_the_file_comes_back_in_the_box_and_is_kept_from_there(client: TestClient) -> None:
    page = send(client, FIVE, action="preview").text
    (box,) = re.findall(r'<textarea id="import-text"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)

    answer = send(client, text=html.unescape(box).replace("\n", "\r\n"), name=FIVE)

    assert answer.headers["location"] == "/bench/imports/1"
    kept = client.get("/api/bench/imports/1").json()
    assert kept["name"] == FIVE
    assert send(client, FIVE).headers["location"] == "/bench/imports/1?known=1"
    assert "imported before" in client.get("/bench/imports/1?known=1").text


def test_the_api_gives_what_the_command_prints(client: TestClient) -> None:
    keep(client, TWO_NODES)

    body: dict[str, Any] = client.get("/api/bench/imports/1").json()

    printed = json.loads(json.dumps(document(read_log((LOGS / TWO_NODES).read_bytes()))))
    assert {**body, **printed} == {**body, "runs": printed["runs"]}
    for run, expected in zip(body["runs"], printed["runs"], strict=True):
        assert run | expected == run
    assert [run["profile"] for run in body["runs"]] == ["import-1-1", None]
    assert "confirm" in body["runs"][1]["not_used_because"]


def test_what_was_typed_is_not_lost_when_nothing_can_be_read(client: TestClient) -> None:
    text = "salloc: Granted job\n<b>mpirun</b> could not start & ended"

    answer = send(client, text=text)

    assert answer.status_code == 422
    assert "&lt;b&gt;mpirun&lt;/b&gt; could not start &amp; ended</textarea>" in answer.text
    assert re.search(r'id="import-error" role="alert">[^<]*No result rows', answer.text)
    assert 'aria-invalid="true"' in answer.text


def test_nothing_sent_is_said_at_the_field(client: TestClient) -> None:
    answer = send(client, text="  \n ", htmx=True)

    assert answer.status_code == 422
    assert "Paste a log or choose a file." in answer.text


def test_more_than_is_read_is_refused_in_plain_words(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_form, "MAXIMUM_BODY", 100_000)
    for size in (100_001, 1_000_000):
        answer = client.post("/bench/import", files={"file": ("a.log", b"x" * size)}, data={"action": "keep"})

        assert answer.status_code == 422
        assert "More than 32 MiB were sent" in answer.text


def test_a_file_just_over_the_limit_is_refused_too(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_form, "MAXIMUM_BYTES", 1000)

    assert "More than 32 MiB" in client.post("/bench/import", files={"file": ("a.log", b"x" * 1001)}).text


def test_pasted_text_larger_than_a_form_field_usually_may_be_is_read(client: TestClient) -> None:
    """Starlette refuses fields over 1 MiB unless told otherwise."""
    text = (LOGS / FIVE).read_text(encoding="utf-8") + "# a comment\n" * 150_000

    answer = send(client, text=text, action="preview")

    assert answer.status_code == 200
    assert "Run 5: " in words(answer.text)
    assert "choose it again" in answer.text
    assert len(answer.text) < 500_000


def test_hidden_hosts_stand_nowhere(client: TestClient) -> None:
    preview = send(client, TWO_NODES, action="preview", htmx=True, hide_host="on").text
    keep(client, TWO_NODES, hide_host="on")

    pages = [client.get(path).text for path in ("/bench/imports/1", "/api/bench/imports/1", "/bench")]
    pages.append(client.get("/bench/imports/1/1/nccl-tests.txt").text)
    assert "host-1" in preview
    assert all("node-a-b200" not in page for page in (preview, *pages))
    assert keep(client, TWO_NODES) == 2


def test_the_bench_lists_imports_and_leads_to_the_form(client: TestClient) -> None:
    keep(client, FIVE)
    keep(client, TWO_NODES)

    page = client.get("/bench").text

    assert 'href="/bench/import"' in page
    assert [line[:3] for line in table(page, "imports")] == [
        ["Import 2", TWO_NODES, "nccl-tests"],
        ["Import 1", FIVE, "nccl-tests"],
    ]
    assert client.get("/bench/imports", follow_redirects=False).headers["location"] == "/bench#imports"


def test_strangers_may_look_but_neither_read_keep_confirm_nor_delete(
    settings: Settings, make_client: Callable[..., TestClient]
) -> None:
    client = make_client(settings.model_copy(update={"owner_token": "secret"}))
    client.post("/owner", data={"token": "secret"})
    keep(client, GUESSED)
    client.cookies.clear()

    page = client.get("/bench/imports/1")
    refused = [
        send(client, FIVE, action="preview"),
        send(client, FIVE),
        client.post("/bench/imports/1/runs/1/confirm", data={"operation": "all_to_all", "ranks": "32"}),
        client.post("/bench/imports/1/delete"),
    ]

    assert page.status_code == 200
    assert "Delete this import" not in page.text
    assert "What was measured?" not in page.text
    assert "needs the owner" in client.get("/bench/import").text
    assert [answer.status_code for answer in refused] == [403] * 4
    assert [entry["id"] for entry in client.get("/api/bench/imports").json()] == [1]


def test_markup_in_a_log_and_its_name_stays_text(client: TestClient) -> None:
    """The name of a file and the texts of a log are somebody else's."""
    raw = json.loads((LOGS / "90-derived-json-v3-allreduce-two-ranks.json").read_text(encoding="utf-8"))
    raw["config"]["devices"][0]["hostname"] = "<img src=x>"
    raw["config"]["devices"][0]["device_info"] = "</script><script>alert(1)</script>"
    answer = client.post(
        "/bench/import",
        files={"file": ("<b>.json", json.dumps(raw).encode())},
        data={"action": "keep"},
        follow_redirects=False,
    )
    assert answer.status_code == 303

    for path in ("/bench/imports/1", "/bench", "/hardware/import-1-1"):
        page = client.get(path).text
        assert "<img src=x>" not in page
        assert "<script>alert" not in page
        assert "<b>.json" not in page


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_log_is_previewed(client: TestClient, language: str) -> None:
    client.headers["Accept-Language"] = language
    for path in sorted(LOGS.glob("[0-9]*")):
        answer = send(client, path.name, action="preview")

        assert (path.name, answer.status_code, answer.text.count("<h1")) == (path.name, 200, 1)
        ids = re.findall(r'\sid="([^"]+)"', answer.text)
        assert len(ids) == len(set(ids))
        assert set(re.findall(r'aria-labelledby="([^"]+)"', answer.text)) <= set(ids)


def test_chinese_pages_use_chinese_punctuation(client: TestClient) -> None:
    client.headers["Accept-Language"] = "zh"
    for name in (FIVE, GUESSED, TWO_NODES, "57-dgx-spark-2x1-version-with-commit-unalign.txt"):
        keep(client, name)
    for path in (
        "/bench/import",
        "/bench/imports/1",
        "/bench/imports/2",
        "/bench/imports/3",
        "/bench/imports/4",
        "/bench",
    ):
        prose = re.sub(r"<script.*?</script>|<[^>]+>", "", client.get(path).text, flags=re.DOTALL)

        assert re.findall(r".{0,12}[\u4e00-\u9fff][,:;?!](?![A-Za-z0-9_/=&]).{0,12}", prose) == []
        assert re.findall(r".{0,12}[(](?=[\u4e00-\u9fff]).{0,12}", prose) == []


def test_a_long_table_is_cut_on_the_page_and_whole_in_its_files(client: TestClient) -> None:
    run = read_log((LOGS / FIVE).read_bytes()).runs[0]
    line = "{size:>12} {count:>12}     float     sum      -1   100.00  {rate:.2f}  {bus:.2f}      0   100.00  {rate:.2f}  {bus:.2f}      0"
    sizes = [2**20 + 2**18 * step for step in range(import_view.MAXIMUM_ROWS + 50)]
    text = "# nThread 1 nGpus 8 minBytes 1048576\n" + "\n".join(
        line.format(size=size, count=size // 4, rate=size / 1e5, bus=size / 1e5 * 1.75) for size in sizes
    )
    assert run.rows

    answer = send(client, text=text)
    page = client.get(answer.headers["location"]).text

    assert len(table(page, "run-1")) == import_view.MAXIMUM_ROWS
    assert "The first 200 rows of 250" in words(page)
    assert len(client.get("/bench/imports/1/1/rows.csv").text.splitlines()) == 501
