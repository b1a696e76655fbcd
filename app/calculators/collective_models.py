"""The cost models: for each algorithm how many steps it takes, what its busiest rank sends, and how long that lasts.

Each function writes its own intermediate lines onto the sheet and returns a `Plan`; latency and bandwidths are
the same for all and stand in `collective_time.py`. Sizes are bytes, rates bytes per second, times seconds;
`n` is at least 2 here. A model says in its assumptions what it leaves out.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from app.calculators import operations
from app.calculators.operations import Operation
from app.calculators.work import Work
from app.core.i18n import Text

RING_SOURCE = "nccl-tests, doc/PERFORMANCE.md"
TREE_SOURCE = "Thakur, Rabenseifner, Gropp 2005"
NVLS_SOURCE = "nccl-tests discussion of NVLS: algorithm bandwidth B·n/(n+1)"
HIERARCHICAL_SOURCE = "stas00/ml-engineering, network chapter"


@dataclass(frozen=True, slots=True)
class Plan:
    """What an algorithm does, without latency: the formulas are templates over the symbols on the sheet."""

    steps: int
    steps_formula: str
    sent_bytes: float
    sent_formula: str
    transfer_s: float
    transfer_formula: str
    source: str
    steps_why: Text | None = None
    sent_why: Text | None = None
    time_why: Text | None = None
    assumptions: tuple[Text, ...] = ()
    warnings: tuple[Text, ...] = ()


def nothing() -> Plan:
    """What a group of one does."""
    return Plan(
        steps=0, steps_formula="0", sent_bytes=0.0, sent_formula="0",
        transfer_s=0.0, transfer_formula="0", source="Definition",
    )  # fmt: skip


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
            "reduce-scatter 走 n − 1 步,all-gather 再走 n − 1 步。",
        )
        if rounds == 2
        else Text("Once around, every rank but its own part.", "绕一圈,各 rank 收齐除自己以外的部分。"),
        sent_why=Text(
            "In each step a rank passes on one chunk of S/n; the total stays below 2S for any n.",
            "每步传一个 S/n 的分块;无论 n 多大,总量都小于 2S。",
        )
        if rounds == 2
        else None,
        assumptions=(
            (
                Text(
                    "The message is cut finely enough that it streams along the ring: bytes are paid once, latency n − 1 times.",
                    "消息切得足够细,沿 ring 流水传递:数据量只计一次,延迟计 n − 1 次。",
                ),
            )
            if operation in operations.ROOTED
            else ()
        ),
    )


def _share(size: float, *, operation: Operation, ranks: int) -> float:
    """Bytes the busiest rank sends in a ring; whole numbers stay exact."""
    if operation in operations.ROOTED:
        return size
    return (2 if operation == "all_reduce" else 1) * (ranks - 1) * size / ranks


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
        steps_why=Text("Up to the root, then down again.", "先归约到根,再广播下来。") if rounds == 2 else None,
        sent_why=Text(
            "The root sends (or receives) the whole message once a level.", "根在每一层都要发送(或接收)整条消息。"
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
            "作为内部节点:向上 S/2、向两个子节点各 S/2;作为叶子:向上 S/2,合计 2S。",
        )
        if rounds == 2
        else None,
        assumptions=(
            Text(
                "Enough pieces are in flight that only the depth's latency, not its bytes, is paid per level.",
                "流水的分片足够多:每层只付延迟,不重复付数据量。",
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
            "每个方向 S/2 + S/4 + … + S/n:数据量与 ring 相同,步数少得多。",
        ),
        assumptions=(
            Text("Any two ranks talk at full rate, at any distance.", "任意两个 rank 之间都能跑满带宽,与距离无关。"),
        ),
    )


def nvls(
    work: Work, *, operation: Operation, ranks: int, size: float, rate: float, per_node: int, inter_rate: float
) -> Plan:
    """The switch adds up and multicasts: each rank sends its data once, and once its reduced share."""
    del operation, per_node, inter_rate
    work.result(
        "time_ideal_s",
        Text("Bytes alone, if each rank sent S once", "只算每个 rank 发送一次 S 的时间"),
        size / rate,
        "s",
        key="Tideal",
        symbol=r"T_{\text{ideal}}",
        formula=r"\frac{<S>}{<B>}",
        source="jax-ml/scaling-book, GPUs chapter",
        why=Text("The simpler of the two formulas in use, without latency.", "两种常用公式中较简单的一种,不含延迟。"),
    )
    sent = (ranks + 1) * size / ranks
    return Plan(
        steps=2,
        steps_formula="2",
        sent_bytes=sent,
        sent_formula=r"\frac{<n> + 1}{<n>} * <S>",
        transfer_s=sent / rate,
        transfer_formula=r"\frac{<V>}{<B>}",
        source=NVLS_SOURCE,
        steps_why=Text("Up to the switch and down again, whatever n is.", "上到交换机、再下来,与 n 无关。"),
        sent_why=Text(
            "The switch pulls all of S from each rank, and each rank multicasts its reduced share of S/n.",
            "交换机从每个 rank 取走整份 S,每个 rank 再把归约好的 S/n 组播出去。",
        ),
        time_why=Text(
            "The stricter of the two formulas; the ideal one stands above.", "取两种公式中较保守的一种,理想值见上面。"
        ),
        assumptions=(
            Text(
                "Both formulas are bounds: on 8 H100 about 275 GB/s of algorithm bandwidth (480 bus) is measured, 30 % above a ring.",
                "两个公式都是上界:8 张 H100 实测 algorithm bandwidth 约 275 GB/s(bus 480),比 ring 高约 30 %。",
            ),
        ),
        warnings=(
            Text(
                "With up to 4 GPUs, NVLS measures no faster than a ring.", "不超过 4 张卡时,实测 NVLS 并不比 ring 快。"
            ),
        )
        if ranks <= 4
        else (),
    )


def hierarchical(
    work: Work, *, operation: Operation, ranks: int, size: float, rate: float, per_node: int, inter_rate: float
) -> Plan:
    """Reduce-scatter in the node, all-reduce each shard across nodes, all-gather in the node."""
    del operation
    g, nodes = per_node, ranks // per_node
    work.given("g", g)
    work.given("B2", inter_rate / 1e9, "GB/s", symbol="B_2")
    work.step(
        "m",
        Text("Nodes", "机器数"),
        nodes,
        "",
        formula=r"\frac{<n>}{<g>}",
    )
    inside = work.result(
        "reduce_scatter_bytes",
        Text("Reduce-scatter in the node", "机内 reduce-scatter"),
        (g - 1) * size / g,
        "bytes",
        key="V1",
        symbol="V_1",
        formula=r"\frac{<g> - 1}{<g>} * <S>",
        source=HIERARCHICAL_SOURCE,
        why=Text("Per GPU. Each then holds S/g, summed over its node.", "每卡的量;之后每卡持有 S/g,已在机内求和。"),
    )
    across = work.result(
        "inter_node_bytes",
        Text("All-reduce between nodes", "机间 all-reduce"),
        2 * (nodes - 1) * size / (nodes * g),
        "bytes",
        key="V2",
        symbol="V_2",
        formula=r"\frac{2(<m> - 1)}{<m>} * \frac{<S>}{<g>}",
        source=HIERARCHICAL_SOURCE,
        why=Text(
            "Only the shard crosses the network, over the GPU's own card.", "过网络的只有 S/g 的分片,走本卡自己的网卡。"
        ),
    )
    work.result(
        "all_gather_bytes",
        Text("All-gather in the node", "机内 all-gather"),
        inside,
        "bytes",
        key="V3",
        symbol="V_3",
        formula=r"\frac{<g> - 1}{<g>} * <S>",
        source=HIERARCHICAL_SOURCE,
    )
    work.result(
        "time_pipelined_s",
        Text("Bytes alone, if the three phases overlap fully", "三个阶段完全流水时的时间(只算数据量)"),
        max(2 * inside / rate, across / inter_rate),
        "s",
        key="Tpipe",
        symbol=r"T_{\text{pipelined}}",
        formula=r"\max\left(\frac{<V1> + <V3>}{<B>},\ \frac{<V2>}{<B2>}\right)",
        source=HIERARCHICAL_SOURCE,
        why=Text(
            "A lower bound: both phases in the node share its links, the network works beside them.",
            "下界:机内两个阶段共用机内链路,网络与它们并行。",
        ),
    )
    return Plan(
        steps=2 * (g - 1) + 2 * (nodes - 1),
        steps_formula="2(<g> - 1) + 2(<m> - 1)",
        sent_bytes=2 * inside + across,
        sent_formula="<V1> + <V2> + <V3>",
        transfer_s=2 * inside / rate + across / inter_rate,
        transfer_formula=r"\frac{<V1> + <V3>}{<B>} + \frac{<V2>}{<B2>}",
        source=HIERARCHICAL_SOURCE,
        time_why=Text("The phases one after the other.", "三个阶段依次进行。"),
    )


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
