"""Figures of a table checked against each other, so that a damaged digit does not pass for a measurement.

Each row says the same thing several times: size over time is the algorithm bandwidth, the bus bandwidth is that times one
factor for the whole table, the size is the count times the element size times one whole number. What most rows agree on is
taken as the rule of the table; a half that contradicts it beyond rounding and two percent is wrong somewhere, and nobody can
say where, so it is dropped.
"""

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from app.bench.importers.raw import Printed, RawRow
from app.bench.importers.units import ELEMENT_BYTES

_SLACK = 0.02
_EXACT_SLACK = 1e-6
_EXACT_SHARE = 0.8
"""Share of a table's halves that must agree within rounding alone, for rounding alone to be granted to the rest."""
_PRECISE = 0.02
"""Relative rounding up to which a printed figure helps to find the rule of a table."""
_MAJORITY = 0.6
_TIME_LIMITS = ((0.04, 1e4), (0.4, 1e6))
"""From these times on, microseconds are never printed with more than one decimal, and with none."""


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
    slack: float = _SLACK


def rules_of(rows: Sequence[RawRow]) -> Rules:
    """The rules that most rows of one table follow."""
    rates = [value for row in rows for half in row.halves if half and (value := _rate(half, row.size)) is not None]
    buses = [value for row in rows for half in row.halves if half and (value := _bus(half)) is not None]
    rate = _consensus(rates)
    if rate is not None and abs(rate - 1) < 0.03:
        rate = 1.0
    bus = _consensus(buses)
    least = max((_least_bus(half) for row in rows for half in row.halves if half), default=0.0)
    rules = Rules(rate if rates else 1.0, bus, _multiple(rows), bool(rates), least)
    exact = replace(rules, bus=_exact_bus(rows, bus), slack=_EXACT_SLACK)
    found = [contradiction(half, size=row.size, rules=exact) for row in rows for half in row.halves if half]
    return exact if found.count(None) >= _EXACT_SHARE * len(found) else rules


def contradiction(half: Printed, *, size: int, rules: Rules) -> str | None:
    """Which two figures of a half exclude each other, None if none do."""
    time_error, algbw_error, busbw_error = half.precision
    if half.algbw is None or half.algbw > 1e9:
        return None
    slack = 1 + rules.slack
    low, high = half.algbw - algbw_error, half.algbw + algbw_error
    if half.time is not None and rules.rate is not None:
        data = rules.rate * size / 1e3
        least, most = half.time - time_error, half.time + time_error
        if most <= 0 or high * slack < data / most or (least > 0 and low > data / least * slack):
            return "time / algbw"
    if half.busbw is not None and rules.bus is not None:
        bus_low, bus_high = half.busbw - busbw_error, half.busbw + busbw_error
        if bus_high * slack < rules.bus * low or bus_low > rules.bus * high * slack:
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
    lengths = Counter(len(row.tokens) for row in rows if row.tokens)
    if not lengths:
        return []
    length, times = lengths.most_common(1)[0]
    if times < 3:
        return []
    alike = [row for row in rows if len(row.tokens) == length]
    ends = [_usual(row.tokens[index].end for row in alike) for index in range(length)]
    return [row for row in rows if row.tokens and not (_stands_under(row, ends) and _is_printed_so(row))]


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


def _exact_bus(rows: Sequence[RawRow], about: float | None) -> float | None:
    """The ratio of bus to algorithm bandwidth near `about` that most halves allow within rounding."""
    if not about:
        return about
    spans: list[tuple[float, float]] = []
    for row in rows:
        for half in row.halves:
            if half and _bus(half) is not None and half.algbw and half.busbw is not None:
                _, algbw_error, busbw_error = half.precision
                low = (half.busbw - busbw_error) / (half.algbw + algbw_error)
                spans.append((low, (half.busbw + busbw_error) / (half.algbw - algbw_error)))
    # The value that most spans hold is found where one of them begins or ends.
    ends = {end for span in sorted(spans, key=lambda span: span[1] - span[0])[:50] for end in span}
    return max(ends, key=lambda end: sum(low <= end <= high for low, high in spans), default=about)


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


def _usual(values: Iterable[int]) -> int | None:
    """The value that most have, None where there is none."""
    found = Counter(values)
    value, times = found.most_common(1)[0]
    return value if times >= _MAJORITY * found.total() else None


def _is_printed_so(row: RawRow) -> bool:
    """False for figures with more digits than any version prints: seven characters of time, two decimals of a rate.

    Ringside prints four decimals below 1 GB/s.
    """
    for half in row.halves:
        if half is None:
            continue
        time_error, *errors = half.precision
        if half.time is not None and any(time_error < least and half.time >= limit for least, limit in _TIME_LIMITS):
            return False
        for figure, error in zip((half.algbw, half.busbw), errors, strict=True):
            if figure is not None and figure >= 1 and error < 0.004:
                return False
    return True


def _stands_under(row: RawRow, ends: Sequence[int | None]) -> bool:
    """Whether each column ends where it usually does, or is pushed by a figure that fills its field."""
    shift = 0
    before = 0
    for token, end in zip(row.tokens, ends, strict=False):
        if end is None:
            return True
        if token.end != end + shift:
            if token.end < end + shift or token.start - before > 2:
                return False
            shift = token.end - end
        before = token.end
    return True
