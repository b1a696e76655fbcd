"""JSON in the layout of nccl-tests `-J`, version 3. The keys are facts of `src/util.cu` at a0b82b2 (2.19.6)."""

import json
import statistics
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.bench.events import Problem, RankStarted
from app.bench.formats import nccl_json
from app.bench.result import RunResult
from tests.bench.formats.results import half, result, row
from tests.bench.ranks import small_spec

TOP = [
    "version",
    "start_time",
    "args",
    "env",
    "nccl_version",
    "config",
    "results",
    "out_of_bounds",
    "average_bus_bandwidth",
    "errors",
    "end_time",
]
CONFIG = [
    "nthreads",
    "ngpus",
    "minimum_bytes",
    "maximum_bytes",
    "step_factor",
    "warmup_iters",
    "iterations",
    "aggregated_iterations",
    "validation",
    "graph",
    "blocking_collectives",
    "per_iter_timing",
    "per_iter_skip",
    "parallel_init",
    "devices",
]
DEVICE = ["rank", "group", "pid", "hostname", "device", "device_hex", "device_info"]
RESULT = [
    "size",
    "count",
    "type",
    "redop",
    "root",
    "out_of_place",
    "out_of_place_per_iter",
    "in_place",
    "in_place_per_iter",
    "actual_iterations",
    "experiment_name",
]
HALF = ["time", "alg_bw", "bus_bw", "nwrong"]
PER_ITERATION = [
    "skipped_iterations",
    "min_us",
    "max_us",
    "avg_us",
    "p50_us",
    "p95_us",
    "p99_us",
    "stdev_us",
    "cv_pct",
    "times_us",
]
# tools/analyze_perf_json.py reads these of a report per iteration and prints nothing for a row that has none.
ANALYSED = {"avg_us", "min_us", "max_us", "p99_us", "cv_pct", "times_us"}


def test_keys_stand_in_the_order_of_version_3() -> None:
    document = nccl_json.documents(result())["reduce_scatter"]

    assert list(document) == [*TOP, "ringside"]
    assert list(document["config"]) == CONFIG
    assert list(document["config"]["devices"][0]) == DEVICE
    assert list(document["results"][0]) == RESULT
    assert list(document["results"][0]["in_place"]) == HALF
    assert list(document["results"][0]["in_place_per_iter"]) == [*PER_ITERATION, "operations_per_iteration"]
    assert set(PER_ITERATION) >= ANALYSED


def test_values_have_the_types_nccl_tests_writes() -> None:
    document = nccl_json.documents(result())["reduce_scatter"]
    entry, config = document["results"][0], document["config"]

    assert document["version"] == 3
    assert (entry["size"], entry["count"], entry["type"], entry["redop"]) == (1024, 128, "float", "sum")
    assert entry["root"] == "    -1"
    assert entry["out_of_place"]["nwrong"] == 3.0
    assert isinstance(entry["out_of_place"]["nwrong"], float)
    assert [config[name] for name in ("blocking_collectives", "per_iter_timing", "parallel_init")] == [
        "true",
        "true",
        "false",
    ]
    assert document["out_of_bounds"] == {"count": 3, "okay": "false"}
    assert document["average_bus_bandwidth"]["okay"] == "unchecked"


def test_each_operation_is_a_file_of_its_own_program() -> None:
    rows = (row("all_reduce", 1024, half(1.0, size_bytes=1024)), row("all_to_all", 1024, half(2.0, size_bytes=1024)))
    run = replace(result(), rows=rows)
    lines = [json.loads(line) for line in nccl_json.document(run).splitlines()]

    assert [line["args"] for line in lines] == [["all_reduce_perf"], ["alltoall_perf"]]
    assert [[entry["out_of_place"]["time"] for entry in line["results"]] for line in lines] == [[1.0], [2.0]]
    assert list(nccl_json.documents(run)) == ["all_reduce", "all_to_all"]


def test_a_half_that_was_not_measured_is_null_and_has_no_report() -> None:
    entry = nccl_json.documents(result())["all_reduce"]["results"][0]

    assert entry["in_place"] is None
    assert "in_place_per_iter" not in entry


def test_what_was_not_checked_is_not_called_right() -> None:
    unchecked = row("all_reduce", 1024, half(1.0, size_bytes=1024, wrong=None))
    document = nccl_json.documents(replace(result(), rows=(unchecked,)))["all_reduce"]

    assert document["results"][0]["out_of_place"]["nwrong"] is None
    assert document["out_of_bounds"] == {"count": 0, "okay": "unchecked"}


def test_one_rank_has_the_bus_bandwidth_of_its_factor() -> None:
    alone = row("all_reduce", 1024, half(1.0, size_bytes=1024, busbw_gb_per_s=None), ranks=1)
    document = nccl_json.documents(replace(result(), rows=(alone,)))["all_reduce"]

    assert document["results"][0]["out_of_place"]["bus_bw"] == 0
    assert document["average_bus_bandwidth"]["bandwidth"] == 0


def test_the_average_is_over_all_halves() -> None:
    document = nccl_json.documents(result())["all_gather"]
    halves = [document["results"][0][place]["bus_bw"] for place in ("out_of_place", "in_place")]

    assert document["average_bus_bandwidth"]["bandwidth"] == pytest.approx(statistics.fmean(halves))


@settings(deadline=None)
@given(times=st.lists(st.floats(0.5, 1e6), min_size=1, max_size=50))
def test_a_report_per_iteration_is_that_of_its_times(times: list[float]) -> None:
    batches = half(statistics.median(times), size_bytes=1024, batches_us=tuple(times))
    entry = nccl_json.documents(replace(result(), rows=(row("all_reduce", 1024, batches),)))["all_reduce"]["results"][0]
    report = entry["out_of_place_per_iter"]

    assert report["times_us"] == times
    assert entry["actual_iterations"] == len(times)
    assert report["avg_us"] == pytest.approx(statistics.fmean(times))
    ascending = [report[name] for name in ("min_us", "p50_us", "p95_us", "p99_us", "max_us")]
    assert ascending == sorted(ascending)
    assert set(ascending) <= set(times)


@pytest.mark.parametrize(("percent", "expected"), [(95, 19.0), (99, 20.0)])
def test_percentiles_are_the_nearest_rank(percent: int, expected: float) -> None:
    batches = half(10.0, size_bytes=1024, batches_us=tuple(float(place) for place in range(20, 0, -1)))
    document = nccl_json.documents(replace(result(), rows=(row("all_reduce", 1024, batches),)))["all_reduce"]

    assert document["results"][0]["out_of_place_per_iter"][f"p{percent}_us"] == expected


def test_a_run_that_ended_early_lacks_the_end_of_its_last_program() -> None:
    problem = Problem(kind="killed", text="rank 1 was killed")
    run = replace(result(), finished=False, problems=(problem,))
    documents = nccl_json.documents(run)

    assert {operation: "end_time" in document for operation, document in documents.items()} == {
        "all_reduce": True,
        "all_gather": True,
        "reduce_scatter": False,
    }
    assert documents["reduce_scatter"]["errors"] == ["rank 1 was killed"]


def test_a_run_that_never_started_is_still_a_document() -> None:
    (line,) = nccl_json.document(RunResult(spec=small_spec())).splitlines()
    document = json.loads(line)

    assert document["results"] == []
    assert document["average_bus_bandwidth"]["bandwidth"] == "nan"
    assert "end_time" not in document
    assert document["config"]["devices"] == []


def test_times_are_utc_and_empty_when_unknown() -> None:
    began = datetime(2026, 11, 30, 1, 2, 3, tzinfo=timezone(timedelta(hours=8)))
    document = nccl_json.documents(result(), began=began)["all_reduce"]

    assert document["start_time"] == "2026-11-29 17:02:03"
    assert document["end_time"] == ""


def test_only_what_the_environment_report_holds_is_written() -> None:
    run = result()
    assert run.environment is not None
    run = replace(
        run, environment=replace(run.environment, variables={"NCCL_ALGO": "Ring", "GLOO_SOCKET_IFNAME": "lo"})
    )

    assert nccl_json.documents(run)["all_reduce"]["env"] == ["GLOO_SOCKET_IFNAME=lo", "NCCL_ALGO=Ring"]


@pytest.mark.parametrize(("text", "code"), [("2.27.7", 22707), ("2.9.6", 20906), ("2.8.4", 2804), (None, 0), ("?", 0)])
def test_nccl_is_written_as_its_version_code(text: str | None, code: int) -> None:
    run = result()
    assert run.environment is not None

    document = nccl_json.documents(replace(run, environment=replace(run.environment, nccl=text)))["all_reduce"]

    assert document["nccl_version"] == code


def test_ranks_of_several_hosts_count_their_devices_anew() -> None:
    run = result()
    assert run.environment is not None
    started = tuple(
        RankStarted(rank=rank, pid=rank, start_ticks=1, host=("left", "right")[rank // 2]) for rank in range(4)
    )
    environment = replace(run.environment, hosts=("left", "right"))
    run = replace(run, spec=small_spec(ranks=4, hosts=2), started=started, environment=environment)

    devices = nccl_json.documents(run)["all_reduce"]["config"]["devices"]
    assert [(entry["rank"], entry["hostname"], entry["device"]) for entry in devices] == [
        (0, "left", 0),
        (1, "left", 1),
        (2, "right", 0),
        (3, "right", 1),
    ]


def test_how_the_numbers_were_made_goes_with_them() -> None:
    method = nccl_json.documents(result())["reduce_scatter"]["ringside"]

    assert (method["backend"], method["timing"], method["emulated"]) == ("gloo", "blocking", False)
    assert method["label"] == "all-reduce inside"
