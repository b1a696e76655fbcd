"""What we export in the layouts of nccl-tests, our own importers read back: JSON to the last digit, text as printed."""

import dataclasses
import json
from collections.abc import Callable
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.bench.events import Measurement, Row
from app.bench.formats import nccl_json, nccl_text
from app.bench.importers.model import Half, ImportedRow, ImportedRun
from app.bench.importers.read import read_log
from app.bench.result import RunResult
from app.bench.spec import Operation
from app.hardware.collective import OPERATIONS, bus_factor
from tests.bench.formats.results import half, result

Written = Callable[[float], float]
"""A figure as the export prints it."""

REDUCING = {"all_reduce", "reduce_scatter", "reduce"}
ROOTED = {"broadcast", "reduce", "gather", "scatter"}
HAVE_IN_PLACE = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"}


def rows_of(operation: str, times_us: list[float], *, ranks: int, wrong: int | None = 0) -> tuple[Row, ...]:
    factor = float(bus_factor(operation, ranks=ranks))
    found = []
    for power, time_us in enumerate(times_us):
        size = 1024 * ranks * 4**power
        measured = half(time_us, size_bytes=size, factor=factor, wrong=wrong)
        again = half(time_us * 1.25, size_bytes=size, factor=factor, wrong=wrong)
        found.append(
            Row(
                operation=operation,
                size_bytes=size,
                count=size // 4,
                dtype="float",
                redop="sum" if operation in REDUCING else "none",
                root=0 if operation in ROOTED else -1,
                ranks=ranks,
                out_of_place=measured,
                in_place=again if operation in HAVE_IN_PLACE else None,
            )
        )
    return tuple(found)


def run_of(rows: tuple[Row, ...], *, ranks: int) -> RunResult:
    run = result()
    sizes = tuple(sorted({row.size_bytes for row in rows}))
    operations = cast("tuple[Operation, ...]", tuple(dict.fromkeys(row.operation for row in rows)))
    spec = dataclasses.replace(run.spec, ranks=ranks, operations=operations, sizes=sizes)
    started = tuple(dataclasses.replace(run.started[0], rank=rank, pid=100 + rank) for rank in range(ranks))
    return dataclasses.replace(run, spec=spec, rows=rows, started=started)


def same_rows(imported: ImportedRun, rows: tuple[Row, ...], *, time: Written, rate: Written) -> None:
    assert len(imported.rows) == len(rows)
    for back, row in zip(imported.rows, rows, strict=True):
        assert facts(back) == (row.size_bytes, row.count, row.dtype, row.redop, row.root)
        same_half(back.out_of_place, row.out_of_place, time=time, rate=rate)
        same_half(back.in_place, row.in_place, time=time, rate=rate)


def facts(row: ImportedRow) -> tuple[int, int | None, str | None, str | None, int | None]:
    return row.size_bytes, row.count, row.dtype, row.redop, row.root


def same_half(back: Half | None, written: Measurement | None, *, time: Written, rate: Written) -> None:
    if written is None:
        assert back is None
        return
    assert back is not None
    assert written.busbw_gb_per_s is not None
    assert back.time_us == time(written.time_us)
    assert back.algbw_gb_per_s == rate(written.algbw_gb_per_s)
    assert back.busbw_gb_per_s == rate(written.busbw_gb_per_s)
    assert back.wrong_or_error == written.wrong


def as_is(value: float) -> float:
    return value


def printed_time(value: float) -> float:
    """The time column is seven characters wide and holds two decimals at most."""
    return float(next(text for text in (f"{value:.2f}", f"{value:.1f}", f"{value:.0f}") if len(text) <= 7))


def printed_rate(value: float) -> float:
    """Rates below 1 GB/s have four decimals; above, two at most in six characters."""
    texts = [f"{value:.4f}"] if value < 1 else [f"{value:.2f}", f"{value:.1f}", f"{value:.0f}"]
    return float(next(text for text in texts if len(text) <= 6))


times = st.lists(st.floats(10.0, 90_000.0), min_size=2, max_size=6)


@pytest.mark.parametrize("operation", OPERATIONS)
@settings(deadline=None, max_examples=15)
@given(times_us=times, ranks=st.integers(2, 16))
def test_json_comes_back_to_the_last_digit(operation: str, times_us: list[float], ranks: int) -> None:
    rows = rows_of(operation, times_us, ranks=ranks)
    document = nccl_json.documents(run_of(rows, ranks=ranks))[operation]

    imported = read_log(json.dumps(document))

    (back,) = imported.runs
    assert (back.operation, back.ranks) == (operation, ranks)
    same_rows(back, rows, time=as_is, rate=as_is)
    assert back.footer_average_busbw_gb_per_s == nccl_text.average_busbw(rows)


@pytest.mark.parametrize("operation", OPERATIONS)
@settings(deadline=None, max_examples=15)
@given(times_us=times, ranks=st.integers(2, 16))
def test_text_comes_back_as_printed(operation: str, times_us: list[float], ranks: int) -> None:
    rows = rows_of(operation, times_us, ranks=ranks)

    imported = read_log(nccl_text.document(run_of(rows, ranks=ranks)))

    (back,) = imported.runs
    assert (back.operation, back.ranks) == (operation, ranks)
    same_rows(back, rows, time=printed_time, rate=printed_rate)


def test_a_run_of_all_operations_comes_back_as_one_run_for_each() -> None:
    rows = tuple(row for name in OPERATIONS for row in rows_of(name, [50.0, 70.0, 200.0], ranks=4))
    run = run_of(rows, ranks=4)

    for text in (nccl_text.document(run), nccl_json.document(run)):
        imported = read_log(text)

        assert [back.operation for back in imported.runs] == list(OPERATIONS)
        assert {back.ranks for back in imported.runs} == {4}
        assert all(back.may_feed_fits for back in imported.runs)


@pytest.mark.parametrize("wrong", [None, 3])
def test_checks_that_were_off_or_failed_come_back_as_such(wrong: int | None) -> None:
    rows = rows_of("all_reduce", [50.0, 70.0, 200.0], ranks=2, wrong=wrong)
    run = run_of(rows, ranks=2)

    for text in (nccl_text.document(run), nccl_json.document(run)):
        (back,) = read_log(text).runs

        assert {each.wrong_or_error for row in back.rows for each in row.halves} == {wrong}
        assert back.may_feed_fits is (wrong is None)


def test_an_exported_run_needs_nobody_to_confirm_what_it_is() -> None:
    """Its program, its rank lines and its footer say it all."""
    rows = rows_of("all_gather", [50.0, 70.0, 200.0, 900.0], ranks=8)
    run = run_of(rows, ranks=8)

    for text in (nccl_text.document(run), nccl_json.document(run)):
        (back,) = read_log(text).runs

        assert not back.needs_confirmation, back.badges


def test_an_emulated_run_comes_back_as_one_that_feeds_nothing() -> None:
    run = run_of(rows_of("all_reduce", [50.0, 70.0, 200.0], ranks=2), ranks=2)
    assert run.environment is not None
    run = dataclasses.replace(run, environment=dataclasses.replace(run.environment, emulated=True))

    for text in (nccl_text.document(run), nccl_json.document(run)):
        (back,) = read_log(text).runs

        assert not back.may_feed_fits
