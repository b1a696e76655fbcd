"""Under which conditions figures were measured: what a profile names, and what a comparison warns of.

Each condition has a sentence on what it changes, because two runs that differ in it are not the same experiment.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from app.bench.events import Environment, Report, Row
from app.bench.result import RunResult
from app.core.i18n import Text, same

TIMING: Mapping[str, Text] = {
    "blocking": Text("each call waited for (CPU clock)", "逐次等待完成（CPU 时钟）"),
    "events": Text("calls queued (GPU events)", "调用排队（GPU 事件）"),
}
_ONE_SET_OF_HARDWARE = Text("Another machine, another rate.", "机器不同，速率自然不同。")
_VERSIONS = Text(
    "Algorithms and protocols change between versions, mostly below a few MiB.",
    "不同版本的算法和协议会变，几 MiB 以下影响最大。",
)


@dataclass(frozen=True, slots=True)
class Condition:
    """What can differ between two measurements, and what that does to the figures."""

    title: Text
    effect: Text
    absence_counts: bool = False
    """Whether not to have it is a difference; otherwise it only means that nobody told."""


CONDITIONS: Mapping[str, Condition] = {
    "ranks": Condition(
        Text("Ranks", "rank 数"),
        Text(
            "Times do not compare: more ranks take more steps. Bus bandwidth does once it has levelled off.",
            "耗时不可直接比：rank 越多步数越多。总线带宽在走平之后可以比。",
        ),
    ),
    "hosts": Condition(
        Text("Machines", "机器数"),
        Text("The bytes cross other links: inside one machine or over a network.", "数据走的链路不同：机内或跨网络。"),
    ),
    "backend": Condition(
        Text("Backend", "后端"),
        Text(
            "Gloo on CPUs and NCCL on GPUs are not the same experiment.",
            "CPU 上的 Gloo 与 GPU 上的 NCCL 不是同一个实验。",
        ),
    ),
    "device": Condition(Text("Device", "设备"), _ONE_SET_OF_HARDWARE),
    "cpu": Condition(Text("CPU", "CPU"), _ONE_SET_OF_HARDWARE),
    "dtype": Condition(
        Text("Type", "数据类型"),
        Text("Reductions of smaller types add more elements per byte.", "类型越小，同样字节数要归约的元素越多。"),
    ),
    "redop": Condition(
        Text("Reduction", "归约运算"),
        Text(
            "An average divides as well; NCCL may choose other kernels.", "求平均还要除一次；NCCL 可能选用别的 kernel。"
        ),
    ),
    "root": Condition(
        Text("Root", "root"),
        Text("Another root sits elsewhere in the machine.", "root 不同，它在机器里的位置也不同。"),
    ),
    "label": Condition(
        Text("Label", "标注"),
        Text("A label says what the number is not; see the run.", "标注说明这个数字不代表什么，详见该次运行。"),
        absence_counts=True,
    ),
    "timing": Condition(
        Text("Timing", "计时方式"),
        Text(
            "A call that is waited for includes its launch and return, so small messages look slower.",
            "逐次等待的计时包含发起和返回，小消息看起来更慢。",
        ),
    ),
    "emulated": Condition(
        Text("Emulated", "模拟运行"),
        Text(
            "Ranks that share a GPU show that a program works, not how fast it is.",
            "多个 rank 共用一张 GPU 只能说明程序能跑，不能说明快慢。",
        ),
        absence_counts=True,
    ),
    "transport": Condition(
        Text("Transport", "传输方式"),
        Text(
            "Peer access, shared memory and sockets differ by an order of magnitude.",
            "P2P、共享内存与 socket 的速率可差一个数量级。",
        ),
    ),
    "variables": Condition(
        Text("Variables", "环境变量"),
        Text("They choose algorithms, channels and interfaces.", "它们决定算法、通道数和网络接口。"),
        absence_counts=True,
    ),
    "nccl": Condition(same("NCCL"), _VERSIONS),
    "torch": Condition(same("PyTorch"), _VERSIONS),
    "cuda": Condition(same("CUDA"), _VERSIONS),
    "driver": Condition(Text("Driver", "驱动"), _VERSIONS),
    "threads": Condition(
        Text("Threads per rank", "每个 rank 的线程"),
        Text(
            "More threads leave fewer cores to Gloo and change the GEMM rate.",
            "线程越多，留给 Gloo 的核越少，GEMM 速率也会变。",
        ),
    ),
}
"""Every condition, the weightiest first."""

OF_ROWS = frozenset({"dtype", "redop", "root", "label"})
"""Conditions that may be other ones for another operation of the same run."""
_PATH = re.compile(r"\bvia ((?:P2P|SHM|NET|COLLNET|NVLS)(?:/[\w-]+)*)", re.IGNORECASE)
_NETWORK = re.compile(r"\bUsing network ([\w-]+)")


def conditions(result: RunResult, *, operation: str | None = None) -> dict[str, Text]:
    """What is known of the conditions of a run, by key of `CONDITIONS`; of its rows, those of `operation` count, or all."""
    rows = [row for row in result.rows if operation in (None, row.operation)]
    found = {"ranks": same(str(result.spec.ranks)), "hosts": same(str(result.spec.hosts)), **_of_rows(rows)}
    if result.environment is not None:
        found |= _of_environment(result.environment)
    ways = transport(result.reports)
    return {**found, "transport": same(", ".join(ways))} if ways else found


def transport(reports: Iterable[Report]) -> tuple[str, ...]:
    """How ranks reach each other, in the words of NCCL's log: `P2P/CUMEM`, `SHM/direct`, `network IB`; empty without a log."""
    lines = [line for report in reports for line in report.lines]
    ways = [match[1] for line in lines for match in [_PATH.search(line)] if match]
    networks = [f"network {match[1]}" for line in lines for match in [_NETWORK.search(line)] if match]
    return tuple(dict.fromkeys([*ways, *networks]))


def _of_rows(rows: Iterable[Row]) -> dict[str, Text]:
    known = tuple(rows)
    values: dict[str, Iterator[str]] = {
        "dtype": (row.dtype for row in known),
        "redop": (row.redop for row in known if row.redop != "none"),
        "root": (str(row.root) for row in known if row.root >= 0),
        "label": (row.label for row in known if row.label),
    }
    texts = {name: ", ".join(dict.fromkeys(each)) for name, each in values.items()}
    return {name: same(text) for name, text in texts.items() if text}


def _of_environment(environment: Environment) -> dict[str, Text]:
    on_gpu = environment.backend == "nccl"
    plain = {
        "backend": environment.backend,
        "device": ", ".join(dict.fromkeys(environment.devices)) if on_gpu else "",
        "cpu": environment.cpu,
        "variables": ", ".join(f"{name}={value}" for name, value in sorted(environment.variables.items())),
        "nccl": environment.nccl or "",
        "torch": environment.torch,
        "cuda": environment.cuda or "",
        "driver": environment.driver or "",
        "threads": str(environment.threads_per_rank),
    }
    found = {name: same(text) for name, text in plain.items() if text}
    found["timing"] = TIMING.get(environment.timing, same(environment.timing))
    if environment.emulated:
        found["emulated"] = Text("yes", "是")
    return found
