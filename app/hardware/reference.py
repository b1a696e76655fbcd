"""What others measured and posted, to hold a run against: ranges with their sources, never a limit to pass.

The figures stand in `reference.yaml` (see `app/hardware/reference_file.py`). A question names the operation and the ranks of a run; every
figure comes back with a verdict of `app/hardware/comparability.py` whether it can be compared and, if not, why.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from app.core.i18n import Text, same
from app.core.units import number
from app.hardware.comparability import EMULATED, Question, times_apart, why_not
from app.hardware.reference_file import (
    Algorithm,
    Collective,
    Copy,
    Direction,
    Gemm,
    Link,
    Reference,
    Source,
    System,
    reference,
)

_ALGORITHMS: Mapping[Algorithm, Text] = {
    "ring": Text(
        "Ring: every byte crosses the links, so bus bandwidth stays below their rate.",
        "Ring：每个字节都要经过链路，所以 busbw 不会超过链路速率。",
    ),
    "tree": Text("Tree.", "Tree 算法。"),
    "nvls": Text(
        "NVLS: the switch does the adding (NVLink SHARP), so bus bandwidth may exceed the rate of a link.",
        "NVLS：加法在交换机里完成（NVLink SHARP），所以 busbw 可以超过链路速率。",
    ),
    "nvls_tree": Text(
        "NVLSTree: adds in the switch of each machine and runs a tree between machines; over two machines bus bandwidth may"
        " exceed what the network carries.",
        "NVLSTree：机内加法在交换机里完成，机间走 tree；只有两台机器时 busbw 可以超过网络速率。",
    ),
    "collnet": Text(
        "CollNet: the switches of the network do the adding (SHARP), so bus bandwidth may exceed the rate of the network.",
        "CollNet：加法在网络交换机里完成（SHARP），所以 busbw 可以超过网络速率。",
    ),
}
LINKS: Mapping[Link, Text] = {
    "nvlink": same("NVLink"),
    "nvlink-bridge": Text("NVLink bridge", "NVLink 桥接"),
    "nvlink-c2c": same("NVLink-C2C"),
    "infinity-fabric": same("Infinity Fabric"),
    "pcie": same("PCIe"),
    "infiniband": same("InfiniBand"),
    "roce": same("RoCE"),
    "efa": same("AWS EFA"),
    "slingshot": same("Slingshot"),
    "tcpx": Text("GPUDirect-TCPX on Google A3", "Google A3 的 GPUDirect-TCPX"),
    "tcpxo": Text("GPUDirect-TCPXO on Google A3 Mega", "Google A3 Mega 的 GPUDirect-TCPXO"),
    "network": Text("a network of unknown kind", "类型不明的网络"),
    "loopback": Text("TCP over loopback", "走 loopback 的 TCP"),
}
SECOND_HAND = Text("Taken from notes; the post itself was not opened.", "转引自笔记，未打开原帖核对。")
POSTED = Text("Posted by others: an example, not a limit.", "他人公布的数值：只是例子，不是门槛。")


class Valued(Protocol):
    """Anything posted that has one value."""

    @property
    def value(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Figure:
    """One posted figure beside a question. `why_not` says what keeps it from being compared; None when it can be."""

    posted: Collective
    system: System
    source: Source
    why_not: Text | None

    @property
    def comparable(self) -> bool:
        return self.why_not is None

    @property
    def value(self) -> float:
        """GB/s of bus bandwidth, or microseconds for a latency."""
        return self.posted.value

    @property
    def title(self) -> Text:
        """The machine: `2 × 8 H100 SXM, InfiniBand`."""
        nodes, ranks = self.posted.nodes, self.posted.ranks
        count = f"{ranks}" if nodes == 1 else f"{nodes} × {ranks // nodes}"
        link = LINKS[self.posted.link]
        return Text(f"{count} {self.system.name}, {link.en}", f"{count} {self.system.name}，{link.zh}")

    @property
    def notes(self) -> tuple[Text, ...]:
        """What a reader must know before reading anything into the figure."""
        found = [] if self.posted.algorithm is None else [_ALGORITHMS[self.posted.algorithm]]
        found += [EMULATED] if self.posted.emulated else []
        found += [self.posted.note.text] if self.posted.note else []
        found += [SECOND_HAND] if self.source.second_hand else []
        return tuple(found)


def system_of(device: str, *, known: Reference | None = None) -> str | None:
    """The key of the system whose GPUs call themselves `device`, e.g. `NVIDIA H100 80GB HBM3`; None for any other."""
    wanted = _name(device)
    systems = (known or reference()).systems
    return next((key for key, system in systems.items() if wanted in map(_name, system.devices)), None)


def figures(
    operation: str,
    ranks: int,
    *,
    device: str | None = None,
    size_bytes: int | None = None,
    hosts: int | None = None,
    dtype: str = "float",
    known: Reference | None = None,
) -> tuple[Figure, ...]:
    """Bus bandwidths posted for `operation`, comparable ones first, then those of about the same number of ranks.

    `device` is what a run reports for its GPU; nothing is returned for a device nobody posted about, and None asks for every
    device. `size_bytes` is the size that the run's figure belongs to; leave it out when no size is meant. With `hosts`, figures over another
    number of machines cannot be compared.
    """
    question = Question(operation, ranks, size_bytes=size_bytes, hosts=hosts, dtype=dtype)
    posted = [entry for entry in (known or reference()).collectives if entry.busbw_gb_per_s is not None]
    return _answer(question, posted, device=device, known=known or reference())


def latencies(
    operation: str,
    ranks: int,
    *,
    device: str | None = None,
    size_bytes: int | None = None,
    hosts: int | None = None,
    known: Reference | None = None,
) -> tuple[Figure, ...]:
    """Times in microseconds posted for small sizes of `operation`; the rest as in `figures`."""
    question = Question(operation, ranks, size_bytes=size_bytes, hosts=hosts)
    posted = [entry for entry in (known or reference()).collectives if entry.latency_us is not None]
    return _answer(question, posted, device=device, known=known or reference())


def gemm(device: str, *, dtype: str | None = None, known: Reference | None = None) -> tuple[Gemm, ...]:
    """Matrix multiplications posted for `device`, TFLOP/s; of one element type or of all."""
    found, key = known or reference(), system_of(device, known=known)
    return tuple(entry for entry in found.gemm if entry.system == key and dtype in (None, entry.dtype))


def copies(device: str, *, path: Direction | None = None, known: Reference | None = None) -> tuple[Copy, ...]:
    """Copies posted for `device`, GB/s one way; of one direction or of all."""
    found, key = known or reference(), system_of(device, known=known)
    return tuple(entry for entry in found.copies if entry.system == key and path in (None, entry.path))


def comparable(found: Iterable[Figure]) -> tuple[Figure, ...]:
    """Those of `found` that a run may be held against."""
    return tuple(figure for figure in found if figure.comparable)


def range_of(found: Iterable[Valued]) -> tuple[float, float] | None:
    """The lowest and the highest value; None when nobody posted any."""
    values = [entry.value for entry in found]
    return (min(values), max(values)) if values else None


def range_text(found: Iterable[Valued], *, unit: str) -> Text | None:
    """The range in words, `232 to 235 GB/s in 3 posts`; None when nobody posted any."""
    entries = tuple(found)
    ends = range_of(entries)
    if ends is None:
        return None
    low, high = (number(end, 3) for end in ends)
    count = len(entries)
    posts = "1 post" if count == 1 else f"{count} posts"
    if low == high:
        return Text(f"{low} {unit} in {posts}", f"{low} {unit}（{count} 处公布）")
    return Text(f"{low} to {high} {unit} in {posts}", f"{low} 到 {high} {unit}（{count} 处公布）")


def _answer(
    question: Question, posted: Iterable[Collective], *, device: str | None, known: Reference
) -> tuple[Figure, ...]:
    key = None if device is None else system_of(device, known=known)
    found = [
        Figure(entry, known.systems[entry.system], known.sources[entry.source], why_not(entry, question))
        for entry in posted
        if entry.operation == question.operation and (device is None or entry.system == key)
    ]
    return tuple(
        sorted(found, key=lambda entry: (not entry.comparable, times_apart(entry.posted.ranks, question.ranks)))
    )


def _name(device: str) -> str:
    return " ".join(device.split()).casefold()
