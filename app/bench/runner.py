"""The runner: a process of its own that works the queue of benchmark runs, one at a time on the same devices.

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
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from app.bench import machine, preflight, process
from app.bench.devices import Devices
from app.bench.events import Problem
from app.bench.home import home_id, lock_path, log_path, run_folder
from app.bench.launchers.model import Node
from app.bench.lock import Lock, is_held
from app.bench.nodes import read_node
from app.bench.runs import Progress, Run
from app.bench.store import RunStore
from app.bench.supervise import Limits, Supervisor
from app.core.clock import Clock
from app.core.units import binary_bytes

log = logging.getLogger(__name__)

POLL_SECONDS = 0.3
LOCK_TRIES = 20
RETRY_SECONDS = 5.0
"""Between two attempts to see a run through, when the first met an error: a full disk, a database that does not answer."""
MAXIMUM_TOGETHER = 8
"""Runs at once, each on devices of its own."""


class Runner:
    """Works the runs of one data folder until nothing has come for `idle_seconds`.

    `nodes` gives the nodes of the moment; `locks` is the folder of the device locks, shared by all that run on this machine.
    """

    def __init__(
        self,
        store: RunStore,
        *,
        data: Path,
        nodes: Callable[[], Mapping[str, Node]],
        clock: Clock,
        idle_seconds: float,
        locks: Path,
        limits: Limits | None = None,
    ) -> None:
        self._store = store
        self._data = data
        self._nodes = nodes
        self._clock = clock
        self._idle_seconds = idle_seconds
        self._limits = limits or Limits()
        self._lock = Lock(lock_path(data))
        self._locks = locks
        self._home = home_id(data)
        self._going: dict[int, tuple[threading.Thread, Devices]] = {}
        self._begun: dict[int, float] = {}
        """When this runner last began to see to each run."""

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
        idle_since = time.monotonic()
        while self._going or (time.monotonic() - idle_since < self._idle_seconds and self._lock.is_intact()):
            self._forget_ended()
            self._adopt_lost()
            if self._going:
                idle_since = time.monotonic()
            if not (self._lock.is_intact() and self._begin_one()):
                time.sleep(POLL_SECONDS)

    def _forget_ended(self) -> None:
        for run_id, (thread, devices) in list(self._going.items()):
            if not thread.is_alive():
                devices.release()
                del self._going[run_id]

    def _begin_one(self) -> bool:
        """Start the oldest waiting run whose devices are free; whether there was one."""
        if len(self._going) >= MAXIMUM_TOGETHER:
            return False
        nodes = self._nodes()
        for run in self._store.waiting():
            node = nodes.get(run.node)
            if node is None:
                self._refuse(run, Problem(kind="no-such-node", text=run.node))
                return True
            devices = Devices(node.devices, folder=self._locks)
            if not devices.take():
                self._say_waiting(run, devices.holder)
                continue
            claimed = self._store.claim(run.id, now=self._clock())
            if claimed is None:
                devices.release()
                continue
            self._let_go(claimed, node, devices, partial(self._start, claimed, node))
            return True
        return False

    def _adopt_lost(self) -> None:
        """Take over what runs and nobody watches: a former runner's, or ours whose thread met an error."""
        for run in self._store.running():
            if (
                run.id not in self._going
                and time.monotonic() - self._begun.get(run.id, -RETRY_SECONDS) >= RETRY_SECONDS
            ):
                self._adopt(run)

    def _adopt(self, run: Run) -> None:
        node = read_node(run_folder(self._data, run.id)) or self._nodes().get(run.node)
        if node is None:
            self._refuse(run, Problem(kind="no-such-node", text=run.node))
            return
        devices = Devices(node.devices, folder=self._locks)
        # Its former runner is gone and so are its locks; who took them meanwhile started on devices that were not free.
        devices.take()
        self._let_go(run, node, devices, lambda supervisor: supervisor.adopt())

    def _let_go(self, run: Run, node: Node, devices: "Devices", begin: Callable[[Supervisor], None]) -> None:
        """See the run through in a thread of its own."""
        log.info("run %d on %s: %s", run.id, node.name, "taken over" if run.leader else "begins")
        thread = threading.Thread(target=self._see_through, args=(run, node, begin), name=f"run {run.id}", daemon=True)
        self._going[run.id] = (thread, devices)
        self._begun[run.id] = time.monotonic()
        thread.start()

    def _see_through(self, run: Run, node: Node, begin: Callable[[Supervisor], None]) -> None:
        supervisor = Supervisor(
            run,
            node=node,
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

    def _start(self, run: Run, node: Node, supervisor: Supervisor) -> None:
        free = shutil.disk_usage(self._data).free
        if free < self._limits.free_disk_bytes:
            raise Refused(Problem(kind="disk-full", text=f"{binary_bytes(free)} left in the data folder"))
        if node.launcher.is_here:
            # The drivers of other nodes ask there, on the hosts the run gets.
            here = machine.ready(self._data)
            for problem in preflight.fits(run.spec, here, interface=node.settings.interface):
                if problem.fatal:
                    raise Refused(problem)
        supervisor.start()

    def _refuse(self, run: Run, problem: Problem) -> None:
        self._store.finish(run.id, "launch_failed", now=self._clock(), problems=[problem])

    def _say_waiting(self, run: Run, holder: str) -> None:
        if run.progress is None or run.progress.note != holder:
            self._store.set_progress(run.id, Progress(heard_at=self._clock(), phase="waiting", note=holder))


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
