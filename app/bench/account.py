"""What is known of a run from what it has said so far; the same for a run in the foreground and one of the runner.

Feed it every event and every line of log in order. It knows which ranks live where, what is being measured, how long the
run may be silent, and can tell the whole to `app/bench/verdict.py` when nothing more will come.
"""

import time
from collections import deque

from app.bench import process, verdict
from app.bench.events import Event, Heartbeat, Hello, Job, Phase, Problem, Progress, RankStarted
from app.bench.process import ProcessId
from app.bench.result import RunResult
from app.bench.runs import process_of
from app.bench.wire import LogText

LOG_LINES = 40
LOG_LINE_CHARACTERS = 500
START_PATIENCE_SECONDS = 120.0
"""From the launch to the first word of a rank: torch is read from a cold disk meanwhile."""
FAILED_PATIENCE_SECONDS = 10.0
"""From a rank's word that it failed to the end of all: torchrun alone would wait 30 s for a rank that is stopped."""
WAITING = ("connecting", "waiting")
"""Phases in which no rank runs yet: they do not count towards a run's time."""


class Account:
    """One run's account. `is_here` says whether its ranks are processes of this machine."""

    def __init__(self, result: RunResult, *, is_here: bool) -> None:
        self.result = result
        self.ranks: dict[int, ProcessId] = {}
        """The process of each rank that reported, on whatever host."""
        self.job: Job | None = None
        self.phase = "starting"
        self._is_here = is_here
        self._log: deque[str] = deque(maxlen=LOG_LINES)
        self._launcher_log: deque[str] = deque(maxlen=LOG_LINES)
        self._heard = self._begun = time.monotonic()
        self._patience = START_PATIENCE_SECONDS
        self._first_dead: int | None = None
        self._has_met = False
        self._where = ""

    @property
    def log(self) -> tuple[str, ...]:
        """The last lines that were no events: the ranks' own, then the launcher's."""
        return (*self._log, *self._launcher_log)

    @property
    def processes(self) -> set[ProcessId]:
        """The ranks that are processes of this machine."""
        return set(self.ranks.values()) if self._is_here else set()

    @property
    def seconds(self) -> float:
        """How long ranks have been at work, waiting for their turn not counted."""
        return time.monotonic() - self._begun

    def take(self, event: Event | LogText) -> None:
        """Note what `event` says."""
        if isinstance(event, LogText):
            self._log.append(event.text[:LOG_LINE_CHARACTERS])
            return
        self._heard = time.monotonic()
        self.result = self.result.add(event)
        if isinstance(event, RankStarted):
            self.ranks[event.rank] = process_of(event) if self._is_here else _elsewhere(event)
        elif isinstance(event, Hello):
            self._has_met = True
        elif isinstance(event, Job):
            self.job = event
        elif isinstance(event, Problem):
            if event.fatal and self._is_here:
                self._patience = FAILED_PATIENCE_SECONDS
        elif isinstance(event, (Phase, Progress)):
            self._enter(event)
        if self.phase in WAITING and isinstance(event, (Phase, Job, Heartbeat)):
            self._begun = self._heard

    def _enter(self, event: Phase | Progress) -> None:
        self._patience = event.patience_seconds
        if isinstance(event, Progress):
            self.phase = "measuring"
            self._where = f"{event.operation}, {event.size_bytes} B"
        else:
            self.phase = event.name
            self._where = event.name

    def take_log(self, line: bytes) -> None:
        """Note a line of the launcher's own output."""
        text = line.decode("utf-8", "replace").rstrip()
        if text:
            self._launcher_log.append(text[:LOG_LINE_CHARACTERS])

    def look_for_dead(self) -> None:
        """Note the rank whose process vanished while the others live; the first one is the cause of what follows."""
        if self._is_here and self._first_dead is None and not self.result.finished:
            dead = [rank for rank, worker in self.ranks.items() if not process.is_alive(worker)]
            self._first_dead = dead[0] if len(dead) == 1 else None

    def is_silent(self, *, margin_seconds: float) -> bool:
        """Whether nothing was heard for longer than the run asked for."""
        return time.monotonic() - self._heard > self._patience + margin_seconds

    def ending(
        self,
        reason: verdict.Reason,
        *,
        exit_code: int | None,
        free_bytes: int | None,
        was_watched: bool = True,
        oom_limit: str = "",
    ) -> verdict.Ending:
        """What the verdict goes by; what is given stands in it under the same name."""
        return verdict.Ending(
            reason=reason,
            result=self.result,
            ranks={worker.pid: rank for rank, worker in self.ranks.items()},
            has_met=self._has_met,
            exit_code=exit_code,
            first_dead=self._first_dead,
            log=self.log,
            free_bytes=free_bytes,
            where=self._where,
            was_watched=was_watched,
            oom_limit=oom_limit,
        )


def _elsewhere(rank: RankStarted) -> ProcessId:
    """A process of another machine: for the record, never to be looked up or signalled here."""
    return ProcessId(rank.pid, f"{rank.host}/{rank.start_ticks}")
