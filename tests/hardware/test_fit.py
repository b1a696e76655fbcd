import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.hardware.fit import fit_points, fit_rows
from app.hardware.series import Point
from tests.hardware.rows import row

SIZES = [1024 * 2**power for power in range(17)]


def line(alpha: float, beta: float, sizes: Sequence[int] = SIZES, *, factor: float = 1.0) -> list[Point]:
    return [Point(size, alpha + size * factor / beta) for size in sizes]


@given(alpha=st.floats(1e-7, 1e-2), beta=st.floats(1e6, 1e12), ranks=st.integers(2, 64))
def test_points_on_a_line_give_its_start_up_time_and_bus_bandwidth_back(alpha: float, beta: float, ranks: int) -> None:
    factor = 2 * (ranks - 1) / ranks
    points = line(alpha, beta, factor=factor)

    fit = fit_points("all_reduce", ranks, points)

    assert fit.refused is None
    assert fit.residual == pytest.approx(0, abs=1e-6)
    assert all(fit.seconds(point.message_bytes) == pytest.approx(point.seconds, rel=1e-6) for point in points)
    # Where the curve never leaves its start-up time (or never shows it) the other parameter is not determined.
    if 0.01 < alpha * beta / (1024 * 1024 * factor) < 100:
        assert fit.pieces[0].alpha == pytest.approx(alpha, rel=1e-3)
        assert fit.pieces[-1].beta == pytest.approx(beta, rel=1e-3)


def test_a_protocol_switch_gives_two_pieces_and_their_boundary() -> None:
    small, large = line(20e-6, 1e9, SIZES[:8]), line(300e-6, 5e9, SIZES[8:])

    fit = fit_points("all_gather", 2, [*small, *large])

    assert len(fit.pieces) == 2
    assert SIZES[7] < fit.pieces[0].high_bytes < SIZES[8]
    assert fit.pieces[0].alpha == pytest.approx(20e-6)
    assert fit.pieces[1].alpha == pytest.approx(300e-6)


def test_no_piece_has_a_negative_start_up_time() -> None:
    faster_than_a_line = [Point(size, 1e-12 * size**1.5) for size in SIZES]

    fit = fit_points("all_reduce", 2, faster_than_a_line)

    assert min(piece.alpha for piece in fit.pieces) >= 0


def test_a_tenth_more_time_moves_small_and_large_sizes_alike() -> None:
    """The weight 1/t² is what keeps 64 MiB from deciding alone."""
    points = line(100e-6, 1e9)
    bent = [Point(p.message_bytes, p.seconds * (1.1 if i % 2 else 1 / 1.1)) for i, p in enumerate(points)]

    fit = fit_points("all_reduce", 2, bent)

    misses = [abs(fit.seconds(p.message_bytes) / p.seconds - 1) for p in points]
    assert max(misses) < 0.1


def test_four_sizes_are_refused_with_the_reason() -> None:
    fit = fit_points("all_reduce", 2, line(1e-4, 1e9, SIZES[:4]))

    assert fit.refused is not None
    assert "at least 5" in fit.refused.en
    with pytest.raises(ValueError, match="at least 5"):
        fit.seconds(1024)


def test_scattered_points_are_refused_and_still_show_their_residual() -> None:
    points = [Point(p.message_bytes, p.seconds * (3 if i % 2 else 1)) for i, p in enumerate(line(1e-4, 1e9))]

    fit = fit_points("all_reduce", 2, points)

    assert fit.refused is not None
    assert fit.residual is not None
    assert fit.residual > 0.20
    assert fit.to_json()["residual_percent"] > 20


def test_rows_are_fitted_per_operation_without_wrong_values_and_single_ranks() -> None:
    rows = [
        row(size, 50 + size / 1e3, operation=operation) for operation in ("all_reduce", "all_gather") for size in SIZES
    ]
    rows += [row(2 * SIZES[-1], 1.0, wrong=3), row(4 * SIZES[-1], 1.0, ranks=1)]

    fits = fit_rows(rows)

    assert set(fits) == {"all_reduce", "all_gather"}
    assert fits["all_reduce"].high_bytes == SIZES[-1]
    assert fits["all_reduce"].to_json()["pieces"][0]["alpha_us"] == pytest.approx(50)


def test_sizes_too_close_to_each_other_tell_no_slope() -> None:
    """Eight bytes in sixteen GiB: the normal equations are singular, and dividing by their determinant would be noise."""
    fit = fit_points("all_reduce", 2, [Point(2**34 + step, 1e-3 * (1 + step % 2 / 1e3)) for step in range(8)])

    assert all(math.isinf(piece.beta) for piece in fit.pieces)
    assert fit.to_json()["pieces"][0]["beta_gb_per_s"] is None


@given(
    st.lists(st.tuples(st.integers(1, 2**34), st.floats(1e-6, 1.0)), min_size=5, max_size=40, unique_by=lambda p: p[0])
)
def test_cuts_are_made_only_where_they_earn_their_parameters(pairs: list[tuple[int, float]]) -> None:
    """The criterion of the chosen pieces, each fitted from scratch, is no worse than that of one straight line."""
    points = [Point(*pair) for pair in sorted(pairs)]

    fit = fit_points("all_gather", 4, points)

    chosen = slow_criterion(points, len(fit.pieces), [piece.high_bytes for piece in fit.pieces])
    straight = slow_criterion(points, 1, [math.inf])
    assert chosen <= straight + 1e-6


def slow_criterion(points: list[Point], pieces: int, edges: list[float]) -> float:
    runs: list[list[Point]] = [[] for _ in edges]
    for point in points:
        runs[next((i for i, edge in enumerate(edges) if point.message_bytes <= edge), len(edges) - 1)].append(point)
    squares = sum(fit_squares(run) for run in runs)
    parameters = 3 * pieces - 1
    return len(points) * math.log(max(squares / len(points), 1e-12)) + parameters * math.log(len(points))


def fit_squares(run: list[Point]) -> float:
    """Least squares of (a + b x) / t - 1 with a, b >= 0, by trying the corner cases."""
    u = [1 / p.seconds for p in run]
    v = [p.message_bytes * 0.75 / p.seconds for p in run]
    s, sx, sxx = sum(x * x for x in u), sum(x * y for x, y in zip(u, v, strict=True)), sum(y * y for y in v)
    flat, proportional = (sum(u) / s, 0.0), (0.0, sum(v) / sxx)
    candidates = [flat, proportional]
    determinant = s * sxx - sx * sx
    if determinant > 1e-13 * s * sxx:
        both = ((sum(u) * sxx - sum(v) * sx) / determinant, (s * sum(v) - sx * sum(u)) / determinant)
        candidates += [both] if min(both) >= 0 else []
    return min(sum((a * x + b * y - 1) ** 2 for x, y in zip(u, v, strict=True)) for a, b in candidates)
