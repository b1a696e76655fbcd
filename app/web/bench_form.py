"""The form of the Bench page: the choices as they stand, what they come to, and the address that holds them.

What is allowed is decided in `app/bench/plan.py`; nothing typed here becomes part of a command unchecked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args
from urllib.parse import urlencode

from app.bench.catalog import DEFAULT_OPERATIONS, PRESETS
from app.bench.choices import Choices, to_query
from app.bench.launchers.model import Node
from app.bench.plan import Plan, maximum_hosts, plan
from app.bench.runs import Run
from app.bench.settings_text import SWITCH_WORDS
from app.bench.spec import BackendChoice, RunSpec
from app.core.i18n import Text

MAXIMUM_RANKS = 64
"""Of this machine, where a slip of the finger would start them all."""
BACKENDS: Mapping[BackendChoice, Text] = {
    "auto": Text("choose by hardware", "按硬件选择"),
    "gloo": Text("Gloo (CPU)", "Gloo（CPU）"),
    "nccl": Text("NCCL (GPU)", "NCCL（GPU）"),
}
assert set(BACKENDS) == set(get_args(BackendChoice))
UP_FRONT = frozenset({"node", "preset", "ranks", "hosts"})
"""Choices that stand above the fold."""
TITLES: Mapping[str, Text] = {
    "node": Text("Node", "节点"),
    "preset": Text("Preset", "预设"),
    "ranks": Text("Ranks", "rank 数"),
    "hosts": Text("Hosts", "主机数"),
    "operation": Text("Operations", "集合操作"),
    "backend": Text("Backend", "后端"),
    "dtype": Text("Element type", "元素类型"),
    "redop": Text("Reduction", "归约方式"),
    "root": Text("Root", "根 rank"),
    "min_size": Text("Smallest message", "最小消息"),
    "max_size": Text("Largest message", "最大消息"),
    "extras": Text("Extras", "附加测量"),
    "extra": Text("Extras", "附加测量"),
    "env": Text("Environment variables", "环境变量"),
    "memory": Text("Memory cap per host", "每台主机的内存上限"),
    "emulated": Text("Let ranks share a GPU", "允许多个 rank 共用 GPU"),
    "hide_host": Text("Hide host names", "隐藏主机名"),
}
"""What a choice is called."""
assert set(TITLES) == set(Choices.model_fields)
_DEFAULTS = Choices()


@dataclass(frozen=True, slots=True)
class Form:
    """What the reader chose, as the form shows it again, and what is wrong with it."""

    choices: Choices
    plan: Plan

    @property
    def spec(self) -> RunSpec | None:
        """What would run; None while something is wrong."""
        return self.plan.spec

    @property
    def problems(self) -> Mapping[str, Text]:
        """What is wrong, by the name of the choice."""
        return self.plan.problems

    @property
    def operations(self) -> list[str]:
        """The operations that are ticked."""
        return list(DEFAULT_OPERATIONS) if self.choices.operation is None else self.choices.operation

    @property
    def has_own_extras(self) -> bool:
        """Whether the extras are chosen one by one."""
        if self.choices.extras:
            return self.choices.extras == "chosen"
        return any(self.choices.extra or ())

    @property
    def extras(self) -> list[str]:
        """The extras that are ticked."""
        if self.has_own_extras:
            return self.choices.extra or []
        preset = PRESETS.get(self.choices.preset)
        return list(preset.extras) if preset else []

    @property
    def is_more_open(self) -> bool:
        """Whether something below the fold is not as by default, or wrong."""
        rest = set(Choices.model_fields) - UP_FRONT
        changed = {name for name in rest if getattr(self.choices, name) != getattr(_DEFAULTS, name)}
        as_default = {"operation"} if set(self.operations) == {"", *DEFAULT_OPERATIONS} else set()
        blank = {name for name in ("extra",) if not any(self.choices.extra or ())}
        same = {
            name for name, default in (("extras", "preset"), ("root", "0")) if getattr(self.choices, name) == default
        }
        return bool((changed - as_default - blank - same) | (set(self.problems) - UP_FRONT))

    def is_on(self, name: str) -> bool:
        """Whether a switch is on."""
        return SWITCH_WORDS.get(getattr(self.choices, name).strip().lower(), False)


def read(choices: Choices, nodes: Mapping[str, Node]) -> Form:
    """The form with what its choices come to."""
    return Form(choices, plan(choices, nodes, maximum_ranks=MAXIMUM_RANKS))


def address(spec: RunSpec, *, node: str) -> str | None:
    """The Bench page with the choices of a run filled in; None for one that no preset makes."""
    query = to_query(spec, node=node)
    return f"/bench?{urlencode(query)}" if query else None


def again(run: Run) -> str | None:
    """Where "run again" leads."""
    return address(run.spec, node=run.node)


def hosts_of(nodes: Mapping[str, Node]) -> dict[str, int]:
    """How many hosts a run may use, of the nodes with more than one."""
    counted = {name: maximum_hosts(node) for name, node in nodes.items()}
    return {name: hosts for name, hosts in counted.items() if hosts > 1}
