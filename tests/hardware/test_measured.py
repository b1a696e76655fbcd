import dataclasses
import math

import pytest

from app.core.errors import InvalidInput
from app.core.i18n import Text, same
from app.hardware.measured import MeasuredProfile, measured_profile, sampled_profile
from app.hardware.series import Sample, Series
from tests.hardware.rows import environment, overlap, result, row

SIZES = [1024 * 2**power for power in range(11)]


def profile(*rows: object, with_gemm: bool = True) -> MeasuredProfile:
    made = rows or tuple(row(size, 100 + size / 1e3, label=None) for size in SIZES)
    return measured_profile(
        result(*made, with_gemm=with_gemm),  # type: ignore[arg-type]
        key="run-1",
        title=same("run 1"),
        source=same("this machine"),
    )


def test_a_measured_size_is_answered_with_what_was_measured() -> None:
    estimate = profile().collective("all_reduce", 4096, ranks=2)

    assert estimate.basis == "measured"
    assert estimate.seconds == pytest.approx(104.096e-6)


def test_between_two_sizes_the_answer_is_on_the_line_between_them() -> None:
    estimate = profile().collective("all_reduce", math.sqrt(4096 * 8192), ranks=2)

    assert estimate.basis == "interpolated"
    assert estimate.seconds == pytest.approx(math.sqrt(104.096 * 108.192) * 1e-6)
    assert "4 KiB" in estimate.note.en.replace("\u2009", " ")


def test_beyond_the_largest_size_the_fit_answers_and_says_so() -> None:
    estimate = profile().collective("all_reduce", 16 * 1024**2, ranks=2)

    assert estimate.basis == "extrapolated"
    assert estimate.seconds == pytest.approx(100e-6 + 16 * 1024**2 / 1e9)
    assert "fit" in estimate.note.en


def test_beyond_the_range_of_a_refused_fit_there_is_no_answer() -> None:
    few = profile(*(row(size, 100.0) for size in SIZES[:3]))

    assert few.collective("all_reduce", 2048, ranks=2).basis == "measured"
    with pytest.raises(InvalidInput, match="outside the measured"):
        few.collective("all_reduce", 1024**3, ranks=2)


def test_other_rank_counts_are_scaled_by_the_bus_factor_and_flagged() -> None:
    estimate = profile().collective("all_reduce", 4096, ranks=4)

    # 4 ranks load the link with 1.5 instead of 1.0 bytes per byte: the time is read at 6144 bytes.
    assert estimate.seconds == profile().collective("all_reduce", 6144, ranks=2).seconds
    assert estimate.basis == "extrapolated"
    assert "scaled to 4" in estimate.note.en


def test_one_wrong_value_refuses_the_whole_operation() -> None:
    rows = [row(size, 100.0) for size in SIZES] + [row(size, 100.0, operation="all_gather") for size in SIZES]
    rows[3] = row(SIZES[3], 100.0, wrong=1)

    made = profile(*rows)

    with pytest.raises(InvalidInput, match="wrong values"):
        made.collective("all_reduce", 4096, ranks=2)
    assert made.collective("all_gather", 4096, ranks=2).seconds == pytest.approx(100e-6)


def test_what_was_not_measured_is_refused_with_what_was() -> None:
    with pytest.raises(InvalidInput, match="it has: all_reduce"):
        profile().collective("all_gather", 4096, ranks=2)


def test_rates_come_from_the_largest_all_reduce_and_the_gemm() -> None:
    made = profile()

    size = SIZES[-1]
    assert made.bytes_per_second == pytest.approx(size / ((100 + size / 1e3) * 1e-6))
    assert made.flop_per_second == pytest.approx(0.48e12)
    assert made.ranks == 2


def test_a_run_without_gemm_has_no_rate_for_it() -> None:
    assert profile(with_gemm=False).flop_per_second is None


def test_a_time_that_does_not_grow_tells_nothing_of_larger_messages() -> None:
    """Else a latency would be promised for gigabytes."""
    flat = profile(*(row(size, 100.0) for size in SIZES))

    assert flat.collective("all_reduce", 512, ranks=2).seconds == pytest.approx(100e-6)
    with pytest.raises(InvalidInput, match="does not grow"):
        flat.collective("all_reduce", 1024**3, ranks=2)


@pytest.mark.parametrize("by", ["environment", "specification"])
def test_ranks_that_shared_a_gpu_answer_nothing(by: str) -> None:
    run = result(*(row(size, 100 + size / 1e3) for size in SIZES))
    if by == "environment":
        run = dataclasses.replace(run, environment=dataclasses.replace(environment(), emulated=True))
    else:
        run = dataclasses.replace(run, spec=dataclasses.replace(run.spec, emulated=True))

    made = measured_profile(run, key="run-1", title=same("run 1"), source=same("here"))

    assert (made.bytes_per_second, made.flop_per_second, made.overlap) == (None, None, {})
    with pytest.raises(InvalidInput, match="shared one GPU"):
        made.collective("all_reduce", 4096, ranks=2)


def test_what_hides_is_a_share_of_the_largest_size() -> None:
    run = dataclasses.replace(
        result(row(1024, 10.0)),
        overlaps=(
            overlap(hidden=0.4, size_bytes=2**20),
            overlap(hidden=1.2, size_bytes=2**26),
            overlap(hidden=0.9, size_bytes=2**10),
            overlap("all_gather", hidden=-0.3),
        ),
    )

    made = measured_profile(run, key="run-1", title=same("run 1"), source=same("here"))

    assert made.overlap == {"all_reduce": 1.0, "all_gather": 0.0}


def test_an_overlap_of_unequal_sides_tells_nothing() -> None:
    """Beside a product seven times as long, its jitter alone moves the share by more than one."""
    unequal = dataclasses.replace(overlap(hidden=-2.6), compute_us=7000.0)
    smaller = overlap(hidden=0.5, size_bytes=2**20)
    alone = dataclasses.replace(overlap("all_gather", hidden=0.9), communication_us=0.0)
    run = dataclasses.replace(result(row(1024, 10.0)), overlaps=(unequal, smaller, alone))

    made = measured_profile(run, key="run-1", title=same("run 1"), source=same("here"))

    assert made.overlap == {"all_reduce": 0.5}


def test_other_series_are_kept_aside_and_answer_nothing() -> None:
    rows = [row(size, 100 + size / 1e3, in_place_us=50 + size / 1e3) for size in SIZES]
    rows += [row(size, 10.0, label="one call at a time") for size in SIZES]

    made = profile(*rows)

    assert made.collective("all_reduce", 1024, ranks=2).seconds == pytest.approx(101.024e-6)
    assert [(curve.series.in_place, curve.labels) for curve in made.others] == [
        (True, ()),
        (False, ("one call at a time",)),
    ]


def test_a_log_answers_as_measured_elsewhere() -> None:
    series = Series(operation="all_gather", ranks=8, dtype="float")
    made = sampled_profile(
        [Sample(series, size, 1e-4 + size / 1e9) for size in SIZES],
        key="import-1-1",
        title=same("a log"),
        source=same("somewhere"),
        kind="imported",
        refused={"all_reduce": Text("mixed runs", "混在一起的运行")},
    )

    assert made.collective("all_gather", 4096, ranks=8).basis == "imported"
    assert made.collective("all_gather", 5000, ranks=8).basis == "interpolated"
    with pytest.raises(InvalidInput, match="mixed runs"):
        made.collective("all_reduce", 4096, ranks=8)
