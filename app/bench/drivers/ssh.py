"""The driver of ranks behind SSH: `python -m app.bench.drivers.ssh run FOLDER | probe SETTINGS | clean FOLDER`.

`run` connects to all hosts, copies the worker, asks each what it offers, refuses what cannot work, then starts a guard on each and passes
on what they print, as if the ranks were here. Told to end (SIGTERM, SIGINT), or when nobody reads it any more, it ends the ranks and
waits until they are gone. When it is killed, its connections close and the guards end the ranks; `clean` makes sure. Start at `run`.
"""

import asyncio
import json
import os
import secrets
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeVar

from app.bench import preflight
from app.bench.drivers.output import Output
from app.bench.drivers.ssh_connection import connect
from app.bench.drivers.ssh_host import Host
from app.bench.drivers.ssh_options import CONNECT_SECONDS
from app.bench.drivers.ssh_problems import SshFailed
from app.bench.events import HostReady, Phase, Problem
from app.bench.launchers.package import SPEC, WORKER, build
from app.bench.launchers.ssh import Place, SshSettings, host_commands
from app.bench.nodes import read_node
from app.bench.spec import RunSpec

MARK = "ssh-mark"
PORT_TRIES = 3
LAST_WORDS_SECONDS = 5.0
"""When one host has failed, the ranks of the others may still say what they saw."""
_PORT_TAKEN = b"EADDRINUSE"
T = TypeVar("T")


class Driver:
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
            if not (is_port_taken and left):
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
        is_port_taken = False

        def heard(data: bytes) -> None:
            nonlocal is_port_taken
            is_port_taken = is_port_taken or _PORT_TAKEN in data

        places = [self._place(number, ready) for number, ready in enumerate(found)]
        everyone = host_commands(spec, self._settings, mark=self._mark, port=port, places=places)
        tasks = [
            asyncio.create_task(host.serve(arguments, heard=heard))
            for host, arguments in zip(self._hosts, everyone, strict=True)
        ]
        self.output.send(Phase(name="starting", patience_seconds=150))
        try:
            return await self._outcome(tasks), is_port_taken
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


async def run(folder: Path) -> int:
    """See a prepared run through; its exit code."""
    spec = RunSpec.from_json(json.loads((folder / SPEC).read_text(encoding="utf-8")))
    settings = _settings(folder)
    mark = secrets.token_hex(8)
    (folder / MARK).write_text(mark, encoding="ascii")
    driver = Driver(settings, settings.hosts[: spec.hosts], mark=mark, hides=spec.hide_host)
    if len(settings.hosts) < spec.hosts:
        driver.output.send(Problem(kind="too-few-hosts", text=f"{spec.hosts} > {len(settings.hosts)}"))
        return 1
    async with AsyncExitStack() as stack:
        try:
            await driver.connect(stack)
            found = await driver.prepare(worker=(folder / WORKER).read_bytes(), spec=(folder / SPEC).read_bytes())
            problems = preflight.check(spec, found, interface=settings.interface)
            for problem in problems:
                driver.output.send(problem)
            return 1 if any(problem.fatal for problem in problems) else await driver.serve(spec, found)
        except SshFailed:
            return 1
        finally:
            await driver.end()


async def probe(text: str) -> int:
    """Ask the hosts of the node whose settings `text` holds as JSON; 1 when one cannot be used."""
    settings = SshSettings.model_validate_json(text)
    driver = Driver(settings, settings.hosts, mark=secrets.token_hex(8), hides=False)
    async with AsyncExitStack() as stack:
        try:
            await driver.connect(stack)
            await driver.prepare(worker=_worker(), spec=b"{}")
        except SshFailed:
            return 1
        finally:
            await driver.end()
    return 0


async def clean(folder: Path) -> int:
    """End what the run of `folder` has left; 1 when a host cannot be asked."""
    # Nobody waits for events of an ending; whoever asked for it may have something else to print.
    os.dup2(2, 1)
    try:
        mark = (folder / MARK).read_text(encoding="ascii")
    except FileNotFoundError:
        return 0
    settings = _settings(folder)
    driver = Driver(settings, settings.hosts, mark=mark, hides=False)
    async with AsyncExitStack() as stack:
        try:
            await driver.connect(stack)
            await driver.clean((folder / WORKER).read_bytes())
        except SshFailed:
            return 1
    return 0


def main() -> None:
    """Do what the arguments say, and exit."""
    actions: dict[str, Callable[[str], Awaitable[int]]] = {
        "run": lambda text: run(Path(text)),
        "probe": probe,
        "clean": lambda text: clean(Path(text)),
    }
    if len(sys.argv) != 3 or sys.argv[1] not in actions:
        sys.exit("usage: python -m app.bench.drivers.ssh run FOLDER | probe SETTINGS | clean FOLDER")
    sys.exit(asyncio.run(_guarded(actions[sys.argv[1]](sys.argv[2]))))


async def _guarded(action: Awaitable[int]) -> int:
    """`action`, cancelled once by a signal, or by a reader that is gone; later signals do not disturb its ending."""
    task = asyncio.ensure_future(action)
    ended_by: list[int] = []

    def end(number: int) -> None:
        if not ended_by:
            task.cancel()
        ended_by.append(number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, end, number)
    try:
        return await task
    except asyncio.CancelledError:
        return 128 + ended_by[0] if ended_by else 1
    except BrokenPipeError:
        return 1


def _settings(folder: Path) -> SshSettings:
    node = read_node(folder)
    if node is None or not isinstance(node.settings, SshSettings):
        sys.exit(f"{folder} holds no node that is reached over SSH")
    return node.settings


def _worker() -> bytes:
    with tempfile.TemporaryDirectory(prefix="ringside-") as folder:
        build(Path(folder, WORKER))
        return Path(folder, WORKER).read_bytes()


if __name__ == "__main__":
    main()
