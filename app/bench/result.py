"""What a run brought, gathered event by event: the store keeps it, `app.hardware` fits from it, `formats/` print it."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from app.bench.codec import build, plain
from app.bench.spec import RunSpec
from app.bench.wire import Done, Environment, Event, Gemm, Hello, LogText, Problem, RankStarted, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What a run brought so far; `add` grows it event by event, so partial results are results."""

    spec: RunSpec
    environment: Environment | None = None
    started: tuple[RankStarted, ...] = ()
    rows: tuple[Row, ...] = ()
    gemm: Gemm | None = None
    problems: tuple[Problem, ...] = ()
    drift_percent: float | None = None
    finished: bool = False

    def add(self, event: Event | LogText) -> "RunResult":
        """This result with what `event` adds to it."""
        if isinstance(event, Hello):
            return dataclasses.replace(self, environment=event.environment)
        if isinstance(event, RankStarted):
            return dataclasses.replace(self, started=(*self.started, event))
        if isinstance(event, Row):
            return dataclasses.replace(self, rows=(*self.rows, event))
        if isinstance(event, Gemm):
            return dataclasses.replace(self, gemm=event)
        if isinstance(event, Problem):
            return dataclasses.replace(self, problems=(*self.problems, event))
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
