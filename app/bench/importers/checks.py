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
_EPSILON = 1 + 1e-6
_EXACT_SHARE = 0.8
"""Share of a table's halves that must agree within rounding alone, for rounding alone to be granted to the rest."""
_PRECISE = 0.02
"""Relative rounding up to which a printed figure helps to find the rule of a table."""
_MAJORITY = 0.6


@dataclass(frozen=True, slots=True)
class Rules:
    """What the rows of a table agree on. None where they agree on nothing, or nothing is printed precisely enough.

    `rate` is algorithm bandwidth over size per time (1 for today's definition and microseconds), `bus` bus over algorithm
    bandwidth and `least_bus` what it is at least by coarser figures, `multiple` size over count times element size. The spans are what a half may have.
    """

    rate: float | None
    bus: float | None
    multiple: int | None
    has_rates: bool
    least_bus: float = 0.0
    rate_span: tuple[float, float] | None = None
    bus_span: tuple[float, float] | None = None


def rules_of(rows: Sequence[RawRow]) -> Rules:
    """The rules that most rows of one table follow."""
    rates = [value for row in rows for half in row.halves if half and (value := _rate(half, row.size)) is not None]
    buses = [value for row in rows for half in row.halves if half and (value := _bus(half)) is not None]
    rate = _consensus(rates)
    if rate is not None and abs(rate - 1) < 0.03:
        rate = 1.0
    bus = _consensus(buses)
    multiple = _multiple(rows)
    if (old := _old_rate(rows)) is not None and (rate is None or abs(rate - old) < 0.04):
        if _tells_definitions_apart(rows, old):
            return Rules(old, 1.0, multiple, bool(rates), rate_span=(old, old), bus_span=(1.0, 1.0))
        return Rules(1.0, bus, multiple, has_rates=False, rate_span=(old, 1.0), bus_span=(old, 1.0))
    rate = rate if rates else 1.0
    least = max((_least_bus(half) for row in rows for half in row.halves if half), default=0.0)
    about = Rules(rate, bus, multiple, bool(rates), least, rate_span=around(rate), bus_span=around(bus))
    rate_span = (1.0, 1.0) if rate == 1 else _exact(_rate_spans(rows)) or about.rate_span
    exact = replace(
        about, rate_span=rate_span if rate else None, bus_span=_exact(_bus_spans(rows)) if bus else about.bus_span
    )
    if _agreement(rows, exact) >= _EXACT_SHARE:
        return exact
    # Coarse figures cannot show another definition of the rate; where they contradict today's, none is assumed.
    if rates or _agreement(rows, about) >= _MAJORITY:
        return about
    return replace(about, rate=None, rate_span=None)


def around(value: float | None) -> tuple[float, float] | None:
    """What a half may have where most of a table agree on `value` no better than two percent."""
    return None if value is None else (value * (1 - _SLACK), value * (1 + _SLACK))


def _old_rate(rows: Sequence[RawRow]) -> float | None:
    """The rate of versions before 2020-06, in which all-gather and reduce-scatter left the own part out of both rates.

    Told by equal rates beside a size of several parts; None for other tables.
    """
    multiple = _multiple(rows)
    halves = [half for row in rows for half in row.halves if half]
    if multiple is None or multiple < 2 or any(half.algbw != half.busbw for half in halves):
        return None
    return (multiple - 1) / multiple


def _tells_definitions_apart(rows: Sequence[RawRow], old: float) -> bool:
    """True when some equal rates are printed finely enough to show that they are not those of today's definition."""
    halves = [half for row in rows for half in row.halves if half]
    return any(half.algbw is not None and half.algbw * (1 - old) > 2.5 * half.precision[1] for half in halves)


def _agreement(rows: Sequence[RawRow], rules: Rules) -> float:
    """The share of halves without a contradiction, among those that could have one."""
    found = [contradiction(half, size=row.size, rules=rules) for row in rows if row.size for half in row.halves if half]
    return found.count(None) / len(found) if found else 1.0


def contradiction(half: Printed, *, size: int, rules: Rules) -> str | None:
    """Which two figures of a half exclude each other, None if none do."""
    time_error, algbw_error, busbw_error = half.precision
    if half.algbw is None or half.algbw > 1e9:
        return None
    low, high = half.algbw - algbw_error, half.algbw + algbw_error
    if half.time is not None and rules.rate_span is not None:
        slowest, fastest = (rate * size / 1e3 for rate in rules.rate_span)
        least, most = half.time - time_error, half.time + time_error
        if most <= 0 or high * _EPSILON < slowest / most or (least > 0 and low > fastest / least * _EPSILON):
            return "time / algbw"
    if half.busbw is not None and rules.bus_span is not None:
        bus_low, bus_high = half.busbw - busbw_error, half.busbw + busbw_error
        if bus_high * _EPSILON < rules.bus_span[0] * low or bus_low > rules.bus_span[1] * high * _EPSILON:
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


def _rate_spans(rows: Sequence[RawRow]) -> list[tuple[float, float]]:
    """Between what each precise half leaves algorithm bandwidth over size per time."""
    spans: list[tuple[float, float]] = []
    for row in rows:
        for half in row.halves:
            if half and half.time and half.algbw and _rate(half, row.size) is not None:
                time_error, algbw_error, _ = half.precision
                low = (half.algbw - algbw_error) * (half.time - time_error)
                spans.append(
                    (low * 1e3 / row.size, (half.algbw + algbw_error) * (half.time + time_error) * 1e3 / row.size)
                )
    return spans


def _bus_spans(rows: Sequence[RawRow]) -> list[tuple[float, float]]:
    """Between what each precise half leaves bus over algorithm bandwidth."""
    spans: list[tuple[float, float]] = []
    for row in rows:
        for half in row.halves:
            if half and half.algbw and half.busbw is not None and _bus(half) is not None:
                _, algbw_error, busbw_error = half.precision
                low = (half.busbw - busbw_error) / (half.algbw + algbw_error)
                spans.append((low, (half.busbw + busbw_error) / (half.algbw - algbw_error)))
    return spans


def _exact(spans: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Where most spans meet, None without spans."""
    ends = sorted({end for span in sorted(spans, key=lambda span: span[1] - span[0])[:50] for end in span})
    if not ends:
        return None
    held = [sum(low <= end <= high for low, high in spans) for end in ends]
    best = [end for end, times in zip(ends, held, strict=True) if times == max(held)]
    return best[0], best[-1]


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
