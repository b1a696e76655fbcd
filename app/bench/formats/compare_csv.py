"""Several runs as one CSV: a line per half of a row, with the name of the run in front."""

from collections.abc import Iterable

from app.bench.formats.csv_export import COLUMNS, lines, text
from app.bench.result import RunResult


def document(results: Iterable[tuple[str, RunResult]]) -> str:
    """The rows of all `results`, each with the name of its run; lines end as RFC 4180 says."""
    return text(("run", *COLUMNS), ([name, *line] for name, result in results for line in lines(result)))
