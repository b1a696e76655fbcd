"""Exports: what a person pastes elsewhere must say what was measured."""

import csv
import dataclasses
import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.bench.events import Measurement
from app.bench.formats import csv_export, json_export, nccl_text
from app.bench.result import RunResult
from tests.bench.formats.results import half, result, row
from tests.bench.ranks import small_spec

GOLDEN = Path(__file__).with_name("golden.txt")


def test_text_is_as_golden() -> None:
    assert nccl_text.document(result()) == GOLDEN.read_text(encoding="utf-8")


def test_columns_stand_under_their_titles() -> None:
    lines = nccl_text.document(result()).splitlines()
    title = next(line for line in lines if line.startswith("#       size"))
    ends = [match.end() for match in re.finditer(r"\S+", title) if match.group() != "#"]
    full = next(line for line in lines if line.split()[:1] == ["1024"])

    assert [match.end() for match in re.finditer(r"\S+", full)] == ends


@settings(deadline=None)
@given(
    size_bytes=st.integers(4, 2**36),
    time_us=st.floats(0.5, 1e9),
    in_place=st.booleans(),
    wrong=st.none() | st.integers(0, 2**33),
)
def test_a_reader_of_tokens_gets_the_figures_back(
    size_bytes: int, time_us: float, *, in_place: bool, wrong: int | None
) -> None:
    measured = half(time_us, size_bytes=size_bytes, wrong=wrong)
    line = nccl_text.row_line(row("all_gather", size_bytes, measured, measured if in_place else None))

    tokens = line.split()
    assert len(tokens) == 13
    assert in_place or tokens[9:] == ["N/A"] * 4
    assert [int(tokens[0]), tokens[2:5]] == [size_bytes, ["float", "none", "-1"]]
    time, algbw, busbw = map(float, tokens[5:8])
    assert time == pytest.approx(time_us, rel=1e-3, abs=0.005)
    assert algbw == pytest.approx(measured.algbw_gb_per_s, rel=0.006, abs=6e-5)
    assert busbw == pytest.approx(measured.algbw_gb_per_s / 2, rel=0.006, abs=6e-5)
    assert tokens[8] == ("N/A" if wrong is None else str(wrong))


def test_one_rank_has_neither_bus_rate_nor_average() -> None:
    alone = half(5.0, size_bytes=1024, busbw_gb_per_s=None)

    line = nccl_text.row_line(row("all_reduce", 1024, alone, ranks=1))
    footer = "\n".join(nccl_text.footer("all_reduce", [row("all_reduce", 1024, alone)]))

    assert line.split()[7] == "-"
    assert "Avg bus bandwidth" not in footer


def test_average_is_the_plain_mean_over_all_halves() -> None:
    rows = [row("all_gather", 1024, half(1.0, size_bytes=1024), half(2.0, size_bytes=1024))]

    footer = "\n".join(nccl_text.footer("all_gather", rows))

    assert "# Avg bus bandwidth    : 0.384" in footer  # (1.024 + 0.512) / 2 / 2


def test_a_run_that_never_started_is_still_text() -> None:
    text = nccl_text.document(RunResult(spec=small_spec()))

    assert all(line.startswith("#") for line in text.splitlines())


def test_json_holds_every_part_and_no_infinity() -> None:
    document = json_export.document(result(), fits={"all_reduce": {"refused": "too few"}})

    again = json.loads(json.dumps(document, allow_nan=False))
    assert again["rows"][2]["in_place"]["wrong"] is None
    assert again["environment"]["torch"] == "2.13.0+cpu"
    assert again["gemm"]["best_dtype"] == "float"
    assert again["fits"] == {"all_reduce": {"refused": "too few"}}


def test_json_of_nothing_has_empty_objects() -> None:
    document = json_export.document(RunResult(spec=small_spec()), fits={})

    assert (document["environment"], document["gemm"], document["rows"]) == ({}, {}, [])


def test_csv_has_a_line_for_each_half() -> None:
    lines = list(csv.DictReader(io.StringIO(csv_export.document(result()), newline="")))

    assert [(line["operation"], line["in_place"]) for line in lines] == [
        ("all_reduce", "0"),
        ("all_reduce", "0"),
        ("all_gather", "0"),
        ("all_gather", "1"),
        ("reduce_scatter", "0"),
        ("reduce_scatter", "1"),
    ]
    assert lines[0]["time_us"] == "341.5"
    assert lines[4]["label"] == "all-reduce inside"
    assert {field.name for field in dataclasses.fields(Measurement)} - {"batches_us"} <= set(lines[0])


def test_an_emulated_run_says_so_in_its_text() -> None:
    run = result()
    assert run.environment is not None
    emulated = dataclasses.replace(run, environment=dataclasses.replace(run.environment, emulated=True))

    assert "emulated" in nccl_text.document(emulated)
    assert "emulated" not in nccl_text.document(run)
