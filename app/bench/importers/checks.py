"""Figures of a table checked against each other, so that a damaged digit does not pass for a measurement.

Each row says the same thing several times: size over time is the algorithm bandwidth, the bus bandwidth is that times one
factor for the whole table, the size is the count times the element size times one whole number. What most rows agree on is
taken as the rule of the table; a half that contradicts it beyond rounding and two percent is wrong somewhere, and nobody can
say where, so it is dropped.
"""

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.bench.importers.raw import Printed, RawRow
from app.bench.importers.units import ELEMENT_BYTES

_SLACK = 1.02
_PRECISE = 0.02
"""Relative rounding up to which a printed figure helps to find the rule of a table."""
_MAJORITY = 0.6


@dataclass(frozen=True, slots=True)
class Rules:
    """What the rows of a table agree on. None where they agree on nothing, or nothing is printed precisely enough.

    `rate` is algorithm bandwidth over size per time (1 for today's definition and microseconds), `bus` bus over algorithm
    bandwidth and `least_bus` what it is at least by coarser figures, `multiple` size over count times element size.
    """

    rate: float | None
    bus: float | None
    multiple: int | None
    has_rates: bool
    least_bus: float = 0.0


def rules_of(rows: Sequence[RawRow]) -> Rules:
    """The rules that most rows of one table follow."""
    rates = [value for row in rows for half in row.halves if half and (value := _rate(half, row.size)) is not None]
    buses = [value for row in rows for half in row.halves if half and (value := _bus(half)) is not None]
    rate = _consensus(rates)
    if rate is not None and abs(rate - 1) < 0.03:
        rate = 1.0
    least = max((_least_bus(half) for row in rows for half in row.halves if half), default=0.0)
    return Rules(rate if rates else 1.0, _consensus(buses), _multiple(rows), bool(rates), least)


def contradiction(half: Printed, *, size: int, rules: Rules) -> str | None:
    """Which two figures of a half exclude each other, None if none do."""
    time_error, algbw_error, busbw_error = half.precision
    if half.algbw is None or half.algbw > 1e9:
        return None
    low, high = half.algbw - algbw_error, half.algbw + algbw_error
    if half.time is not None and rules.rate is not None:
        data = rules.rate * size / 1e3
        least, most = half.time - time_error, half.time + time_error
        if most <= 0 or high * _SLACK < data / most or (least > 0 and low > data / least * _SLACK):
            return "time / algbw"
    if half.busbw is not None and rules.bus is not None:
        bus_low, bus_high = half.busbw - busbw_error, half.busbw + busbw_error
        if bus_high * _SLACK < rules.bus * low or bus_low > rules.bus * high * _SLACK:
            return "algbw / busbw"
    return None


def size_fits(row: RawRow, rules: Rules) -> bool:
    """False when size and count of a row exclude each other."""
    part = row.count * ELEMENT_BYTES[row.dtype]
    if part == 0:
        return row.size == 0 or rules.multiple is None
    if rules.multiple is not None:
        return row.size == part * rules.multiple
    return row.size % part == 0


def is_checked(half: Printed, rules: Rules) -> bool:
    """True when time and rate are printed precisely enough for a check to mean something."""
    return rules.rate is not None and rules.has_rates and _rate(half, 1) is not None


def misaligned(rows: Sequence[RawRow]) -> list[RawRow]:
    """Rows whose columns end elsewhere than those of most rows, where no wide figure has pushed them.

    A deleted or inserted character shifts the rest of a line even where the figures are too small to contradict each other.
    """
    shapes = Counter((len(row.tokens), tuple(token.end for token in row.tokens)) for row in rows if row.tokens)
    if not shapes:
        return []
    (length, ends), times = shapes.most_common(1)[0]
    alike = [row for row in rows if len(row.tokens) == length]
    if times < 3 or times < _MAJORITY * len(alike):
        return []
    return [row for row in rows if row.tokens and not _stands_under(row, ends)]


def mean_busbw(halves: Iterable[float | None]) -> float | None:
    """The plain mean that nccl-tests prints below a table: all halves of all rows, zeros included."""
    values = [value for value in halves if value is not None]
    return statistics.fmean(values) if values else None


def _rate(half: Printed, size: int) -> float | None:
    time_error, algbw_error, _ = half.precision
    if not half.time or not half.algbw or size == 0 or half.algbw > 1e9:
        return None
    if time_error > _PRECISE * half.time or algbw_error > _PRECISE * half.algbw:
        return None
    return half.algbw * half.time * 1e3 / size


def _bus(half: Printed) -> float | None:
    _, algbw_error, busbw_error = half.precision
    if not half.algbw or half.busbw is None or algbw_error > _PRECISE * half.algbw:
        return None
    if half.busbw and busbw_error > _PRECISE * half.busbw:
        return None
    return half.busbw / half.algbw


def _least_bus(half: Printed) -> float:
    """The least ratio of bus to algorithm bandwidth that rounding allows; 0 where the figures are too coarse."""
    _, algbw_error, busbw_error = half.precision
    if not half.algbw or half.busbw is None or algbw_error > 0.1 * half.algbw:
        return 0.0
    return (half.busbw - busbw_error) / (half.algbw + algbw_error)


def _consensus(values: Sequence[float]) -> float | None:
    """The median when most values lie within four percent of it."""
    if not values:
        return None
    middle = statistics.median(values)
    near = [value for value in values if abs(value - middle) <= 2 * _PRECISE * middle]
    return middle if len(near) >= _MAJORITY * len(values) else None


def _multiple(rows: Sequence[RawRow]) -> int | None:
    found: Counter[int] = Counter()
    for row in rows:
        part = row.count * ELEMENT_BYTES[row.dtype]
        if part and row.size % part == 0:
            found[row.size // part] += 1
    if not found:
        return None
    multiple, times = found.most_common(1)[0]
    return multiple if times >= _MAJORITY * sum(row.count > 0 for row in rows) else None


def _stands_under(row: RawRow, ends: Sequence[int]) -> bool:
    shift = 0
    before = 0
    for token, end in zip(row.tokens, ends, strict=False):
        if token.end != end + shift:
            if token.end < end + shift or token.start - before > 2:
                return False
            shift = token.end - end
        before = token.end
    return True
