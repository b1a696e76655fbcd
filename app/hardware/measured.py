"""A profile made of a finished benchmark run.

Between two measured sizes the time is read off the straight line through both on logarithmic axes; beyond them the
alpha-beta fit answers, and says so. The curve is kept over bus bytes (message times bus factor), so another rank
count is looked up at the size that loads the links alike; that answer carries a warning. Rows with wrong values
never get in: an operation that has one is refused whole.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.bench.events import Row
from app.bench.result import RunResult
from app.core.errors import InvalidInput
from app.core.i18n import Text
from app.core.units import GIGA, TERA, binary_bytes
from app.hardware.collective import OPERATIONS, bus_factor
from app.hardware.fit import Fit, Point, fit_rows, usable
from app.hardware.model import Basis, Estimate, Kind
from app.hardware.presets import ONE_RANK, unknown_operation

LATENCY_KEPT = Text(
    " Measured with {measured} ranks and scaled to {ranks} by the bus factor; the start-up time, which grows with the"
    " ranks, is not scaled.",
    " 实测用 {measured} 个 rank，按总线系数换算到 {ranks} 个；启动延迟会随 rank 数增加，这里没有换算。",
)


@dataclass(frozen=True, slots=True)
class Curve:
    """The measured times of one operation. `points` ascend in size."""

    operation: str
    ranks: int
    points: tuple[Point, ...]
    fit: Fit
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MeasuredProfile:
    """A `Profile` that answers from what a run measured. Make it with `measured_profile`."""

    key: str
    title: Text
    source: Text
    ranks: int | None
    flop_per_second: float | None
    bytes_per_second: float | None
    curves: dict[str, Curve]
    refused: dict[str, Text]
    """Why an operation that was measured may not be used."""
    kind: Kind = "measured"

    def collective(self, operation: str, message_bytes: float, ranks: int) -> Estimate:
        """The time of one collective, measured where possible.

        Raises InvalidInput when the run holds nothing usable about the operation, or when the size lies
        outside the measured range and the fit was refused.
        """
        if operation not in OPERATIONS:
            raise InvalidInput({"operation": unknown_operation(operation)})
        if ranks == 1:
            return Estimate(0.0, "measured", ONE_RANK)
        curve = self.curves.get(operation)
        if curve is None:
            raise InvalidInput(
                {"operation": self.refused.get(operation) or _not_measured(operation, list(self.curves))}
            )
        scale = float(bus_factor(operation, ranks=ranks) / bus_factor(operation, ranks=curve.ranks))
        found = _read(curve, message_bytes * scale)
        if ranks == curve.ranks:
            return Estimate(found.seconds, found.basis, found.note)
        kept = LATENCY_KEPT.format(measured=curve.ranks, ranks=ranks)
        return Estimate(found.seconds, "extrapolated", Text(found.note.en + kept.en, found.note.zh + kept.zh))


class _Reading(NamedTuple):
    seconds: float
    basis: Basis
    note: Text


def measured_profile(result: RunResult, *, key: str, title: Text, source: Text) -> MeasuredProfile:
    """The profile of a run; operations with wrong values are listed in `refused`."""
    rows = [row for row in result.rows if row.operation in OPERATIONS]
    refused = {row.operation: _wrong_values(row) for row in rows if _is_wrong(row)}
    good = [row for row in rows if row.operation not in refused and usable(row)]
    fits = fit_rows(good)
    curves = {operation: _curve(operation, good, fit) for operation, fit in fits.items()}
    largest = max((row for row in good if row.operation == "all_reduce"), key=lambda row: row.size_bytes, default=None)
    bus = None if largest is None else largest.out_of_place.busbw_gb_per_s
    tflops = None if result.gemm is None else result.gemm.tflop_per_s
    return MeasuredProfile(
        key=key,
        title=title,
        source=source,
        ranks=next((curve.ranks for curve in curves.values()), None),
        flop_per_second=None if tflops is None else tflops * TERA,
        bytes_per_second=None if bus is None else bus * GIGA,
        curves=curves,
        refused=refused,
    )


def _is_wrong(row: Row) -> bool:
    return bool(row.out_of_place.wrong or (row.in_place and row.in_place.wrong))


def _curve(operation: str, rows: Sequence[Row], fit: Fit) -> Curve:
    own = [row for row in rows if row.operation == operation]
    times = {row.size_bytes: row.out_of_place.time_us * 1e-6 for row in own}
    labels = tuple(dict.fromkeys(row.label for row in own if row.label))
    return Curve(operation, fit.ranks, tuple(Point(*item) for item in sorted(times.items())), fit, labels)


def _read(curve: Curve, message_bytes: float) -> _Reading:
    """The time at `message_bytes` for the rank count of the curve."""
    points = curve.points
    low, high = points[0].message_bytes, points[-1].message_bytes
    if not low <= message_bytes <= high:
        return _outside(curve, message_bytes)
    index = bisect_left(points, message_bytes, key=lambda point: point.message_bytes)
    after = points[index]
    if after.message_bytes == message_bytes:
        size = binary_bytes(message_bytes)
        return _Reading(after.seconds, "measured", Text(f"Measured at {size}.", f"在 {size} 处实测。"))
    before = points[index - 1]
    share = math.log(message_bytes / before.message_bytes) / math.log(after.message_bytes / before.message_bytes)
    seconds = before.seconds * (after.seconds / before.seconds) ** share
    left, right = binary_bytes(before.message_bytes), binary_bytes(after.message_bytes)
    note = Text(
        f"Interpolated between {left} and {right}, both measured.", f"在 {left} 和 {right} 两个实测点之间插值。"
    )
    return _Reading(seconds, "interpolated", note)


def _outside(curve: Curve, message_bytes: float) -> _Reading:
    points, fit = curve.points, curve.fit
    low, high = binary_bytes(points[0].message_bytes), binary_bytes(points[-1].message_bytes)
    size = binary_bytes(message_bytes)
    if fit.refused:
        raise InvalidInput(
            {
                "message_bytes": Text(
                    f"{size} lies outside the measured {low} to {high}, and no fit may stand in: {fit.refused.en}",
                    f"{size} 超出实测范围 {low} 到 {high}，且没有可用的拟合：{fit.refused.zh}",
                )
            }
        )
    seconds = fit.seconds(max(message_bytes, 0.0))
    percent = f"{(fit.residual or 0) * 100:.0f}"
    note = Text(
        f"Beyond the measured {low} to {high}: from the alpha-beta fit (its points scatter {percent} %).",
        f"超出实测范围 {low} 到 {high}：取自 alpha-beta 拟合（测量点离散 {percent} %）。",
    )
    return _Reading(seconds, "extrapolated", note)


def _wrong_values(row: Row) -> Text:
    size = binary_bytes(row.size_bytes)
    return Text(
        f"The run computed wrong values in {row.operation} at {size}; its times are not used.",
        f"这次运行的 {row.operation} 在 {size} 处算出了错误的数值，不采用它的耗时。",
    )


def _not_measured(operation: str, measured: Sequence[str]) -> Text:
    names = ", ".join(measured) or "–"
    return Text(
        f"This run did not measure {operation}; it has: {names}. Start a run that includes it.",
        f"这次运行没有测 {operation}，只有：{names}。请新建一次包含它的测试。",
    )
