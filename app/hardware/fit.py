"""The alpha-beta model of a collective, fitted to measured times: t = alpha + bus bytes / beta.

Weighted least squares with weight 1/t², so that a 10 % miss counts the same at 1 KiB and at 64 MiB, over bytes times
the bus factor, so that beta is a bus bandwidth. A protocol switch bends the curve; up to three straight pieces are
tried and kept where the Bayesian information criterion says that the extra parameters earn their place.
Where the model does not describe the points it is refused with the reason: start at `fit_points`.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

from app.bench.events import Row
from app.core.i18n import Text
from app.core.units import GIGA
from app.hardware.collective import bus_factor
from app.hardware.series import Point, Series, grouped, leading, samples

MINIMUM_POINTS = 5
MINIMUM_PIECE = 3
"""Points a piece needs: one more than it has parameters."""
MAXIMUM_RESIDUAL = 0.20
EXACT = 1e-12
"""Relative squared residual below which a fit counts as exact; keeps the criterion's logarithm finite."""
SAME_SIZE = 1e-13
"""Below this share the sizes of a piece are too close to each other to tell a slope."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A straight line over bus bytes, valid from `low_bytes` to `high_bytes` of message."""

    low_bytes: float
    high_bytes: float
    alpha: float
    """Start-up time in seconds."""
    beta: float
    """Bus bandwidth in bytes per second; infinite where the time does not grow with the size."""


@dataclass(frozen=True, slots=True)
class Fit:
    """The model of one series of points, see `app/hardware/series.py`. `refused` says why it must not be used."""

    operation: str
    ranks: int
    points: int
    low_bytes: float
    high_bytes: float
    pieces: tuple[Piece, ...]
    residual: float | None
    """Residual standard error relative to the measured time, degrees of freedom counted; a share, not percent."""
    refused: Text | None = None
    dtype: str | None = None
    label: str | None = None
    in_place: bool = False

    def seconds(self, message_bytes: float) -> float:
        """The modelled time. Raises ValueError for a refused fit."""
        if self.refused:
            raise ValueError(self.refused.en)
        piece = next((piece for piece in self.pieces if message_bytes <= piece.high_bytes), self.pieces[-1])
        factor = float(bus_factor(self.operation, ranks=self.ranks))
        return piece.alpha + message_bytes * factor / piece.beta

    def to_json(self) -> dict[str, Any]:
        """The fit with units in its names; what `bench --json` and the API print."""
        return {
            "operation": self.operation,
            "ranks": self.ranks,
            "dtype": self.dtype,
            "label": self.label,
            "in_place": self.in_place,
            "points": self.points,
            "low_bytes": int(self.low_bytes),
            "high_bytes": int(self.high_bytes),
            "pieces": [
                {
                    "low_bytes": int(piece.low_bytes),
                    "high_bytes": int(piece.high_bytes),
                    "alpha_us": piece.alpha * 1e6,
                    "beta_gb_per_s": piece.beta / GIGA if math.isfinite(piece.beta) else None,
                }
                for piece in self.pieces
            ],
            "residual_percent": None if self.residual is None else self.residual * 100,
            "refused": None if self.refused is None else self.refused.en,
        }


def fit_rows(rows: Iterable[Row]) -> dict[str, Fit]:
    """A fit per operation, over its leading series; rows with wrong values or a single rank are left out."""
    groups = grouped(samples(rows))
    return {operation: fit_series(series, groups[series]) for operation, series in leading(groups).items()}


def fit_series(series: Series, points: Sequence[Point]) -> Fit:
    """The model of one series; `points` ascend in size."""
    fit = fit_points(series.operation, series.ranks, points)
    return replace(fit, dtype=series.dtype, label=series.label, in_place=series.in_place)


def fit_points(operation: str, ranks: int, points: Sequence[Point]) -> Fit:
    """The best model of up to three pieces for points sorted by size, all different."""

    def result(pieces: tuple[Piece, ...] = (), residual: float | None = None, refused: Text | None = None) -> Fit:
        low, high = (points[0].message_bytes, points[-1].message_bytes) if points else (0.0, 0.0)
        return Fit(operation, ranks, len(points), low, high, pieces, residual, refused)

    if len(points) < MINIMUM_POINTS:
        return result(
            refused=Text(
                f"{len(points)} sizes are too few for a fit; measure at least {MINIMUM_POINTS}.",
                f"只有 {len(points)} 个大小，不足以拟合；至少要测 {MINIMUM_POINTS} 个。",
            )
        )
    factor = float(bus_factor(operation, ranks=ranks))
    lines = _lines(points, factor)
    cuts = _best_cuts(lines, len(points))
    pieces = _pieces(lines, points, cuts)
    residual = _residual(pieces, cuts, points, factor)
    refused = None
    if residual > MAXIMUM_RESIDUAL:
        percent, limit = f"{residual:.0%}".replace("%", " %"), f"{MAXIMUM_RESIDUAL:.0%}".replace("%", " %")
        refused = Text(
            f"The points scatter {percent} around the best line, more than {limit}: a model would teach nothing."
            " Repeat on a quieter machine or with a longer preset.",
            f"测量点偏离最佳拟合线 {percent}，超过 {limit}，模型没有意义。请在更空闲的机器上重测，或选更长的预设。",
        )
    return result(pieces, residual, refused)


class _Line(NamedTuple):
    """The best line through a run of points: `alpha` seconds, `slope` seconds per bus byte, sum of squared relative errors."""

    alpha: float
    slope: float
    squares: float


_Lines = Mapping[tuple[int, int], _Line]
"""The line through points `start` to `end`, the end not included."""


def _lines(points: Sequence[Point], factor: float) -> dict[tuple[int, int], _Line]:
    """Every line a piece may need. The sums grow with the end: 200 sizes take 20 000 steps, and no sum is a difference of others."""
    found: dict[tuple[int, int], _Line] = {}
    for start in range(len(points) - MINIMUM_PIECE + 1):
        s = sx = sxx = s_t = sx_t = 0.0
        for end in range(start + 1, len(points) + 1):
            # A point in relative terms: (alpha + slope x) / t should be 1, so u = 1 / t and v = x / t are what is fitted.
            size, seconds = points[end - 1]
            u, v = 1 / seconds, size * factor / seconds
            s, sx, sxx = s + u * u, sx + u * v, sxx + v * v
            s_t, sx_t = s_t + u, sx_t + v
            if end - start < MINIMUM_PIECE:
                continue
            alpha, slope = _solve(s, sx, sxx, s_t, sx_t)
            squares = alpha * (alpha * s + 2 * slope * sx - 2 * s_t) + slope * (slope * sxx - 2 * sx_t) + end - start
            found[start, end] = _Line(alpha, slope, max(squares, 0.0))
    return found


def _solve(s: float, sx: float, sxx: float, s_t: float, sx_t: float) -> tuple[float, float]:
    """Intercept and slope of the normal equations, neither negative."""
    determinant = s * sxx - sx * sx
    if determinant <= SAME_SIZE * s * sxx:
        return s_t / s, 0.0
    slope = (s * sx_t - sx * s_t) / determinant
    alpha = (s_t - slope * sx) / s
    if alpha < 0:
        return 0.0, sx_t / sxx
    if slope < 0:
        return s_t / s, 0.0
    return alpha, slope


def _best_cuts(lines: _Lines, number: int) -> tuple[int, ...]:
    """Where to cut for the least information criterion."""

    def criterion(cuts: tuple[int, ...]) -> float:
        squares = sum(lines[run].squares for run in pairwise((0, *cuts, number)))
        return number * math.log(max(squares / number, EXACT)) + _parameters(cuts) * math.log(number)

    return min(_all_cuts(number), key=criterion)


def _residual(pieces: Sequence[Piece], cuts: tuple[int, ...], points: Sequence[Point], factor: float) -> float:
    """The residual standard error relative to the measured times."""
    squares = sum(
        ((piece.alpha + point.message_bytes * factor / piece.beta) / point.seconds - 1) ** 2
        for piece, (start, end) in zip(pieces, pairwise((0, *cuts, len(points))), strict=True)
        for point in points[start:end]
    )
    return math.sqrt(squares / max(1, len(points) - _parameters(cuts)))


def _parameters(cuts: tuple[int, ...]) -> int:
    """Two for each piece and one for each cut."""
    return 2 * (len(cuts) + 1) + len(cuts)


def _all_cuts(number: int) -> Iterator[tuple[int, ...]]:
    """Every way to cut `number` points into at most three pieces of at least three points."""
    yield ()
    for first in range(MINIMUM_PIECE, number - MINIMUM_PIECE + 1):
        yield (first,)
        for second in range(first + MINIMUM_PIECE, number - MINIMUM_PIECE + 1):
            yield first, second


def _pieces(lines: _Lines, points: Sequence[Point], cuts: tuple[int, ...]) -> tuple[Piece, ...]:
    found: list[Piece] = []
    for start, end in pairwise((0, *cuts, len(points))):
        line = lines[start, end]
        # A message between two pieces belongs to the nearer one on the logarithmic axis.
        low, high = points[start].message_bytes, points[end - 1].message_bytes
        low = math.sqrt(points[start - 1].message_bytes * low) if start else low
        high = math.sqrt(high * points[end].message_bytes) if end < len(points) else high
        found.append(Piece(low, high, line.alpha, 1 / line.slope if line.slope else math.inf))
    return tuple(found)
