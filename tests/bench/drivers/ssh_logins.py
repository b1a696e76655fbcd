"""Connections to a test's SSH server, an agent, and why a connection was refused."""

import asyncio
import os
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from app.bench.diagnosis.explain import kinds
from app.bench.drivers.ssh_connection import Remote, connect
from app.bench.drivers.ssh_problems import SshFailed
from app.bench.events import Problem
from app.bench.launchers.ssh import SshSettings
from tests.bench.drivers.sshd import Server, program

T = TypeVar("T")


def at(server: Server, action: Callable[[Remote], Awaitable[T]], *, host: str = "", **changes: Any) -> T:
    """What `action` gives on the server."""
    settings = SshSettings(**server.settings(**changes))

    async def there() -> T:
        async with connect(settings.target(host or settings.hosts[0]), settings) as remote:
            return await action(remote)

    return asyncio.run(there())


async def whoami(remote: Remote) -> str:
    return (await remote.run(["id", "-un"])).out.strip()


def refusal(server: Server, *, host: str = "", **changes: Any) -> Problem:
    """Why the server cannot be used."""
    with pytest.raises(SshFailed) as caught:
        at(server, whoami, host=host, **changes)
    assert caught.value.problem.kind in kinds()
    return caught.value.problem


@contextmanager
def agent(folder: Path, key: Path) -> Iterator[str]:
    """A real agent that holds `key`; gives its socket."""
    path = str(folder / "agent")
    running = subprocess.Popen(
        [program("ssh-agent", package="openssh-client"), "-D", "-a", path], stdout=subprocess.PIPE
    )
    try:
        assert running.stdout is not None
        running.stdout.readline()
        add = [program("ssh-add", package="openssh-client"), "-q", str(key)]
        subprocess.run(add, check=True, env={**os.environ, "SSH_AUTH_SOCK": path}, capture_output=True)
        yield path
    finally:
        running.kill()
        running.communicate()
