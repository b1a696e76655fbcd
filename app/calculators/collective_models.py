"""The cost models: for each algorithm how many steps it takes, what its busiest rank sends, and how long that lasts.

Each function writes its own intermediate lines onto the sheet and returns a `Plan`; latency and bandwidths are
the same for all and stand in `collective_time.py`. Sizes are bytes, rates bytes per second, times seconds;
`n` is at least 2 here. A model says in its assumptions what it leaves out.
"""

import math
from collections.abc import Callable, Mapping

from app.calculators import operations
from app.calculators.collective_plan import Plan
from app.calculators.collective_topology import hierarchical, nvls
from app.calculators.operations import Operation
from app.calculators.work import Work
from app.core.i18n import Text

RING_SOURCE = "nccl-tests, doc/PERFORMANCE.md"
TREE_SOURCE = "Thakur, Rabenseifner, Gropp 2005"


def ring(
    _work: Work, *, operation: Operation, ranks: int, size: float, rate: float, per_node: int, inter_rate: float
) -> Plan:
    """Chunks of S/n go around; roots and pairs are pipelined along the same ring."""
    del per_node, inter_rate
    if operation == "send_recv":
        return Plan(
            steps=1, steps_formula="1", sent_bytes=size, sent_formula="<S>",
            transfer_s=size / rate, transfer_formula=r"\frac{<S>}{<B>}", source=RING_SOURCE,
            sent_why=Text("One copy to the neighbour.", "向相邻 rank 发送一份。"),
        )  # fmt: skip
    factor = operations.bus_factor(operation, ranks)
    rounds = 2 if operation == "all_reduce" else 1
    formula = operations.bus_factor_formula(operation)
    sent = "<S>" if operation in operations.ROOTED else f"{formula} * <S>"
    return Plan(
        steps=rounds * (ranks - 1),
        steps_formula="2(<n> - 1)" if rounds == 2 else "<n> - 1",
        sent_bytes=_share(size, operation=operation, ranks=ranks),
        sent_formula=sent,
        transfer_s=factor * size / rate,
        transfer_formula=r"\frac{<V>}{<B>}",
        source=RING_SOURCE,
        steps_why=Text(
            "n − 1 steps to reduce-scatter and n − 1 to all-gather.",
            "reduce-scatter 走 n − 1 步，all-gather 再走 n − 1 步。",
        )
        if rounds == 2
        else Text("Once around, every rank but its own part.", "绕一圈，各 rank 收齐除自己以外的部分。"),
        sent_why=Text(
            "In each step a rank passes on one chunk of S/n; the total stays below 2S for any n.",
            "每步传一个 S/n 的分块；无论 n 多大，总量都小于 2S。",
        )
        if rounds == 2
        else None,
        assumptions=(
            (
                Text(
                    "The message is cut finely enough that it streams along the ring: bytes are paid once, latency n − 1 times.",
                    "消息切得足够细，沿 ring 流水传递：数据量只计一次，延迟计 n − 1 次。",
                ),
            )
            if operation in operations.ROOTED
            else ()
        ),
    )


def tree(
    work: Work, *, operation: Operation, ranks: int, size: float, rate: float, per_node: int, inter_rate: float
) -> Plan:
    """The whole message hops from level to level: nothing is pipelined."""
    del per_node, inter_rate
    depth = _depth(work, ranks)
    rounds = 2 if operation == "all_reduce" else 1
    return Plan(
        steps=rounds * depth,
        steps_formula="2 * <D>" if rounds == 2 else "<D>",
        sent_bytes=depth * size,
        sent_formula="<D> * <S>",
        transfer_s=rounds * depth * size / rate,
        transfer_formula=r"<k> * \frac{<S>}{<B>}",
        source=TREE_SOURCE,
        steps_why=Text("Up to the root, then down again.", "先归约到根，再广播下来。") if rounds == 2 else None,
        sent_why=Text(
            "The root sends (or receives) the whole message once a level.", "根在每一层都要发送（或接收）整条消息。"
        ),
        time_why=Text(
            "Every level waits for the whole message of the level before.", "每一层都要等上一层传完整条消息。"
        ),
    )


def pipelined_tree(
    work: Work, *, operation: Operation, ranks: int, size: float, rate: float, per_node: int, inter_rate: float
) -> Plan:
    """Two complementary trees with half the data each: every rank is an inner node of only one."""
    del per_node, inter_rate
    depth = _depth(work, ranks)
    rounds = 2 if operation == "all_reduce" else 1
    return Plan(
        steps=rounds * depth,
        steps_formula="2 * <D>" if rounds == 2 else "<D>",
        sent_bytes=rounds * size,
        sent_formula="2 * <S>" if rounds == 2 else "<S>",
        transfer_s=rounds * size / rate,
        transfer_formula=r"\frac{<V>}{<B>}",
        source="NCCL, src/graph/tuning.cc",
        sent_why=Text(
            "As an inner node up S/2 and down to two children, as a leaf up S/2: 2S in all.",
            "作为内部节点：向上 S/2、向两个子节点各 S/2；作为叶子：向上 S/2，合计 2S。",
        )
        if rounds == 2
        else None,
        assumptions=(
            Text(
                "Enough pieces are in flight that only the depth's latency, not its bytes, is paid per level.",
                "流水的分片足够多：每层只付延迟，不重复付数据量。",
            ),
            Text("NCCL itself takes 92 % of this rate for trees.", "NCCL 对 tree 的带宽再乘 0.92。"),
        ),
    )


def halving_doubling(
    work: Work, *, operation: Operation, ranks: int, size: float, rate: float, per_node: int, inter_rate: float
) -> Plan:
    """Partners at distance n/2, n/4, … exchange halves, then gather back; n is a power of two."""
    del per_node, inter_rate
    depth = _depth(work, ranks)
    rounds = 2 if operation == "all_reduce" else 1
    sent = _share(size, operation=operation, ranks=ranks)
    return Plan(
        steps=rounds * depth,
        steps_formula="2 * <D>" if rounds == 2 else "<D>",
        sent_bytes=sent,
        sent_formula=f"{operations.bus_factor_formula(operation)} * <S>",
        transfer_s=sent / rate,
        transfer_formula=r"\frac{<V>}{<B>}",
        source=TREE_SOURCE,
        sent_why=Text(
            "S/2 + S/4 + … + S/n each way: a ring's bytes in far fewer steps.",
            "每个方向 S/2 + S/4 + … + S/n：数据量与 ring 相同，步数少得多。",
        ),
        assumptions=(
            Text("Any two ranks talk at full rate, at any distance.", "任意两个 rank 之间都能跑满带宽，与距离无关。"),
        ),
    )


def _share(size: float, *, operation: Operation, ranks: int) -> float:
    """Bytes the busiest rank sends in a ring; whole numbers stay exact."""
    if operation in operations.ROOTED:
        return size
    return (2 if operation == "all_reduce" else 1) * (ranks - 1) * size / ranks


def _depth(work: Work, ranks: int) -> int:
    depth = math.ceil(math.log2(ranks))
    work.step(
        "D",
        Text("Depth", "深度"),
        depth,
        "",
        formula=r"\lceil \log_2 <n> \rceil",
    )
    return depth


PLANS: Mapping[str, Callable[..., Plan]] = {
    "ring": ring,
    "tree": tree,
    "pipelined_tree": pipelined_tree,
    "halving_doubling": halving_doubling,
    "nvls": nvls,
    "hierarchical": hierarchical,
}

OFFERED: Mapping[str, tuple[Operation, ...]] = {
    "ring": operations.OPERATIONS,
    "tree": ("all_reduce", "broadcast", "reduce"),
    "pipelined_tree": ("all_reduce", "broadcast", "reduce"),
    "halving_doubling": ("all_reduce", "all_gather", "reduce_scatter"),
    "nvls": ("all_reduce",),
    "hierarchical": ("all_reduce",),
}
