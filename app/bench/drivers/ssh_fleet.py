"""The hosts of a node behind SSH as one: connect to all, prepare all, run ranks on all, end all.

What happens on one host stands in `ssh_host.py`. Whatever fails on some hosts is reported for each of them before the first failure is
raised.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import TypeVar

from app.bench.drivers.output import Output
from app.bench.drivers.ssh_connection import connect
from app.bench.drivers.ssh_host import Host
from app.bench.drivers.ssh_options import CONNECT_SECONDS
from app.bench.drivers.ssh_problems import SshFailed
from app.bench.events import HostReady, Phase
from app.bench.launchers.ssh import Place, SshSettings, host_commands
from app.bench.spec import RunSpec

PORT_TRIES = 3
LAST_WORDS_SECONDS = 5.0
"""When one host has failed, the ranks of the others may still say what they saw."""
_PORT_TAKEN = b"EADDRINUSE"
_HELLO = b'"event":"Hello"'
T = TypeVar("T")


class Fleet:
    """One use of the hosts of a node."""

    def __init__(self, settings: SshSettings, addresses: Sequence[str], *, mark: str, hides: bool) -> None:
        self._settings = settings
        self._targets = [settings.target(address) for address in addresses]
        self._mark = mark
        self._labels = [f"node-{number}" if hides else target.host for number, target in enumerate(self._targets)]
        if len(set(self._labels)) < len(self._labels):
            self._labels = [str(target) for target in self._targets]
        self.output = Output()
        self._hosts: list[Host] = []
        if hides:
            for target, label in zip(self._targets, self._labels, strict=True):
                self.output.hide(str(target), label)
                self.output.hide(target.host, label)

    async def connect(self, stack: AsyncExitStack) -> None:
        """Connect to all hosts at once. Raises SshFailed after reporting what failed on each."""

        async def one(number: int) -> Host:
            remote = await connections[number].__aenter__()
            stack.push_async_exit(connections[number].__aexit__)
            label = self._labels[number]
            return Host(remote, self.output, label=label, python=self._settings.python, mark=self._mark)

        connections = [connect(target, self._settings) for target in self._targets]
        hops = 1 + len(self._settings.jump)
        self.output.send(Phase(name="connecting", patience_seconds=60 + 2 * hops * CONNECT_SECONDS))
        self._hosts = await self._all([one(number) for number in range(len(self._targets))])

    async def prepare(self, *, worker: bytes, spec: bytes) -> list[HostReady]:
        """Copy what is needed and ask every host. Raises SshFailed as `connect` does."""
        await self._each(lambda host: host.prepare(self._settings.folder, worker=worker, spec=spec))
        self.output.send(Phase(name="connecting", patience_seconds=150))
        found = await self._each(lambda host: host.probe())
        for ready, label in zip(found, self._labels, strict=True):
            if self.output.is_hiding:
                self.output.hide(ready.host, label)
            self.output.send(ready)
        return found

    async def serve(self, spec: RunSpec, found: Sequence[HostReady]) -> int:
        """Start the ranks and see them through; the exit code of the first host that failed, 0 for none."""
        port = found[0].free_port
        for left in reversed(range(PORT_TRIES)):
            code, is_port_taken = await self._try(spec, found, port=port)
            if code == 0 or not is_port_taken or not left:
                return code
            self.output.log(f"port {port} is taken, trying another")
            port = (await self._hosts[0].probe()).free_port
        raise AssertionError("the last try returns")

    async def end(self) -> None:
        """Leave no process of the run, and no file but the worker. What cannot be asked any more is reported."""
        for host, outcome in zip(
            self._hosts, await asyncio.gather(*map(_end, self._hosts), return_exceptions=True), strict=True
        ):
            if isinstance(outcome, SshFailed):
                self.output.log(f"{host.label}: {outcome}")

    async def clean(self, worker: bytes) -> None:
        """End what a driver that was killed has left."""

        async def one(host: Host) -> None:
            await host.locate(self._settings.folder, worker)
            await host.clean(grace_seconds=8)
            await host.tidy()

        await self._each(one)

    # -----------------------------------------------------------------------------------------------------------------

    async def _try(self, spec: RunSpec, found: Sequence[HostReady], *, port: int) -> tuple[int, bool]:
        """The exit code, and whether ranks could not meet because the port was taken."""
        is_port_taken = has_met = False

        def heard(data: bytes) -> None:
            nonlocal is_port_taken, has_met
            is_port_taken = is_port_taken or _PORT_TAKEN in data
            has_met = has_met or _HELLO in data

        places = [self._place(number, ready) for number, ready in enumerate(found)]
        everyone = host_commands(spec, self._settings, mark=self._mark, port=port, places=places)
        tasks = [
            asyncio.create_task(host.serve(arguments, heard=heard))
            for host, arguments in zip(self._hosts, everyone, strict=True)
        ]
        self.output.send(Phase(name="starting", patience_seconds=150))
        try:
            code = await self._outcome(tasks)
            return code, is_port_taken and not has_met
        finally:
            await asyncio.gather(*(host.end() for host in self._hosts), return_exceptions=True)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _outcome(self, tasks: "list[asyncio.Task[int]]") -> int:
        """Wait for all, or until one has failed and the others have had their last words."""
        code = 0
        waiting = set(tasks)
        patience: float | None = None
        while waiting:
            done, waiting = await asyncio.wait(waiting, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                break
            for task in done:
                error = task.exception()
                if error is not None and not isinstance(error, SshFailed):
                    raise error
                if error is not None:
                    self.output.send(error.problem)
                code = code or (1 if error else task.result())
            if code:
                patience = LAST_WORDS_SECONDS
        return code

    def _place(self, number: int, ready: HostReady) -> Place:
        host = self._hosts[number]
        if self._settings.addresses:
            address = self._settings.addresses[number]
        elif len(self._hosts) == 1:
            address = "127.0.0.1"
        else:
            address = ready.interfaces.get(self._settings.interface) or host.remote.address
        return Place(
            address=address,
            interface=next((name for name, each in ready.interfaces.items() if each == address), ""),
            python=host.python,
            worker=host.files.worker,
            folder=host.files.folder,
        )

    async def _each(self, action: Callable[[Host], Awaitable[T]]) -> list[T]:
        return await self._all([action(host) for host in self._hosts])

    async def _all(self, actions: Sequence[Awaitable[T]]) -> list[T]:
        """All at once; when some fail, report each and raise the first."""
        outcomes = await asyncio.gather(*actions, return_exceptions=True)
        failed = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        for outcome in failed:
            if not isinstance(outcome, SshFailed):
                raise outcome
            self.output.send(outcome.problem)
        if failed:
            raise failed[0]
        return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]


async def _end(host: Host) -> None:
    await host.end()
    await host.tidy()
