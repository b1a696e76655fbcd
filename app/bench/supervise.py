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
from dataclasses import dataclass
from pathlib import Path

from app.bench import process, verdict
from app.bench.account import LOG_LINES, Account
from app.bench.events import Event, Finding, Gemm, Hello, Job, Phase, Problem, RankStarted, Row
from app.bench.events import Progress as ProgressEvent
from app.bench.launchers.model import Launch, Node
from app.bench.launchers.package import WORKER, prepare
from app.bench.leftovers import Leftovers
from app.bench.oom import OomWatch
from app.bench.process import ProcessId
from app.bench.result import RunResult
from app.bench.runs import Progress, Run, process_of
from app.bench.store import RunStore
from app.bench.tail import Tail
from app.bench.wire import LogText, decode_all
from app.core.clock import Clock

MARK = "RINGSIDE_RUN"
EVENTS = "events.log"
LAUNCHER_LOG = "launcher.log"
TICK_SECONDS = 0.1
STOP_CHECK_SECONDS = 0.5
CLEAN_SECONDS = 60.0
DRIVER_GRACE_SECONDS = 20.0
"""A driver has to end what it started on other machines before it may end itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a run may use before it is ended."""

    seconds: float = 3600.0
    """Of work; waiting for a batch system does not count."""
    output_bytes: int = 64 * 1024**2
    """Of each of its two files: a worker that prints without end is stopped before the disk is full."""
    free_disk_bytes: int = 64 * 1024**2
    """Needed in the data folder to start."""
    least_disk_bytes: int = 8 * 1024**2
    """Below this a run is ended, while there is room to write down how it ended."""
    margin_seconds: float = 5.0
    """Added to a worker's own patience before silence means that it hangs."""
    grace_seconds: float = process.GRACE_SECONDS
    """Between SIGTERM and SIGKILL."""


class Supervisor:
    """Sees one claimed run through. Make it, then `start` or `adopt`, then `watch`."""

    def __init__(
        self,
        run: Run,
        *,
        node: Node,
        store: RunStore,
        folder: Path,
        mark: str,
        clock: Clock,
        limits: Limits | None = None,
    ) -> None:
        self._run = run
        self._node = node
        self._store = store
        self._folder = folder
        self._mark = mark
        self._clock = clock
        self._limits = limits or Limits()
        self._leader: ProcessId | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._known: set[ProcessId] = set()
        self._was_watched = False
        self._leftovers = Leftovers(folder) if node.launcher.is_here else None
        self._oom = OomWatch() if node.launcher.is_here else None
        self._rewind()

    def start(self) -> None:
        """Start the launcher's command in a session of its own. Raises OSError when it cannot be started."""
        prepare(self._folder, self._run.spec, node=self._node)
        launch = self._node.commands(self._run.spec, self._folder)
        own = self._leftovers.prepare() if self._leftovers else {}
        with (self._folder / EVENTS).open("ab") as events, (self._folder / LAUNCHER_LOG).open("ab") as log:
            self._child = subprocess.Popen(
                launch.arguments,
                stdin=subprocess.DEVNULL,
                stdout=events,
                stderr=log,
                cwd=self._folder,
                env={**_inherited(), **own, **launch.environment, MARK: self._mark},
                start_new_session=True,
            )
        self._leader = process.identify(self._child.pid) or ProcessId(self._child.pid, "")
        self._store.started(self._run.id, command=launch.command, leader=self._leader)

    def adopt(self) -> None:
        """Take over a run that another runner started; it may be alive or not."""
        self._leader = self._run.leader
        self._known = process.marked(MARK, self._mark)
        if self._node.launcher.is_here:
            self._known.update(map(process_of, self._run.started))
        if self._leader is None and self._known:
            # The former runner died before it could say what it had started: the oldest process is the launcher.
            self._leader = min(self._known, key=lambda found: int(found.start_time))

    def watch(self) -> None:
        """Follow the run until it ends, by itself or by us, and store the verdict. No process of it is left then."""
        reason: verdict.Reason = "exited"
        try:
            reason = self._follow()
        except Exception:
            if not self._has_less_than(verdict.FULL_DISK_BYTES):
                raise
            reason = "disk_full"
        finally:
            self._end()
        if reason == "disk_full":
            # Something that was read may not have been stored. The worker is needed no more; its room is.
            self._folder.joinpath(WORKER).unlink(missing_ok=True)
            self._rewind()
        self._take(at_end=True)
        self._finish(reason)

    def refuse(self, problem: Problem) -> None:
        """End a run that cannot be started."""
        self._store.finish(self._run.id, "launch_failed", now=self._clock(), problems=[problem])

    # -----------------------------------------------------------------------------------------------------------------

    def _rewind(self) -> None:
        """Read the run's files from their beginning; what is stored already stays as it is."""
        self._account = Account(RunResult(spec=self._run.spec), is_here=self._node.launcher.is_here)
        self._tails = tuple(
            Tail(self._folder / name, maximum_bytes=self._limits.output_bytes) for name in (EVENTS, LAUNCHER_LOG)
        )
        self._progress = Progress(heard_at=self._clock())

    def _follow(self) -> verdict.Reason:
        """Read until the launcher is gone, or there is a reason to end it."""
        next_check = 0.0
        while self._is_running():
            self._was_watched = True
            self._take(at_end=False)
            now = time.monotonic()
            if now >= next_check:
                next_check = now + STOP_CHECK_SECONDS
                if self._store.is_stop_requested(self._run.id):
                    return "stopped"
                if self._has_less_than(self._limits.least_disk_bytes):
                    return "disk_full"
                if self._leftovers:
                    self._leftovers.look(self._account.processes)
                if 0 < self._run.spec.memory_bytes < process.resident_bytes(self._account.processes):
                    return "memory"
            if self._account.is_silent(margin_seconds=self._limits.margin_seconds):
                return "silent"
            if self._account.seconds > self._limits.seconds:
                return "too_long"
            if any(tail.is_flooded for tail in self._tails):
                return "flood"
            time.sleep(TICK_SECONDS)
        return "exited"

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
            self._account.take_log(line)
        self._account.look_for_dead()

    def _receive(self, event: Event | LogText) -> None:
        before = self._account.result
        self._account.take(event)
        run_id = self._run.id
        if isinstance(event, RankStarted):
            self._known |= self._account.processes
            self._store.set_started(run_id, self._account.result.started)
        elif isinstance(event, Hello):
            self._store.set_environment(run_id, event.environment)
        elif isinstance(event, Row):
            self._store.append_row(run_id, len(before.rows), event)
        elif isinstance(event, Gemm):
            self._store.set_gemm(run_id, event)
        elif isinstance(event, Finding):
            self._store.append_finding(run_id, len(before.findings), event)
        elif isinstance(event, (Phase, ProgressEvent, Job)):
            self._progress = self._progressed(event)
            self._store.set_progress(run_id, self._progress)

    def _progressed(self, event: Phase | ProgressEvent | Job) -> Progress:
        last, done = self._progress, len(self._account.result.rows)
        if isinstance(event, ProgressEvent):
            return Progress(
                heard_at=self._clock(),
                phase="measuring",
                operation=event.operation,
                size_bytes=event.size_bytes,
                count=event.count,
                done=event.done,
                total=event.total,
                eta_seconds=event.eta_seconds,
                job=last.job,
            )
        return Progress(
            heard_at=self._clock(),
            phase=self._account.phase,
            done=done,
            total=max(done, last.total),
            job=self._account.job,
        )

    def _free_bytes(self) -> int | None:
        """Room on the run's disk; None when its folder is gone."""
        return shutil.disk_usage(self._folder).free if self._folder.exists() else None

    def _has_less_than(self, needed_bytes: int) -> bool:
        free = self._free_bytes()
        return free is not None and free < needed_bytes

    def _end(self) -> None:
        """Leave no process of this run, whether it ended by itself or not."""
        grace = self._limits.grace_seconds
        if not self._node.launcher.is_here:
            grace += DRIVER_GRACE_SECONDS
        if self._leader is not None:
            process.end(self._leader, others=self._known, grace=grace)
        for stray in process.marked(MARK, self._mark):
            process.end(stray, grace=1.0)
        code = None if self._child is None else self._child.wait()
        if self._leftovers:
            self._leftovers.clear()
        clean = self._node.clean(self._folder)
        if clean is not None and (code is None or code < 0):
            self._clean(clean)

    def _clean(self, launch: Launch) -> None:
        """End what a driver that was killed has left on other machines."""
        with (self._folder / LAUNCHER_LOG).open("ab") as log:
            try:
                subprocess.run(
                    launch.arguments,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=self._folder,
                    env={**_inherited(), **launch.environment},
                    timeout=CLEAN_SECONDS,
                    check=False,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                log.write(f"cleaning up failed: {error}\n".encode())

    def _finish(self, reason: verdict.Reason) -> None:
        ending = self._account.ending(
            reason,
            exit_code=None if self._child is None else self._child.returncode,
            free_bytes=self._free_bytes(),
            was_watched=self._was_watched,
            oom_limit=self._oom.limit if self._oom else "",
        )
        status, problems = verdict.judge(ending)
        is_good = status in ("done", "wrong")
        self._store.finish(
            self._run.id,
            status,
            now=self._clock(),
            problems=problems,
            log=() if is_good else ending.log[-LOG_LINES:],
            drift_percent=self._account.result.drift_percent,
            finished=self._account.result.finished,
        )


def _inherited() -> dict[str, str]:
    """Our environment without our own settings: a rank has no use for the address of the database."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RINGSIDE_")}
