"""A guard under test with a real family of processes: the fixtures `guarded` and `worker_zip`."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from app.bench import process
from app.bench.events import Problem, RankStarted
from app.bench.launchers.package import build
from app.bench.process import ProcessId
from app.bench.wire import decode

ROOT = Path(__file__).parent.parent.parent.parent
FAMILY = Path(__file__).parent / "family.py"
MIB = 1024**2
SECONDS = 30


@pytest.fixture(scope="module")
def worker_zip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("worker") / "worker.pyz"
    build(path)
    return path


class Guarded:
    """A guard under test, and what comes out of it."""

    def __init__(self, arguments: Sequence[str], *, environment: dict[str, str], group: Path | None = None) -> None:
        join = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group)] if group else []
        self.process = subprocess.Popen(
            [*join, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        )
        self.born: list[ProcessId] = []
        self.lines: list[str] = []

    def wait_for(self, count: int) -> None:
        """Until `count` processes have said that they live."""
        while len(self.born) < count:
            assert self._read_line(), "the guard ended too early"

    def _read_line(self) -> bool:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        self.lines.append(line.rstrip("\n"))
        words = line.split()
        event = decode(line)
        pid = int(words[1]) if words[:1] == ["born"] else event.pid if isinstance(event, RankStarted) else None
        found = None if pid is None else process.identify(pid)
        if found is not None:
            self.born.append(found)
        return bool(line)

    def beat(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b".")
        self.process.stdin.flush()

    def hang_up(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def end(self) -> int:
        """The exit code, when all output was read. A guard that never ends is killed by the fixture's watch."""
        while self._read_line():
            pass
        return self.process.wait(SECONDS)

    @property
    def problems(self) -> list[Problem]:
        return [event for event in map(decode, self.lines) if isinstance(event, Problem)]

    @property
    def left(self) -> list[ProcessId]:
        """Those born that still live, given a moment to vanish."""
        deadline = time.monotonic() + 5
        while (alive := [each for each in self.born if process.is_alive(each)]) and time.monotonic() < deadline:
            time.sleep(0.02)
        return alive

    def close(self) -> None:
        """Nothing of a test that failed may outlive it."""
        everyone = {*self.born, *process.descendants(ProcessId(self.process.pid, ""))}
        self.process.kill()
        for each in everyone:
            process.send(each, signal.SIGKILL)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None and not stream.closed:
                stream.close()
        self.process.wait()


Start = Callable[..., Guarded]


@pytest.fixture
def guarded(worker_zip: Path, tmp_path: Path) -> Iterator[Start]:
    """Start a guard: `guarded(options..., command=...)`; without a command it guards the family's behaviour."""
    guards: list[Guarded] = []

    def make(*options: str, family: str = "wait", command: Sequence[str] = (), group: Path | None = None) -> Guarded:
        inner = command or (sys.executable, str(FAMILY), family)
        arguments = [sys.executable, str(worker_zip), "guard", *options, "--", *inner]
        guards.append(Guarded(arguments, environment={"TMPDIR": str(tmp_path)}, group=group))
        timer = threading.Timer(2 * SECONDS, guards[-1].process.kill)
        timer.daemon = True
        timer.start()
        timers.append(timer)
        return guards[-1]

    timers: list[threading.Timer] = []
    yield make
    for timer in timers:
        timer.cancel()
    for guard in guards:
        guard.close()
