"""What a driver needs of a machine, whether it is this one or one behind SSH: run a command, put and read files.

`Here` is this machine; the one behind SSH stands in `ssh_connection.py`. Commands are argument lists on both sides: where SSH hands a
string to a login shell, every argument is quoted.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

ANSWER_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


class Machine(Protocol):
    """A machine a driver works on."""

    name: str

    async def run(self, arguments: Sequence[str], *, seconds: float = ANSWER_SECONDS) -> Answer:
        """Run a short command to its end. Raises TimeoutError after `seconds`."""
        ...

    async def put(self, path: str, data: bytes) -> None:
        """Write a file, its folder made if missing; readable by this user alone."""
        ...

    async def read(self, path: str, *, offset: int, limit: int) -> bytes:
        """At most `limit` bytes of a file from `offset`; nothing when there is no such file yet."""
        ...


class Here:
    """This machine."""

    name = "localhost"

    async def run(self, arguments: Sequence[str], *, seconds: float = ANSWER_SECONDS) -> Answer:
        """As in `Machine`. A command that does not exist answers 127, as a shell would."""
        try:
            child = await asyncio.create_subprocess_exec(
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except FileNotFoundError as error:
            return Answer(127, "", str(error))
        try:
            out, err = await asyncio.wait_for(child.communicate(), seconds)
        except TimeoutError:
            child.kill()
            await child.wait()
            raise
        return Answer(child.returncode or 0, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))

    async def put(self, path: str, data: bytes) -> None:
        """As in `Machine`."""
        target = Path(path)
        await asyncio.to_thread(_write, target, data)

    async def read(self, path: str, *, offset: int, limit: int) -> bytes:
        """As in `Machine`."""
        return await asyncio.to_thread(_read, Path(path), offset, limit)


def _write(target: Path, data: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    target.touch(mode=0o600)
    target.write_bytes(data)


def _read(path: Path, offset: int, limit: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(limit)
    except FileNotFoundError:
        return b""
