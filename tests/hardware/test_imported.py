"""Logs that people posted as hardware: what feeds a profile, what does not, and why."""

import dataclasses
from pathlib import Path

import pytest

from app.bench.importers.badges import badge
from app.bench.importers.facts import LAUNCH_TIME
from app.bench.importers.model import EXCLUDES, Half, ImportedRow, ImportedRun
from app.bench.importers.read import read_log
from app.core.errors import InvalidInput
from app.core.i18n import same
from app.hardware.collective import OPERATIONS, bus_factor
from app.hardware.imported import belong_together, contradiction, imported_profile, samples_of, why_not
from app.hardware.measured import MeasuredProfile

LOGS = Path(__file__).parents[1] / "golden" / "nccl_logs"
ALL = [run for path in sorted(LOGS.glob("[0-9]*")) for run in read_log(path.read_bytes()).runs]


def runs(number: str) -> tuple[ImportedRun, ...]:
    (path,) = LOGS.glob(f"{number}-*")
    return read_log(path.read_bytes()).runs


def profile(*found: ImportedRun) -> MeasuredProfile:
    return imported_profile(found, key="import-1", title=same("a log"), source=same("somebody"))


def synthetic(*halves: tuple[int, Half], operation: str = "all_reduce", ranks: int = 8) -> ImportedRun:
    rows = tuple(
        ImportedRow(size, size // 4, "float", "sum", -1, half, None, line=place)
        for place, (size, half) in enumerate(halves)
    )
    return ImportedRun("nccl-tests", operation=operation, ranks=ranks, rows=rows)


def half(size: int, time_us: float, *, rate: float = 1.0, factor: float = 1.75) -> Half:
    algbw = rate * size / time_us / 1e3
    return Half(time_us, algbw, algbw * factor)


def test_every_run_of_the_logs_is_a_profile_or_says_why_not() -> None:
    used = 0
    for run in ALL:
        is_sure = not run.needs_confirmation
        reason = why_not(run, is_sure=is_sure)
        assert (reason is None) <= (run.may_feed_fits and is_sure)
        if reason is None:
            used += 1
            found = profile(run)
            assert list(found.curves) == [run.operation]
            assert found.kind == "imported"
        else:
            assert reason.zh

    assert used >= 20


def test_a_measured_size_answers_with_the_printed_time() -> None:
    (run,) = runs("41")
    row = run.rows[-1]
    assert row.out_of_place is not None
    assert row.out_of_place.time_us is not None

    estimate = profile(run).collective("all_reduce", row.size_bytes, 16)

    assert estimate.seconds == pytest.approx(row.out_of_place.time_us * 1e-6)
    assert estimate.basis == "imported"


def test_out_of_place_speaks_before_in_place_and_in_place_where_it_is_alone() -> None:
    both = profile(runs("41")[0]).curves["all_reduce"]
    (alone,) = runs("23")

    assert not both.series.in_place
    assert profile(alone).curves["all_reduce"].series.in_place


@pytest.mark.parametrize("kind", sorted(EXCLUDES))
def test_what_the_importer_excludes_never_feeds_a_profile_even_confirmed(kind: str) -> None:
    (run,) = runs("41")
    marked = dataclasses.replace(run, badges=(badge(kind, what="x"),))  # type: ignore[arg-type]

    reason = why_not(marked, is_sure=True)

    assert reason is not None
    assert reason == marked.badges[0].text


def test_doubts_keep_a_run_out_until_they_are_confirmed() -> None:
    (run,) = runs("10")

    doubted = why_not(run, is_sure=False)

    assert doubted is not None
    assert "confirm" in doubted.en
    assert why_not(run, is_sure=True) is None


def test_an_operation_without_a_bus_factor_feeds_nothing() -> None:
    reason = why_not(synthetic((1024, half(1024, 10.0)), operation="hypercube"), is_sure=True)

    assert reason is not None
    assert "hypercube" in reason.en


def test_times_of_the_launch_are_no_times_of_the_transfer() -> None:
    run = synthetic(*((size, half(size, 10.0)) for size in (2**20, 2**21)))
    doubted = dataclasses.replace(run, badges=(badge("unit-doubt", what=LAUNCH_TIME),))

    assert why_not(run, is_sure=True) is None
    reason = why_not(doubted, is_sure=True)
    assert reason is not None
    assert "launch" in reason.en


def test_sizes_that_are_counted_otherwise_feed_nothing() -> None:
    """A part per rank instead of the whole message: the rate is eight times size over time."""
    parts = synthetic(*((2**power, half(2**power, 10.0, rate=8.0)) for power in range(20, 26)))
    unknown = synthetic((2**20, Half(10.0, None, None)))

    for run in (parts, unknown):
        reason = why_not(run, is_sure=True)
        assert reason is not None
        assert "counts its sizes" in reason.en


def test_the_old_definition_of_all_gather_is_read_with_its_times() -> None:
    """Both rates were printed without the rank's own part: 7/8 of size over time."""
    run = synthetic(
        *((2**power, half(2**power, 2**power / 1e5, rate=7 / 8, factor=1.0)) for power in range(20, 28)),
        operation="all_gather",
    )

    assert why_not(run, is_sure=True) is None
    assert profile(run).bytes_per_second is None
    assert profile(run).collective("all_gather", 2**24, 8).seconds == pytest.approx(2**24 / 1e5 * 1e-6)


def test_a_row_whose_columns_are_out_of_line_is_shown_but_not_used() -> None:
    run = synthetic(*((2**power, half(2**power, 10.0)) for power in range(20, 24)))
    marked = dataclasses.replace(run, rows=(dataclasses.replace(run.rows[0], flags=("misaligned",)), *run.rows[1:]))

    assert {sample.message_bytes for sample in samples_of(marked)} == {2**21, 2**22, 2**23}


def test_five_collectives_of_one_machine_answer_as_one_profile() -> None:
    found = runs("12")

    assert belong_together(found)
    assert not belong_together(found[:1])
    assert not belong_together((*found, found[0]))
    assert not belong_together((found[0], dataclasses.replace(found[1], ranks=16)))
    assert set(profile(*found).curves) == {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv"}
    with pytest.raises(InvalidInput):
        profile(*found).collective("broadcast", 2**20, 8)


@pytest.mark.parametrize(
    "run", [run for run in ALL if run.rows and run.operation in OPERATIONS and (run.ranks or 0) > 1]
)
def test_what_a_log_tells_is_never_contradicted_by_its_own_figures(run: ImportedRun) -> None:
    assert run.operation is not None
    assert run.ranks is not None

    assert contradiction(run, run.operation, run.ranks) is None


def test_a_confirmation_that_the_figures_rule_out_is_refused_with_both_numbers() -> None:
    (run,) = runs("41")

    assert contradiction(run, "all_reduce", 32) is not None
    wrong_operation, wrong_ranks = contradiction(run, "broadcast", 16), contradiction(run, "all_reduce", 4)

    assert wrong_operation is not None
    assert wrong_ranks is not None
    assert "1.87 times" in wrong_ranks.en
    assert f"{float(bus_factor('all_reduce', ranks=4)):.3g} times" in wrong_ranks.en


def test_without_a_bus_bandwidth_nothing_can_be_ruled_out() -> None:
    run = synthetic((2**20, Half(10.0, 104.0, None)))

    assert contradiction(run, "broadcast", 3) is None
