"""Imported runs as files come back through the importer as they were."""

import csv
import dataclasses
import io
from pathlib import Path

import pytest

from app.bench.formats import imported
from app.bench.importers.model import ImportedRow, ImportedRun
from app.bench.importers.read import read_log

LOGS = Path(__file__).parents[2] / "golden" / "nccl_logs"
RUNS = [
    pytest.param(run, id=f"{path.name[:2]}-{number}")
    for path in sorted(LOGS.glob("[0-9]*"))
    for number, run in enumerate(read_log(path.read_bytes()).runs, start=1)
    if run.rows
]
SURE = [param for param in RUNS if not param.values[0].needs_confirmation and param.values[0].may_feed_fits]  # type: ignore[union-attr]


def figures(row: ImportedRow) -> ImportedRow:
    """What stands in the columns, with what older tables had no column for."""
    redop, root = row.redop or "none", -1 if row.root is None else row.root
    return dataclasses.replace(row, redop=redop, root=root, line=0, flags=(), extra=())


@pytest.mark.parametrize("run", SURE)
def test_the_text_of_a_sound_run_is_read_back_to_the_last_digit(run: ImportedRun) -> None:
    (again,) = read_log(imported.text(run, name="a.log")).runs

    assert [figures(row) for row in again.rows] == [figures(row) for row in run.rows]
    assert (again.operation, again.footer_average_busbw_gb_per_s) == (run.operation, run.footer_average_busbw_gb_per_s)
    if run.devices and run.ranks_basis == "rank lines" and len(run.devices) == run.ranks:
        assert (again.ranks, again.hosts) == (run.ranks, run.hosts)


@pytest.mark.parametrize("run", RUNS)
def test_the_csv_holds_every_half_with_its_line(run: ImportedRun) -> None:
    lines = list(csv.DictReader(io.StringIO(imported.csv(run), newline="")))

    assert len(lines) == sum(len(row.halves) for row in run.rows)
    first = run.rows[0].halves[0]
    assert float(lines[0]["time_us"]) == first.time_us
    assert lines[0]["line"] == str(run.rows[0].line)
    assert lines[0]["in_place"] == str(int(run.rows[0].out_of_place is None))


def test_what_is_doubtful_travels_with_the_text() -> None:
    (run,) = read_log((LOGS / "25-rtx5090-one-gpu-two-ranks-footer-with-unit.txt").read_bytes()).runs

    text = imported.text(run, name="a\nb.log")

    assert "# ringside: emulated: Several ranks share one GPU" in text
    assert "# ringside: imported from a b.log" in text
    assert "emulated" in [badge.kind for badge in read_log(text).runs[0].badges]


def test_a_log_without_counts_or_types_has_no_text() -> None:
    (run,) = read_log((LOGS / "83-othertool-osu_allreduce-512ranks-cpu.txt").read_bytes()).runs

    assert imported.has_text(run)
    assert not imported.has_text(dataclasses.replace(run, rows=(dataclasses.replace(run.rows[0], count=None),)))
    assert not imported.has_text(dataclasses.replace(run, rows=()))
    assert all(imported.has_text(param.values[0]) for param in SURE)  # type: ignore[arg-type]
