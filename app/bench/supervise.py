"""One run from its start to its end: starts the launcher, reads its events, stores them, ends it when it must.

The launcher's output goes to files in the run's folder, which `Supervisor.watch` follows; so a run found alive after a
restart is simply watched from the beginning of its files again (`adopt`), and one found dead still gives all its
rows. Whatever happens, `watch` returns only when no process of the run is left. What an end means for the reader is
decided in `app/bench/verdict.py`.
"""

import os
import shutil
import subprocess
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from app.bench import process, verdict
from app.bench.launchers.model import Commands
from app.bench.launchers.package import prepare
from app.bench.process import ProcessId
from app.bench.result import RunResult
from app.bench.runs import Progress, Run, process_of
from app.bench.store import RunStore
from app.bench.tail import Tail
from app.bench.wire import (
    Event,
    Gemm,
    Hello,
    LogText,
    Phase,
    Problem,
    RankStarted,
    Row,
    decode_all,
)
from app.bench.wire import Progress as ProgressEvent
from app.core.clock import Clock

MARK = "RINGSIDE_RUN"
EVENTS = "events.log"
LAUNCHER_LOG = "launcher.log"
TICK_SECONDS = 0.1
STOP_CHECK_SECONDS = 0.5
START_PATIENCE_SECONDS = 120.0
"""From the launch to the first word of a rank: torch is read from a cold disk meanwhile."""
LOG_LINES = 40
LOG_LINE_CHARACTERS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a run may use before it is ended."""

    seconds: float = 3600.0
    output_bytes: int = 64 * 1024**2
    """Of each of its two files: a worker that prints without end is stopped before the disk is full."""
    free_disk_bytes: int = 64 * 1024**2
    """Needed in the data folder to start."""
    margin_seconds: float = 5.0
    """Added to a worker's own patience before silence means that it hangs."""
    grace_seconds: float = process.GRACE_SECONDS
    """Between SIGTERM and SIGKILL."""


class Supervisor:
    """Sees one claimed run through. Make it, then `start` or `adopt`, then `watch`."""

    def __init__(
        self, run: Run, *, store: RunStore, folder: Path, mark: str, clock: Clock, limits: Limits | None = None
    ) -> None:
        self._run = run
        self._store = store
        self._folder = folder
        self._mark = mark
        self._clock = clock
        self._limits = limits or Limits()
        self._leader: ProcessId | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._ranks: dict[int, ProcessId] = {}
        self._known: set[ProcessId] = set()
        self._result = RunResult(spec=run.spec)
        self._log: deque[str] = deque(maxlen=LOG_LINES)
        self._launcher_log: deque[str] = deque(maxlen=LOG_LINES)
        self._tails = tuple(
            Tail(folder / name, maximum_bytes=self._limits.output_bytes) for name in (EVENTS, LAUNCHER_LOG)
        )
        self._heard = time.monotonic()
        self._patience = START_PATIENCE_SECONDS
        self._first_dead: int | None = None
        self._has_met = False
        self._where = ""
        self._total = 0

    def start(self, commands: Commands) -> None:
        """Start the launcher's command in a session of its own. Raises OSError when it cannot be started."""
        prepare(self._folder, self._run.spec)
        launch = commands(self._run.spec, self._folder)
        with (self._folder / EVENTS).open("ab") as events, (self._folder / LAUNCHER_LOG).open("ab") as log:
            self._child = subprocess.Popen(
                launch.arguments,
                stdin=subprocess.DEVNULL,
                stdout=events,
                stderr=log,
                cwd=self._folder,
                env={**_inherited(), **launch.environment, MARK: self._mark},
                start_new_session=True,
            )
        self._leader = process.identify(self._child.pid) or ProcessId(self._child.pid, "")
        self._store.started(self._run.id, command=launch.arguments, leader=self._leader)

    def adopt(self) -> None:
        """Take over a run that another runner started; it may be alive or not."""
        self._leader = self._run.leader
        self._known = {*map(process_of, self._run.started), *process.marked(MARK, self._mark)}
        if self._leader is None and self._known:
            # The former runner died before it could say what it had started: the oldest process is the launcher.
            self._leader = min(self._known, key=lambda found: int(found.start_time))

    def watch(self) -> None:
        """Follow the run until it ends, by itself or by us, and store the verdict. No process of it is left then."""
        started = time.monotonic()
        next_check = 0.0
        reason: verdict.Reason = "exited"
        try:
            while self._is_running():
                self._take(at_end=False)
                now = time.monotonic()
                if now >= next_check:
                    next_check = now + STOP_CHECK_SECONDS
                    if self._store.is_stop_requested(self._run.id):
                        reason = "stopped"
                        break
                if now - self._heard > self._patience + self._limits.margin_seconds:
                    reason = "silent"
                    break
                if now - started > self._limits.seconds:
                    reason = "too_long"
                    break
                if any(tail.is_flooded for tail in self._tails):
                    reason = "flood"
                    break
                time.sleep(TICK_SECONDS)
        finally:
            self._end()
        self._take(at_end=True)
        self._finish(reason)

    def refuse(self, problem: Problem) -> None:
        """End a run that cannot be started."""
        self._store.finish(self._run.id, "launch_failed", now=self._clock(), problems=[problem])

    # -----------------------------------------------------------------------------------------------------------------

    def _is_running(self) -> bool:
        if self._child is not None:
            return self._child.poll() is None
        return self._leader is not None and process.is_alive(self._leader)

    def _take(self, *, at_end: bool) -> None:
        """Read what was written since the last time, and store it."""
        events, launcher = self._tails
        for line in events.remaining() if at_end else events.lines():
            for event in decode_all(line):
                self._receive(event)
        for line in launcher.remaining() if at_end else launcher.lines():
            text = line.decode("utf-8", "replace").rstrip()
            if text:
                self._launcher_log.append(text[:LOG_LINE_CHARACTERS])
        if self._first_dead is None and not self._result.finished:
            dead = [rank for rank, worker in self._ranks.items() if not process.is_alive(worker)]
            self._first_dead = dead[0] if len(dead) == 1 else None

    def _receive(self, event: Event | LogText) -> None:
        if isinstance(event, LogText):
            self._log.append(event.text[:LOG_LINE_CHARACTERS])
            return
        self._heard = time.monotonic()
        if isinstance(event, RankStarted):
            self._ranks[event.rank] = process_of(event)
            self._known.add(self._ranks[event.rank])
            self._store.set_started(self._run.id, (*self._result.started, event))
        elif isinstance(event, Hello):
            self._has_met = True
            self._store.set_environment(self._run.id, event.environment)
        elif isinstance(event, Row):
            self._store.append_row(self._run.id, len(self._result.rows), event)
        elif isinstance(event, Gemm):
            self._store.set_gemm(self._run.id, event)
        elif isinstance(event, (Phase, ProgressEvent)):
            self._patience = event.patience_seconds
            self._store.set_progress(self._run.id, self._progress(event))
        self._result = self._result.add(event)

    def _progress(self, event: Phase | ProgressEvent) -> Progress:
        if isinstance(event, Phase):
            done = len(self._result.rows)
            return Progress(heard_at=self._clock(), phase=event.name, done=done, total=max(done, self._total))
        self._total = event.total
        self._where = f"{event.operation} at {event.size_bytes} bytes"
        return Progress(
            heard_at=self._clock(),
            phase="measuring",
            operation=event.operation,
            size_bytes=event.size_bytes,
            count=event.count,
            done=event.done,
            total=event.total,
            eta_seconds=event.eta_seconds,
        )

    def _end(self) -> None:
        """Leave no process of this run, whether it ended by itself or not."""
        if self._leader is not None:
            process.end(self._leader, others=self._known, grace=self._limits.grace_seconds)
        for stray in process.marked(MARK, self._mark):
            process.end(stray, grace=1.0)
        if self._child is not None:
            self._child.wait()

    def _finish(self, reason: verdict.Reason) -> None:
        ending = verdict.Ending(
            reason=reason,
            result=self._result,
            ranks={worker.pid: rank for rank, worker in self._ranks.items()},
            has_met=self._has_met,
            exit_code=None if self._child is None else self._child.returncode,
            first_dead=self._first_dead,
            log=(*self._log, *self._launcher_log),
            free_bytes=shutil.disk_usage(self._folder).free if self._folder.exists() else None,
            where=self._where,
        )
        status, problems = verdict.judge(ending)
        is_good = status in ("done", "wrong")
        self._store.finish(
            self._run.id,
            status,
            now=self._clock(),
            problems=problems,
            log=() if is_good else ending.log[-LOG_LINES:],
            drift_percent=self._result.drift_percent,
            finished=self._result.finished,
        )


def _inherited() -> dict[str, str]:
    """Our environment without our own settings: a rank has no use for the address of the database."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RINGSIDE_")}
