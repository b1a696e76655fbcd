"""The pages of imported logs, with the logs that people posted."""

import csv
import html
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from app.bench.importers.document import document
from app.bench.importers.read import read_log
from app.settings import Settings
from app.web import import_form, import_view
from tests.web.tables import table

LOGS = Path(__file__).parents[1] / "golden" / "nccl_logs"
FIVE = "12-h100x8-five-collectives-one-file.txt"
TWO_NODES = "27-b200-2x8-sendrecv-two-runs-script-text.txt"
GUESSED = "10-a100-8x4-alltoall-trailing-mpich-line.txt"
DERIVED = "24-torch-all_reduce_bench-4node-markdown.txt"
HTMX = {"HX-Request": "true"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data", watch_content=False, runner_on_demand=False)


def send(client: TestClient, name: str = "", *, action: str = "keep", htmx: bool = False, **fields: str) -> Response:
    """A file of the folder as an upload, or what `fields` hold."""
    files = {"file": (name, (LOGS / name).read_bytes())} if name else {"file": ("", b"")}
    data = {"action": action, **fields}
    return client.post("/bench/import", data=data, files=files, headers=HTMX if htmx else {}, follow_redirects=False)


def keep(client: TestClient, name: str, *, hide_host: str = "") -> int:
    answer = send(client, name, hide_host=hide_host)
    assert answer.status_code == 303
    return int(re.findall(r"\d+", answer.headers["location"])[0])


def words(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<script.*?</script>|<[^>]+>", " ", text, flags=re.DOTALL)).split())


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


def test_an_import_feeds_calculators_and_timelines(client: TestClient) -> None:
    keep(client, FIVE)

    for key in ("import-1", "import-1-1"):
        profile = client.get(f"/hardware/{key}")
        assert profile.status_code == 200
        assert f"Measured elsewhere: {FIVE}, imported on 2026-03-01" in words(profile.text)
        assert 'href="/bench/imports/1"' in profile.text
    assert "import-1-5" in client.get("/hardware").text
    assert "Import 1: all operations · measured elsewhere" in client.get("/timelines/gtp-chain?profile=import-1").text
    calculator = client.get("/calculators/tp-communication?profile=import-1-1")
    assert calculator.status_code == 200
    assert "Import 1, run 1: all_reduce, 8 ranks" in calculator.text


@pytest.mark.parametrize(
    "key", ["import-1-9", "import-2-1", "import-", "import-1-1-1", "import-99999999999-1", "import-x"]
)
def test_a_key_that_names_no_profile_is_not_found(client: TestClient, key: str) -> None:
    keep(client, FIVE)

    assert client.get(f"/hardware/{key}").status_code == 404


def test_a_doubtful_run_feeds_nothing_until_it_is_confirmed_and_again_when_that_is_withdrawn(
    client: TestClient,
) -> None:
    keep(client, GUESSED)
    address = "/bench/imports/1/runs/1/confirm"
    assert client.get("/hardware/import-1-1").status_code == 404
    assert "What was measured?" in client.get("/bench/imports/1").text

    answer = client.post(address, data={"operation": "all_to_all", "ranks": "32"}, follow_redirects=False)

    assert answer.headers["location"] == "/bench/imports/1#run-1"
    assert "confirmed" in words(client.get("/bench/imports/1").text)
    assert client.get("/hardware/import-1-1").status_code == 200
    assert client.get("/api/bench/imports/1").json()["runs"][0]["confirmed"] == {"operation": "all_to_all", "ranks": 32}

    client.post(address, data={"action": "withdraw"})

    assert client.get("/hardware/import-1-1").status_code == 404


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({"operation": "", "ranks": "32"}, "Choose the operation"),
        ({"operation": "frobnicate", "ranks": "32"}, "Choose the operation"),
        ({"operation": "all_reduce", "ranks": "1"}, "at least 2"),
        ({"operation": "all_reduce", "ranks": "thirty"}, "at least 2"),
        ({"operation": "all_reduce", "ranks": "9" * 50}, "at least 2"),
        ({"operation": "all_reduce", "ranks": "8"}, "it would be 1.75 times"),
    ],
)
def test_a_confirmation_that_cannot_be_right_is_refused_at_its_field(
    client: TestClient, typed: dict[str, str], message: str
) -> None:
    """The figures of the log are those of 32 ranks."""
    keep(client, DERIVED)

    answer = client.post("/bench/imports/1/runs/1/confirm", data=typed)

    assert answer.status_code == 422
    assert re.search(rf'<p class="field-error" id="\w+-1-error">[^<]*{message}', answer.text)
    assert f'value="{typed["ranks"][:20]}"' in answer.text
    assert client.get("/hardware/import-1-1").status_code == 404


def test_what_is_excluded_asks_for_no_confirmation_and_says_why(client: TestClient) -> None:
    keep(client, "25-rtx5090-one-gpu-two-ranks-footer-with-unit.txt")

    page = client.get("/bench/imports/1").text

    assert "What was measured?" not in page
    assert re.search(r"not computed with</span> Several ranks share one GPU", page)


def test_a_run_is_taken_along_as_csv_and_as_text(client: TestClient) -> None:
    keep(client, FIVE)

    rows, text = (client.get(f"/bench/imports/1/2/{name}") for name in ("rows.csv", "nccl-tests.txt"))

    assert rows.text.splitlines()[0].startswith("operation,size_bytes")
    assert len(rows.text.splitlines()) == 21
    assert rows.headers["content-disposition"] == 'attachment; filename="ringside-import-1-2-rows.csv"'
    assert read_log(text.text).runs[0].operation == "all_gather"
    for path in ("2/else.txt", "9/rows.csv", "0/rows.csv"):
        assert client.get(f"/bench/imports/1/{path}").status_code == 404


def test_tables_that_are_no_sweep_are_shown_and_feed_nothing(client: TestClient) -> None:
    keep(client, "80-othertool-nvbandwidth-v06-gh200.txt")

    page = client.get("/bench/imports/1").text

    assert "Run 1: tables" in words(page)
    assert "host_to_device_memcpy_ce" in page
    assert "no rows over message sizes" in page


def test_a_deleted_import_is_gone_with_its_profiles(client: TestClient) -> None:
    keep(client, FIVE)
    assert client.get("/hardware/import-1").status_code == 200

    client.post("/bench/imports/1/delete")

    for path in ("/bench/imports/1", "/api/bench/imports/1", "/hardware/import-1"):
        assert client.get(path).status_code == 404
    assert client.post("/bench/imports/1/delete").status_code == 404


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


def test_runs_of_logs_are_sides_of_the_comparison(client: TestClient) -> None:
    keep(client, FIVE)
    keep(client, "25-rtx5090-one-gpu-two-ranks-footer-with-unit.txt")
    keep(client, "17-h100-10x8-five-collectives-80ranks.txt")

    page = client.get("/bench/compare?runs=import-3-1&imports=1-1,2-1,1-9&operation=all_reduce").text

    (first, second) = (client.get(f"/api/bench/imports/{kept}").json()["runs"][0]["rows"][-1] for kept in (3, 1))
    line = table(page, "compare-sizes")[-1]
    assert float(line[1].replace(",", "")) == pytest.approx(first["out_of_place"]["time_us"], rel=1e-3)
    assert float(line[3].replace(",", "")) == pytest.approx(second["out_of_place"]["time_us"], rel=1e-3)
    assert "Not there, or without times to compare: import 1-9." in page
    assert 'data-kind="warning">emulated</span>' in page
    assert 'href="/bench/compare?runs=import-1-1,import-3-1,import-2-1&amp;operation=all_reduce"' in page
    assert '<option value="import-1-2">Import 1, run 2: all_gather, 8 ranks</option>' in page
    assert '"name":"Import 3, run 1"' in page


def test_the_csv_of_a_comparison_holds_the_rows_of_logs(client: TestClient) -> None:
    keep(client, FIVE)

    answer = client.get("/bench/compare.csv?runs=import-1-2,import-7-1&imports=1-1")

    lines = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    assert answer.headers["content-disposition"] == 'attachment; filename="ringside-runs-import-1-2-import-1-1.csv"'
    assert [line["run"] for line in lines] == ["import-1-2"] * 20 + ["import-1-1"] * 20
    assert {(line["ranks"], line["wrong"], line["backend"], line["p99_us"]) for line in lines} == {("8", "0", "", "")}


@pytest.mark.parametrize("key", ["1-9", "2-1", "1", "x-1", "1-x", "1-1-1", "1-99999999999"])
def test_what_names_no_run_of_a_log_is_no_side(client: TestClient, key: str) -> None:
    keep(client, FIVE)

    assert import_view.side(client.app.state.services, key) is None  # type: ignore[attr-defined]


def test_a_log_of_very_many_runs_stays_a_page_and_a_short_list(client: TestClient) -> None:
    data = (LOGS / FIVE).read_bytes() * 80
    answer = client.post(
        "/bench/import", files={"file": ("many.log", data)}, data={"action": "keep"}, follow_redirects=False
    )

    page = client.get(answer.headers["location"]).text
    offered = re.findall(r'"/hardware/(import-1[\d-]*)"', client.get("/hardware").text)

    assert "The first 300 runs of 400" in words(page)
    assert "Only the first runs are shown in full" in words(page)
    assert len(page) < 1_500_000
    assert offered == [f"import-1-{number}" for number in range(1, 13)]
    assert client.get("/hardware/import-1-400").status_code == 200
