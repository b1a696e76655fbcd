"""What a run is to those who list, watch and start it: its states and the snapshot the store gives.

A run is queued, then running, then ended in one of nine ways. Only runs that ended well (`is_usable`) may drive
calculators and timelines: `wrong` ones computed wrong values, `emulated` ones shared a GPU, cancelled and failed ones are there to be looked at.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, get_args

from app.bench import process
from app.bench.events import Environment, Gemm, Job, Problem, RankStarted, Row
from app.bench.process import ProcessId
from app.bench.result import RunResult
from app.bench.spec import RunSpec
from app.core.i18n import Text

Status = Literal[
    "queued",
    "running",
    "done",
    "wrong",
    "emulated",
    "partial",
    "launch_failed",
    "init_failed",
    "timeout",
    "crashed",
    "cancelled",
]
ACTIVE: tuple[Status, ...] = ("queued", "running")
USABLE: tuple[Status, ...] = ("done", "partial")

STATUS_TITLES: dict[Status, Text] = {
    "queued": Text("waiting", "排队中"),
    "running": Text("running", "运行中"),
    "done": Text("done", "完成"),
    "wrong": Text("wrong values", "数值错误"),
    "emulated": Text("emulated", "模拟运行"),
    "partial": Text("ended early", "提前结束"),
    "launch_failed": Text("did not start", "启动失败"),
    "init_failed": Text("ranks did not meet", "rank 未能会合"),
    "timeout": Text("hung", "卡住"),
    "crashed": Text("crashed", "崩溃"),
    "cancelled": Text("cancelled", "已取消"),
}
assert set(STATUS_TITLES) == set(get_args(Status))


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a running run is. `done` of `total` rows are finished; `eta_seconds` counts from `heard_at`."""

    heard_at: datetime
    phase: str = "starting"
    operation: str = ""
    size_bytes: int = 0
    count: int = 0
    done: int = 0
    total: int = 0
    eta_seconds: float | None = None
    job: Job | None = None
    """Where a batch system has it."""
    note: str = ""
    """Why it still waits, in a name or a few words that need no translation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A snapshot of one run without its rows."""

    id: int
    node: str
    status: Status
    spec: RunSpec
    stop_requested: bool
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    command: tuple[str, ...] = ()
    leader: ProcessId | None = None
    started: tuple[RankStarted, ...] = ()
    progress: Progress | None = None
    environment: Environment | None = None
    gemm: Gemm | None = None
    problems: tuple[Problem, ...] = ()
    drift_percent: float | None = None
    finished: bool = False
    log: tuple[str, ...] = ()
    """The last lines the run printed that were no events, kept when it ends."""
    rows: int = field(default=0)
    """How many sizes have been measured."""

    @property
    def is_active(self) -> bool:
        """Whether it waits or runs."""
        return self.status in ACTIVE

    @property
    def is_usable(self) -> bool:
        """Whether it may drive calculators and timelines."""
        return self.status in USABLE and self.rows > 0

    @property
    def profile_key(self) -> str:
        """The key of its hardware profile."""
        return f"run-{self.id}"

    def result(self, rows: Sequence[Row]) -> RunResult:
        """The result as the formats and profiles take it."""
        return RunResult(
            spec=self.spec,
            environment=self.environment,
            started=self.started,
            rows=tuple(rows),
            gemm=self.gemm,
            problems=self.problems,
            drift_percent=self.drift_percent,
            finished=self.finished,
        )


def process_of(rank: RankStarted) -> ProcessId:
    """The process of a rank on this machine. Without /proc the worker cannot tell its start, so we ask now."""
    found = process.identify(rank.pid) if rank.start_ticks is None else None
    return found or ProcessId(rank.pid, str(rank.start_ticks))
