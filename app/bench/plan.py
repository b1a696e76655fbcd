"""From the choices of a person to a checked `RunSpec` on a node, or a message per field.

The one way in for the Bench page and `ringside bench`: only names from lists, bounded numbers and variables of the allow-list
pass. Start reading at `plan`.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from app.bench.catalog import (
    DEFAULT_OPERATIONS,
    DTYPE_TITLES,
    EXTRA_TITLES,
    OPERATIONS,
    PRESETS,
    REDOP_TITLES,
    preset_spec,
)
from app.bench.choices import Choices
from app.bench.launchers.model import Node
from app.bench.setting_errors import EXPECTED, variables_problem
from app.bench.settings_text import SWITCH_WORDS, pairs
from app.bench.size_text import read_bytes
from app.bench.spec import (
    FLOATING,
    MAXIMUM_HOSTS,
    MAXIMUM_RANKS,
    MAXIMUM_SIZE,
    MINIMUM_SIZE,
    BackendChoice,
    BadSpec,
    Operation,
    Redop,
    RunSpec,
)
from app.core.i18n import Text
from app.core.units import MIB, binary_bytes

REDUCING: tuple[Operation, ...] = ("all_reduce", "reduce_scatter", "reduce")
"""Operations that have a reduction."""
ROOTED: tuple[Operation, ...] = ("broadcast", "reduce", "gather", "scatter")
"""Operations that have a root."""
MAXIMUM_MEMORY = 2**50


@dataclass(frozen=True, slots=True)
class Plan:
    """What the choices come to: a node and a specification, or problems by the name of the choice."""

    node: Node | None
    spec: RunSpec | None
    problems: Mapping[str, Text] = field(default_factory=dict)


def plan(choices: Choices, nodes: Mapping[str, Node], *, maximum_ranks: int = MAXIMUM_RANKS) -> Plan:
    """The plan; `maximum_ranks` is for ranks on this machine."""
    reading = _Reading(choices)
    node = nodes.get(choices.node)
    if node is None:
        reading.refuse("node", Text("There is no such node; choose one of the list.", "没有这个节点，请从列表中选择。"))
    most = maximum_ranks if node is None or node.launcher.is_here else MAXIMUM_RANKS
    values = reading.values(node, most_ranks=most)
    if node is None or reading.problems:
        return Plan(node, None, reading.problems)
    try:
        return Plan(node, preset_spec(choices.preset, **values))
    except BadSpec as error:
        name = _FIELDS.get(error.field, error.field)
        message = Text(f"This value is not allowed: {error.message}.", "这个值不在允许的范围内。")
        return Plan(node, None, {name: message})


_FIELDS = {
    "minimum_size": "min_size",
    "maximum_size": "max_size",
    "sizes": "max_size",
    "operations": "operation",
    "extras": "extra",
    "variables": "env",
    "memory_bytes": "memory",
}


def maximum_hosts(node: Node) -> int:
    """How many hosts a run on this node may use: those its section names, or what a batch system may give."""
    if node.launcher.is_here:
        return 1
    hosts = getattr(node.settings, "hosts", None)
    if isinstance(hosts, int):
        return hosts
    return len(hosts) if isinstance(hosts, (list, tuple)) else MAXIMUM_HOSTS


def default_hosts(node: Node) -> int:
    """The hosts of a run that does not say: all that the section names, one of a batch system's."""
    return maximum_hosts(node) if hasattr(node.settings, "hosts") else 1


class _Reading:
    """Reads the choices one by one and gathers what is wrong."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self.problems: dict[str, Text] = {}

    def refuse(self, name: str, message: Text) -> None:
        """This choice is wrong; the first message stays."""
        self.problems.setdefault(name, message)

    def values(self, node: Node | None, *, most_ranks: int) -> dict[str, Any]:
        """The arguments of `preset_spec`; they count only when nothing was refused."""
        choices = self._choices
        self._one_of("preset", PRESETS, Text("Choose one of the presets.", "请选择一个预设。"))
        self._one_of("backend", get_args(BackendChoice), Text("Choose one of the backends.", "请选择一个后端。"))
        self._one_of("dtype", DTYPE_TITLES, EXPECTED["choice"])
        self._one_of("redop", REDOP_TITLES, EXPECTED["choice"])
        operations = self._operations()
        ranks = self._whole("ranks", low=1, high=most_ranks)
        values = {
            "operations": operations,
            "backend": choices.backend,
            "dtype": choices.dtype,
            "redop": self._redop(operations),
            "ranks": ranks,
            "hosts": self._hosts(node),
            "root": self._root(operations, ranks=ranks),
            "minimum_size": self._bytes("min_size", low=MINIMUM_SIZE, high=MAXIMUM_SIZE),
            "maximum_size": self._bytes("max_size", low=MINIMUM_SIZE, high=MAXIMUM_SIZE),
            "extras": self._extras(),
            "variables": self._variables(),
            "memory_bytes": self._bytes("memory", low=MIB, high=MAXIMUM_MEMORY) or 0,
            "emulated": self._switch("emulated"),
            "hide_host": self._switch("hide_host"),
        }
        self._together(values)
        return values

    def _together(self, values: Mapping[str, Any]) -> None:
        """What does not fit although each choice does."""
        low, high = values["minimum_size"], values["maximum_size"]
        if low is not None and high is not None and low > high:
            self.refuse("min_size", Text("Must not be above the largest size.", "不能大于最大消息。"))
        if "hosts" not in self.problems and values["ranks"] % values["hosts"]:
            ranks, hosts = values["ranks"], values["hosts"]
            self.refuse(
                "ranks",
                Text(
                    f"{ranks} ranks cannot be spread evenly over {hosts} hosts.",
                    f"{ranks} 个 rank 无法平均分到 {hosts} 台主机。",
                ),
            )
        if values["emulated"] and self._choices.backend == "gloo":
            self.refuse(
                "emulated", Text("Only NCCL can share a GPU among ranks.", "只有 NCCL 能让多个 rank 共用 GPU。")
            )

    def _operations(self) -> tuple[Operation, ...]:
        named = self._choices.operation
        # The form always sends a blank one along, so that none chosen differs from none asked for.
        wanted = list(DEFAULT_OPERATIONS) if named is None else [name for name in named if name]
        chosen = tuple(name for name in OPERATIONS if name in wanted)
        if not chosen or set(wanted) - set(OPERATIONS):
            self.refuse("operation", Text("Choose at least one operation.", "请至少选择一个集合操作。"))
        return chosen

    def _extras(self) -> tuple[str, ...] | None:
        wanted = [name for name in self._choices.extra or () if name]
        if self._choices.extras == "preset" or (self._choices.extras != "chosen" and not wanted):
            return None
        if set(wanted) - set(EXTRA_TITLES):
            self.refuse("extra", Text("Choose from those listed.", "请从列出的选项中选择。"))
        return tuple(name for name in EXTRA_TITLES if name in wanted)

    def _redop(self, operations: Sequence[Operation]) -> Redop:
        """An operation without a reduction has none, whatever a hidden field still says."""
        redop: Redop = next((name for name in REDOP_TITLES if name == self._choices.redop), "sum")
        if not set(operations) & set(REDUCING):
            return "sum"
        if redop == "avg" and self._choices.dtype not in FLOATING:
            self.refuse("redop", Text("An average needs a floating-point type.", "平均值需要浮点类型。"))
        return redop

    def _root(self, operations: Sequence[Operation], *, ranks: int) -> int:
        if not self._choices.root.strip() or not set(operations) & set(ROOTED):
            return 0
        return self._whole("root", low=0, high=max(0, ranks - 1))

    def _variables(self) -> dict[str, str]:
        try:
            found = pairs(self._choices.env[:20_000])
        except ValueError:
            self.refuse("env", EXPECTED["pairs"])
            return {}
        problem = variables_problem(found)
        if problem is not None:
            self.refuse("env", problem)
        return found

    def _one_of(self, name: str, known: Sequence[str] | Mapping[Any, object], message: Text) -> None:
        if getattr(self._choices, name) not in known:
            self.refuse(name, message)

    def _hosts(self, node: Node | None) -> int:
        most = 1 if node is None else maximum_hosts(node)
        if not self._choices.hosts.strip():
            return 1 if node is None else default_hosts(node)
        if most == 1 and self._choices.hosts.strip() != "1":
            self.refuse("hosts", Text("This node has one host only.", "这个节点只有一台主机。"))
            return 1
        return self._whole("hosts", low=1, high=most)

    def _switch(self, name: str) -> bool:
        text = getattr(self._choices, name).strip().lower()
        if text and text not in SWITCH_WORDS:
            self.refuse(name, EXPECTED["switch"])
        return SWITCH_WORDS.get(text, False)

    def _whole(self, name: str, *, low: int, high: int) -> int:
        digits = unicodedata.normalize("NFKC", getattr(self._choices, name)).strip()
        is_whole = digits.isascii() and digits.isdecimal() and len(digits) <= 6
        if not is_whole or not low <= int(digits) <= high:
            self.refuse(
                name,
                Text(f"Enter a whole number between {low} and {high}.", f"请输入 {low} 到 {high} 之间的整数。"),
            )
            return low
        return int(digits)

    def _bytes(self, name: str, *, low: int, high: int) -> int | None:
        text = getattr(self._choices, name)
        if not text.strip():
            return None
        bounds = f"{binary_bytes(low)} – {binary_bytes(high)}"
        message = Text(f"Enter bytes such as 64K or 1G, within {bounds}.", f"请输入大小，如 64K 或 1G，范围 {bounds}。")
        try:
            size = read_bytes(text)
        except ValueError:
            size = -1
        if not low <= size <= high:
            self.refuse(name, message)
            return None
        return size
