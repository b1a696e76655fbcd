"""What the nodes pages show: each node with its last answer, and the form of a launcher with a message per setting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.bench.checkup import Checkup, Checkups, checkups_folder
from app.bench.diagnosis.explain import explain
from app.bench.diagnosis.model import Explanation
from app.bench.events import Problem
from app.bench.home import nodes_path
from app.bench.launchers.model import Launcher, Node
from app.bench.nodes import NodeFile, known_launchers, make
from app.bench.settings_text import Setting, describe, read
from app.core.errors import InvalidInput
from app.core.i18n import Text
from app.web.services import Services

LOCAL = "local"
"""The launcher of this machine, which is always a node; others are attached first."""


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node of the list."""

    node: Node
    checkup: Checkup | None
    is_asking: bool

    @property
    def hosts(self) -> Sequence[str]:
        """What it runs on, as far as its section says."""
        named = getattr(self.node.settings, "hosts", None)
        return tuple(named) if isinstance(named, (list, tuple)) else sorted(self.node.devices)

    @property
    def is_removable(self) -> bool:
        """Whether it stands in `nodes.toml`."""
        return self.node.name != LOCAL


@dataclass(frozen=True, slots=True)
class Field:
    """One input of the form: the text as typed, and what is wrong with it."""

    setting: Setting
    text: str
    problem: Text | None

    @property
    def id(self) -> str:
        """Its id in the page."""
        return f"node-{self.setting.name.replace('_', '-')}"


@dataclass(frozen=True, slots=True)
class AddForm:
    """The form that adds a node of one launcher."""

    launcher: Launcher
    name: str
    name_problem: Text | None
    fields: tuple[Field, ...]

    @property
    def is_refused(self) -> bool:
        """Whether something typed is wrong."""
        return self.name_problem is not None or any(field.problem for field in self.fields)


def node_file(services: Services) -> NodeFile:
    """The nodes of this installation."""
    return NodeFile(nodes_path(services.settings.data))


def checkups(services: Services) -> Checkups:
    """What its nodes answered."""
    return Checkups(checkups_folder(services.settings.data))


def view(services: Services, node: Node) -> NodeView:
    """A node with its last answer."""
    answers = checkups(services)
    return NodeView(node, answers.last(node), answers.is_asking(node.name))


def attachable() -> Mapping[str, Launcher]:
    """The launchers a node can be added with: those that lead elsewhere first, the simplest of them first."""

    def order(item: tuple[str, Launcher]) -> tuple[bool, int]:
        return item[1].is_here, len(item[1].settings.labels())

    return dict(sorted(known_launchers().items(), key=order))


def blank(launcher: Launcher) -> AddForm:
    """The empty form."""
    fields = tuple(Field(setting, setting.default, None) for setting in describe(launcher))
    return AddForm(launcher, "", None, fields)


def filled(launcher: Launcher, name: str, texts: Mapping[str, str]) -> tuple[AddForm, Node | None]:
    """The form as it was sent, and the node when everything is right."""
    problems: dict[str, Text] = {}
    node = None
    try:
        node = make(name.strip(), read(launcher, texts))
    except InvalidInput as error:
        for place, text in error.fields.items():
            problems.setdefault(place.split(".")[0], text)
    fields = tuple(
        Field(setting, texts.get(setting.name, ""), problems.pop(setting.name, None)) for setting in describe(launcher)
    )
    # What names no setting (two that do not fit together) stands at the top.
    rest = next(iter(problems.values()), None)
    return AddForm(launcher, name[:64], rest, fields), node


def told(checkup: Checkup) -> list[tuple[Problem, Explanation]]:
    """Its problems with what they mean."""
    return [(problem, explain(problem, log=checkup.log)) for problem in checkup.problems]
