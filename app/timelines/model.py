"""What a schedule is before it runs, and what is known of it afterwards.

A scenario builds a `Schedule`: operations on streams, their dependencies and the buffers they hold.
`engine.simulate` turns it into a `Trace`. All times are exact `Fraction`s in the unit of the inputs
(milliseconds); only whoever draws or sends them turns them into decimals.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from app.core.i18n import Text

Kind = Literal["compute", "communication", "memory"]
Link = Literal["intra", "inter"]
GapKind = Literal["fill", "internal", "drain"]
Number = int | float | Fraction

ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class Operation:
    """One block of a stream.

    It starts when its stream is free and each of `after` (id of an operation, lag) has ended plus its lag.
    `link` says over which network a communication runs, and so its colour; `short` is the label of a narrow block.
    """

    id: str
    device: str
    stream: str
    kind: Kind
    duration: Fraction
    label: str
    detail: Text
    after: tuple[tuple[str, Fraction], ...] = ()
    link: Link = "intra"
    short: str = ""


@dataclass(frozen=True, slots=True)
class Allocation:
    """Memory held on `device` from the start of one operation to the end of another. `size` in any unit."""

    device: str
    size: Fraction
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class Schedule:
    """What is to run. Operations of one (device, stream) run in the order of the list.

    `contention` is the factor by which compute is slower while its device communicates: 1 means not at all.
    """

    operations: tuple[Operation, ...]
    allocations: tuple[Allocation, ...] = ()
    contention: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class Span:
    """An operation with its place in time. `blocked_by` ended last before it could start; None at time zero."""

    operation: Operation
    start: Fraction
    end: Fraction
    blocked_by: str | None
    critical: bool = False

    @property
    def duration(self) -> Fraction:
        """The time it took, contention included."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Gap:
    """A time in which a stream is idle, and why.

    `waits_for` is the operation whose end it waits for; `next` the one that runs then (None in the drain,
    where the stream has nothing left to do). `exposed` marks a gap of compute that communication caused.
    """

    id: str
    device: str
    stream: str
    start: Fraction
    end: Fraction
    kind: GapKind
    waits_for: str | None
    next: str | None
    exposed: bool

    @property
    def duration(self) -> Fraction:
        """How long the stream is idle."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Stream:
    """A lane: its name and how long it is busy."""

    device: str
    name: str
    kind: Kind
    busy: Fraction


@dataclass(frozen=True, slots=True)
class Idle:
    """Idle compute time of the busiest device: before its first operation, between, and after its last."""

    fill: Fraction = ZERO
    internal: Fraction = ZERO
    drain: Fraction = ZERO


@dataclass(frozen=True, slots=True)
class Trace:
    """The outcome of a run. `exposed` is the makespan less the compute of `busiest`, the busiest device."""

    spans: tuple[Span, ...]
    gaps: tuple[Gap, ...]
    streams: tuple[Stream, ...]
    makespan: Fraction
    busiest: str
    compute_busy: Fraction
    exposed: Fraction
    idle: Idle
    peak_live: Mapping[str, Fraction] = field(default_factory=dict)
    critical: tuple[str, ...] = ()

    def span(self, operation: str) -> Span:
        """The span of an operation; KeyError when there is none."""
        for span in self.spans:
            if span.operation.id == operation:
                return span
        raise KeyError(operation)
