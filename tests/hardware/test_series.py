import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.bench.spec import OPERATIONS as MEASURED
from app.hardware.collective import OPERATIONS, bus_factor
from app.hardware.fit import fit_rows
from app.hardware.series import Point, Sample, Series, grouped, leading, samples
from tests.hardware.rows import row

SIZES = [1024 * 2**power for power in range(12)]


def test_every_operation_that_a_run_measures_has_a_bus_factor() -> None:
    assert set(MEASURED) == set(OPERATIONS)
    # Eight ranks by hand, from nccl-tests' PERFORMANCE.md; a ping-pong is timed one way.
    by_hand = {"all_reduce": 1.75, "broadcast": 1, "reduce": 1, "send_recv": 1, "ping_pong": 1}
    assert {name: float(bus_factor(name, ranks=8)) for name in OPERATIONS} == dict.fromkeys(OPERATIONS, 0.875) | by_hand


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_is_fitted_to_its_own_bus_bandwidth(operation: str) -> None:
    """20 µs to start and 3 GB/s on the busiest link of four ranks."""
    factor = float(bus_factor(operation, ranks=4))
    rows = [row(size, 20 + size * factor / 3e3, operation=operation, ranks=4) for size in SIZES]

    fit = fit_rows(rows)[operation]

    assert fit.refused is None
    assert fit.pieces[0].alpha == pytest.approx(20e-6)
    assert fit.pieces[0].beta == pytest.approx(3e9)
    assert fit.seconds(2 * SIZES[-1]) == pytest.approx(20e-6 + 2 * SIZES[-1] * factor / 3e9)


def test_types_roots_labels_and_halves_are_never_mixed_in_one_fit() -> None:
    """One straight line each; a fit over two of them would scatter."""
    rows = [row(size, 100 + size / 1e3, in_place_us=50 + size / 1e3) for size in SIZES]
    rows += [row(size, 300 + size / 2e3, dtype="bfloat16") for size in SIZES]
    rows += [row(size, 700 + size / 5e3, root=1) for size in SIZES]
    rows += [row(size, 900 + size / 9e3, label="one call at a time") for size in SIZES]

    groups = grouped(samples(rows))
    fit = fit_rows(rows)["all_reduce"]

    assert len(groups) == 5
    assert all(len(points) == len(SIZES) for points in groups.values())
    assert fit.pieces[0].alpha == pytest.approx(100e-6)
    assert fit.residual == pytest.approx(0, abs=1e-6)
    assert (fit.dtype, fit.label, fit.in_place) == ("float", None, False)


def test_the_unlabelled_out_of_place_times_speak_for_an_operation() -> None:
    few = [row(size, 10.0, in_place_us=5.0) for size in SIZES[:3]]
    many = [row(size, 20.0, label="one call at a time") for size in SIZES]

    chosen = leading(grouped(samples([*many, *few])))["all_reduce"]

    assert (chosen.label, chosen.in_place) == (None, False)


def test_labelled_times_speak_where_there_are_no_others() -> None:
    rows = [row(size, 20.0, operation="reduce_scatter", label="all-reduce inside") for size in SIZES]

    assert fit_rows(rows)["reduce_scatter"].label == "all-reduce inside"


def test_a_log_with_in_place_times_only_is_still_fitted() -> None:
    series = Series(operation="all_gather", ranks=8, dtype="half", in_place=True)
    groups = grouped(Sample(series, size, 1e-4 + size / 1e9) for size in SIZES)

    assert leading(groups) == {"all_gather": series}
    assert [point.message_bytes for point in groups[series]] == SIZES


def test_a_size_measured_three_times_counts_once_with_the_median() -> None:
    rows = [row(1024, time) for time in (10.0, 90.0, 12.0)]

    (points,) = grouped(samples(rows)).values()

    assert points == (Point(1024, 12.0 * 1e-6),)


@given(st.permutations(SIZES))
def test_the_order_of_the_rows_does_not_matter(sizes: list[int]) -> None:
    assert fit_rows(row(size, 100 + size / 1e3) for size in sizes) == fit_rows(
        row(size, 100 + size / 1e3) for size in SIZES
    )


def test_what_cannot_feed_a_model_is_left_out() -> None:
    rows = [row(1024, 10.0, wrong=1), row(2048, 10.0, ranks=1), row(4096, 10.0)]

    (points,) = grouped(samples(rows)).values()

    assert [point.message_bytes for point in points] == [4096]
