"""What a finished simulation tells: idle time and its reasons, the critical path, memory.

Start with `analyse`. A gap is explained by the operation that ended last before the stream could go on,
the same link of which the critical path is made: so picture, table and sentence never disagree.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from app.timelines.model import ZERO, Gap, GapKind, Idle, Kind, Schedule, Span, Stream, Trace

Lane = tuple[str, str]


def analyse(schedule: Schedule, spans: Sequence[Span]) -> Trace:
    """The trace of `schedule`, given when each operation ran."""
    by_id = {span.operation.id: span for span in spans}
    makespan = max((span.end for span in spans), default=ZERO)
    critical = _critical_path(spans, by_id)
    lanes = _lanes(spans)
    compute = {device: _union(spans, device) for device in dict.fromkeys(span.operation.device for span in spans)}
    busy = {device: sum((end - start for start, end in parts), ZERO) for device, parts in compute.items()}
    busiest = max(busy, key=lambda device: busy[device], default="")
    on_path = set(critical)
    ends = (makespan, critical[-1] if critical else None)
    return Trace(
        spans=tuple(replace(span, critical=span.operation.id in on_path) for span in spans),
        gaps=tuple(gap for lane, members in lanes.items() for gap in _gaps(lane, members, by_id, ends)),
        streams=tuple(_stream(lane, members) for lane, members in lanes.items()),
        makespan=makespan,
        busiest=busiest,
        compute_busy=busy.get(busiest, ZERO),
        exposed=makespan - busy.get(busiest, ZERO),
        idle=_idle(compute.get(busiest, []), makespan),
        peak_live=_peaks(schedule, by_id),
        critical=critical,
    )


def _lanes(spans: Sequence[Span]) -> dict[Lane, list[Span]]:
    lanes: dict[Lane, list[Span]] = defaultdict(list)
    for span in spans:
        lanes[span.operation.device, span.operation.stream].append(span)
    return lanes


def _kind(members: Sequence[Span]) -> Kind:
    return members[0].operation.kind


def _stream(lane: Lane, members: Sequence[Span]) -> Stream:
    return Stream(
        device=lane[0],
        name=lane[1],
        kind=_kind(members),
        busy=sum((span.duration for span in members), ZERO),
    )


def _critical_path(spans: Sequence[Span], by_id: Mapping[str, Span]) -> tuple[str, ...]:
    """From the first operation to the one that ends last, each started by the end of the one before."""
    last = max(spans, key=lambda span: span.end, default=None)
    path: list[str] = []
    while last is not None:
        path.append(last.operation.id)
        last = by_id[last.blocked_by] if last.blocked_by else None
    return tuple(reversed(path))


def _union(spans: Sequence[Span], device: str) -> list[tuple[Fraction, Fraction]]:
    """The disjoint intervals in which `device` computes, in order."""
    merged: list[tuple[Fraction, Fraction]] = []
    running = sorted(
        (span.start, span.end)
        for span in spans
        if span.operation.device == device and span.operation.kind == "compute" and span.end > span.start
    )
    for start, end in running:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _idle(parts: Sequence[tuple[Fraction, Fraction]], makespan: Fraction) -> Idle:
    if not parts:
        return Idle(fill=makespan)
    first, last = parts[0][0], parts[-1][1]
    busy = sum((end - start for start, end in parts), ZERO)
    return Idle(fill=first, internal=last - first - busy, drain=makespan - last)


def _gaps(
    lane: Lane, members: Sequence[Span], by_id: Mapping[str, Span], ends: tuple[Fraction, str | None]
) -> list[Gap]:
    """The idle times of one lane; `ends` is when the run ends and with which operation.

    A lane that only communicates is never "exposed" when it is idle: it has nothing to send.
    """
    found: list[Gap] = []
    device, stream = lane
    computes = _kind(members) == "compute"

    def add(start: Fraction, end: Fraction, kind: GapKind, waits_for: str | None, following: str | None) -> None:
        cause = by_id[waits_for].operation.kind if waits_for else None
        found.append(
            Gap(
                id=f"gap-{device}-{stream}-{len(found) + 1}".replace(" ", "-"),
                device=device,
                stream=stream,
                start=start,
                end=end,
                kind=kind,
                waits_for=waits_for,
                next=following,
                exposed=computes and cause == "communication",
            )
        )

    free = ZERO
    for span in members:
        if span.start > free:
            add(free, span.start, "internal" if free else "fill", span.blocked_by, span.operation.id)
        free = max(free, span.end)
    makespan, last = ends
    if makespan > free:
        add(free, makespan, "drain", last, None)
    return found


def _peaks(schedule: Schedule, by_id: Mapping[str, Span]) -> dict[str, Fraction]:
    """The most that is held at once, per device. What is let go at an instant makes room for what comes at it."""
    changes: dict[str, list[tuple[Fraction, int, Fraction]]] = defaultdict(list)
    for held in schedule.allocations:
        start, end = by_id[held.first].start, by_id[held.last].end
        if end > start:
            changes[held.device] += [(start, 1, held.size), (end, 0, -held.size)]
    peaks: dict[str, Fraction] = {}
    for device, events in changes.items():
        live = peak = ZERO
        for _, _, change in sorted(events):
            live += change
            peak = max(peak, live)
        peaks[device] = peak
    return peaks
