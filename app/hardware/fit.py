"""The alpha-beta model of a collective, fitted to measured times: t = alpha + bus bytes / beta.

Weighted least squares with weight 1/t², so that a 10 % miss counts the same at 1 KiB and at 64 MiB, over bytes times
the bus factor, so that beta is a bus bandwidth. A protocol switch bends the curve; up to three straight pieces are
tried and kept where the Bayesian information criterion says that the extra parameters earn their place.
Where the model does not describe the points it is refused with the reason: start at `fit_points`.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, NamedTuple

from app.bench.events import Row
from app.core.i18n import Text
from app.core.units import GIGA
from app.hardware.collective import OPERATIONS, bus_factor

MINIMUM_POINTS = 5
MINIMUM_PIECE = 3
"""Points a piece needs: one more than it has parameters."""
MAXIMUM_PIECES = 3
MAXIMUM_RESIDUAL = 0.20
EXACT = 1e-12
"""Relative squared residual below which a fit counts as exact; keeps the criterion's logarithm finite."""


class Point(NamedTuple):
    """One measured size: message bytes as nccl-tests counts them, and seconds."""

    message_bytes: float
    seconds: float


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
    """The model of one operation at one rank count. `refused` says why it must not be used."""

    operation: str
    ranks: int
    points: int
    low_bytes: float
    high_bytes: float
    pieces: tuple[Piece, ...]
    residual: float | None
    """Residual standard error relative to the measured time, degrees of freedom counted; a share, not percent."""
    refused: Text | None = None

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
    """A fit per operation over the out-of-place times; rows with wrong values or a single rank are left out."""
    groups: dict[str, dict[float, float]] = {}
    ranks: dict[str, int] = {}
    for row in rows:
        if usable(row):
            groups.setdefault(row.operation, {})[row.size_bytes] = row.out_of_place.time_us * 1e-6
            ranks[row.operation] = row.ranks
    return {
        operation: fit_points(operation, ranks[operation], [Point(*item) for item in sorted(times.items())])
        for operation, times in groups.items()
    }


def usable(row: Row) -> bool:
    """Whether a row may feed a model: a known operation, several ranks, a time, no wrong value."""
    measured = row.out_of_place
    return (
        row.operation in OPERATIONS
        and row.ranks > 1
        and row.size_bytes > 0
        and measured.time_us > 0
        and not measured.wrong
    )


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
    candidates = [_candidate(points, cuts, factor) for cuts in _all_cuts(len(points))]
    best = min(candidates, key=lambda candidate: candidate.criterion)
    refused = None
    if best.residual > MAXIMUM_RESIDUAL:
        percent, limit = f"{best.residual:.0%}".replace("%", " %"), f"{MAXIMUM_RESIDUAL:.0%}".replace("%", " %")
        refused = Text(
            f"The points scatter {percent} around the best line, more than {limit}: a model would teach nothing."
            " Repeat on a quieter machine or with a longer preset.",
            f"测量点偏离最佳拟合线 {percent}，超过 {limit}，模型没有意义。请在更空闲的机器上重测，或选更长的预设。",
        )
    return result(best.pieces, best.residual, refused)


class _Candidate(NamedTuple):
    pieces: tuple[Piece, ...]
    residual: float
    criterion: float


def _all_cuts(number: int) -> list[tuple[int, ...]]:
    """Every way to cut `number` points into at most three runs of at least three points."""
    found: list[tuple[int, ...]] = []
    for pieces in range(1, MAXIMUM_PIECES + 1):
        for cuts in combinations(range(MINIMUM_PIECE, number - MINIMUM_PIECE + 1), pieces - 1):
            edges = (0, *cuts, number)
            if all(end - start >= MINIMUM_PIECE for start, end in pairwise(edges)):
                found.append(cuts)
    return found


def _candidate(points: Sequence[Point], cuts: tuple[int, ...], factor: float) -> _Candidate:
    edges = (0, *cuts, len(points))
    pieces: list[Piece] = []
    squares = 0.0
    for start, end in pairwise(edges):
        run = points[start:end]
        alpha, slope = _line([(point.message_bytes * factor, point.seconds) for point in run])
        squares += sum(((alpha + p.message_bytes * factor * slope) / p.seconds - 1) ** 2 for p in run)
        # A message between two pieces belongs to the nearer one on the logarithmic axis.
        low = math.sqrt(points[start - 1].message_bytes * run[0].message_bytes) if start else run[0].message_bytes
        high = (
            math.sqrt(run[-1].message_bytes * points[end].message_bytes) if end < len(points) else run[-1].message_bytes
        )
        pieces.append(Piece(low, high, alpha, 1 / slope if slope else math.inf))
    parameters = 2 * len(pieces) + len(cuts)
    number = len(points)
    freedom = max(1, number - parameters)
    criterion = number * math.log(max(squares / number, EXACT)) + parameters * math.log(number)
    return _Candidate(tuple(pieces), math.sqrt(squares / freedom), criterion)


def _line(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Intercept and slope, neither negative, that minimise the sum of squared relative errors."""
    weights = [1 / seconds**2 for _, seconds in pairs]
    s = sum(weights)
    sx = sum(w * x for w, (x, _) in zip(weights, pairs, strict=True))
    sy = sum(w * y for w, (_, y) in zip(weights, pairs, strict=True))
    sxx = sum(w * x * x for w, (x, _) in zip(weights, pairs, strict=True))
    sxy = sum(w * x * y for w, (x, y) in zip(weights, pairs, strict=True))
    slope = (s * sxy - sx * sy) / (s * sxx - sx * sx)
    alpha = (sy - slope * sx) / s
    if alpha < 0:
        return 0.0, sxy / sxx
    if slope < 0:
        return sy / s, 0.0
    return alpha, slope
