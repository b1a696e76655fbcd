"""What an imported log may be used for: profiles, confirmations, downloads, comparisons."""

import csv
import io
import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.bench.importers.read import read_log
from app.settings import Settings
from app.web import import_view
from tests.web.logs import DERIVED, FIVE, GUESSED, LOGS, keep, words
from tests.web.tables import table


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data", watch_content=False, runner_on_demand=False)


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
