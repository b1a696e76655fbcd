"""What a launcher is: a pure function from a specification to a command, for the kind of node it knows.

`Launcher.commands(spec, folder, settings)` says what to run once `package.prepare` has put the worker into the folder. Whoever
runs it gives it a session of its own, reads events from standard output and keeps standard error as log. A launcher whose
ranks live elsewhere names a driver (`app/bench/drivers/`), a local program that speaks for them and ends them when it is
ended. Arguments are a list: no shell of this machine ever reads them.
"""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Protocol

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from app.bench.spec import BadSpec, RunSpec, require_variables
from app.core.i18n import Text

NAME = r"[a-z0-9][a-z0-9-]{0,31}"
"""The name of a node: it stands in URLs, file names and the command line."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A command: its arguments, and what to add to the environment. `shown` is what people see where that says more."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    shown: str = ""

    @property
    def command(self) -> tuple[str, ...]:
        """What a run's page shows, word by word."""
        return (self.shown,) if self.shown else self.arguments

    def __str__(self) -> str:
        """The command as one would type it, for people to read."""
        if self.shown:
            return self.shown
        settings = (f"{name}={shlex.quote(value)}" for name, value in self.environment.items())
        return " ".join([*settings, shlex.join(self.arguments)])


class Commands(Protocol):
    """From what to measure, and where the worker lies, to the command."""

    def __call__(self, spec: RunSpec, folder: Path) -> Launch:
        """The command for one node."""
        ...


def _variables(variables: dict[str, str]) -> dict[str, str]:
    try:
        require_variables(variables)
    except BadSpec as error:
        raise ValueError(error.message) from error
    return variables


@dataclass(frozen=True, slots=True)
class Label:
    """What a setting is called and a sentence of help; forms and `ringside node add` are made from it."""

    title: Text
    help: Text


class NodeSettings(BaseModel):
    """What every kind of node may say in its section of `nodes.toml`; a launcher adds its own fields, each with a `Label`."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    title: Annotated[
        str,
        Field(max_length=60),
        Label(
            Text("Title", "标题"),
            Text("What pages call the node; empty takes its name.", "页面上显示的名称；留空则用节点名。"),
        ),
    ] = ""
    interface: Annotated[
        str,
        Field(pattern=r"^[A-Za-z0-9_.:=^,-]{0,64}$"),
        Label(
            Text("Network interface", "网络接口"),
            Text(
                "Which interface Gloo and NCCL's sockets use, e.g. eth0; empty lets them choose.",
                "Gloo 与 NCCL socket 使用的接口，如 eth0；留空则由它们自选。",
            ),
        ),
    ] = ""
    environment: Annotated[
        dict[str, str],
        AfterValidator(_variables),
        Label(
            Text("Environment variables", "环境变量"),
            Text(
                "Set on the ranks; only those that steer NCCL, Gloo, UCX or libfabric are allowed.",
                "设置给各 rank；只允许控制 NCCL、Gloo、UCX 或 libfabric 的变量。",
            ),
        ),
    ] = {}

    @classmethod
    def labels(cls) -> dict[str, Label]:
        """The label of each field, in order."""
        found = {
            name: [item for item in field.metadata if isinstance(item, Label)]
            for name, field in cls.model_fields.items()
        }
        return {name: labels[0] for name, labels in found.items()}


def rank_environment(spec: RunSpec, settings: NodeSettings) -> dict[str, str]:
    """What the ranks get in their environment: one thread each, the interface, the node's and the run's variables."""
    found = {"OMP_NUM_THREADS": "1"}
    if settings.interface:
        found |= {"GLOO_SOCKET_IFNAME": settings.interface, "NCCL_SOCKET_IFNAME": settings.interface}
    return {**found, **settings.environment, **spec.variables}


@dataclass(frozen=True, slots=True)
class Launcher:
    """One way to start ranks; `slug` is its file's name."""

    slug: str
    title: Text
    note: Text
    """A sentence: what kind of node it is for."""
    settings: type[NodeSettings]
    commands: Callable[[RunSpec, Path, Any], Launch]
    """(spec, folder of the run, settings) -> the command."""
    devices: Callable[[Any], frozenset[str]]
    """settings -> what a run occupies: two runs that share a device wait for each other. Empty where a batch system sees to it."""
    is_here: bool
    """Whether the ranks are processes of this machine, which we can see and signal."""
    probe: Callable[[Any], Launch]
    """settings -> a command that prints a `HostReady` per host, or a `Problem`: what `ringside node test` runs."""
    clean: Callable[[Path, Any], Launch] | None = None
    """(folder of the run, settings) -> a command that ends what the run may have left elsewhere, when its driver was killed."""


@dataclass(frozen=True, slots=True)
class Node:
    """A place to run on: a launcher with the settings of one section of `nodes.toml`."""

    name: str
    launcher: Launcher
    settings: NodeSettings

    @property
    def title(self) -> Text:
        """For people: the title it was given, else the launcher's for this machine, else its name."""
        own = self.settings.title or ("" if self.name == self.launcher.slug else self.name)
        return Text(own, own) if own else self.launcher.title

    @property
    def devices(self) -> frozenset[str]:
        """What a run on it occupies."""
        return self.launcher.devices(self.settings)

    def commands(self, spec: RunSpec, folder: Path) -> Launch:
        """The command for this node."""
        return self.launcher.commands(spec, folder, self.settings)

    def probe(self) -> Launch:
        """The command that asks its hosts what they offer."""
        return self.launcher.probe(self.settings)

    def clean(self, folder: Path) -> Launch | None:
        """The command that ends what a run left elsewhere; None where nothing can be."""
        return None if self.launcher.clean is None else self.launcher.clean(folder, self.settings)
