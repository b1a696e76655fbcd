"""A run of an imported log as files: a CSV of its rows, and text in the layout of nccl-tests.

What the log did not print is blank in the CSV and N/A in the text. The text says in comments where the figures come from and what is
doubtful about them, so that a table that is passed on keeps its warnings.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from app.bench.formats import csv_export, nccl_text
from app.bench.importers.model import Half, ImportedRow, ImportedRun

_ROW = ("operation", "size_bytes", "count", "dtype", "redop", "root", "ranks")
_HALF = ("time_us", "algbw_gb_per_s", "busbw_gb_per_s", "wrong_or_error")
COLUMNS = (*_ROW, "in_place", *_HALF, "line", "flags")
_ABSENT = "N/A"


def csv(run: ImportedRun) -> str:
    """A line for each half of each row, with the line of the log it comes from."""
    return csv_export.text(COLUMNS, _lines(run))


def lines(name: str, run: ImportedRun) -> Iterator[dict[str, Any]]:
    """The same lines by column, under the name of the run, for a CSV together with runs of ours."""
    for line in _lines(run):
        found = dict(zip(COLUMNS, line, strict=True))
        # The largest difference, which logs before 2022-08 hold, is no count of wrong values.
        wrong = found["wrong_or_error"]
        yield {
            "run": name,
            "hosts": len(run.hosts) or None,
            **found,
            "wrong": int(wrong) if wrong is not None and wrong % 1 == 0 else None,
        }


def has_text(run: ImportedRun) -> bool:
    """Whether the rows hold what every row of nccl-tests begins with: size, count and element type."""
    return bool(run.rows) and all(row.count is not None and row.dtype for row in run.rows)


def text(run: ImportedRun, *, name: str) -> str:
    """The table in the layout of nccl-tests, for a run that `has_text`; `name` is that of the log."""
    told = [f"ringside: imported from {name}, read as {run.tool}", *_devices(run)]
    told += [f"ringside: {badge.kind}: {badge.text.en}" for badge in run.badges if badge.kind != "ok"]
    comments = ["# " + " ".join(line.split()) for line in told]
    heading = list(nccl_text.heading(run.operation or "", label=None, preamble=comments))
    # The first line names the program, which a log without an operation does not.
    return "\n".join([*heading[run.operation is None :], *map(_row, run.rows), *_footer(run)]) + "\n"


def _lines(run: ImportedRun) -> Iterator[list[Any]]:
    for row in run.rows:
        start = [run.operation, row.size_bytes, row.count, row.dtype, row.redop, row.root, run.ranks]
        for half, in_place in ((row.out_of_place, 0), (row.in_place, 1)):
            if half is not None:
                figures = [getattr(half, name) for name in _HALF]
                yield [*start, in_place, *figures, row.line, ";".join(row.flags)]


def _devices(run: ImportedRun) -> Iterator[str]:
    if run.devices:
        yield "Using devices"
    for device in run.devices:
        host, bus = device.host or "unknown", device.bus or "0x00"
        yield (
            f"Rank {device.rank} Group {device.group} Pid 0 on {host} device {device.index or 0} [{bus}] {device.name}"
        )


def _row(row: ImportedRow) -> str:
    root = -1 if row.root is None else row.root
    start = f"{row.size_bytes:>12}  {row.count:>12}  {row.dtype:>8}  {row.redop or 'none':>6}  {root:>6}"
    return start + _half(row.out_of_place) + _half(row.in_place)


def _half(half: Half | None) -> str:
    cells = [None] * 4 if half is None else [getattr(half, name) for name in _HALF]
    time, algbw, busbw, wrong = map(_figure, cells)
    return f"  {time:>7}  {algbw:>6}  {busbw:>6}  {wrong:>6}"


def _figure(value: float | None) -> str:
    """Every digit that was read, never an exponent, which some readers take for the end of the number."""
    if value is None:
        return _ABSENT
    return f"{value:.0f}" if float(value).is_integer() else f"{Decimal(str(value)):f}"


def _footer(run: ImportedRun) -> Iterator[str]:
    wrong, average = run.out_of_bounds, run.footer_average_busbw_gb_per_s
    yield f"# Out of bounds values : {_ABSENT if wrong is None else f'{wrong} FAILED' if wrong else '0 OK'}"
    if average is not None:
        yield f"# Avg bus bandwidth    : {_figure(average)}"
    yield "#"
