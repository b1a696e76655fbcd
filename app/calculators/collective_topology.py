"""The cost models that know more than ranks: reduction inside the switch, and nodes joined by a slower network.

Same contract as the functions of `collective_models.py`.
"""

from app.calculators.collective_plan import Plan
from app.calculators.operations import Operation
from app.calculators.work import Work
from app.core.i18n import Text

NVLS_SOURCE = "nccl-tests discussion of NVLS: algorithm bandwidth B·n/(n+1)"
HIERARCHICAL_SOURCE = "stas00/ml-engineering, network chapter"


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
        why=Text("The simpler of the two formulas in use, without latency.", "两种常用公式中较简单的一种，不含延迟。"),
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
        steps_why=Text("Up to the switch and down again, whatever n is.", "上到交换机、再下来，与 n 无关。"),
        sent_why=Text(
            "The switch pulls all of S from each rank, and each rank multicasts its reduced share of S/n.",
            "交换机从每个 rank 取走整份 S，每个 rank 再把归约好的 S/n 组播出去。",
        ),
        time_why=Text(
            "The stricter of the two formulas; the ideal one stands above.", "取两种公式中较保守的一种，理想值见上面。"
        ),
        assumptions=(
            Text(
                "Both formulas are bounds: on 8 H100 about 275 GB/s of algorithm bandwidth (480 bus) is measured, 30 % above a ring.",
                "两个公式都是上界：8 张 H100 实测 algorithm bandwidth 约 275 GB/s（bus 480），比 ring 高约 30 %。",
            ),
        ),
        warnings=(
            Text(
                "With up to 4 GPUs, NVLS measures no faster than a ring.", "不超过 4 张卡时，实测 NVLS 并不比 ring 快。"
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
        why=Text("Per GPU. Each then holds S/g, summed over its node.", "每卡的量；之后每卡持有 S/g，已在机内求和。"),
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
            "Only the shard crosses the network, over the GPU's own card.",
            "过网络的只有 S/g 的分片，走本卡自己的网卡。",
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
        Text("Bytes alone, if the three phases overlap fully", "三个阶段完全流水时的时间（只算数据量）"),
        max(2 * inside / rate, across / inter_rate),
        "s",
        key="Tpipe",
        symbol=r"T_{\text{pipelined}}",
        formula=r"\max\left(\frac{<V1> + <V3>}{<B>},\ \frac{<V2>}{<B2>}\right)",
        source=HIERARCHICAL_SOURCE,
        why=Text(
            "A lower bound: both phases in the node share its links, the network works beside them.",
            "下界：机内两个阶段共用机内链路，网络与它们并行。",
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
