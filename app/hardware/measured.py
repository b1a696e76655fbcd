"""A profile made of measured times: those of a finished benchmark run, or of a log that somebody brought.

Between two measured sizes the time is read off the straight line through both on logarithmic axes; beyond them the
alpha-beta fit answers, and says so. The curve is kept over bus bytes (message times bus factor), so another rank
count is looked up at the size that loads the links alike; that answer carries a warning. Rows with wrong values
never get in: an operation that has one is refused whole. Neither does a run whose ranks shared a GPU. Start at `measured_profile`.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from app.bench.events import Overlap
from app.bench.result import RunResult
from app.core.errors import InvalidInput
from app.core.i18n import Text
from app.core.units import TERA, binary_bytes
from app.hardware.collective import OPERATIONS, bus_factor
from app.hardware.comparability import EMULATED
from app.hardware.fit import Fit, fit_series
from app.hardware.model import Basis, Estimate, Kind
from app.hardware.presets import ONE_RANK, unknown_operation
from app.hardware.series import Point, Sample, Series, grouped, leading, samples

LATENCY_KEPT = Text(
    " Measured with {measured} ranks and scaled to {ranks} by the bus factor; the start-up time, which grows with the"
    " ranks, is not scaled.",
    " 实测用 {measured} 个 rank，按总线系数换算到 {ranks} 个；启动延迟会随 rank 数增加，这里没有换算。",
)
MOST_APART = 2.0
"""How many times as long as the other one side of an overlap may be."""


@dataclass(frozen=True, slots=True)
class Curve:
    """The measured times of one series. `points` ascend in size."""

    series: Series
    points: tuple[Point, ...]
    fit: Fit

    @property
    def operation(self) -> str:
        return self.series.operation

    @property
    def ranks(self) -> int:
        return self.series.ranks

    @property
    def labels(self) -> tuple[str, ...]:
        """What the times are not, e.g. `all-reduce inside`."""
        return (self.series.label,) if self.series.label else ()


@dataclass(frozen=True, slots=True)
class MeasuredProfile:
    """A `Profile` that answers from measured times. Make it with `measured_profile` or `sampled_profile`."""

    key: str
    title: Text
    source: Text
    ranks: int | None
    flop_per_second: float | None
    bytes_per_second: float | None
    curves: dict[str, Curve]
    """By operation, the series that answers for it."""
    refused: dict[str, Text]
    """Why an operation that was measured may not be used."""
    kind: Kind = "measured"
    others: tuple[Curve, ...] = ()
    """Series that were measured too and answer nothing: in-place halves, other element types, labelled passes."""
    overlap: Mapping[str, float] = field(default_factory=dict)
    run: RunResult | None = None
    """The run it is made of; None for a log."""

    def collective(self, operation: str, message_bytes: float, ranks: int) -> Estimate:
        """The time of one collective, measured where possible.

        Raises InvalidInput when nothing usable is known about the operation, or when the size lies
        outside the measured range and the fit cannot stand in.
        """
        if operation not in OPERATIONS:
            raise InvalidInput({"operation": unknown_operation(operation)})
        if ranks == 1:
            return Estimate(0.0, self._basis, ONE_RANK)
        curve = self.curves.get(operation)
        if curve is None:
            raise InvalidInput(
                {"operation": self.refused.get(operation) or _not_measured(operation, list(self.curves))}
            )
        scale = float(bus_factor(operation, ranks=ranks) / bus_factor(operation, ranks=curve.ranks))
        found = _read(curve, message_bytes * scale, known=self._basis)
        if ranks == curve.ranks:
            return Estimate(found.seconds, found.basis, found.note)
        kept = LATENCY_KEPT.format(measured=curve.ranks, ranks=ranks)
        return Estimate(found.seconds, "extrapolated", Text(found.note.en + kept.en, found.note.zh + kept.zh))

    @property
    def _basis(self) -> Basis:
        return "imported" if self.kind == "imported" else "measured"


class _Reading(NamedTuple):
    seconds: float
    basis: Basis
    note: Text


def measured_profile(result: RunResult, *, key: str, title: Text, source: Text) -> MeasuredProfile:
    """The profile of a run. Operations with wrong values are listed in `refused`; all are where ranks shared a GPU."""
    found = list(samples(result.rows))
    if result.spec.emulated or (result.environment is not None and result.environment.emulated):
        refused = {sample.series.operation: EMULATED for sample in found}
        return MeasuredProfile(key, title, source, None, None, None, {}, refused, run=result)
    return sampled_profile(
        found,
        key=key,
        title=title,
        source=source,
        flop_per_second=None if result.gemm is None else result.gemm.tflop_per_s * TERA,
        overlap=overlap_factors(result),
        run=result,
    )


def sampled_profile(
    found: Iterable[Sample],
    *,
    key: str,
    title: Text,
    source: Text,
    kind: Kind = "measured",
    refused: Mapping[str, Text] | None = None,
    flop_per_second: float | None = None,
    overlap: Mapping[str, float] | None = None,
    run: RunResult | None = None,
) -> MeasuredProfile:
    """The profile of measured times, wherever they come from. `refused` names operations that must not be used, with the reason."""
    known = [sample for sample in found if sample.series.operation in OPERATIONS]
    wrong = {sample.series.operation: _wrong_values(sample) for sample in known if sample.is_wrong}
    banned = {**(refused or {}), **wrong}
    groups = grouped(sample for sample in known if sample.series.operation not in banned)
    curves = {series: Curve(series, points, fit_series(series, points)) for series, points in groups.items()}
    leaders = leading(groups)
    answers = {operation: curves[series] for operation, series in leaders.items()}
    return MeasuredProfile(
        key=key,
        title=title,
        source=source,
        ranks=next((curve.ranks for curve in answers.values()), None),
        flop_per_second=flop_per_second,
        bytes_per_second=None if "all_reduce" not in answers else _largest_rate(answers["all_reduce"]),
        curves=answers,
        refused=banned,
        kind=kind,
        others=tuple(curve for series, curve in curves.items() if series not in leaders.values()),
        overlap=dict(overlap or {}),
        run=run,
    )


def overlap_factors(result: RunResult) -> dict[str, float]:
    """By operation, how much of the shorter side hid at the largest size that tells it, between 0 and 1."""
    telling = (overlap for overlap in result.overlaps if is_balanced(overlap))
    found: dict[str, float] = {}
    for overlap in sorted(telling, key=lambda overlap: overlap.size_bytes):
        found[overlap.operation] = min(1.0, max(0.0, overlap.hidden))
    return found


def is_balanced(overlap: Overlap) -> bool:
    """Whether both sides were about equally long; beside a much longer one the share says nothing of the shorter."""
    low, high = sorted((overlap.communication_us, overlap.compute_us))
    return 0 < high <= MOST_APART * low


def _largest_rate(curve: Curve) -> float:
    """Bus bytes per second at the largest size."""
    size, seconds = curve.points[-1]
    return size * float(bus_factor(curve.operation, ranks=curve.ranks)) / seconds


def _read(curve: Curve, message_bytes: float, *, known: Basis) -> _Reading:
    """The time at `message_bytes` for the rank count of the curve; `known` is the basis of a size that was measured."""
    points = curve.points
    low, high = points[0].message_bytes, points[-1].message_bytes
    if not low <= message_bytes <= high:
        return _outside(curve, message_bytes)
    index = bisect_left(points, message_bytes, key=lambda point: point.message_bytes)
    after = points[index]
    if after.message_bytes == message_bytes:
        size = binary_bytes(message_bytes)
        return _Reading(after.seconds, known, Text(f"Measured at {size}.", f"在 {size} 处实测。"))
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
    if message_bytes > points[-1].message_bytes and not math.isfinite(fit.pieces[-1].beta):
        raise InvalidInput(
            {
                "message_bytes": Text(
                    f"{size} lies beyond the measured {low} to {high}, over which the time does not grow with the size: no"
                    " bandwidth can be told from that. Measure larger sizes.",
                    f"{size} 超出实测范围 {low} 到 {high}；在该范围内耗时不随大小增长，推不出带宽。请测更大的消息。",
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


def _wrong_values(sample: Sample) -> Text:
    size = binary_bytes(sample.message_bytes)
    operation = sample.series.operation
    return Text(
        f"The run computed wrong values in {operation} at {size}; its times are not used.",
        f"这次运行的 {operation} 在 {size} 处算出了错误的数值，不采用它的耗时。",
    )


def _not_measured(operation: str, measured: Sequence[str]) -> Text:
    names = ", ".join(measured) or "–"
    return Text(
        f"This run did not measure {operation}; it has: {names}. Start a run that includes it.",
        f"这次运行没有测 {operation}，只有：{names}。请新建一次包含它的测试。",
    )
