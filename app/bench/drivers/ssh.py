"""The driver of ranks behind SSH: `python -m app.bench.drivers.ssh run FOLDER | probe SETTINGS | clean FOLDER`.

`run` connects to all hosts, copies the worker, asks each what it offers, refuses what cannot work, then starts a guard on each and passes
on what they print, as if the ranks were here. Told to end (SIGTERM, SIGINT), or when nobody reads it any more, it ends the ranks and
waits until they are gone. When it is killed, its connections close and the guards end the ranks; `clean` makes sure. Start at `run`.
"""

import asyncio
import json
import os
import secrets
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

from app.bench import preflight
from app.bench.drivers.ending import until_told
from app.bench.drivers.ssh_fleet import Fleet
from app.bench.drivers.ssh_problems import SshFailed
from app.bench.events import Problem
from app.bench.launchers.package import SPEC, WORKER, build
from app.bench.launchers.ssh import SshSettings
from app.bench.nodes import read_node
from app.bench.spec import RunSpec

MARK = "ssh-mark"


async def run(folder: Path) -> int:
    """See a prepared run through; its exit code."""
    spec = RunSpec.from_json(json.loads((folder / SPEC).read_text(encoding="utf-8")))
    settings = _settings(folder)
    mark = secrets.token_hex(8)
    (folder / MARK).write_text(mark, encoding="ascii")
    fleet = Fleet(settings, settings.hosts[: spec.hosts], mark=mark, hides=spec.hide_host)
    if len(settings.hosts) < spec.hosts:
        fleet.output.send(Problem(kind="too-few-hosts", text=f"{spec.hosts} > {len(settings.hosts)}"))
        return 1
    async with AsyncExitStack() as stack:
        try:
            await fleet.connect(stack)
            found = await fleet.prepare(worker=(folder / WORKER).read_bytes(), spec=(folder / SPEC).read_bytes())
            problems = preflight.check(spec, found, interface=settings.interface)
            for problem in problems:
                fleet.output.send(problem)
            return 1 if any(problem.fatal for problem in problems) else await fleet.serve(spec, found)
        except SshFailed:
            return 1
        finally:
            await fleet.end()


async def probe(text: str) -> int:
    """Ask the hosts of the node whose settings `text` holds as JSON; 1 when one cannot be used."""
    settings = SshSettings.model_validate_json(text)
    fleet = Fleet(settings, settings.hosts, mark=secrets.token_hex(8), hides=False)
    async with AsyncExitStack() as stack:
        try:
            await fleet.connect(stack)
            await fleet.prepare(worker=_worker(), spec=b"{}")
        except SshFailed:
            return 1
        finally:
            await fleet.end()
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
    fleet = Fleet(settings, settings.hosts, mark=mark, hides=False)
    async with AsyncExitStack() as stack:
        try:
            await fleet.connect(stack)
            await fleet.clean((folder / WORKER).read_bytes())
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
    sys.exit(asyncio.run(until_told(actions[sys.argv[1]](sys.argv[2]))))


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
