"""A run in the foreground: starts a launch, gives its events as they come, and leaves no process behind.

For `ringside bench` and for tests; the Bench page's runs belong to the runner, which survives its reader. Leaving the
`with` block, whatever the reason, ends the launcher and every rank that reported.
"""

import os
import queue
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from app.bench import process, verdict
from app.bench.account import Account
from app.bench.events import Event, Problem
from app.bench.launchers.model import Launch
from app.bench.process import ProcessId
from app.bench.result import RunResult
from app.bench.runs import Status
from app.bench.wire import LogText, decode_all

_MARGIN_SECONDS = 5.0
_END_SECONDS = 5.0
_DRIVER_GRACE_SECONDS = 20.0
"""A driver has to end what it started on other machines."""


class Session:
    """One run of `launch` in `folder`. Use it in a `with` block and iterate over it.

    `is_here` says whether the launch's ranks are processes of this machine; `clean` ends what a killed driver left elsewhere.
    """

    def __init__(
        self, launch: Launch, *, folder: Path, result: RunResult, is_here: bool = True, clean: Launch | None = None
    ) -> None:
        self._account = Account(result, is_here=is_here)
        self._launch = launch
        self._folder = folder
        self._is_here = is_here
        self._clean = clean
        self._is_silent = False
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
        grace = process.GRACE_SECONDS if self._is_here else _DRIVER_GRACE_SECONDS
        process.end(self._leader, others=self._account.processes, grace=grace)
        if self._child.wait() < 0 and self._clean is not None:
            environment = {**os.environ, **self._clean.environment}
            subprocess.run(self._clean.arguments, stdin=subprocess.DEVNULL, env=environment, timeout=60, check=False)
        for reader in self._readers:
            reader.join(_END_SECONDS)

    @property
    def launcher(self) -> ProcessId:
        """The process that was started."""
        return self._leader

    @property
    def result(self) -> RunResult:
        """What the run brought so far."""
        return self._account.result

    @property
    def log(self) -> tuple[str, ...]:
        """The last lines that were no events."""
        return self._account.log

    def __iter__(self) -> Iterator[Event | LogText]:
        """Events until the launcher is done, or has been silent longer than it promised."""
        while True:
            try:
                line = self._lines.get(timeout=0.5)
            except queue.Empty:
                if self._account.is_silent(margin_seconds=_MARGIN_SECONDS):
                    self._is_silent = True
                    return
                continue
            if line is None:
                return
            for event in decode_all(line):
                self._account.take(event)
                yield event

    def judge(self, *, is_cancelled: bool = False) -> tuple[Status, tuple[Problem, ...]]:
        """How it ended, and what went wrong with the cause first. Ask after the `with` block."""
        reason: verdict.Reason = "stopped" if is_cancelled else "silent" if self._is_silent else "exited"
        ending = self._account.ending(reason, exit_code=self._child.returncode, free_bytes=None)
        return verdict.judge(ending)

    def _read_events(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                self._lines.put(line)
        self._lines.put(None)

    def _read_log(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                self._account.take_log(line)
