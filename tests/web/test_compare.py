"""The comparison page over stored runs."""

import csv
import html
import io
import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.bench.events import Report
from app.bench.home import home_id
from app.bench.store import RunStore
from app.core.db import Database
from app.settings import Settings
from tests.web.runs import H100, SIZES, everything, h100, keep, latency, sweep
from tests.web.tables import table


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data", watch_content=False, runner_on_demand=False)


@pytest.fixture
def store(client: TestClient, settings: Settings) -> RunStore:
    database: Database = client.app.state.services.database  # type: ignore[attr-defined]
    return RunStore(database, home=home_id(settings.data))


def page_of(client: TestClient, query: str) -> str:
    answer = client.get(f"/bench/compare?{query}")
    assert answer.status_code == 200
    return answer.text


def test_runs_compare_size_by_size_with_how_many_times_as_fast(client: TestClient, store: RunStore) -> None:
    keep(store, sweep())
    keep(store, sweep(factor=2.0))

    lines = table(page_of(client, "runs=1,2"), "compare-sizes")

    assert len(lines) == len(SIZES)
    assert lines[0] == ["1 KiB", "101", "0.0101", "202", "0.00507", "0.5 ×"]


def test_both_ways_of_naming_runs_show_the_same(client: TestClient, store: RunStore) -> None:
    keep(store, sweep())
    keep(store, sweep(factor=2.0))

    assert page_of(client, "runs=1,2").count("<tr>") == page_of(client, "runs=1&runs=2&runs=").count("<tr>")


def test_the_datasheet_is_a_line_with_its_source(client: TestClient, store: RunStore) -> None:
    keep(store, sweep())

    page = page_of(client, "runs=1&datasheet=h100-sxm").replace("\u2009", " ")

    assert "450 GB/s" in page
    assert '"name":"H100 SXM' in page


def test_the_order_of_the_address_decides_what_the_others_are_held_against(client: TestClient, store: RunStore) -> None:
    keep(store, sweep())
    keep(store, sweep(factor=2.0))

    lines = table(page_of(client, "runs=2,1"), "compare-sizes")

    assert lines[0][-1] == "2 ×"


def test_every_operation_stands_in_the_overview_at_a_large_and_a_small_size(
    client: TestClient, store: RunStore
) -> None:
    keep(store, [*sweep(), *sweep(operation="all_gather")])
    keep(store, [*sweep(factor=2.0), *sweep(operation="broadcast", factor=2.0)])

    lines = table(page_of(client, "runs=1,2"), "compare-all")

    assert [line[:2] for line in lines] == [
        [title, size] for title in ("All-reduce", "All-gather", "Broadcast") for size in ("1 MiB", "1 KiB")
    ]
    assert lines[0][2:] == ["0.913 GB/s", "0.456 GB/s", "0.5 ×"]
    assert lines[1][2:] == ["101 µs", "202 µs", "0.5 ×"]
    assert lines[2][3:] == ["–", "–"]


def test_sizes_that_were_rounded_for_another_rank_count_share_a_line(client: TestClient, store: RunStore) -> None:
    keep(store, sweep(sizes=[1024, 33554432]))
    keep(store, sweep(sizes=[1008, 33553920], ranks=3), ranks=3)

    lines = table(page_of(client, "runs=1,2"), "compare-sizes")

    assert len(lines) == 2
    assert all("–" not in line for line in lines)


def test_close_sizes_of_one_run_keep_lines_of_their_own(client: TestClient, store: RunStore) -> None:
    keep(store, sweep(sizes=[2**20, 2**20 + 8, 2**20 + 16]))

    assert len(table(page_of(client, "runs=1"), "compare-sizes")) == 3


def test_an_operation_without_a_common_size_says_so(client: TestClient, store: RunStore) -> None:
    keep(store, sweep(sizes=[1024, 4096]))
    keep(store, sweep(sizes=[2048, 8192]))

    page = page_of(client, "runs=1,2")

    assert "no size in common" in page
    assert len(table(page, "compare-sizes")) == 4


def test_what_was_not_measured_alike_is_named_with_its_effect(client: TestClient, store: RunStore) -> None:
    keep(store, sweep())
    keep(
        store,
        sweep(ranks=4, dtype="bfloat16", label="all-reduce inside"),
        ranks=4,
        machine={"timing": "events", "torch": "2.9.0", "variables": {"NCCL_ALGO": "Tree"}},
    )

    found = {line[0]: line[1:] for line in table(page_of(client, "runs=1,2"), "compare-differs")}

    assert set(found) == {"Ranks", "Type", "Label", "Timing", "Variables", "PyTorch"}
    assert found["Ranks"][:2] == ["2", "4"]
    assert "Times do not compare" in found["Ranks"][2]
    assert found["Variables"][:2] == ["–", "NCCL_ALGO=Tree"]


def test_the_transport_that_nccl_named_is_a_condition(client: TestClient, store: RunStore) -> None:
    everything(store)
    keep(store, sweep(), reports=(Report(title="nccl", host="node-0", lines=("via SHM/direct/direct (4 channels)",)),))
    keep(store, sweep())

    found = {line[0]: line[1:] for line in table(page_of(client, "runs=1,2,3"), "compare-differs")}

    assert found["Transport"][:3] == ["P2P/CUMEM, network IB", "SHM/direct/direct", "–"]


def test_runs_without_an_operation_in_common_are_still_told_apart(client: TestClient, store: RunStore) -> None:
    """The overview and the rates compare them all the same; what only rows tell is not made up for them."""
    keep(store, sweep(label="all-reduce inside"))
    keep(store, sweep(operation="all_gather", ranks=4), ranks=4)

    found = {line[0]: line[1:3] for line in table(page_of(client, "runs=1,2"), "compare-differs")}

    assert found == {"Ranks": ["2", "4"]}


def test_what_a_run_does_not_tell_is_no_difference(client: TestClient, store: RunStore) -> None:
    everything(store)
    keep(store, sweep(), machine={"variables": {"NCCL_ALGO": "Ring"}})

    assert "Not measured alike" not in page_of(client, "runs=1,2")


def test_runs_measured_alike_bring_no_warning(client: TestClient, store: RunStore) -> None:
    keep(store, sweep())
    keep(store, sweep(factor=2.0))

    assert "Not measured alike" not in page_of(client, "runs=1,2")


def test_latencies_of_single_calls_compare_by_their_medians(client: TestClient, store: RunStore) -> None:
    keep(store, sweep(), latencies=(latency(8, 40.0), latency(1024, 50.0)))
    keep(store, sweep(), latencies=(latency(8, 10.0),))

    lines = table(page_of(client, "runs=1,2"), "compare-latency")

    assert lines[0] == ["8 B", "40", "120", "10", "30", "4 ×"]
    assert lines[1][3:] == ["–", "–", "–"]


def test_posted_figures_stand_as_a_range_with_sources_and_no_verdict(client: TestClient, store: RunStore) -> None:
    h100(store)

    page = page_of(client, "runs=1").replace("\u2009", " ")
    chart = re.search(r'id="compare-chart-data">(.*?)</script>', page, re.DOTALL)

    assert re.search(r"<strong>\d+ to \d+ GB/s in \d+ posts</strong>", page)
    assert "Examples with their sources, not limits" in page
    assert "https://github.com/" in page
    assert "read 2026-" in page
    assert chart is not None
    assert "tonexty" in chart[1]
    assert not re.search(
        r"\b(pass|fail)(ed)?\b", page[page.index("compare-posted") :].replace("not limits to pass", "")
    )


def test_a_posted_figure_over_other_ranks_says_why_it_does_not_compare(client: TestClient, store: RunStore) -> None:
    h100(store, ranks=2)

    page = page_of(client, "runs=1")

    assert "Measured with 8 ranks, yours with 2" in page


def test_a_run_over_two_machines_is_not_held_against_one(client: TestClient, store: RunStore) -> None:
    h100(store, ranks=8, hosts=2)

    assert "Measured on one machine, yours on 2 machines" in page_of(client, "runs=1")


def test_a_laptop_has_no_posted_figures_until_a_system_is_chosen(client: TestClient, store: RunStore) -> None:
    keep(store, sweep())

    assert "No figures are known for the hardware of these runs" in page_of(client, "runs=1")
    chosen = page_of(client, "runs=1&published=h100-sxm")
    assert "Run 1 did not run on such a machine" in chosen
    assert "tonexty" not in chosen
    assert "compare-posted" not in page_of(client, "runs=1&published=none").replace('"compare-published"', "")


def test_the_address_holds_everything_and_leads_to_the_same_page(client: TestClient, store: RunStore) -> None:
    keep(store, [*sweep(), *sweep(operation="all_gather")])
    keep(store, [*sweep(), *sweep(operation="all_gather")])
    query = "runs=2,1&operation=all_gather&datasheet=h100-sxm&published=none"

    page = page_of(client, query)
    link = re.search(r'data-copy-link="([^"]+)"', page)

    assert link is not None
    assert html.unescape(link[1]) == f"/bench/compare?{query}"
    assert client.get(html.unescape(link[1])).text == page


def test_the_csv_holds_all_rows_of_all_runs(client: TestClient, store: RunStore) -> None:
    everything(store)
    keep(store, sweep(factor=2.0))

    answer = client.get("/bench/compare.csv?runs=1,2,77")
    lines = list(csv.DictReader(io.StringIO(answer.text, newline="")))

    assert answer.headers["Content-Disposition"] == 'attachment; filename="ringside-runs-1-2.csv"'
    assert len(lines) == 5 * len(SIZES)
    assert {line["run"] for line in lines} == {"1", "2"}
    assert lines[-1]["backend"] == "gloo"
    assert float(lines[-1]["time_us"]) == pytest.approx(2 * (100 + SIZES[-1] / 1e3))


def test_a_deleted_run_does_not_take_the_others_out_of_a_comparison(client: TestClient, store: RunStore) -> None:
    keep(store, sweep())

    page = page_of(client, "runs=1,77")

    assert "Not there, or without times to compare: run 77." in page
    assert "Run 1" in page


def test_a_sixth_run_is_left_out_and_that_is_said(client: TestClient, store: RunStore) -> None:
    for _ in range(6):
        keep(store, sweep())

    page = page_of(client, "runs=1,2,3,4,5,6")

    assert "Only the first five are shown." in page
    assert "compare-add" not in page


def test_an_unknown_choice_falls_back_to_what_there_is(client: TestClient, store: RunStore) -> None:
    keep(store, sweep(operation="all_gather"))

    page = page_of(client, "runs=1,x,-1,99999999999&operation=all_dance&datasheet=abacus&published=abacus")

    assert "All-gather, size by size" in page


def test_a_run_without_a_row_still_shows_that_it_was_chosen(client: TestClient, store: RunStore) -> None:
    keep(store, [], status="crashed")

    page = page_of(client, "runs=1")

    assert "crashed" in page
    assert "compare-sizes" not in page


def test_a_change_of_the_form_brings_only_the_comparison(client: TestClient, store: RunStore) -> None:
    keep(store, sweep())

    answer = client.get("/bench/compare?runs=1&published=h100-sxm", headers={"HX-Request": "true"})

    assert answer.text.lstrip().startswith('<div id="comparison">')
    assert "<html" not in answer.text


def test_device_names_are_never_markup(client: TestClient, store: RunStore) -> None:
    h100(store, devices=("<script>alert(1)</script>",))
    h100(store, devices=(H100,))

    assert "<script>alert" not in page_of(client, "runs=1,2")
