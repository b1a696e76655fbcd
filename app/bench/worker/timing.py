"""How one number is made.

Warm up until two successive batch means agree within 5 % (connections and protocol switches make first calls several times
slower), at least five calls. Then a few batches of calls, each after a barrier, timed as a whole. A batch counts as long as its
slowest rank took, because that is what the collective cost; the figure is the median over batches, so one disturbed batch does not
move it. Rates are taken from times, never averaged. Start at `measure`.
"""

import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Protocol

import torch

from app.bench.events import Measurement
from app.bench.spec import RunSpec

SETTLED = 0.05
MINIMUM_WARM_UP = 5
MINIMUM_BATCHES = 3
BATCH_SECONDS = 0.005
"""A batch lasts at least this long, so that the clock and the barrier's exit weigh little."""
MAXIMUM_ITERATIONS = 20_000
SINGLES = 2000
"""Single times kept per measurement."""

Call = Callable[[int], None]
"""Runs the operation once; the argument counts the calls, so that each may use another part of memory."""


class Peers(Protocol):
    """What timing needs of `group.Group`."""

    def barrier(self) -> None: ...
    def maximum(self, value: float) -> float: ...
    def gather(self, values: Sequence[float]) -> list[list[float]]: ...


class Clock(Protocol):
    """Times a batch of calls on one kind of device."""

    name: str

    def batch(self, call: Call, *, first: int, iterations: int) -> tuple[float, list[float]]:
        """Seconds of the whole batch, and of single calls in it (none where a look at each would disturb them)."""
        ...

    def singles(self, call: Call, *, iterations: int) -> list[float]:
        """Seconds of single calls, outside any batch, where `batch` gives none."""
        ...

    def single(self, call: Call, *, number: int) -> float:
        """Seconds of one call from an idle device until it is done."""
        ...


class BlockingClock:
    """CPU: each call returns when it is done, so the processor's clock around it is the time."""

    name = "blocking"

    def batch(self, call: Call, *, first: int, iterations: int) -> tuple[float, list[float]]:
        now = time.perf_counter
        marks = [now()]
        for number in range(first, first + iterations):
            call(number)
            marks.append(now())
        return marks[-1] - marks[0], [after - before for before, after in pairwise(marks)]

    def singles(self, call: Call, *, iterations: int) -> list[float]:
        del call, iterations
        return []

    def single(self, call: Call, *, number: int) -> float:
        begin = time.perf_counter()
        call(number)
        return time.perf_counter() - begin


class EventClock:
    """GPU: calls are queued without waiting and events on the stream mark begin and end, so launch gaps stay hidden."""

    name = "events"

    def batch(self, call: Call, *, first: int, iterations: int) -> tuple[float, list[float]]:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        begin.record()
        for number in range(first, first + iterations):
            call(number)
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) * 1e-3, []

    def singles(self, call: Call, *, iterations: int) -> list[float]:
        events = [torch.cuda.Event(enable_timing=True) for _ in range(iterations + 1)]
        torch.cuda.synchronize()
        events[0].record()
        for number in range(iterations):
            call(number)
            events[number + 1].record()
        torch.cuda.synchronize()
        return [before.elapsed_time(after) * 1e-3 for before, after in pairwise(events)]

    def single(self, call: Call, *, number: int) -> float:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        begin.record()
        call(number)
        end.record()
        torch.cuda.synchronize()
        return float(begin.elapsed_time(end)) * 1e-3


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds per call by rank: one mean per batch, and single calls."""

    iterations: int
    means: list[list[float]]
    singles: list[list[float]]

    def of_one_leg(self, legs: int, *, players: int) -> "Times":
        """The same per message of the first `players` ranks, where a call is `legs` messages one after another."""
        tables = (self.means[:players], self.singles[:players])
        means, singles = ([[time / legs for time in rank] for rank in table] for table in tables)
        return Times(self.iterations, means, singles)


def clock_for(device: torch.device) -> Clock:
    """The clock of a device."""
    return EventClock() if device.type == "cuda" else BlockingClock()


def measure(call: Call, *, peers: Peers, clock: Clock, spec: RunSpec, beat: Callable[[], None]) -> Times:
    """Times of `call` on every rank. All ranks call this together; `beat` is called between batches."""
    used, mean = warm_up(call, peers=peers, clock=clock, seconds=spec.warm_up_seconds, beat=beat)
    batches = max(MINIMUM_BATCHES, min(spec.batches, math.floor(spec.budget_seconds / mean)))
    iterations = _iterations(mean, seconds=max(BATCH_SECONDS, spec.budget_seconds / batches))
    means: list[float] = []
    singles: list[float] = []
    for _ in range(batches):
        peers.barrier()
        seconds, each = clock.batch(call, first=used, iterations=iterations)
        used += iterations
        means.append(seconds / iterations)
        singles.extend(each[: SINGLES // batches])
        beat()
    if not singles:
        peers.barrier()
        singles = clock.singles(call, iterations=min(iterations, SINGLES // 10))
    return Times(iterations, peers.gather(means), peers.gather(singles))


def summarize(times: Times, *, size_bytes: int, bus_factor: Fraction, ranks: int, wrong: int | None) -> Measurement:
    """The figures of a row's half. One worked by hand: 64 MiB in 0.1 s is 0.671 GB/s, times 1 for two ranks' all-reduce."""
    batches = list(zip(*times.means, strict=True))
    slowest = [max(batch) for batch in batches]
    time_us = round(statistics.median(slowest) * 1e6, 4)
    algbw = size_bytes / time_us / 1e3
    singles = sorted(max(call) for call in zip(*times.singles, strict=True))
    spread = statistics.pstdev(singles) / statistics.fmean(singles)
    return Measurement(
        time_us=time_us,
        algbw_gb_per_s=algbw,
        busbw_gb_per_s=algbw * float(bus_factor) if ranks > 1 else None,
        wrong=wrong,
        average_us=round(statistics.median(map(statistics.fmean, batches)) * 1e6, 4),
        minimum_us=round(statistics.median(map(min, batches)) * 1e6, 4),
        slowest_rank=Counter(batch.index(max(batch)) for batch in batches).most_common(1)[0][0],
        p50_us=round(statistics.median(singles) * 1e6, 4),
        p99_us=round(percentile(singles, 99) * 1e6, 4),
        cv_percent=round(spread * 100, 2),
        iterations=times.iterations,
        batches_us=tuple(round(batch * 1e6, 3) for batch in slowest),
    )


def percentile(ascending: Sequence[float], percent: float) -> float:
    """The smallest value that at least `percent` of them do not exceed (nearest rank)."""
    return ascending[math.ceil(percent / 100 * len(ascending)) - 1]


def warm_up(call: Call, *, peers: Peers, clock: Clock, seconds: float, beat: Callable[[], None]) -> tuple[int, float]:
    """Call until two batches agree or `seconds` are over: calls made, and the mean of the last batch, on every rank the same."""
    begin = time.monotonic()
    used, iterations, before = 0, MINIMUM_WARM_UP, 0.0
    while True:
        peers.barrier()
        took, _ = clock.batch(call, first=used, iterations=iterations)
        used += iterations
        mean = max(peers.maximum(took / iterations), 1e-9)
        beat()
        is_settled = abs(mean - before) <= SETTLED * before
        if is_settled or peers.maximum(time.monotonic() - begin) >= seconds:
            return used, mean
        before, iterations = mean, _iterations(mean, seconds=BATCH_SECONDS)


def _iterations(mean: float, *, seconds: float) -> int:
    return max(1, min(MAXIMUM_ITERATIONS, math.ceil(seconds / mean)))
