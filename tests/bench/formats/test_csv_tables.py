"""What a run measured besides its rows, as tables for spreadsheets."""

import csv
import dataclasses
import io

import pytest

from app.bench.events import Copy, GemmRate, Latency, Link, Overlap
from app.bench.formats import compare_csv, csv_export
from app.bench.result import RunResult
from tests.bench.formats.results import result

KINDS = {"gemm": GemmRate, "latencies": Latency, "overlaps": Overlap, "copies": Copy, "links": Link}


def rich() -> RunResult:
    run = result()
    assert run.gemm is not None
    rate = dataclasses.replace(run.gemm.rates[0], clock_mhz=1755, throttled=("sw_power_cap", "hw_thermal"))
    return dataclasses.replace(
        run,
        gemm=dataclasses.replace(run.gemm, rates=(rate,)),
        latencies=(
            Latency(
                operation="all_reduce",
                size_bytes=8,
                dtype="float",
                ranks=2,
                p50_us=40.5,
                p99_us=90.0,
                minimum_us=31.0,
                cv_percent=12.5,
                calls=500,
            ),
        ),
        overlaps=(
            Overlap(
                operation="all_gather",
                size_bytes=2**26,
                dtype="float",
                ranks=2,
                communication_us=1000.0,
                compute_us=900.0,
                both_us=1990.0,
                hidden=-0.1,
                communication_slowdown=None,
                compute_slowdown=1.5,
                repeats=7,
                label="=shares the CPU cores",
            ),
        ),
        copies=(Copy(kind="host_to_host", size_bytes=2**26, gb_per_s=9.5, pinned=False, repeats=5),),
        links=(
            Link(source=0, target=1, size_bytes=2**22, one_way_gb_per_s=1.5, both_ways_gb_per_s=2.5, latency_us=30.0),
        ),
    )


def read(text: str | None) -> list[dict[str, str]]:
    assert text is not None
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("name", KINDS)
def test_each_finding_has_a_table_with_every_field(name: str) -> None:
    (line,) = read(csv_export.table(rich(), name))

    assert set(line) == {field.name for field in dataclasses.fields(KINDS[name])}


def test_lists_blanks_and_switches_are_readable_in_a_cell() -> None:
    run = rich()

    assert read(csv_export.table(run, "gemm"))[0]["throttled"] == "sw_power_cap;hw_thermal"
    assert read(csv_export.table(run, "overlaps"))[0]["communication_slowdown"] == ""
    assert read(csv_export.table(run, "copies"))[0]["pinned"] == "0"
    assert read(csv_export.table(run, "overlaps"))[0]["hidden"] == "-0.1"


def test_no_cell_is_taken_for_a_formula() -> None:
    assert read(csv_export.table(rich(), "overlaps"))[0]["label"] == "'=shares the CPU cores"


def test_what_was_not_measured_has_no_table() -> None:
    assert csv_export.tables(result()) == ("gemm",)
    assert csv_export.table(result(), "links") is None


def test_a_line_of_a_row_says_under_which_conditions_it_was_measured() -> None:
    lines = read(csv_export.document(rich()))

    assert {(line["hosts"], line["backend"], line["timing"], line["emulated"]) for line in lines} == {
        ("1", "gloo", "blocking", "0")
    }


def test_a_run_without_an_environment_leaves_its_conditions_blank() -> None:
    lines = read(csv_export.document(dataclasses.replace(result(), environment=None)))

    assert {line["backend"] for line in lines} == {""}


def test_several_runs_stand_one_after_another_with_their_names() -> None:
    lines = read(compare_csv.document(compare_csv.lines(name, result()) for name in ("3", "7")))

    single = read(csv_export.document(result()))
    assert [line["run"] for line in lines] == ["3"] * len(single) + ["7"] * len(single)
    assert [{key: value for key, value in line.items() if key != "run"} for line in lines[: len(single)]] == single
