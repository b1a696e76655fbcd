"""The form of the Bench page: strings in, a checked `RunSpec` or a message per field out.

Only names from the catalog and bounded numbers pass; nothing typed here becomes part of a command.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from app.bench.catalog import DEFAULT_OPERATIONS, DEFAULT_RANKS, OPERATIONS, PRESETS, preset_spec
from app.bench.spec import BackendChoice, BadSpec, Operation, RunSpec
from app.core.i18n import Text

MAXIMUM_RANKS = 64
BACKENDS: Mapping[BackendChoice, Text] = {
    "auto": Text("choose by hardware", "按硬件选择"),
    "gloo": Text("Gloo (CPU)", "Gloo（CPU）"),
    "nccl": Text("NCCL (GPU)", "NCCL（GPU）"),
}
assert set(BACKENDS) == set(get_args(BackendChoice))


@dataclass(frozen=True, slots=True)
class Form:
    """What the reader chose, as the form shows it again, and what is wrong with it."""

    preset: str = "quick"
    ranks: str = str(DEFAULT_RANKS)
    operations: tuple[str, ...] = DEFAULT_OPERATIONS
    backend: str = "auto"
    spec: RunSpec | None = None
    problems: Mapping[str, Text] = field(default_factory=dict)


def read(*, preset: str, ranks: str, operations: Sequence[str], backend: str) -> Form:
    """The form with its specification, or with the problems that keep it from having one."""
    problems: dict[str, Text] = {}
    if preset not in PRESETS:
        problems["preset"] = Text("Choose one of the presets.", "请选择一个预设。")
    chosen = tuple(operation for operation in OPERATIONS if operation in operations)
    if not chosen or set(operations) - set(OPERATIONS):
        problems["operation"] = Text("Choose at least one operation.", "请至少选择一个集合操作。")
    known: Sequence[BackendChoice] = [name for name in BACKENDS if name == backend]
    if not known:
        problems["backend"] = Text("Choose one of the backends.", "请选择一个后端。")
    number = _whole(ranks)
    if number is None or not 1 <= number <= MAXIMUM_RANKS:
        problems["ranks"] = Text(
            f"Enter a whole number between 1 and {MAXIMUM_RANKS}.", f"请输入 1 到 {MAXIMUM_RANKS} 之间的整数。"
        )
    spec = None
    if not problems:
        assert number is not None
        spec = _spec(preset, ranks=number, operations=chosen, backend=known[0], problems=problems)
    return Form(preset, ranks[:20], tuple(operations), backend, spec, problems)


def _spec(
    preset: str, *, ranks: int, operations: Sequence[Operation], backend: BackendChoice, problems: dict[str, Text]
) -> RunSpec | None:
    try:
        return preset_spec(preset, ranks=ranks, operations=operations, backend=backend)
    except BadSpec as error:
        problems[error.field] = Text(f"This value is not allowed: {error.message}.", f"这个值不允许：{error.message}。")
        return None


def _whole(text: str) -> int | None:
    digits = unicodedata.normalize("NFKC", text).strip()
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= 6 else None
