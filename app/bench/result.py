"""What a run brought, gathered event by event: the store keeps it, `app.hardware` fits from it, `formats/` print it."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.bench.codec import build, plain
from app.bench.events import (
    Copy,
    Done,
    Environment,
    Event,
    Finding,
    Gemm,
    Hello,
    Latency,
    Link,
    Overlap,
    Problem,
    RankStarted,
    Report,
    Row,
)
from app.bench.spec import RunSpec
from app.bench.wire import LogText

_GATHERED: Mapping[type[Any], str] = {
    RankStarted: "started",
    Row: "rows",
    Latency: "latencies",
    Overlap: "overlaps",
    Copy: "copies",
    Link: "links",
    Report: "reports",
    Problem: "problems",
}
"""The field that keeps every event of a kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What a run brought so far; `add` grows it event by event, so partial results are results."""

    spec: RunSpec
    environment: Environment | None = None
    started: tuple[RankStarted, ...] = ()
    rows: tuple[Row, ...] = ()
    gemm: Gemm | None = None
    latencies: tuple[Latency, ...] = ()
    overlaps: tuple[Overlap, ...] = ()
    copies: tuple[Copy, ...] = ()
    links: tuple[Link, ...] = ()
    reports: tuple[Report, ...] = ()
    problems: tuple[Problem, ...] = ()
    drift_percent: float | None = None
    finished: bool = False

    def add(self, event: Event | LogText) -> "RunResult":
        """This result with what `event` adds to it."""
        gathered = _GATHERED.get(type(event))
        if gathered is not None:
            added: dict[str, Any] = {gathered: (*getattr(self, gathered), event)}
            return dataclasses.replace(self, **added)
        if isinstance(event, Hello):
            return dataclasses.replace(self, environment=event.environment)
        if isinstance(event, Gemm):
            return dataclasses.replace(self, gemm=event)
        if isinstance(event, Done):
            return dataclasses.replace(self, finished=True, drift_percent=event.drift_percent)
        return self

    def add_all(self, events: Iterable[Event | LogText]) -> "RunResult":
        """This result with what all `events` add to it."""
        result = self
        for event in events:
            result = result.add(event)
        return result

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was measured besides rows."""
        return (*self.latencies, *self.overlaps, *self.copies, *self.links, *self.reports)

    @property
    def has_wrong_values(self) -> bool:
        """Whether validation found a wrong element; such a run must never feed a model."""
        return any(half is not None and half.wrong for row in self.rows for half in (row.out_of_place, row.in_place))

    def to_json(self) -> dict[str, Any]:
        """The result as a JSON object."""
        return dict(plain(self))

    @classmethod
    def from_json(cls, raw: object) -> "RunResult":
        """The result a JSON object holds. Raises ValueError."""
        return build(cls, raw)
