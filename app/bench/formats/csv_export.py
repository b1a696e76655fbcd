"""A run as CSV for spreadsheets: one line per half of a row, with units in the column names."""

import csv
import io
from dataclasses import fields

from app.bench.codec import plain
from app.bench.events import Measurement
from app.bench.result import RunResult

_ROW = ("operation", "size_bytes", "count", "dtype", "redop", "root", "ranks", "label")
_HALF = tuple(field.name for field in fields(Measurement) if field.name != "batches_us")


def document(result: RunResult) -> str:
    """The rows of the run, with a title line; lines end as RFC 4180 says."""
    output = io.StringIO(newline="")
    writer = csv.writer(output)
    writer.writerow([*_ROW, "in_place", *_HALF])
    for row in plain(result.rows):
        for place in ("out_of_place", "in_place"):
            if row[place] is not None:
                start = [row[name] for name in _ROW]
                writer.writerow([*start, int(place == "in_place"), *(row[place][name] for name in _HALF)])
    return output.getvalue()
