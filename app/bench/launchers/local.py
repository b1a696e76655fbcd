"""Ranks on this machine, started by torchrun.

`--standalone` picks a free port by itself and `--local-addr` keeps it from asking DNS who this host is. One thread per rank:
ranks that share the cores would otherwise fight over them. Gloo gets the loopback interface, because the address a host
name resolves to is not always one that peers can reach; a `GLOO_SOCKET_IFNAME` that is already set is respected.
"""

import os
import socket
import sys
from pathlib import Path

from app.bench.launchers.model import Launch, Launcher, Node, NodeSettings, rank_environment
from app.bench.launchers.package import SPEC, WORKER
from app.bench.spec import RunSpec
from app.core.i18n import Text


class LocalSettings(NodeSettings):
    """This machine has nothing more to say."""


def torchrun(
    spec: RunSpec, folder: Path, *, python: str, loopback: str | None, settings: NodeSettings | None = None
) -> Launch:
    """The command, from nothing but its arguments. `loopback` is the interface for Gloo, None to leave that alone."""
    environment = rank_environment(spec, settings or LocalSettings())
    if loopback is not None and spec.backend != "nccl":
        environment.setdefault("GLOO_SOCKET_IFNAME", loopback)
    return Launch(
        arguments=(
            python,
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--local-addr",
            "127.0.0.1",
            "--nproc-per-node",
            str(spec.ranks),
            str(folder / WORKER),
            str(folder / SPEC),
        ),
        environment=environment,
    )


def commands(spec: RunSpec, folder: Path, settings: NodeSettings | None = None) -> Launch:
    """The command with this interpreter and this machine's loopback interface."""
    interface = None if "GLOO_SOCKET_IFNAME" in os.environ else _loopback()
    return torchrun(spec, folder, python=sys.executable, loopback=interface, settings=settings)


def probe(settings: NodeSettings) -> Launch:
    """Ask this machine what it offers."""
    del settings
    return Launch((sys.executable, "-m", "app.bench.worker", "probe"))


def _loopback() -> str | None:
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in ("lo", "lo0") if name in names), None)


launcher = Launcher(
    slug="local",
    title=Text("This machine", "本机"),
    note=Text("Ranks on this machine, by torchrun.", "在本机上用 torchrun 启动各 rank。"),
    settings=LocalSettings,
    commands=commands,
    devices=lambda _settings: frozenset({"local"}),
    is_here=True,
    probe=probe,
)
node = Node(launcher.slug, launcher, LocalSettings())
"""The node that is always there."""
