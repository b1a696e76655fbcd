"""Runs behind a real SSH server, as the tests of the driver start them."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.bench import nodes
from app.bench.events import Row
from app.bench.launchers.model import Launch, Node
from app.bench.launchers.package import SPEC, WORKER, prepare
from app.bench.launchers.session import Session
from app.bench.process import ProcessId
from app.bench.result import RunResult
from app.bench.spec import RunSpec
from tests.bench.drivers.sshd import Server
from tests.bench.ranks import long_spec, small_spec


def node(server: Server, **changes: Any) -> Node:
    return nodes.make("gpu", {"launcher": "ssh", **server.settings(**changes)})


def session(folder: Path, spec: RunSpec, there: Node, *, cleans: bool = True) -> Session:
    prepare(folder, spec, node=there)
    clean = there.clean(folder) if cleans else None
    return Session(there.commands(spec, folder), folder=folder, result=RunResult(spec=spec), is_here=False, clean=clean)


@contextmanager
def measuring(folder: Path, server: Server, *, ranks: int = 1, cleans: bool = True) -> Iterator[Session]:
    """A long run past its first row."""
    with session(folder, replace(long_spec(), ranks=ranks), node(server), cleans=cleans) as running:
        for event in running:
            if isinstance(event, Row):
                break
        assert running.result.rows, (running.result.problems, running.log)
        assert len(server.processes()) >= 2 + ranks  # the guard and torchrun too
        yield running


def guard(server: Server) -> ProcessId:
    """The guard's process there: the parent of the one that runs torchrun."""
    guards = [each for each in server.processes() if words(each)[2:3] == ["guard"] and "python" in words(each)[0]]
    assert len(guards) == 1, [words(each) for each in server.processes()]
    return guards[0]


def words(found: ProcessId) -> list[str]:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{found.pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    return []


def left_files(server: Server) -> list[str]:
    """What stands in the node's folder, files only."""
    return sorted(path.name for path in (server.home / "ringside").rglob("*") if path.is_file())


def call(launch: Launch | None, folder: Path) -> "subprocess.CompletedProcess[bytes]":
    """A driver's command to its end."""
    assert launch is not None
    environment = {**os.environ, **launch.environment}
    return subprocess.run(launch.arguments, env=environment, capture_output=True, check=False, cwd=folder)


def worker() -> bytes:
    """The zip as bytes."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), small_spec())
        return Path(folder, WORKER).read_bytes()


def spec_bytes(spec: RunSpec) -> bytes:
    """The specification as it is sent."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), spec)
        return Path(folder, SPEC).read_bytes()
