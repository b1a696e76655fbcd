"""One host of a run behind SSH: the worker copied there, its probe, its guard with the ranks, and the end of it all.

On the host only `worker-<hash>.pyz` stays, for the next run. The run's own folder is named by its mark, which also stands in the
environment of every process of the run, so that they are found even when the one who started them is gone.
"""

import asyncio
import hashlib
import re
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

import asyncssh

from app.bench.drivers.output import Lines, Output
from app.bench.drivers.ssh_connection import Remote
from app.bench.drivers.ssh_problems import SshFailed
from app.bench.events import HostReady, Problem
from app.bench.launchers.package import SPEC
from app.bench.wire import LogText, decode_all

BEAT_SECONDS = 5.0
PROBE_SECONDS = 120.0
"""torch is read from a cold disk, maybe over a network."""
END_SECONDS = 14.0
"""A guard gives its ranks five seconds, then kills them."""
CLEAN_SECONDS = 25.0
_NOT_FOUND = (126, 127)
_CHUNK = 32 * 1024
_GUARD_SAID = re.compile(rb'"kind":"(launcher-killed|oom-killed|memory-cap)"')
_CLEAN = """\
import signal, sys, time
sys.path.insert(0, sys.argv[1])
from app.bench import process
begin, killed = time.monotonic(), set()
while time.monotonic() - begin < 20:
    left = process.marked("RINGSIDE_RUN", sys.argv[2])
    if not left:
        break
    if time.monotonic() - begin > float(sys.argv[3]):
        for each in left:
            process.send(each, signal.SIGKILL)
        killed |= left
    time.sleep(0.1)
print(len(killed), len(left))
sys.exit(bool(left))
"""
"""What ends the processes of a run on its host: they get `argv[3]` seconds to end by themselves, since their guard may be at it."""


@dataclass(frozen=True, slots=True)
class Files:
    """Where things are on a host."""

    worker: str
    folder: str


class Host:
    """A connected host. `label` is what people read; `mark` names the run."""

    def __init__(self, remote: Remote, output: Output, *, label: str, python: str, mark: str) -> None:
        self.remote = remote
        self.label = label
        self.files = Files("", "")
        self._output = output
        self._python = python
        self._mark = mark
        self._guard: asyncssh.SSHClientProcess[bytes] | None = None

    @property
    def python(self) -> str:
        """The interpreter there, its home folder filled in."""
        return self._python

    async def locate(self, folder: str, worker: bytes) -> None:
        """Find out where things are to be; nothing is written."""
        base = await self.remote.expand(folder.rstrip("/") or "/")
        name = f"worker-{hashlib.sha256(worker).hexdigest()[:16]}.pyz"
        self.files = Files(f"{base}/{name}", f"{base}/runs/{self._mark}")
        self._python = await self.remote.expand(self._python)

    async def prepare(self, folder: str, *, worker: bytes, spec: bytes) -> None:
        """Copy the worker, unless it is there, and the specification. Raises SshFailed."""
        await self.locate(folder, worker)
        if await self.remote.size(self.files.worker) != len(worker):
            await self.remote.put(self.files.worker, worker)
        await self.remote.put(f"{self.files.folder}/{SPEC}", spec)

    async def probe(self) -> HostReady:
        """What the host offers; its doubts go to the output. Raises SshFailed when it cannot say."""
        arguments = [self._python, self.files.worker, "probe", "--folder", self.files.folder]
        try:
            answer = await self.remote.run(arguments, seconds=PROBE_SECONDS)
        except TimeoutError as error:
            raise SshFailed(Problem(kind="host-silent", text=self.label)) from error
        self._output.log("\n".join(f"{self.label}: {line}" for line in answer.err.splitlines()[-20:]))
        if answer.code in _NOT_FOUND:
            raise SshFailed(Problem(kind="no-python", text=f"{self.label}: {self._python}"))
        said = [event for line in answer.out.splitlines() for event in decode_all(line)]
        for event in said:
            if isinstance(event, LogText):
                self._output.log(f"{self.label}: {event.text}")
            elif isinstance(event, Problem):
                problem = replace(event, text=f"{self.label}: {event.text}")
                if event.fatal:
                    raise SshFailed(problem)
                self._output.send(problem)
        ready = next((event for event in said if isinstance(event, HostReady)), None)
        if ready is None:
            text = (answer.err.strip().splitlines() or [f"exit code {answer.code}"])[-1]
            raise SshFailed(Problem(kind="host-failed", text=f"{self.label}: {text[:200]}"))
        return ready

    async def serve(self, arguments: Sequence[str], *, heard: Callable[[bytes], None]) -> int:
        """Run the guard to its end, pass on what it prints, to `heard` as well; its exit code. Raises SshFailed when it is lost."""
        guard = self._guard = await self.remote.start(arguments)
        out, err = Lines(1), Lines(2, prefix=f"{self.label}: ")
        is_explained = False

        def pass_on(data: bytes) -> None:
            nonlocal is_explained
            is_explained = is_explained or _GUARD_SAID.search(data) is not None
            heard(data)
            out.take(data)

        def log(data: bytes) -> None:
            heard(data)
            err.take(data)

        beat = asyncio.create_task(_beat(guard))
        try:
            await asyncio.gather(_read(guard.stdout.read, pass_on), _read(guard.stderr.read, log))
            await guard.wait_closed()
        except (asyncssh.Error, OSError) as error:
            if isinstance(error, BrokenPipeError):
                raise
            raise self._lost(str(error)) from error
        finally:
            beat.cancel()
            out.close()
            err.close()
        if guard.exit_signal is None and guard.exit_status is None:
            raise self._lost("closed")
        code = 128 + signal.SIGKILL if guard.exit_status is None else guard.exit_status
        if code == 128 + signal.SIGKILL and not is_explained:
            self._output.send(Problem(kind="launcher-killed", text=f"{self.label}: guard"))
        return code

    async def end(self) -> None:
        """Have the guard end its ranks and wait until it is gone; if that takes too long, or it was killed, kill what it has left."""
        guard, self._guard = self._guard, None
        if guard is None:
            return
        if guard.exit_status is None:
            try:
                guard.stdin.write_eof()
                await asyncio.wait_for(guard.wait_closed(), END_SECONDS)
            except (asyncssh.Error, OSError) as error:
                self._output.log(f"{self.label}: the guard did not end: {error or type(error).__name__}")
        # A shell between the server and the guard makes a signal an exit code.
        if guard.exit_status is None or guard.exit_status > 128:
            await self.clean(grace_seconds=1)

    async def clean(self, *, grace_seconds: float) -> None:
        """Kill what the run has left. Raises SshFailed when the host cannot be asked."""
        arguments = [self._python, "-c", _CLEAN, self.files.worker, self._mark, str(grace_seconds)]
        try:
            answer = await self.remote.run(arguments, seconds=CLEAN_SECONDS)
        except TimeoutError as error:
            raise SshFailed(Problem(kind="host-silent", text=self.label)) from error
        self._output.log(f"{self.label}: cleaned: {answer.out.strip() or answer.err.strip()[-200:]}")

    async def tidy(self) -> None:
        """Remove the run's own files."""
        if self.files.folder:
            await self.remote.remove(self.files.folder)

    def _lost(self, reason: str) -> SshFailed:
        return SshFailed(Problem(kind="ssh-lost", text=f"{self.label}: {reason}"))


async def _beat(guard: "asyncssh.SSHClientProcess[bytes]") -> None:
    """The guard ends its ranks when it hears nothing: a connection may be dead long before anybody is told."""
    try:
        while True:
            guard.stdin.write(b".")
            await asyncio.sleep(BEAT_SECONDS)
    except (asyncssh.Error, OSError):
        return


async def _read(read: Callable[[int], Awaitable[bytes]], take: Callable[[bytes], None]) -> None:
    while data := await read(_CHUNK):
        take(data)
