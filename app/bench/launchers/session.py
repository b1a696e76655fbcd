"""A run in the foreground: starts a launch, gives its events as they come, and leaves no process behind.

For `ringside bench` and for tests; the Bench page's runs belong to the runner, which survives its reader. Leaving the
`with` block, whatever the reason, ends the launcher and every rank that reported.
"""

import os
import queue
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from app.bench import process, verdict
from app.bench.launchers.model import Launch
from app.bench.process import ProcessId
from app.bench.result import RunResult
from app.bench.runs import Status
from app.bench.wire import Event, Hello, LogText, Phase, Problem, Progress, RankStarted, decode_all

LOG_LINES = 40
_MARGIN_SECONDS = 5.0
_START_PATIENCE_SECONDS = 120.0
_END_SECONDS = 5.0


class Session:
    """One run of `launch` in `folder`. Use it in a `with` block and iterate over it."""

    def __init__(self, launch: Launch, *, folder: Path, result: RunResult) -> None:
        self.result = result
        self.log: deque[str] = deque(maxlen=LOG_LINES)
        self._launch = launch
        self._folder = folder
        self._ranks: dict[int, ProcessId] = {}
        self._has_met = False
        self._is_silent = False
        self._where = ""
        self._patience = _START_PATIENCE_SECONDS
        self._lines: queue.Queue[bytes | None] = queue.Queue()

    def __enter__(self) -> Self:
        self._child = subprocess.Popen(
            self._launch.arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **self._launch.environment},
            cwd=self._folder,
            start_new_session=True,
        )
        self._leader = process.identify(self._child.pid) or ProcessId(self._child.pid, "")
        assert self._child.stdout is not None
        assert self._child.stderr is not None
        self._readers = [
            threading.Thread(target=self._read_events, args=(self._child.stdout,), daemon=True),
            threading.Thread(target=self._read_log, args=(self._child.stderr,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del kind, error, trace
        process.end(self._leader, others=self._ranks.values())
        self._child.wait()
        for reader in self._readers:
            reader.join(_END_SECONDS)

    @property
    def launcher(self) -> ProcessId:
        """The process that was started."""
        return self._leader

    def __iter__(self) -> Iterator[Event | LogText]:
        """Events until the launcher is done, or has been silent longer than it promised."""
        heard = time.monotonic()
        while True:
            try:
                line = self._lines.get(timeout=0.5)
            except queue.Empty:
                if time.monotonic() - heard > self._patience + _MARGIN_SECONDS:
                    self._is_silent = True
                    return
                continue
            if line is None:
                return
            heard = time.monotonic()
            for event in decode_all(line):
                self._take(event)
                yield event

    def judge(self, *, is_cancelled: bool = False) -> tuple[Status, tuple[Problem, ...]]:
        """How it ended, and what went wrong with the cause first. Ask after the `with` block."""
        ending = verdict.Ending(
            reason="stopped" if is_cancelled else "silent" if self._is_silent else "exited",
            result=self.result,
            ranks={worker.pid: rank for rank, worker in self._ranks.items()},
            has_met=self._has_met,
            exit_code=self._child.returncode,
            first_dead=None,
            log=tuple(self.log),
            free_bytes=verdict.FULL_DISK_BYTES,
            where=self._where,
        )
        return verdict.judge(ending)

    def _take(self, event: Event | LogText) -> None:
        self.result = self.result.add(event)
        if isinstance(event, LogText):
            self.log.append(event.text)
        elif isinstance(event, RankStarted):
            self._ranks[event.rank] = ProcessId(event.pid, str(event.start_ticks))
        elif isinstance(event, Hello):
            self._has_met = True
        elif isinstance(event, (Phase, Progress)):
            self._patience = event.patience_seconds
            if isinstance(event, Progress):
                self._where = f"{event.operation} at {event.size_bytes} bytes"

    def _read_events(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                self._lines.put(line)
        self._lines.put(None)

    def _read_log(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                self.log.append(line.decode("utf-8", "replace").rstrip())
