"""Every log in `tests/golden/nccl_logs` reads as `expected.json` says, and what is special about it is told."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.bench.importers.document import document
from app.bench.importers.model import Import, ImportedRun
from app.bench.importers.read import read_log

FOLDER = Path(__file__).parents[2] / "golden" / "nccl_logs"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
OTHER_TOOLS = {"23", "24", "80", "81", "83", "85", "90", "93"}
"""Logs of other tools and of JSON, for which `expected.json` lists no runs; their figures are checked below."""


def read(number: str) -> Import:
    (path,) = FOLDER.glob(f"{number}-*")
    return read_log(path.read_bytes())


def kinds(run: ImportedRun) -> set[str]:
    return {badge.kind for badge in run.badges}


def lines(run: ImportedRun, kind: str) -> list[int | None]:
    return [badge.line for badge in run.badges if badge.kind == kind]


def comparable(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("size_bytes", "count", "dtype", "redop", "root", "out_of_place", "in_place")}


def without_extra(sample: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A sample whose check column holds `0; extra WORDS` as the number 0 and the words."""
    half = sample["in_place"]
    if half and isinstance(half["wrong_or_error"], str):
        wrong, _, words = half["wrong_or_error"].partition("; extra ")
        return {**sample, "in_place": {**half, "wrong_or_error": float(wrong)}}, words.split()
    return sample, []


@pytest.mark.parametrize("name", [name for name in EXPECTED if name[:2] not in OTHER_TOOLS])
def test_runs_rows_and_footers_are_those_expected(name: str) -> None:
    imported = read_log((FOLDER / name).read_bytes())
    runs = document(imported)["runs"]
    expected = EXPECTED[name]["runs"]

    assert [(len(run["rows"]), run["footer_average_busbw_gb_per_s"]) for run in runs] == [
        (run["rows"], run["footer_average_busbw_gb_per_s"]) for run in expected
    ]
    for run, wanted in zip(runs, expected, strict=True):
        rows = [comparable(row) for row in run["rows"]]
        for sample in wanted["samples"]:
            plain, extra = without_extra(sample)
            assert plain in rows
            assert run["rows"][rows.index(plain)]["extra"] == extra


@pytest.mark.parametrize("name", list(EXPECTED))
def test_what_cannot_be_read_has_a_reason_and_what_can_has_badges(name: str) -> None:
    imported = read_log((FOLDER / name).read_bytes())

    has_figures = any(run.rows or run.tables for run in imported.runs)
    assert has_figures == (imported.reason is None)
    assert all(run.badges for run in imported.runs)


OPERATIONS = {
    "01": ("all_reduce", 8, "rank lines"), "02": ("all_gather", 8, "rank lines"), "04": ("broadcast", 8, "rank lines"),
    "05": ("reduce", 8, "rank lines"), "06": ("reduce_scatter", 8, "rank lines"), "07": ("all_reduce", 8, "rank lines"),
    "09": ("all_to_all", 2160, "rank lines"), "10": ("all_to_all", 32, "rank lines"), "18": ("all_reduce", 16, "ratio"),
    "19": ("all_reduce", 16, "ratio"), "21": ("all_reduce", 8, "ratio"), "28": ("all_reduce", 72, "rank lines"),
    "30": ("all_reduce", 96, "ratio"), "31": ("all_reduce", 1, "rank lines"), "33": ("all_reduce", 16, "rank lines"),
    "39": ("all_reduce", 16, "ratio"), "40": ("all_reduce", 8, "rank lines"), "41": ("all_reduce", 16, "rank lines"),
    "45": ("broadcast", 2, "rank lines"), "46": ("all_to_all", 8, "rank lines"), "48": ("all_to_all", 8, "count"),
    "50": ("all_reduce", 8, "ratio"), "54": ("all_reduce", None, None), "56": ("all_gather", 2, "rank lines"),
    "59": ("all_reduce", 4, "ratio"), "62": ("all_reduce", 24, "ratio"), "64": ("all_reduce", None, None),
    "65": ("all_reduce", 4, "rank lines"), "70": ("all_reduce", None, None), "73": ("all_reduce", 2, "ratio"),
    "23": ("all_reduce", 8, "text"), "24": ("all_reduce", 32, "ratio"), "83": ("all_reduce", None, None),
    "85": ("all_reduce", 16, "text"), "90": ("all_reduce", 2, "rank lines"), "94": ("all_reduce", 72, "rank lines"),
}  # fmt: skip


@pytest.mark.parametrize("number", list(OPERATIONS))
def test_operation_and_ranks_come_from_what_the_log_shows(number: str) -> None:
    run = read(number).runs[0]

    assert (run.operation, run.ranks, run.ranks_basis) == OPERATIONS[number]


def test_five_programs_in_one_file_are_five_operations() -> None:
    for number, ranks in (("12", 8), ("17", 80)):
        runs = read(number).runs

        operations = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv"]
        assert [run.operation for run in runs] == operations
        assert {run.ranks for run in runs} == {ranks}
        assert [kinds(run) for run in runs] == [{"ok"}] * 5
        assert not any(run.needs_confirmation for run in runs)


CLEAN = ("01", "02", "04", "05", "06", "07", "28", "33", "37", "41", "90", "94")


@pytest.mark.parametrize("number", CLEAN)
def test_a_sound_log_has_no_doubt(number: str) -> None:
    (run,) = read(number).runs

    assert kinds(run) == {"ok"}
    assert not run.needs_confirmation
    assert run.may_feed_fits


SPECIAL = {
    "14": {"failed", "no-rows"},
    "16": {"no-rows", "cut"},
    "25": {"emulated"},
    "31": {"one-rank"},
    "34": {"emulated"},
    "35": {"emulated"},
    "39": {"ranks-guessed", "footer-disagrees", "elided"},
    "40": {"cut"},
    "42": {"no-mpi", "no-rows"},
    "44": {"ranks-unknown"},
    "46": {"torn", "cut", "operation-guessed"},
    "48": {"wrong-values"},
    "54": {"failed", "ranks-unknown"},
    "57": {"torn", "cut"},
    "66": {"cut", "operation-guessed"},
    "68": {"failed", "no-rows"},
    "71": {"torn", "no-rows", "cut"},
    "74": {"failed", "no-rows"},
    "93": {"failed", "wrong-values", "footer-disagrees"},
}


@pytest.mark.parametrize("number", list(SPECIAL))
def test_what_is_special_is_a_badge(number: str) -> None:
    assert kinds(read(number).runs[0]) == SPECIAL[number]


@pytest.mark.parametrize("number", ["25", "31", "34", "35", "48", "93"])
def test_rows_that_describe_something_else_never_feed_fits(number: str) -> None:
    assert not read(number).runs[0].may_feed_fits


def test_a_failure_after_rows_keeps_the_rows_and_is_explained() -> None:
    (run,) = read("54").runs
    (failed,) = [badge for badge in run.badges if badge.kind == "failed"]

    assert len(run.rows) == 5
    assert failed.line == 8
    assert "CUDA error" in failed.text.en


def test_a_rank_count_of_about_a_thousand_is_a_range() -> None:
    (unknown,) = [badge for badge in read("54").runs[0].badges if badge.kind == "ranks-unknown"]

    low, high = (int(word) for word in unknown.text.en.replace(".", "").split() if word.isdigit())
    assert low < 1024 < high


def test_a_row_that_stops_early_is_named_by_its_line() -> None:
    assert lines(read("46").runs[0], "torn") == [17]
    assert lines(read("57").runs[0], "torn") == [16]
    assert lines(read("62").runs[0], "torn") == [1, 12]


def test_a_lone_first_half_is_kept_and_marked() -> None:
    row = read("66").runs[0].rows[-1]

    assert (row.size_bytes, row.in_place, row.flags) == (64, None, ("cut",))


def test_devices_and_hosts_are_listed() -> None:
    (run,) = read("07").runs

    assert [device.rank for device in run.devices] == list(range(8))
    assert len(run.hosts) == 2
    assert run.parameters["maximum_bytes"] == "1073741824"


def test_the_last_trimmed_device_list_leaves_a_doubt() -> None:
    second = read("27").runs[1]

    assert second.ranks == 16
    assert "ranks-guessed" in kinds(second)


def test_rccl_is_named_and_its_extra_columns_kept() -> None:
    (run,) = read("39").runs

    assert run.tool == "rccl-tests"
    assert run.rows[0].extra == ("Direct", "SIMPLE", "32")


def test_a_launcher_that_failed_is_no_result() -> None:
    imported = read("11")

    assert imported.runs == ()
    assert imported.reason is not None
    assert "launcher" in imported.reason.en


def test_a_hang_after_the_titles_of_2017_is_no_run() -> None:
    imported = read("51")

    assert imported.runs == ()
    assert imported.reason is not None
    assert "2 devices" in imported.reason.en


def test_mscclpp_is_named_not_guessed() -> None:
    imported = read("49")

    assert imported.runs == ()
    assert [badge.kind for badge in imported.badges] == ["unknown-tool"]
    assert imported.reason is not None
    assert "MSCCL++" in imported.reason.en


def test_markdown_of_all_reduce_bench_reads_bus_bandwidth_first() -> None:
    rows = {row.size_bytes: row for row in read("23").runs[0].rows}

    assert len(rows) == 20
    for size, busbw, algbw in ((32 << 10, 1.44, 0.82), (1 << 20, 39.93, 22.82), (16 << 20, 219.89, 125.65)):
        half = rows[size].in_place
        assert half is not None
        assert (half.busbw_gb_per_s, half.algbw_gb_per_s) == (busbw, algbw)
        assert half.time_us == pytest.approx(size / algbw / 1e3, abs=1e-3)
    assert read("24").runs[0].rows[9].in_place == read("24").runs[0].rows[9].halves[0]


def test_the_older_text_of_all_reduce_bench_is_one_row() -> None:
    (run,) = read("85").runs
    (row,) = run.rows

    assert row.size_bytes == 4 << 30
    assert row.in_place is not None
    assert (row.in_place.algbw_gb_per_s, row.in_place.busbw_gb_per_s) == (44.947, 84.275)


def test_osu_latencies_are_rows_without_bus_bandwidth() -> None:
    (run,) = read("83").runs
    times = {row.size_bytes: row.out_of_place for row in run.rows}

    assert len(times) == 21
    for size, time_us in ((1, 7.98), (32768, 498.13), (1048576, 1519.43)):
        half = times[size]
        assert half is not None
        assert (half.time_us, half.busbw_gb_per_s) == (time_us, None)
    assert run.needs_confirmation


def test_nvbandwidth_gives_named_matrices() -> None:
    (first,), (second,) = read("80").runs, read("81").runs
    tables = {table.name: table for table in first.tables}

    assert tables["host_to_device_memcpy_ce"].total == 1985.60
    assert tables["device_to_host_memcpy_ce"].total == 607.26
    assert tables["host_to_device_memcpy_ce"].rows[1] == ("1", (323.36, 299.33, 312.11))
    assert tables["host_device_latency_sm"].unit == "ns"
    (pairs,) = second.tables
    assert pairs.total == 715.53
    assert pairs.rows[0] == ("0", (None, 26.34, 26.35, 21.95, 22.64, 21.80))
    assert not first.rows


def test_json_reads_rows_and_drops_the_environment() -> None:
    imported = read("90")
    (run,) = imported.runs

    assert [row.size_bytes for row in run.rows] == [1 << shift for shift in range(25, 30)]
    assert run.footer_average_busbw_gb_per_s == 43.6076
    assert run.rows[0].root == -1
    assert imported.dropped_variables == 2
    assert run.parameters["NCCL_DEBUG"] == "VERSION"
    assert "not-a-real-secret" not in json.dumps(document(imported))


def test_json_with_missing_halves_and_no_numbers() -> None:
    (run,) = read("93").runs
    first, second, third, fourth, _ = run.rows

    assert first.out_of_place is None
    assert second.in_place is not None
    assert second.in_place.wrong_or_error is None
    assert third.out_of_place is not None
    assert third.out_of_place.wrong_or_error == 268435456
    assert fourth.in_place is not None
    assert fourth.in_place.time_us is None
