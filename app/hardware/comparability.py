"""Whether a posted figure may be held against a run, and in words why not.

Bus bandwidth compares at large sizes, latency at small ones, both between groups of about the same number of ranks that are
spread over as many machines. The thresholds are ours; decision 0046 gives the reasons.
"""

from dataclasses import dataclass

from app.core.i18n import Text
from app.core.units import KIB, MIB, binary_bytes
from app.hardware.reference_file import Collective

LARGE_BYTES = 256 * MIB
"""From here on bus bandwidth has mostly levelled off; below, start-up time decides."""
SMALL_BYTES = KIB
"""Up to here the time of a collective is its latency."""
SIMILAR_RANKS = 1.25
"""Two groups are of about the same size when one is at most this many times the other."""
SIMILAR_SIZE = 2.0
"""Below `LARGE_BYTES` two sizes compare when one is at most this many times the other."""

EMULATED = Text(
    "Two ranks shared one GPU and talked over loopback: it shows that the program works, not how fast the GPU is.",
    "两个 rank 共用一张 GPU，经 loopback 通信：只能说明程序能跑，不能说明 GPU 有多快。",
)
_REDUCTIONS = frozenset({"all_reduce", "reduce_scatter", "reduce"})
_ONE_BYTE = frozenset({"int8", "uint8", "f8e4m3", "f8e5m2"})


@dataclass(frozen=True, slots=True)
class Question:
    """What a run measured. A `size_bytes` or `hosts` of None is not held against a figure."""

    operation: str
    ranks: int
    size_bytes: int | None = None
    hosts: int | None = None
    dtype: str = "float"


def why_not(posted: Collective, question: Question) -> Text | None:
    """The first thing that keeps `posted` from being compared, None when nothing does. The operation is the asker's matter."""
    if posted.emulated:
        return EMULATED
    if times_apart(posted.ranks, question.ranks) > SIMILAR_RANKS:
        return Text(
            f"Measured with {posted.ranks} ranks, yours with {question.ranks}: the number of ranks decides which links are used.",
            f"公布的是 {posted.ranks} 个 rank，你的是 {question.ranks} 个：rank 数决定走哪些链路。",
        )
    if question.hosts is not None and question.hosts != posted.nodes:
        theirs, yours = _machines(posted.nodes), _machines(question.hosts)
        return Text(
            f"Measured on {theirs}, yours on {yours}: the bytes do not cross the same network.",
            f"公布的用了 {posted.nodes} 台机器，你的用了 {question.hosts} 台：数据走的不是同一种网络。",
        )
    if posted.operation in _REDUCTIONS and (posted.dtype in _ONE_BYTE) != (question.dtype in _ONE_BYTE):
        return Text(
            f"Measured with {posted.dtype}, yours with {question.dtype}: reductions of one-byte types run at another rate.",
            f"公布的数据类型是 {posted.dtype}，你的是 {question.dtype}：单字节类型的归约速率不同。",
        )
    if question.size_bytes is None:
        return None
    return (
        _latency_size(posted, question.size_bytes)
        if posted.latency_us
        else _bandwidth_size(posted, question.size_bytes)
    )


def times_apart(first: float, second: float) -> float:
    """How many times the larger is the smaller; infinite beside nothing."""
    low, high = sorted((first, second))
    return high / low if low > 0 else float("inf")


def _latency_size(posted: Collective, size_bytes: int) -> Text | None:
    if size_bytes <= SMALL_BYTES:
        return None
    theirs, yours, edge = _size(posted), binary_bytes(size_bytes), binary_bytes(SMALL_BYTES)
    return Text(
        f"Measured at {theirs.en}, yours at {yours}: latency shows up to {edge}, above it bandwidth decides.",
        f"公布的是{theirs.zh}，你的是 {yours}：延迟只在 {edge} 以内看得出，再大就由带宽决定。",
    )


def _bandwidth_size(posted: Collective, size_bytes: int) -> Text | None:
    known = posted.size_bytes
    # A post that tells no size gives the best of a sweep, which lies at the large end.
    if size_bytes >= LARGE_BYTES and (known is None or known >= LARGE_BYTES):
        return None
    if known is not None and times_apart(known, size_bytes) <= SIMILAR_SIZE:
        return None
    theirs, yours, edge = _size(posted), binary_bytes(size_bytes), binary_bytes(LARGE_BYTES)
    return Text(
        f"Measured at {theirs.en}, yours at {yours}: below {edge} start-up time decides, so rates at different sizes do not compare.",
        f"公布的是{theirs.zh}，你的是 {yours}：小于 {edge} 时由启动时间决定，不同大小的速率不可比。",
    )


def _size(posted: Collective) -> Text:
    if posted.size_bytes is None:
        return Text("a size the post does not tell", "原帖未说明的大小")
    size = binary_bytes(posted.size_bytes)
    return Text(size, f" {size}")


def _machines(count: int) -> str:
    return "one machine" if count == 1 else f"{count} machines"
