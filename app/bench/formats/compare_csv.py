"""Several runs as one CSV: a line per half of a row, with the name of the run in front."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from app.bench.formats import csv_export
from app.bench.result import RunResult

COLUMNS = ("run", *csv_export.COLUMNS)

Line = Mapping[str, Any]


def document(parts: Iterable[Iterable[Line]]) -> str:
    """All lines of all `parts`; a column that a line does not know stays blank. Lines end as RFC 4180 says."""
    return csv_export.text(COLUMNS, ([line.get(name) for name in COLUMNS] for part in parts for line in part))


def lines(name: str, result: RunResult) -> Iterator[Line]:
    """The lines of a run that is called `name`."""
    for line in csv_export.lines(result):
        yield {"run": name, **dict(zip(csv_export.COLUMNS, line, strict=True))}
