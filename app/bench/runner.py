"""The runner: a process of its own that works the queue of benchmark runs, one at a time.

The web app only writes a row and calls `summon`, which starts this process, detached, when none lives. So a restart
of the web server, or its death, changes nothing for a run; and when the runner dies, the next one takes its run over or
closes it by what its files say. It ends by itself after some idle time. Start reading at `Runner.work`.
"""

import importlib.util
import json
import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from app.bench import process
from app.bench.home import home_id, lock_path, log_path, run_folder
from app.bench.launchers.model import Commands
from app.bench.lock import Lock, is_held
from app.bench.runs import Run
from app.bench.store import RunStore
from app.bench.supervise import Limits, Supervisor
from app.bench.wire import Problem
from app.core.clock import Clock
from app.core.units import binary_bytes

log = logging.getLogger(__name__)

POLL_SECONDS = 0.3
LOCK_TRIES = 20


class Runner:
    """Works the runs of one data folder until nothing has come for `idle_seconds`."""

    def __init__(
        self,
        store: RunStore,
        *,
        data: Path,
        commands: Commands,
        clock: Clock,
        idle_seconds: float,
        limits: Limits | None = None,
    ) -> None:
        self._store = store
        self._data = data
        self._commands = commands
        self._clock = clock
        self._idle_seconds = idle_seconds
        self._limits = limits or Limits()
        self._lock = Lock(lock_path(data))
        self._home = home_id(data)

    def work(self) -> bool:
        """Run what is queued until idle; False when another runner has this data folder."""
        if not self._take_lock():
            return False
        while True:
            self._work_until_idle()
            self._lock.release()
            # A run enqueued just before the release was told that a runner lives: look once more.
            if not (self._data.exists() and self._store.has_waiting() and self._take_lock()):
                return True

    def _take_lock(self) -> bool:
        me = process.identify(os.getpid())
        assert me is not None, "this process lives"
        for _ in range(LOCK_TRIES):
            if self._lock.acquire(me):
                return True
            # `is_held` of somebody looking takes the lock for a moment.
            time.sleep(0.05)
        return False

    def _work_until_idle(self) -> None:
        for run in self._store.running():
            self._see_through(run, lambda supervisor: supervisor.adopt())
        idle_since = time.monotonic()
        while time.monotonic() - idle_since < self._idle_seconds and self._lock.is_intact():
            claimed = self._store.claim(now=self._clock())
            if claimed is None:
                time.sleep(POLL_SECONDS)
                continue
            self._see_through(claimed, self._start)
            idle_since = time.monotonic()

    def _see_through(self, run: Run, begin: Callable[[Supervisor], None]) -> None:
        log.info("run %d: %s", run.id, "taken over" if run.leader else "begins")
        supervisor = Supervisor(
            run,
            store=self._store,
            folder=run_folder(self._data, run.id),
            mark=f"{self._home}/{run.id}",
            clock=self._clock,
            limits=self._limits,
        )
        try:
            begin(supervisor)
        except Refused as refused:
            supervisor.refuse(refused.problem)
        except OSError as error:
            supervisor.refuse(Problem(kind="launcher-failed", text=str(error)))
        else:
            supervisor.watch()
        log.info("run %d: %s", run.id, self._store.get(run.id).status)

    def _start(self, supervisor: Supervisor) -> None:
        free = shutil.disk_usage(self._data).free
        if free < self._limits.free_disk_bytes:
            raise Refused(Problem(kind="disk-full", text=f"{binary_bytes(free)} left in the data folder"))
        supervisor.start(self._commands)


class Refused(Exception):
    """A run may not start, for the reason in `problem`."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text)
        self.problem = problem


def has_torch() -> bool:
    """Whether PyTorch is installed beside this program; it is not imported."""
    return importlib.util.find_spec("torch") is not None


def summon(*, data: Path, database_url: str, idle_seconds: float) -> bool:
    """Make sure that a runner lives for this data folder; True when one was started.

    It runs in a session of its own, so that nothing that ends the web server reaches it.
    """
    if is_held(lock_path(data)):
        return False
    data.mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        "RINGSIDE_DATA": str(data),
        "RINGSIDE_DATABASE_URL": database_url,
        "RINGSIDE_RUNNER_IDLE_SECONDS": json.dumps(idle_seconds),
    }
    with log_path(data).open("ab") as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "app", "runner"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=Path(__file__).parent.parent.parent,
            env=environment,
            start_new_session=True,
        )
    # Somebody has to ask for its exit code, or it stays a zombie as long as this process lives.
    threading.Thread(target=child.wait, daemon=True, name="runner").start()
    return True
