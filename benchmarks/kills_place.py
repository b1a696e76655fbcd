"""An installation to be ill-treated by `random_kills.py`: a data folder, its web server, and the processes that come of it."""

import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx2 as httpx

from app.bench import process
from app.bench.home import home_id
from app.bench.process import ProcessId
from app.bench.store import RunStore
from app.bench.supervise import MARK
from app.core.db import Database, sqlite_url

ROOT = Path(__file__).parent.parent
SHM = "/dev/shm/"
PATIENCE_SECONDS = 300.0
"""For anything that has to happen at all; on a busy machine the start of two ranks takes a while."""
VISIT_SECONDS = 3.0


class NeverHappened(Exception):
    """Something that has to happen did not, in PATIENCE_SECONDS."""


class Place:
    """An installation of its own: data, temporary files and locks in one folder, and its web server."""

    def __init__(self, folder: Path) -> None:
        self.data, self.temporary, self.locks = folder / "data", folder / "tmp", folder / "locks"
        for path in (self.data, self.temporary, self.locks):
            path.mkdir()
        self.home = home_id(self.data)
        self.database = Database(sqlite_url(self.data / "ringside.sqlite3"))
        self.database.migrate()
        self.store = RunStore(self.database, home=self.home)
        self.shared: set[Path] = set()
        """Shared memory that processes of runs have been seen to use."""
        self.server: ProcessId | None = None
        self._child: subprocess.Popen[bytes] | None = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port: int = probe.getsockname()[1]

    def serve(self) -> None:
        """Start the web server, unless it lives."""
        if self.server is not None and process.is_alive(self.server):
            return
        environment = {
            **os.environ,
            "TMPDIR": str(self.temporary),
            "RINGSIDE_DATA": str(self.data),
            "RINGSIDE_LOCKS": str(self.locks),
            "RINGSIDE_HOST": "127.0.0.1",
            "RINGSIDE_PORT": str(self._port),
            "RINGSIDE_DATABASE_URL": "",
            "RINGSIDE_WATCH_CONTENT": "false",
            "RINGSIDE_RUNNER_IDLE_SECONDS": "600",
        }
        with (self.data / "server.log").open("ab") as log:
            command = [sys.executable, "-m", "app", "serve"]
            self._child = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        self.server = process.identify(self._child.pid)
        wait_for(lambda: self.visit("/healthz"), what="the web server answers")

    def visit(self, path: str) -> bool:
        """Open a page; whether it came."""
        try:
            return httpx.get(f"http://127.0.0.1:{self._port}{path}", timeout=60).status_code == 200
        except httpx.TransportError:
            return False

    def runner(self) -> ProcessId | None:
        """The process of `ringside runner`."""
        for found in process.marked("RINGSIDE_DATA", str(self.data)):
            if words(found)[-1:] == ["runner"]:
                return found
        return None

    def of_run(self, run_id: int) -> set[ProcessId]:
        """Everything that carries the run's mark."""
        return process.marked(MARK, f"{self.home}/{run_id}")

    def note_shared(self, run_id: int) -> None:
        """Look at what the run's processes have mapped in /dev/shm."""
        for each in self.of_run(run_id):
            try:
                lines = Path(f"/proc/{each.pid}/maps").read_text(encoding="utf-8", errors="replace").splitlines()
            except OSError:
                continue
            self.shared |= {Path(line[line.index(SHM) :]) for line in lines if SHM in line and "(deleted)" not in line}

    def find(self, victim: str, run_id: int) -> ProcessId | None:
        """A living process of that kind."""
        if victim == "server":
            return self.server
        if victim == "runner":
            return self.runner()
        family = self.of_run(run_id)
        own = {each.pid for each in family}
        is_rank = victim == "rank"
        found = [each for each in family if (parent_of(each) in own) == is_rank]
        return random.choice(sorted(found, key=lambda each: each.pid)) if found else None

    def close(self) -> None:
        """End what this installation has started, and nothing else."""
        for each in process.marked("RINGSIDE_DATA", str(self.data)):
            process.end(each, grace=20)
        if self._child is not None:
            self._child.wait()
        self.database.dispose()


def wait_for(happened: Callable[[], bool], *, what: str, meanwhile: Callable[[], object] = lambda: None) -> None:
    """Until `happened()`; `meanwhile()` every VISIT_SECONDS."""
    deadline, next_look = time.monotonic() + PATIENCE_SECONDS, time.monotonic() + VISIT_SECONDS
    while not happened():
        now = time.monotonic()
        if now > deadline:
            raise NeverHappened(f"it did not happen in {PATIENCE_SECONDS:g} s that {what}")
        if now > next_look:
            meanwhile()
            next_look = time.monotonic() + VISIT_SECONDS
        time.sleep(0.02)


def happens(happened: Callable[[], bool], *, seconds: float = 60.0) -> bool:
    """Whether it happens soon."""
    deadline = time.monotonic() + seconds
    while not happened() and time.monotonic() < deadline:
        time.sleep(0.05)
    return happened()


def words(found: ProcessId) -> list[str]:
    """The command line of a process; empty when it is gone."""
    try:
        return Path(f"/proc/{found.pid}/cmdline").read_bytes().decode("utf-8", "replace").rstrip("\0").split("\0")
    except OSError:
        return []


def parent_of(found: ProcessId) -> int | None:
    try:
        return int(
            Path(f"/proc/{found.pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]
        )
    except OSError:
        return None
