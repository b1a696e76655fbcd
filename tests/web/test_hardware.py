"""The pages of hardware profiles over stored runs."""

import html
import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.bench.home import home_id
from app.bench.store import RunStore
from app.core.db import Database
from app.settings import Settings
from app.web.hardware_uses import uses
from tests.web.runs import everything, h100, keep, sweep
from tests.web.tables import table


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data", watch_content=False, runner_on_demand=False)


@pytest.fixture
def store(client: TestClient, settings: Settings) -> RunStore:
    database: Database = client.app.state.services.database  # type: ignore[attr-defined]
    return RunStore(database, home=home_id(settings.data))


def page_of(client: TestClient, key: str) -> str:
    answer = client.get(f"/hardware/{key}")
    assert answer.status_code == 200
    return answer.text


def test_the_list_tells_runs_from_datasheets(client: TestClient, store: RunStore) -> None:
    keep(store, sweep())

    page = client.get("/hardware").text

    assert page.index("Measured here") < page.index("/hardware/run-1") < page.index("Datasheets")
    assert "Measured elsewhere" not in page


def test_every_curve_stands_with_its_type_half_and_label_and_only_one_answers(
    client: TestClient, store: RunStore
) -> None:
    everything(store)

    lines = table(page_of(client, "run-1"), "profile-fits")

    assert [line[:2] for line in lines] == [
        ["All-reduce", "2 ranks, float, sum"],
        ["All-gather", "2 ranks, float, sum"],
        ["All-gather for comparison only", "2 ranks, float, sum, in-place"],
        ["Reduce-scatter", "2 ranks, float, sum, all-reduce inside"],
    ]
    assert lines[0][2:6] == ["11", "1 KiB – 1 MiB", "100 µs", "1"]


def test_every_answer_names_its_basis(client: TestClient, store: RunStore) -> None:
    keep(store, sweep())

    (line,) = table(page_of(client, "run-1"), "profile-answers")

    assert line[0] == "All-reduce"
    assert [cell.split(" GB/s ")[1] for cell in line[1:]] == [
        "measured",
        "measured",
        "beyond the measured range",
        "beyond the measured range",
    ]


def test_a_datasheet_answers_on_its_own_basis(client: TestClient) -> None:
    lines = table(page_of(client, "h100-sxm"), "profile-answers")

    assert len(lines) == 10
    assert all(cell.endswith("datasheet") for line in lines for cell in line[1:])


def test_an_answer_that_is_refused_says_why(client: TestClient, store: RunStore) -> None:
    keep(store, sweep(sizes=[1024, 4096]))

    page = page_of(client, "run-1")

    assert "no answer" in page
    assert "no fit may stand in" in page


def test_wrong_values_keep_an_operation_out_and_that_is_said(client: TestClient, store: RunStore) -> None:
    rows = sweep()
    keep(store, [*rows[:-1], *sweep(sizes=[2**20], wrong=3), *sweep(operation="all_gather")], status="partial")

    page = page_of(client, "run-1")

    assert "wrong values in all_reduce" in page
    assert [line[0] for line in table(page, "profile-answers")] == ["All-gather"]


def test_a_run_that_shared_a_gpu_drives_nothing_even_when_it_ended_early(client: TestClient, store: RunStore) -> None:
    keep(store, sweep(), status="partial", machine={"emulated": True})

    page = page_of(client, "run-1")

    assert "shared one GPU" in page
    assert "profile-answers" not in page


def test_the_conditions_of_a_run_are_named(client: TestClient, store: RunStore) -> None:
    everything(store)

    page = page_of(client, "run-1")
    conditions = page[page.index("profile-conditions") :]

    for text in ("NCCL_ALGO=Ring", "P2P/CUMEM, network IB", "2.14.1", "each call waited for"):
        assert f"<dd>{text}" in conditions


def test_an_overlap_is_clipped_for_show_and_told_as_measured(client: TestClient, store: RunStore) -> None:
    everything(store)

    lines = {line[0]: line for line in table(page_of(client, "run-1"), "profile-overlap")}

    assert lines["All-reduce"][5] == "100 % (measured 120 %)"
    assert lines["All-gather shares the CPU cores"][5] == "0 % (measured -10 %)"
    assert lines["All-reduce"][6] == "1.1 ×, –"


def test_pairs_of_ranks_are_summed_up_with_the_worst(client: TestClient, store: RunStore) -> None:
    everything(store)

    lines = table(page_of(client, "run-1"), "profile-links")

    assert lines[0] == ["one way (GB/s)", "1", "1.5", "3", "0 → 2"]
    assert lines[2] == ["latency of 8 B (µs)", "20", "30", "40", "0 → 2"]


def test_gemm_rates_stand_beside_what_others_posted_of_the_device(client: TestClient, store: RunStore) -> None:
    h100(store)
    keep(store, sweep())

    (of_h100,) = table(page_of(client, "run-1"), "profile-gemm")
    (of_cpu,) = table(page_of(client, "run-2"), "profile-gemm")

    assert of_h100[:4] == ["bfloat16", "1,024 × 1,024 × 1,024".replace(",", ""), "480 GFLOP/s", "500 GFLOP/s"]
    assert re.search(r"TFLOP/s in \d+ post", of_h100[-1])
    assert of_cpu[-1] == "–"


def test_copies_and_single_calls_have_tables(client: TestClient, store: RunStore) -> None:
    everything(store)
    page = page_of(client, "run-1")

    assert table(page, "profile-copies") == [["within host memory", "64 MiB", "9.5", "5"]]
    assert table(page, "profile-latency")[0] == ["All-reduce", "8 B", "40", "120", "5", "200"]


def test_what_is_taken_from_a_profile_is_what_tools_really_ask_for() -> None:
    asked = {use.href: use for use in uses()}

    chain = asked["/timelines/gtp-chain"]
    assert chain.takes_rate
    assert set(chain.operations) == {"all_gather", "reduce_scatter"}
    assert asked["/timelines/tp-layer"].operations == ("all_reduce",)
    assert asked["/calculators/tp-communication"].takes_bandwidth


def test_a_tool_that_needs_what_was_not_measured_is_told_so(client: TestClient, store: RunStore) -> None:
    keep(store, sweep())

    lines = table(page_of(client, "run-1"), "profile-uses")

    chain = next(line for line in lines if "(not here)" in line[3])
    assert "All-gather (not here), Reduce-scatter (not here)" in chain[3]


def test_links_carry_the_profile_to_the_tools(client: TestClient, store: RunStore) -> None:
    keep(store, [*sweep(operation="all_gather"), *sweep(operation="reduce_scatter")])

    page = page_of(client, "run-1")
    links = {html.unescape(link) for link in re.findall(r'href="([^"]+\?profile=run-1)"', page)}

    assert len(links) >= 3
    assert {link: client.get(link).status_code for link in links} == dict.fromkeys(links, 200)


def test_names_of_a_machine_are_never_markup(client: TestClient, store: RunStore) -> None:
    keep(store, sweep(label="<b>x</b>"), machine={"cpu": "<script>alert(1)</script>"})

    page = page_of(client, "run-1")

    assert "<script>alert" not in page
    assert "<b>x</b>" not in page


@pytest.mark.parametrize("key", ["run-2", "run-x", "run-", "import-1", "gb9000"])
def test_there_is_no_profile_of_what_is_not_there(client: TestClient, key: str) -> None:
    assert client.get(f"/hardware/{key}").status_code == 404
