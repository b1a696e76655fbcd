"""The machine that has sbatch: this one, or a login node whose connection is made anew when it was lost.

A job goes on without us, so a lost connection is no end: whatever is asked next connects again. Raises Unreachable
for what may pass, SshFailed for what will not (a changed host key, a key that is refused).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import PurePosixPath
from typing import Self, TypeVar

from app.bench.drivers.ssh_connection import connect
from app.bench.drivers.ssh_problems import SshFailed
from app.bench.drivers.transport import ANSWER_SECONDS, Answer, Here, Machine
from app.bench.events import Problem
from app.bench.launchers.slurm_settings import SlurmSettings

T = TypeVar("T")

_PASSING = ("ssh-lost", "ssh-unreachable")


class Unreachable(Exception):
    """The machine, or Slurm on it, does not answer now."""


class Login:
    """A `transport.Machine`; use it in `async with`."""

    def __init__(self, settings: SlurmSettings) -> None:
        self._settings = settings
        self._stack = AsyncExitStack()
        self._machine: Machine | None = None
        self._busy = asyncio.Lock()
        self.name = settings.via or Here.name

    async def __aenter__(self) -> Self:
        """Connect. Raises SshFailed, with the reason, when that is not possible."""
        await self._open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close()

    async def run(self, arguments: Sequence[str], *, seconds: float = ANSWER_SECONDS) -> Answer:
        """As in `Machine`, but a time limit is Unreachable."""
        return await self._do(lambda machine: machine.run(arguments, seconds=seconds))

    async def put(self, path: str, data: bytes) -> None:
        """As in `Machine`."""
        await self._do(lambda machine: machine.put(path, data))

    async def read(self, path: str, *, offset: int, limit: int) -> bytes:
        """As in `Machine`."""
        return await self._do(lambda machine: machine.read(path, offset=offset, limit=limit))

    async def resolve(self, folder: str) -> str:
        """`folder` with the home folder there instead of `~`, and no slash at its end."""
        path = folder.rstrip("/")
        if not path.startswith("~"):
            return path
        answer = await self.run(["sh", "-c", "cd && pwd"])
        home = answer.out.strip()
        if answer.code or not home.startswith("/"):
            raise SshFailed(Problem(kind="slurm-no-folder", text=f"{self.name}: ~: {answer.err.strip()}"))
        return str(PurePosixPath(home, *PurePosixPath(path).parts[1:]))

    async def _do(self, action: Callable[[Machine], Awaitable[T]]) -> T:
        try:
            machine = self._machine or await self._open()
            return await action(machine)
        except SshFailed as error:
            if error.problem.kind not in _PASSING:
                raise
            await self._close()
            raise Unreachable(error.problem.text) from error
        except TimeoutError as error:
            raise Unreachable(f"{self.name}: no answer") from error

    async def _open(self) -> Machine:
        async with self._busy:
            if self._machine is None:
                self._machine = await self._connect()
            return self._machine

    async def _connect(self) -> Machine:
        if not self._settings.via:
            return Here()
        return await self._stack.enter_async_context(connect(self._settings.target(self._settings.via), self._settings))

    async def _close(self) -> None:
        async with self._busy:
            self._machine = None
            await self._stack.aclose()
            self._stack = AsyncExitStack()
