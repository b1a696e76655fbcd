"""Presets and operations a run can ask for, with their names for people.

A preset trades time for steadiness: more sizes, longer batches, longer warm-up. `preset_spec` is the one way from a choice on the
page or the command line to a `RunSpec`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.bench.spec import BackendChoice, Dtype, Operation, RunSpec
from app.core.i18n import Text
from app.core.units import KIB, MIB

DEFAULT_RANKS = 2


@dataclass(frozen=True, slots=True)
class OperationTitle:
    """An operation for people; `bus_factor` is what multiplies size / time, as LaTeX."""

    title: Text
    bus_factor: str


OPERATIONS: Mapping[Operation, OperationTitle] = {
    "all_reduce": OperationTitle(Text("All-reduce", "All-reduce（全归约）"), r"2(n-1)/n"),
    "all_gather": OperationTitle(Text("All-gather", "All-gather（全收集）"), r"(n-1)/n"),
    "reduce_scatter": OperationTitle(Text("Reduce-scatter", "Reduce-scatter（归约散发）"), r"(n-1)/n"),
    "all_to_all": OperationTitle(Text("All-to-all", "All-to-all（全交换）"), r"(n-1)/n"),
    "broadcast": OperationTitle(Text("Broadcast", "Broadcast（广播）"), r"1"),
    "reduce": OperationTitle(Text("Reduce", "Reduce（归约）"), r"1"),
    "gather": OperationTitle(Text("Gather", "Gather（收集）"), r"(n-1)/n"),
    "scatter": OperationTitle(Text("Scatter", "Scatter（散发）"), r"(n-1)/n"),
    "send_recv": OperationTitle(Text("Send/receive around a ring", "Send/recv（环形收发）"), r"1"),
    "ping_pong": OperationTitle(Text("Ping-pong, one way", "Ping-pong（单程）"), r"1"),
}
DEFAULT_OPERATIONS: tuple[Operation, ...] = ("all_reduce", "all_gather", "reduce_scatter")
"""What training does at every step, and what a run measures unless told otherwise."""

LABELS: Mapping[str, Text] = {
    "all-reduce inside": Text(
        "Gloo runs an all-reduce and keeps a slice: twice the bytes, not comparable with NCCL's reduce-scatter.",
        "Gloo 内部做的是一次 all-reduce 再取一片，通信量翻倍，不能与 NCCL 的 reduce-scatter 比较。",
    ),
}
"""What the label of a row means."""


@dataclass(frozen=True, slots=True)
class Preset:
    """How long to measure. `seconds` is about what two ranks on two cores take, start-up included."""

    title: Text
    note: Text
    seconds: int
    sizes: tuple[int, ...]
    budget_seconds: float
    warm_up_seconds: float
    batches: int
    gemm_seconds: float


def _sizes(factor: int) -> tuple[int, ...]:
    """From 1 KiB to 64 MiB."""
    sizes = [KIB]
    while sizes[-1] < 64 * MIB:
        sizes.append(sizes[-1] * factor)
    return tuple(sizes)


PRESETS: Mapping[str, Preset] = {
    "quick": Preset(
        title=Text("Quick", "快速"),
        note=Text("Nine sizes, short batches: to see that it works.", "九个大小，批次短：用来确认能跑通。"),
        seconds=25,
        sizes=_sizes(4),
        budget_seconds=0.14,
        warm_up_seconds=0.1,
        batches=7,
        gemm_seconds=2.0,
    ),
    "standard": Preset(
        title=Text("Standard", "标准"),
        note=Text("Every power of two: good enough to compute with.", "每个 2 的幂：足以用来计算。"),
        seconds=70,
        sizes=_sizes(2),
        budget_seconds=0.3,
        warm_up_seconds=0.3,
        batches=10,
        gemm_seconds=5.0,
    ),
    "full": Preset(
        title=Text("Full", "完整"),
        note=Text("Long batches and warm-up: the steadiest figures.", "批次与预热都更长：数字最稳。"),
        seconds=200,
        sizes=_sizes(2),
        budget_seconds=1.2,
        warm_up_seconds=1.0,
        batches=16,
        gemm_seconds=12.0,
    ),
}


def preset_spec(
    name: str,
    *,
    ranks: int = DEFAULT_RANKS,
    operations: Sequence[Operation] = DEFAULT_OPERATIONS,
    backend: BackendChoice = "auto",
    dtype: Dtype = "float",
    hide_host: bool = False,
) -> RunSpec:
    """The specification of a preset. Raises KeyError for an unknown preset, BadSpec for a value out of bounds."""
    preset = PRESETS[name]
    return RunSpec(
        operations=tuple(operations),
        sizes=preset.sizes,
        ranks=ranks,
        dtype=dtype,
        preset=name,
        backend=backend,
        budget_seconds=preset.budget_seconds,
        warm_up_seconds=preset.warm_up_seconds,
        batches=preset.batches,
        gemm_seconds=preset.gemm_seconds,
        hide_host=hide_host,
    )
