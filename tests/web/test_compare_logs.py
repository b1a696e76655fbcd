"""Logs as sides of a comparison, from those that people posted."""

from pathlib import Path

import pytest

from app.bench.importers.model import Half, ImportedRow, ImportedRun
from app.bench.importers.read import read_log
from app.core.i18n import same
from app.web import compare_posted, compare_view
from app.web.compare_logs import of_log
from app.web.compare_view import Side

LOGS = Path(__file__).parents[1] / "golden" / "nccl_logs"


def side(run: ImportedRun, key: str = "import-1-1") -> Side | None:
    return of_log(run, key=key, title=same(key), href="/bench/imports/1", about="a log")


def row(size_bytes: int, half: Half, *, dtype: str = "float") -> ImportedRow:
    return ImportedRow(
        size_bytes=size_bytes,
        count=size_bytes // 4,
        dtype=dtype,
        redop="sum",
        root=-1,
        out_of_place=half,
        in_place=None,
        line=1,
    )


def test_every_log_that_knows_its_operation_and_ranks_becomes_a_side() -> None:
    made = 0
    for path in sorted(LOGS.glob("[0-9]*")):
        for run in read_log(path.read_bytes()).runs:
            found = side(run)
            if found is None:
                continue
            made += 1
            (operation,) = found.sweeps
            cells = found.sweeps[operation]
            assert [cell.size_bytes for cell in cells] == sorted({cell.size_bytes for cell in cells})
            assert all(cell.time_us > 0 for cell in cells)
            assert found.conditions(operation)["ranks"].en == str(run.ranks)

    assert made > 20


def test_two_logs_compare_with_each_other_and_with_what_was_posted() -> None:
    runs = [run for path in sorted(LOGS.glob("[0-9]*")) for run in read_log(path.read_bytes()).runs]
    sides = [found for run in runs if (found := side(run)) and "all_reduce" in found.sweeps][:2]

    lines = compare_view.sweep_lines(sides, "all_reduce")
    posted = compare_posted.posted("h100-sxm", sides, "all_reduce")

    assert len(sides) == 2
    assert lines
    assert posted is not None
    assert posted.figures


@pytest.mark.parametrize(
    "run",
    [
        ImportedRun("nccl-tests", operation="all_reduce", rows=(row(1024, Half(10.0, 0.1, 0.1)),)),
        ImportedRun("nccl-tests", ranks=8, rows=(row(1024, Half(10.0, 0.1, 0.1)),)),
        ImportedRun("nccl-tests", operation="hypercube", ranks=8, rows=(row(1024, Half(10.0, 0.1, 0.1)),)),
        ImportedRun("nccl-tests", operation="all_reduce", ranks=8),
        ImportedRun("nccl-tests", operation="all_reduce", ranks=8, rows=(row(1024, Half(None, 0.1, 0.1)),)),
    ],
    ids=["no ranks", "no operation", "no such operation", "no rows", "no times"],
)
def test_what_is_not_known_is_no_side(run: ImportedRun) -> None:
    assert side(run) is None


def test_a_rate_that_was_not_printed_is_computed_and_a_printed_one_is_kept() -> None:
    """An old all-gather prints the same rate twice; computing it anew would contradict the log."""
    rows = (
        row(1_000_000, Half(1000.0, None, None)),
        row(2_000_000, Half(1000.0, 2.0, 2.0)),
        row(4_000, Half(1000.0, 0.0, 0.0)),
    )

    found = side(ImportedRun("osu", operation="all_gather", ranks=4, rows=rows))

    assert found is not None
    cells = found.sweeps["all_gather"]
    assert [(cell.algbw_gb_per_s, cell.busbw_gb_per_s) for cell in cells] == [(0.004, 0.003), (1.0, 0.75), (2.0, 2.0)]


def test_of_several_types_the_one_with_the_most_sizes_is_shown() -> None:
    rows = (row(1024, Half(1.0, 1.0, 1.0), dtype="half"), *(row(size, Half(9.0, 1.0, 1.0)) for size in (1024, 2048)))

    found = side(ImportedRun("nccl-tests", operation="all_reduce", ranks=4, rows=rows))

    assert found is not None
    assert [cell.time_us for cell in found.sweeps["all_reduce"]] == [9.0, 9.0]
    assert found.dtype == "float"


def test_a_size_in_several_cycles_has_the_middle_time() -> None:
    rows = tuple(row(1024, Half(time, 1.0, 1.0)) for time in (10.0, 99.0, 12.0))

    found = side(ImportedRun("nccl-tests", operation="all_reduce", ranks=4, rows=rows))

    assert found is not None
    assert [cell.time_us for cell in found.sweeps["all_reduce"]] == [12.0]


def test_the_difference_that_old_logs_print_is_no_wrong_value() -> None:
    rows = (row(1024, Half(1.0, 1.0, 1.0, 2e-7)), row(2048, Half(1.0, 1.0, 1.0, 3.0)))

    found = side(ImportedRun("nccl-tests", operation="all_reduce", ranks=4, rows=rows))

    assert found is not None
    assert [cell.is_wrong for cell in found.sweeps["all_reduce"]] == [False, True]


def test_rates_that_were_printed_as_zero_compare_by_what_the_times_say() -> None:
    def run(time_us: float) -> ImportedRun:
        return ImportedRun("nccl-tests", operation="all_reduce", ranks=2, rows=(row(4, Half(time_us, 0.0, 0.0)),))

    sides = [found for time_us in (40.0, 20.0) if (found := side(run(time_us)))]

    assert compare_view.sweep_lines(sides, "all_reduce")[0].ratios[1] == pytest.approx(2.0)
