"""Networks of namespaces for tests: whether this machine allows them, a node with one, and who is in which."""

import os
from pathlib import Path
from typing import Any

import pytest

from app.bench import namespaces, nodes
from app.bench.launchers.model import Node
from app.bench.process import ProcessId


def require_namespaces() -> None:
    """Skip where an ordinary user may not; root always has to, and a missing program is a failure."""
    try:
        namespaces.way_in()
    except namespaces.NetworkFailed as error:
        if os.geteuid() != 0 and error.problem.kind == "namespaces-refused":
            pytest.skip(str(error))
        pytest.fail(
            f"apt-get install iproute2 util-linux, or start the container with SYS_ADMIN and NET_ADMIN: {error}"
        )


def node(**settings: Any) -> Node:
    return nodes.make("slow", {"launcher": "namespaces", "rate_mbit": 100, **settings})


def own_namespace(pid: int | str = "self") -> str:
    """Which network a process is in; empty when it is gone."""
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return ""


def network_namespaces() -> set[str]:
    """Every network that a process is in. One without a process, and no name, does not exist."""
    return {own_namespace(entry.name) for entry in Path("/proc").glob("[0-9]*")}


def words(found: ProcessId) -> list[str]:
    try:
        return Path(f"/proc/{found.pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return []
