"""Runs a schedule: `simulate(schedule)` gives every start and end, exactly.

An event loop over the ends of operations. Streams are in-order queues; ties are broken by the place in
the list, so the same schedule always gives the same trace. Times are whole numbers of the smallest
common fraction while no contention is asked for, which is as exact as `Fraction` and ten times as fast.
`analysis.py` then says what was idle and why; this file knows nothing of drawing.
"""

import heapq
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from math import lcm

from app.timelines.analysis import Ran, analyse
from app.timelines.model import Operation, Schedule, Trace

Time = int | Fraction


class Deadlock(ValueError):
    """Operations wait for each other; `operations` are the ids that never started."""

    def __init__(self, operations: Sequence[str]) -> None:
        super().__init__(f"these operations never start: {', '.join(operations[:5])}")
        self.operations = tuple(operations)


def simulate(schedule: Schedule) -> Trace:
    """The trace of `schedule`. Raises `Deadlock` on a cycle and ValueError on an unknown or repeated id."""
    return analyse(schedule, _Loop(schedule).run())


class _Loop:
    """The state of one simulation. Everything is indexed by the place of the operation in the list."""

    def __init__(self, schedule: Schedule) -> None:
        operations = schedule.operations
        self.operations = operations
        self.index = {operation.id: place for place, operation in enumerate(operations)}
        if len(self.index) != len(operations):
            raise ValueError("two operations have the same id")
        self.contention = schedule.contention
        times = [operation.duration for operation in operations]
        times += [lag for operation in operations for _, lag in operation.after]
        if any(time < 0 for time in times):
            raise ValueError("durations and lags are not negative")
        self.scale = lcm(*(time.denominator for time in times)) if times else 1
        self.work = [self._units(operation.duration) for operation in operations]

        self.waiting = [0] * len(operations)
        self.followers: list[list[tuple[int, Time]]] = [[] for _ in operations]
        self.previous: list[int | None] = [None] * len(operations)
        last: dict[tuple[str, str], int] = {}
        for place, operation in enumerate(operations):
            before = last.get((operation.device, operation.stream))
            if before is not None:
                self.previous[place] = before
                self._follow(place, before, 0)
            last[operation.device, operation.stream] = place
            for name, lag in operation.after:
                if name not in self.index:
                    raise ValueError(f"{operation.id} waits for {name}, which does not exist")
                self._follow(place, self.index[name], self._units(lag))

        self.ready: list[Time] = [0] * len(operations)
        self.blocker: list[int | None] = [None] * len(operations)
        self.start: list[Time] = [0] * len(operations)
        self.end: list[Time | None] = [None] * len(operations)
        self.events: list[tuple[Time, int, int, int]] = []
        """(time, 0 end or 1 start, place, version); an end that contention has moved has an old version."""
        self.version = [0] * len(operations)
        self.communicating: dict[str, int] = defaultdict(int)
        self.computing: dict[str, dict[int, tuple[Time, Time]]] = defaultdict(dict)
        """Per device, the compute that runs: place -> (time of the last change of pace, work left then)."""

    def _units(self, time: Fraction) -> int:
        return time.numerator * (self.scale // time.denominator)

    def _follow(self, place: int, before: int, lag: Time) -> None:
        self.waiting[place] += 1
        self.followers[before].append((place, lag))

    def run(self) -> Ran:
        """When each operation ran. Raises Deadlock."""
        for place, waiting in enumerate(self.waiting):
            if waiting == 0:
                heapq.heappush(self.events, (0, 1, place, 0))
        while self.events:
            now, starts, place, version = heapq.heappop(self.events)
            if starts:
                self._start(place, now)
            elif version == self.version[place]:
                self._finish(place, now)
        stuck = [operation.id for operation, end in zip(self.operations, self.end, strict=True) if end is None]
        if stuck:
            raise Deadlock(stuck)
        ended = [end for end in self.end if end is not None]
        return Ran(start=self.start, end=ended, blocker=self.blocker, scale=self.scale)

    def _start(self, place: int, now: Time) -> None:
        self.start[place] = now
        operation = self.operations[place]
        if self.contention != 1:
            if operation.kind == "communication":
                self._count_communication(operation, now, 1)
            elif operation.kind == "compute":
                self.computing[operation.device][place] = (now, self.work[place])
        self._plan_end(place, now, self.work[place])

    def _finish(self, place: int, now: Time) -> None:
        operation = self.operations[place]
        self.end[place] = now
        if self.contention != 1:
            self.computing[operation.device].pop(place, None)
            if operation.kind == "communication":
                self._count_communication(operation, now, -1)
        for follower, lag in self.followers[place]:
            self.waiting[follower] -= 1
            moment = now + lag
            if self._decides(follower, moment, place):
                self.ready[follower] = moment
                self.blocker[follower] = place
            if self.waiting[follower] == 0:
                heapq.heappush(self.events, (self.ready[follower], 1, follower, 0))

    def _decides(self, follower: int, moment: Time, place: int) -> bool:
        """Whether `place` is what `follower` waits for: the last to end; in a tie its own stream, then list order."""
        known = self.blocker[follower]
        if known is None or moment != self.ready[follower]:
            return known is None or moment > self.ready[follower]
        own = self.previous[follower]
        return known != own and (place == own or place < known)

    def _count_communication(self, operation: Operation, now: Time, change: int) -> None:
        """Communication begins or ends on a device: what computes there changes its pace."""
        device = operation.device
        before = self.communicating[device]
        self.communicating[device] += change
        if (before == 0) == (self.communicating[device] == 0):
            return
        pace = 1 if before == 0 else self.contention
        for place, (since, left) in self.computing[device].items():
            left = left - Fraction(now - since) / pace  # noqa: PLW2901 - the work that is left now
            self.computing[device][place] = (now, left)
            self.version[place] += 1
            self._plan_end(place, now, left)

    def _plan_end(self, place: int, now: Time, left: Time) -> None:
        operation = self.operations[place]
        if operation.kind == "compute" and self.contention != 1 and self.communicating[operation.device]:
            left = left * self.contention
        heapq.heappush(self.events, (now + left, 0, place, self.version[place]))
