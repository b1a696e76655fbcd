"""Ranks on machines behind SSH: a guard with torchrun on each, joined through c10d's rendezvous on the first one.

What runs there is made by pure functions from the node's settings; the driver (`app/bench/drivers/ssh.py`) connects, copies the worker
and starts it. Needed there: Python 3.10 with PyTorch, and a folder to write to; no special rights. SSH servers drop most variables a client
sends, so those of the ranks stand in the command, behind `env`.
"""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from app.bench.launchers.driver import driver
from app.bench.launchers.meeting import meeting
from app.bench.launchers.model import Label, Launch, Launcher, rank_environment
from app.bench.launchers.package import SPEC, WORKER
from app.bench.launchers.ssh_access import SshAccess, Target, device, each_an_address
from app.bench.setting_errors import SettingProblem
from app.bench.spec import MAXIMUM_HOSTS, RunSpec
from app.core.i18n import Text

QUIET_SECONDS = 30
"""Without a word from the driver for so long, a guard ends its ranks."""
LOCK = "ssh"
"""One run at a time for a user of a host, whoever's Ringside it is."""
_PYTHON = r"^(python[0-9.]{0,8}|~?/[^\x00-\x1f\x7f]{1,400})$"
_FOLDER = r"^~?/[^\x00-\x1f\x7f]{1,400}$"
_ADDRESS = r"^[A-Za-z0-9_.:%-]{1,253}$"


def _distinct(hosts: list[str]) -> list[str]:
    if len(set(hosts)) < len(hosts):
        raise SettingProblem(Text("Each host only once.", "每台主机只能写一次。"))
    return hosts


class SshSettings(SshAccess):
    """One machine, or several that run together."""

    hosts: Annotated[
        list[str],
        Field(min_length=1, max_length=MAXIMUM_HOSTS),
        AfterValidator(each_an_address),
        AfterValidator(_distinct),
        Label(
            Text("Hosts", "主机"),
            Text(
                "user@host, user@host:port, or a name of ~/.ssh/config; several run together, the first one leads.",
                "user@host、user@host:port，或 ~/.ssh/config 里的名字；多台一起运行时第一台为主。",
            ),
        ),
    ]
    python: Annotated[
        str,
        Field(pattern=_PYTHON),
        Label(
            Text("Python on the hosts", "主机上的 Python"),
            Text(
                "python3, or the path of the one that has PyTorch, e.g. ~/venv/bin/python.",
                "python3，或装有 PyTorch 的解释器路径，如 ~/venv/bin/python。",
            ),
        ),
    ] = "python3"
    folder: Annotated[
        str,
        Field(pattern=_FOLDER),
        Label(
            Text("Folder on the hosts", "主机上的目录"),
            Text(
                "Where the worker is copied to; a run's own files are removed at its end.",
                "测试程序复制到这里；每次运行自己的文件在结束时删除。",
            ),
        ),
    ] = "~/.cache/ringside"
    addresses: Annotated[
        list[Annotated[str, Field(pattern=_ADDRESS)]],
        Field(max_length=MAXIMUM_HOSTS),
        Label(
            Text("Addresses between hosts", "主机间地址"),
            Text(
                "By which name or IP the hosts reach each other, in the order of the hosts; empty: the interface's, or the one SSH uses.",
                "主机之间互相访问用的名字或 IP，与主机顺序一致；留空则用该接口的地址，或 SSH 所用地址。",
            ),
        ),
    ] = []  # noqa: RUF012 - pydantic copies it

    @model_validator(mode="after")
    def _one_address_each(self) -> "SshSettings":
        if self.addresses and len(self.addresses) != len(self.hosts):
            raise SettingProblem(
                Text("Give an address between hosts for each host, or none.", "主机间地址要么每台一个，要么不填。")
            )
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One host as its command needs it: where the others find it, the interface that has this address, and what lies where there."""

    address: str
    interface: str = ""
    python: str
    worker: str
    folder: str
    """Of the run's specification."""


def host_commands(
    spec: RunSpec, settings: SshSettings, *, mark: str, port: int | str, places: Sequence[Place]
) -> tuple[tuple[str, ...], ...]:
    """The argument list for each of `places`, the first of which the others meet at its `port`.

    `mark` names the run in the environment of its processes. Raises ValueError when there are not as many places as the
    specification has hosts.
    """
    if len(places) != spec.hosts:
        raise ValueError(f"{len(places)} places for {spec.hosts} hosts")
    return tuple(
        (
            *(place.python, place.worker, "guard", "--mark", mark, "--lock", LOCK),
            *("--memory", str(spec.memory_bytes), "--quiet-seconds", str(QUIET_SECONDS), "--"),
            *("env", *(f"{name}={value}" for name, value in _environment(spec, settings, place).items())),
            *(place.python, "-m", "torch.distributed.run"),
            *meeting(hosts=spec.hosts, number=number, own=place.address, first=places[0].address, port=port, mark=mark),
            *("--nproc-per-node", str(spec.ranks // spec.hosts), place.worker, f"{place.folder}/{SPEC}"),
        )
        for number, place in enumerate(places)
    )


def _environment(spec: RunSpec, settings: SshSettings, place: Place) -> dict[str, str]:
    """Gloo takes the address of the host's own name unless told otherwise, which peers often cannot reach."""
    found = rank_environment(spec, settings)
    if place.interface:
        found.setdefault("GLOO_SOCKET_IFNAME", place.interface)
    return found


def commands(spec: RunSpec, folder: Path, settings: SshSettings) -> Launch:
    """The driver. People see what it starts on each host; RUN and PORT stand for what is chosen then."""
    names = [f"node-{number}" if spec.hide_host else host for number, host in enumerate(settings.hosts[: spec.hosts])]
    found = settings.addresses or [settings.target(host).host for host in settings.hosts]
    base = settings.folder.removeprefix("~/")  # where a login begins
    places = [
        Place(
            address="127.0.0.1" if spec.hosts == 1 else name if spec.hide_host else address,
            python=settings.python.removeprefix("~/"),
            worker=f"{base}/{WORKER}",
            folder=f"{base}/runs/RUN",
        )
        for name, address in zip(names, found, strict=False)
    ]
    there = host_commands(spec, settings, mark="RUN", port="PORT", places=places) if len(places) == spec.hosts else ()
    shown = "\n".join(
        f"{_ssh(settings.target(name))} {shlex.quote(shlex.join(words))}"
        for name, words in zip(names, there, strict=False)
    )
    return driver("ssh", "run", str(folder.absolute()), shown=shown)


def _ssh(target: Target) -> str:
    return shlex.join(["ssh", *(["-p", str(target.port)] if target.port else []), str(replace(target, port=0))])


def probe(settings: SshSettings) -> Launch:
    """Ask each host what it offers."""
    return driver("ssh", "probe", json.dumps(settings.model_dump(mode="json")))


def clean(folder: Path, settings: SshSettings) -> Launch:
    """End what a run whose driver was killed has left on its hosts."""
    del settings
    return driver("ssh", "clean", str(folder.absolute()))


launcher = Launcher(
    slug="ssh",
    title=Text("SSH", "SSH"),
    note=Text(
        "Ranks on one or several machines behind SSH; they need Python and PyTorch, nothing of ours.",
        "在一台或多台 SSH 主机上启动各 rank；主机只需 Python 和 PyTorch。",
    ),
    settings=SshSettings,
    commands=commands,
    devices=lambda settings: frozenset(device(settings.target(host)) for host in settings.hosts),
    is_here=False,
    probe=probe,
    clean=clean,
)
