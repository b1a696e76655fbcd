"""Hosts of this machine with a slow network between them: a guard with torchrun in each of some network namespaces.

Without a slow link nothing is gained by overlap on a CPU; with one, the gain shows on a laptop. The driver (`app/bench/drivers/namespaces.py`)
makes the network (`app/bench/namespaces.py`) and starts there what stands here. Ranks compute on the CPU and talk through Gloo.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from app.bench import namespaces
from app.bench.launchers.driver import driver
from app.bench.launchers.meeting import meeting
from app.bench.launchers.model import Label, Launch, Launcher, NodeSettings, rank_environment
from app.bench.launchers.package import SPEC, WORKER
from app.bench.namespaces import Cables
from app.bench.spec import RunSpec
from app.core.i18n import Text

PORT = 29_400
"""Where the hosts meet: in a network that was just made every port is free."""
_MEETING = "ringside"
"""The same for all runs, because nobody else is in their network; torchrun makes it part of a path, which a run's mark is not fit for."""
DEFAULT_RATE_MBIT = 400
"""Where a matrix product of some milliseconds takes about as long as the messages a laptop computes meanwhile."""


class NamespaceSettings(NodeSettings):
    """How many hosts, and what joins them."""

    hosts: Annotated[
        int,
        Field(ge=2, le=8),
        Label(Text("Hosts", "主机数"), Text("How many network namespaces.", "创建几个网络命名空间。")),
    ] = 2
    rate_mbit: Annotated[
        int,
        Field(ge=0, le=100_000),
        Label(
            Text("Rate in Mbit/s", "速率（Mbit/s）"),
            Text(
                "Of each host's cable, in each direction; 0 sets no limit.", "每台主机网线每个方向的速率；0 表示不限。"
            ),
        ),
    ] = DEFAULT_RATE_MBIT
    delay_ms: Annotated[
        int,
        Field(ge=0, le=1000),
        Label(
            Text("Delay in ms", "延迟（ms）"),
            Text(
                "On the way from one host to another; needs netem in the kernel.",
                "主机到主机的单程延迟；需要内核支持 netem。",
            ),
        ),
    ] = 0

    @property
    def cables(self) -> Cables:
        """What joins each host with the switch."""
        return Cables(rate_mbit=self.rate_mbit, delay_ms=self.delay_ms)


def guard_commands(
    spec: RunSpec, settings: NamespaceSettings, *, mark: str, python: str, folder: Path | str
) -> tuple[tuple[str, ...], ...]:
    """What runs on each host of the specification. `mark` names the run; `folder` holds the worker."""
    return tuple(
        (
            *(python, f"{folder}/{WORKER}", "guard", "--mark", mark, "--memory", str(spec.memory_bytes)),
            *("--quiet-seconds", "0", "--"),
            *("env", *(f"{name}={value}" for name, value in _environment(spec, settings).items())),
            *(python, "-m", "torch.distributed.run"),
            *meeting(
                hosts=spec.hosts,
                number=number,
                own=namespaces.address(number),
                first=namespaces.address(0),
                port=PORT,
                mark=_MEETING,
            ),
            *("--nproc-per-node", str(spec.ranks // spec.hosts), f"{folder}/{WORKER}", f"{folder}/{SPEC}"),
        )
        for number in range(spec.hosts)
    )


def _environment(spec: RunSpec, settings: NamespaceSettings) -> dict[str, str]:
    """GPUs are hidden: each host would take the first, and the bytes between them need not pass the network."""
    hidden = {"GLOO_SOCKET_IFNAME": namespaces.INTERFACE, "CUDA_VISIBLE_DEVICES": ""}
    return {**hidden, **rank_environment(spec, settings)}


def commands(spec: RunSpec, folder: Path, settings: NamespaceSettings) -> Launch:
    """The driver. People see what it does, so that they could do it by hand; HOST and RUN stand for what is known then."""
    lines: list[Sequence[str]] = [("unshare", "--net"), *namespaces.switch_commands()]
    guards = guard_commands(spec, settings, mark="RUN", python="python", folder=".")
    for number, guard in enumerate(guards):
        pid = f"HOST{number}"
        lines += [*namespaces.host_commands(number, pid=pid, cables=settings.cables)]
        lines.append((*namespaces.inside(pid), *guard))
    return driver("namespaces", "run", str(folder.absolute()), shown="\n".join(map(" ".join, lines)))


def probe(settings: NamespaceSettings) -> Launch:
    """Make the network once and ask each host what it offers."""
    return driver("namespaces", "probe", json.dumps(settings.model_dump(mode="json")))


def clean(folder: Path, settings: NamespaceSettings) -> Launch:
    """End what a run whose driver was killed has left."""
    del settings
    return driver("namespaces", "clean", str(folder.absolute()))


launcher = Launcher(
    slug="namespaces",
    title=Text("Slow network on this machine", "本机上的慢速网络"),
    note=Text(
        "Hosts of this machine with a network of a chosen rate between them: overlap pays off there. Linux only.",
        "把本机分成几台“主机”，主机间网络的速率可设：通信重叠的收益在此可见。仅支持 Linux。",
    ),
    settings=NamespaceSettings,
    commands=commands,
    devices=lambda _settings: frozenset({"local"}),
    is_here=False,
    probe=probe,
    clean=clean,
)
