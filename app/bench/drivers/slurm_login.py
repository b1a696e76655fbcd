"""The machine that has sbatch: this one, or a login node whose connection is made anew when it was lost.

A job goes on without us, so a lost connection is no end: whatever is asked next connects again. Raises Unreachable
for what may pass, SshFailed for what will not (a changed host key, a key that is refused).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import PurePosixPath
from typing import Self, TypeVar

import asyncssh

from app.bench.drivers.ssh_connection import connect
from app.bench.drivers.ssh_problems import SshFailed
from app.bench.drivers.transport import ANSWER_SECONDS, Answer, Here, Machine
from app.bench.events import Problem
from app.bench.launchers.slurm_settings import SlurmSettings

T = TypeVar("T")

_PASSING = ("ssh-lost", "ssh-unreachable")
_LOST = (
    asyncssh.ChannelOpenError,
    asyncssh.ConnectionLost,
    asyncssh.DisconnectError,
    asyncssh.SFTPConnectionLost,
    asyncssh.SFTPNoConnection,
)
_PAUSE_SECONDS = 2.0
"""Between two attempts to connect."""


class Unreachable(Exception):
    """The machine, or Slurm on it, does not answer now."""


class Login:
    """A `transport.Machine`; use it in `async with`."""

    def __init__(self, settings: SlurmSettings) -> None:
        self._settings = settings
        self._stack = AsyncExitStack()
        self._machine: Machine | None = None
        self._busy = asyncio.Lock()
        self._not_before = 0.0
        self._trouble = ""
        self.name = settings.via or Here.name

    async def __aenter__(self) -> Self:
        """Connect. Raises SshFailed, with the reason, when that is not possible."""
        await self._open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._drop(self._machine)

    async def run(self, arguments: Sequence[str], *, seconds: float = ANSWER_SECONDS) -> Answer:
        """As in `Machine`, but a time limit is Unreachable."""
        return await self._do(lambda machine: machine.run(arguments, seconds=seconds))

    async def put(self, path: str, data: bytes) -> None:
        """As in `Machine`."""
        await self._do(lambda machine: machine.put(path, data))

    async def read(self, path: str, *, offset: int, limit: int) -> bytes:
        """As in `Machine`."""
        return await self._do(lambda machine: machine.read(path, offset=offset, limit=limit))

    async def resolve(self, path: str) -> str:
        """`path` with the home folder there instead of `~`, and no slash at its end."""
        path = path.rstrip("/")
        if not path.startswith("~"):
            return path
        answer = await self.run(["sh", "-c", "cd && pwd"])
        home = answer.out.strip()
        if answer.code or not home.startswith("/"):
            raise SshFailed(Problem(kind="slurm-no-folder", text=f"{self.name}: ~: {answer.err.strip()}"))
        return str(PurePosixPath(home, *PurePosixPath(path).parts[1:]))

    async def _do(self, action: Callable[[Machine], Awaitable[T]]) -> T:
        machine: Machine | None = None
        try:
            machine = await self._open()
            return await action(machine)
        except SshFailed as error:
            if not _is_passing(error):
                raise
            await self._drop(machine)
            raise Unreachable(error.problem.text) from error
        except TimeoutError as error:
            raise Unreachable(f"{self.name}: no answer") from error

    async def _open(self) -> Machine:
        async with self._busy:
            if self._machine is None:
                pause = self._not_before - time.monotonic()
                if pause > 0:
                    raise Unreachable(self._trouble)
                self._machine = await self._connect()
            return self._machine

    async def _connect(self) -> Machine:
        if not self._settings.via:
            return Here()
        target = self._settings.target(self._settings.via)
        try:
            return await self._stack.enter_async_context(connect(target, self._settings))
        except SshFailed as error:
            self._trouble = error.problem.text
            self._not_before = time.monotonic() + _PAUSE_SECONDS
            raise

    async def _drop(self, machine: Machine | None) -> None:
        """Forget a connection that is lost; another one that was made since is kept."""
        async with self._busy:
            if machine is not None and machine is self._machine:
                self._machine = None
                await self._stack.aclose()
                self._stack = AsyncExitStack()


def _is_passing(error: SshFailed) -> bool:
    """Whether the next connection may do. A lost one is told by whatever was under way, a file's error included."""
    return error.problem.kind in _PASSING or isinstance(error.__cause__, _LOST)
