"""A run as CSV for spreadsheets, with units in the column names: its rows, or one of the other things it measured.

A row gives a line for each of its halves. Behind the figures stand the conditions that a reader of a single line needs. A text that
a spreadsheet would take for a formula, which a log of somebody else may hold, begins with an apostrophe.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any

from app.bench.codec import plain
from app.bench.events import Measurement
from app.bench.result import RunResult

_ROW = ("operation", "size_bytes", "count", "dtype", "redop", "root", "ranks", "label")
_HALF = tuple(field.name for field in fields(Measurement) if field.name != "batches_us")
_CONDITIONS = ("hosts", "backend", "timing", "emulated")
COLUMNS = (*_ROW, "in_place", *_HALF, *_CONDITIONS)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def document(result: RunResult) -> str:
    """The rows of the run, with a title line; lines end as RFC 4180 says."""
    return text(COLUMNS, lines(result))


def lines(result: RunResult) -> Iterator[list[Any]]:
    """A line of `COLUMNS` for each half of each row."""
    environment = result.environment
    known = (environment.backend, environment.timing, int(environment.emulated)) if environment else ("", "", "")
    conditions = [result.spec.hosts, *known]
    for row in plain(result.rows):
        for place in ("out_of_place", "in_place"):
            if row[place] is not None:
                start = [row[name] for name in _ROW]
                yield [*start, int(place == "in_place"), *(row[place][name] for name in _HALF), *conditions]


def table(result: RunResult, name: str) -> str | None:
    """One of `tables`; None where the run has none of it. Lists stand in one cell, parted by `;`. Raises KeyError for another name."""
    found = _found(result)[name]
    if not found:
        return None
    columns = [field.name for field in fields(found[0])]
    return text(columns, ([_cell(entry[column]) for column in columns] for entry in plain(found)))


def tables(result: RunResult) -> tuple[str, ...]:
    """What the run measured besides its rows: `gemm`, `latencies`, `overlaps`, `copies`, `links`, as far as there is any."""
    return tuple(name for name, found in _found(result).items() if found)


def _found(result: RunResult) -> dict[str, Sequence[Any]]:
    return {
        "gemm": result.gemm.rates if result.gemm else (),
        "latencies": result.latencies,
        "overlaps": result.overlaps,
        "copies": result.copies,
        "links": result.links,
    }


def text(columns: Sequence[str], found: Iterable[Iterable[Any]]) -> str:
    """A title line and the lines of `found`, safe to open in a spreadsheet."""
    output = io.StringIO(newline="")
    writer = csv.writer(output)
    writer.writerow(columns)
    writer.writerows([_safe(value) for value in line] for line in found)
    return output.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        return ";".join(map(str, value))
    return int(value) if isinstance(value, bool) else value


def _safe(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
