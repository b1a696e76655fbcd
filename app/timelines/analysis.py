"""What a finished simulation tells: idle time and its reasons, the critical path, memory.

Start with `analyse`. A gap is explained by the operation that ended last before the stream could go on,
the same link of which the critical path is made: so picture, table and sentence never disagree. Everything is
computed in the engine's units and turned into fractions of a millisecond at the end.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from app.timelines.model import ZERO, Gap, GapKind, Idle, Schedule, Span, Stream, Trace

Time = int | Fraction
Lane = tuple[str, str]
Interval = tuple[Time, Time]


@dataclass(frozen=True, slots=True)
class Ran:
    """When each operation ran and what it waited for last, by its place in the list; `scale` units are 1 ms."""

    start: Sequence[Time]
    end: Sequence[Time]
    blocker: Sequence[int | None]
    scale: int


def analyse(schedule: Schedule, ran: Ran) -> Trace:
    """The trace of `schedule`, given when each operation ran."""

    @cache
    def exact(time: Time) -> Fraction:
        return Fraction(time) / ran.scale

    operations = schedule.operations
    makespan = max(ran.end, default=0)
    path = _critical_path(ran)
    lanes = _lanes(schedule)
    compute = _compute(schedule, ran)
    busy = {device: sum(end - start for start, end in parts) for device, parts in compute.items()}
    busiest = max(busy, key=lambda device: busy[device], default="")
    on_path = set(path)
    names = [operation.id for operation in operations]
    return Trace(
        spans=tuple(
            Span(operation, exact(start), exact(end), None if blocker is None else names[blocker], place in on_path)
            for place, (operation, start, end, blocker) in enumerate(
                zip(operations, ran.start, ran.end, ran.blocker, strict=True)
            )
        ),
        gaps=tuple(gap for places in lanes.values() for gap in _gaps(schedule, ran, places, path, exact)),
        streams=tuple(
            Stream(lane[0], lane[1], operations[places[0]].kind, exact(sum(ran.end[p] - ran.start[p] for p in places)))
            for lane, places in lanes.items()
        ),
        makespan=exact(makespan),
        busiest=busiest,
        compute_busy=exact(busy.get(busiest, 0)),
        exposed=exact(makespan - busy.get(busiest, 0)),
        idle=_idle(compute.get(busiest, []), makespan, exact),
        peak_live=_peaks(schedule, ran),
        critical=tuple(names[place] for place in path),
    )


def _lanes(schedule: Schedule) -> dict[Lane, list[int]]:
    lanes: dict[Lane, list[int]] = defaultdict(list)
    for place, operation in enumerate(schedule.operations):
        lanes[operation.device, operation.stream].append(place)
    return lanes


def _critical_path(ran: Ran) -> list[int]:
    """From the first operation to the one that ends last, each started by the end of the one before."""
    last: int | None = max(range(len(ran.end)), key=lambda place: ran.end[place], default=None)
    path: list[int] = []
    while last is not None:
        path.append(last)
        last = ran.blocker[last]
    return path[::-1]


def _compute(schedule: Schedule, ran: Ran) -> dict[str, list[Interval]]:
    """Per device, the disjoint intervals in which it computes, in order."""
    running: dict[str, list[Interval]] = {operation.device: [] for operation in schedule.operations}
    for operation, start, end in zip(schedule.operations, ran.start, ran.end, strict=True):
        if operation.kind == "compute" and end > start:
            running[operation.device].append((start, end))
    return {device: _union(intervals) for device, intervals in running.items()}


def _union(intervals: Sequence[Interval]) -> list[Interval]:
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _idle(parts: Sequence[Interval], makespan: Time, exact: Callable[[Time], Fraction]) -> Idle:
    if not parts:
        return Idle(fill=exact(makespan))
    first, last = parts[0][0], parts[-1][1]
    busy = sum(end - start for start, end in parts)
    return Idle(fill=exact(first), internal=exact(last - first - busy), drain=exact(makespan - last))


def _gaps(
    schedule: Schedule,
    ran: Ran,
    places: Sequence[int],
    path: Sequence[int],
    exact: Callable[[Time], Fraction],
) -> list[Gap]:
    """The idle times of one lane. A lane that only communicates is never "exposed": when idle it has nothing to send."""
    operations = schedule.operations
    device, stream = operations[places[0]].device, operations[places[0]].stream
    computes = operations[places[0]].kind == "compute"
    found: list[Gap] = []

    def add(start: Time, end: Time, kind: GapKind, cause: int | None, following: int | None) -> None:
        found.append(
            Gap(
                id=f"gap-{device}-{stream}-{len(found) + 1}".replace(" ", "-"),
                device=device,
                stream=stream,
                start=exact(start),
                end=exact(end),
                kind=kind,
                waits_for=None if cause is None else operations[cause].id,
                next=None if following is None else operations[following].id,
                exposed=computes and cause is not None and operations[cause].kind == "communication",
            )
        )

    free: Time = 0
    for place in places:
        if ran.start[place] > free:
            add(free, ran.start[place], "internal" if free else "fill", ran.blocker[place], place)
        free = max(free, ran.end[place])
    makespan = ran.end[path[-1]]
    if makespan > free:
        add(free, makespan, "drain", path[-1], None)
    return found


def _peaks(schedule: Schedule, ran: Ran) -> dict[str, Fraction]:
    """The most that is held at once, per device. What is let go at an instant makes room for what comes at it."""
    index = {operation.id: place for place, operation in enumerate(schedule.operations)}
    changes: dict[str, list[tuple[Time, int, Fraction]]] = defaultdict(list)
    for held in schedule.allocations:
        start, end = ran.start[index[held.first]], ran.end[index[held.last]]
        if end > start:
            changes[held.device] += [(start, 1, held.size), (end, 0, -held.size)]
    peaks: dict[str, Fraction] = {}
    for device, events in changes.items():
        live = peak = ZERO
        for _, _, change in sorted(events, key=lambda event: event[:2]):
            live += change
            peak = max(peak, live)
        peaks[device] = peak
    return peaks
