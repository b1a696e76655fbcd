"""Presets, operations, types and extras a run can ask for, with their names for people.

A preset trades time for steadiness: more sizes, longer batches, longer warm-up. `preset_spec` is the one way from a choice on the
page or the command line to a `RunSpec`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.bench.spec import (
    MAXIMUM_SIZE,
    MINIMUM_SIZE,
    BackendChoice,
    BadSpec,
    Dtype,
    Extra,
    Operation,
    Redop,
    RunSpec,
)
from app.core.i18n import Text, same
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


DTYPE_TITLES: Mapping[Dtype, Text] = {
    "float": Text("float (32 bits)", "float（32 位）"),
    "bfloat16": Text("bfloat16 (16 bits)", "bfloat16（16 位）"),
    "half": Text("half (16 bits)", "half（16 位）"),
    "double": Text("double (64 bits)", "double（64 位）"),
    "int8": same("int8"),
    "uint8": same("uint8"),
    "int32": same("int32"),
    "int64": same("int64"),
    "f8e4m3": Text("FP8 E4M3 (8 bits)", "FP8 E4M3（8 位）"),
    "f8e5m2": Text("FP8 E5M2 (8 bits)", "FP8 E5M2（8 位）"),
}
REDOP_TITLES: Mapping[Redop, Text] = {
    "sum": Text("sum", "求和"),
    "prod": Text("product", "求积"),
    "min": Text("minimum", "最小值"),
    "max": Text("maximum", "最大值"),
    "avg": Text("average", "平均值"),
}
EXTRA_TITLES: Mapping[Extra, tuple[Text, Text]] = {
    "latency": (
        Text("Latency of single calls", "单次调用延迟"),
        Text(
            "Small messages, one call after each barrier: median, 99th percentile, spread.",
            "小消息，每次调用前先同步：中位数、第 99 百分位与离散程度。",
        ),
    ),
    "overlap": (
        Text("Compute beside communication", "计算与通信重叠"),
        Text(
            "A collective and a matrix product alone and both at once: how much of the shorter one hides.",
            "集合通信与矩阵乘法先各自单独运行，再同时运行：较短的一方能被掩盖多少。",
        ),
    ),
    "copies": (
        Text("Memory copies", "内存拷贝"),
        Text(
            "Host memory, and between host and GPU with pinned and pageable memory, on all ranks at once.",
            "主机内存之间，以及主机与 GPU 之间（锁页与可换页内存），所有 rank 同时进行。",
        ),
    ),
    "links": (
        Text("Every pair of ranks", "每一对 rank"),
        Text(
            "Bandwidth one way and both ways, and latency, of each pair while the others rest.",
            "每一对 rank 的单向带宽、双向带宽和延迟，测量时其他 rank 空闲。",
        ),
    ),
    "topology": (
        Text("Wiring of the machine", "机器的连接方式"),
        Text(
            "Sockets, caches, network speeds; on GPUs the links, clocks and limits, and what NCCL chose.",
            "CPU 插槽、缓存、网卡速率；有 GPU 时还有互连、时钟与限额，以及 NCCL 的选择。",
        ),
    ),
}
"""The name of an extra and what it brings."""

OVERLAP_LABELS: Mapping[str, Text] = {
    "shares the CPU cores": Text(
        "The collective and the product ran on the same CPU cores: without a spare core for Gloo little can hide.",
        "集合通信与矩阵乘法共用 CPU 核：没有空闲的核给 Gloo，就几乎无法掩盖。",
    ),
}
"""What the label of an overlap means."""

REPORT_TITLES: Mapping[str, Text] = {
    "cpu": Text("Processors, caches, NUMA nodes", "处理器、缓存与 NUMA 节点"),
    "network": Text("Network interfaces", "网络接口"),
    "nvidia-smi topo -m": Text("How GPUs and network cards are connected", "GPU 与网卡的连接方式"),
    "nvidia-smi topo -p2p r": Text("Which GPUs read each other's memory", "哪些 GPU 能互读显存"),
    "nvml": Text("What the driver says of the GPUs", "驱动报告的 GPU 信息"),
    "nccl": Text("What NCCL chose", "NCCL 的选择"),
}
"""What a report of a machine is about."""


@dataclass(frozen=True, slots=True)
class Preset:
    """How long to measure. `seconds` is about what two ranks on two cores take, start-up included.

    Sizes go from `minimum_size` to `maximum_size` bytes in steps of `factor`.
    """

    title: Text
    note: Text
    seconds: int
    factor: int
    budget_seconds: float
    warm_up_seconds: float
    batches: int
    gemm_seconds: float
    extras: tuple[Extra, ...] = ()
    extra_seconds: float = 2.0
    minimum_size: int = KIB
    maximum_size: int = 64 * MIB

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the preset in bytes."""
        return sizes(self.minimum_size, self.maximum_size, factor=self.factor)


def sizes(minimum: int, maximum: int, *, factor: int) -> tuple[int, ...]:
    """Bytes from `minimum` in steps of `factor`; the last is `maximum`, whatever the step. Raises BadSpec.

    >>> sizes(8, 1000, factor=4)
    (8, 32, 128, 512, 1000)
    """
    for name, size in (("minimum_size", minimum), ("maximum_size", maximum)):
        if not MINIMUM_SIZE <= size <= MAXIMUM_SIZE:
            raise BadSpec(name, f"must be between {MINIMUM_SIZE} bytes and {MAXIMUM_SIZE} bytes")
    if minimum > maximum:
        raise BadSpec("minimum_size", "must not be above the largest size")
    ladder = [minimum]
    while ladder[-1] < maximum:
        ladder.append(min(ladder[-1] * factor, maximum))
    return tuple(ladder)


PRESETS: Mapping[str, Preset] = {
    "quick": Preset(
        title=Text("Quick", "快速"),
        note=Text("Nine sizes, short batches: to see that it works.", "九个大小，批次短：用来确认能跑通。"),
        seconds=20,
        factor=4,
        budget_seconds=0.1,
        warm_up_seconds=0.06,
        batches=7,
        gemm_seconds=1.5,
        extra_seconds=1.0,
    ),
    "standard": Preset(
        title=Text("Standard", "标准"),
        note=Text(
            "Every power of two, overlap and memory copies: good enough to compute with.",
            "每个 2 的幂，另测重叠与内存拷贝：足以用来计算。",
        ),
        seconds=75,
        factor=2,
        budget_seconds=0.3,
        warm_up_seconds=0.3,
        batches=10,
        gemm_seconds=5.0,
        extras=("latency", "overlap", "copies"),
        extra_seconds=4.0,
    ),
    "full": Preset(
        title=Text("Full", "完整"),
        note=Text(
            "Long batches and warm-up, every pair of ranks and the wiring: the steadiest figures.",
            "批次与预热都更长，另测每一对 rank 并报告连接方式：数字最稳。",
        ),
        seconds=190,
        factor=2,
        budget_seconds=1.2,
        warm_up_seconds=1.0,
        batches=16,
        gemm_seconds=12.0,
        extras=("latency", "overlap", "copies", "links", "topology"),
        extra_seconds=8.0,
    ),
}


def preset_spec(
    name: str,
    *,
    ranks: int = DEFAULT_RANKS,
    hosts: int = 1,
    operations: Sequence[Operation] = DEFAULT_OPERATIONS,
    backend: BackendChoice = "auto",
    dtype: Dtype = "float",
    redop: Redop = "sum",
    root: int = 0,
    minimum_size: int | None = None,
    maximum_size: int | None = None,
    extras: Sequence[Extra] | None = None,
    variables: Mapping[str, str] | None = None,
    emulated: bool = False,
    memory_bytes: int = 0,
    hide_host: bool = False,
) -> RunSpec:
    """The specification of a preset, with what is given in place of its own. None means: as the preset has it.

    Raises KeyError for an unknown preset, BadSpec for a value out of bounds; of sizes it names `minimum_size` or
    `maximum_size`, otherwise a field of `RunSpec`.
    """
    preset = PRESETS[name]
    # A bound of the preset gives way to one that was asked for.
    low = min(preset.minimum_size, maximum_size or preset.minimum_size) if minimum_size is None else minimum_size
    high = max(preset.maximum_size, low) if maximum_size is None else maximum_size
    return RunSpec(
        operations=tuple(operations),
        sizes=sizes(low, high, factor=preset.factor),
        ranks=ranks,
        hosts=hosts,
        dtype=dtype,
        redop=redop,
        root=root,
        preset=name,
        backend=backend,
        budget_seconds=preset.budget_seconds,
        warm_up_seconds=preset.warm_up_seconds,
        batches=preset.batches,
        gemm_seconds=preset.gemm_seconds,
        extras=preset.extras if extras is None else tuple(extras),
        extra_seconds=preset.extra_seconds,
        memory_bytes=memory_bytes,
        variables=variables or {},
        emulated=emulated,
        hide_host=hide_host,
    )
