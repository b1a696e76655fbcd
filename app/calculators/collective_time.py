"""How long a collective takes by the usual cost models: steps times latency plus bytes over bandwidth.

By hand: two ranks all-reduce 80 MB at 40 GB/s by a ring, so each sends 2(2 - 1)/2 x 80 MB and it takes 2 ms.
The models stand in `collective_models.py`, one function an algorithm; here are the inputs, the lines that
all share and the remarks. Sources: nccl-tests doc/PERFORMANCE.md, NCCL src/graph/tuning.cc; for NVLS two
formulas are in use and both are shown.
"""

from typing import Literal, Self

from pydantic import model_validator

from app.calculators import collective_mistakes, collective_models, operations
from app.calculators.collective_plan import Plan, nothing
from app.calculators.model import Calculator, Drill, Outcome
from app.calculators.operations import Operation
from app.calculators.work import Work
from app.core.i18n import Text, same
from app.core.inputs import InputProblem, Inputs, choice, real, to_text, whole
from app.core.units import GIGA
from app.hardware.model import Profile

Algorithm = Literal["ring", "tree", "pipelined_tree", "halving_doubling", "nvls", "hierarchical"]
ALGORITHMS: dict[str, Text] = {
    "ring": same("ring"),
    "tree": Text("tree, whole message per hop", "tree（整条消息逐跳）"),
    "pipelined_tree": Text("double binary tree, pipelined", "双二叉树（流水）"),
    "halving_doubling": Text("recursive halving-doubling", "递归折半-倍增"),
    "nvls": Text("NVLS, reduced in the switch", "NVLS（交换机内归约）"),
    "hierarchical": Text("hierarchical: node, network, node", "分层：机内、机间、机内"),
}


class CollectiveInputs(Inputs):
    """One collective on one group of ranks."""

    operation: Operation = choice(
        "all_reduce",
        title=Text("Operation", "操作"),
        help=operations.OPERATION_HELP,
        choices=operations.TITLES,
    )
    ranks: int = whole(8, title=Text("Ranks n", "rank 数 n"), help=operations.RANKS_HELP, maximum=10**6)
    message_bytes: int = whole(
        67108864,
        title=Text("Message size S", "消息大小 S"),
        help=operations.MESSAGE_HELP,
        unit="B",
        minimum=0,
    )
    bandwidth_gb_per_s: float = real(
        450,
        title=Text("Bandwidth B", "带宽 B"),
        help=Text(
            "Per GPU, one direction. NVLink on H100: 450. One 400 Gb/s network card: 50.",
            "每卡单向。H100 的 NVLink 为 450；一张 400 Gb/s 网卡为 50。",
        ),
        unit="GB/s",
        minimum=0.001,
        maximum=1e6,
    )
    latency_us: float = real(
        0,
        title=Text("Latency per step α", "每步延迟 α"),
        help=Text("Paid once for each step of the algorithm.", "算法每走一步付一次。"),
        unit="µs",
        maximum=1e9,
    )
    base_latency_us: float = real(
        0,
        title=Text("Base latency α₀", "固定延迟 α₀"),
        help=Text("Paid once: the launch and the protocol's start.", "只付一次：kernel 启动与协议建立。"),
        unit="µs",
        maximum=1e9,
    )
    algorithm: Algorithm = choice(
        "ring",
        title=Text("Algorithm", "算法"),
        help=Text("How the ranks pass the data on.", "数据在各 rank 之间怎样传递。"),
        choices=ALGORITHMS,
    )
    ranks_per_node: int = whole(
        8,
        title=Text("Ranks per node g", "每机 rank 数 g"),
        help=Text(
            "GPUs that share one NVLink domain. Hierarchical and NVLS only.",
            "同一 NVLink 域内的 GPU 数，只用于分层与 NVLS。",
        ),
        maximum=10**5,
    )
    inter_bandwidth_gb_per_s: float = real(
        50,
        title=Text("Bandwidth between nodes B₂", "机间带宽 B₂"),
        help=Text(
            "Per GPU, one direction, over the network. Hierarchical only.", "每卡单向的网络带宽，只用于分层算法。"
        ),
        unit="GB/s",
        minimum=0.001,
        maximum=1e6,
    )

    @model_validator(mode="after")
    def _algorithm_fits(self) -> Self:
        allowed = collective_models.OFFERED[self.algorithm]
        if self.operation not in allowed:
            names = ", ".join(operations.TITLES[name].en for name in allowed)
            raise InputProblem(
                "algorithm",
                Text(f"This algorithm is modelled for {names} only.", f"这个算法只对 {names} 建模。"),
            )
        if self.algorithm == "halving_doubling" and self.ranks & (self.ranks - 1):
            raise InputProblem(
                "ranks",
                Text(
                    "Recursive halving-doubling needs a power of two, such as 8 or 16.",
                    "递归折半-倍增要求 rank 数是 2 的幂，例如 8 或 16。",
                ),
            )
        if self.algorithm == "hierarchical" and self.ranks > self.ranks_per_node and self.ranks % self.ranks_per_node:
            raise InputProblem(
                "ranks",
                Text(
                    f"Hierarchical needs full nodes: a multiple of {self.ranks_per_node}.",
                    f"分层算法要求每台机器都占满：rank 数须为 {self.ranks_per_node} 的倍数。",
                ),
            )
        return self


def compute(inputs: CollectiveInputs) -> Outcome:
    """Steps, bytes sent per rank, seconds, and both bandwidths in GB/s."""
    work = Work()
    n = inputs.ranks
    work.given("n", n)
    work.given("S", inputs.message_bytes, "B")
    work.given("B", inputs.bandwidth_gb_per_s, "GB/s")
    work.given("a", inputs.latency_us, "µs", symbol=r"\alpha")
    work.given("a0", inputs.base_latency_us, "µs", symbol=r"\alpha_0")
    plan = (
        nothing()
        if n == 1
        else collective_models.PLANS[inputs.algorithm](
            work,
            operation=inputs.operation,
            ranks=n,
            size=inputs.message_bytes,
            rate=inputs.bandwidth_gb_per_s * GIGA,
            per_node=min(inputs.ranks_per_node, n),
            inter_rate=inputs.inter_bandwidth_gb_per_s * GIGA,
        )
    )
    seconds = _cost(work, inputs, plan)
    _bandwidths(work, inputs, seconds)
    _remarks(work, inputs, plan)
    collective_mistakes.add(
        work,
        operation=inputs.operation,
        ranks=n,
        size=inputs.message_bytes,
        rate=inputs.bandwidth_gb_per_s * GIGA,
        fixed=seconds - plan.transfer_s,
        plan=plan,
        in_switch=inputs.algorithm == "nvls",
    )
    return work.outcome()


def _cost(work: Work, inputs: CollectiveInputs, plan: Plan) -> float:
    work.result(
        "steps",
        Text("Steps", "步数"),
        plan.steps,
        "",
        key="k",
        formula=plan.steps_formula,
        source=plan.source,
        why=plan.steps_why,
    )
    work.result(
        "sent_per_rank_bytes",
        Text("Sent by the busiest rank", "最忙的 rank 的发送量"),
        plan.sent_bytes,
        "bytes",
        key="V",
        formula=plan.sent_formula,
        source=plan.source,
        why=plan.sent_why,
    )
    alone = inputs.ranks == 1
    return work.result(
        "time_s",
        Text("Time", "时间"),
        0.0 if alone else (inputs.base_latency_us + plan.steps * inputs.latency_us) * 1e-6 + plan.transfer_s,
        "s",
        key="T",
        formula="0" if alone else f"<a0> + <k> * <a> + {plan.transfer_formula}",
        source=plan.source,
        why=plan.time_why,
    )


def _bandwidths(work: Work, inputs: CollectiveInputs, seconds: float) -> None:
    factor = work.result(
        "bus_factor",
        Text("Bus factor", "bus 系数"),
        operations.bus_factor(inputs.operation, inputs.ranks),
        "",
        key="f",
        formula=operations.bus_factor_formula(inputs.operation),
        numbers="0" if inputs.ranks == 1 else None,
        source=operations.BUS_FACTOR_SOURCE,
    )
    algorithm = work.result(
        "algorithm_bandwidth_gb_per_s",
        Text("Algorithm bandwidth", "algorithm bandwidth"),
        inputs.message_bytes / seconds / GIGA if seconds else 0.0,
        "GB/s",
        key="algbw",
        symbol=r"\mathrm{algbw}",
        formula=r"\frac{<S>}{<T>}",
        numbers=None if seconds else "0",
        source="nccl-tests, doc/PERFORMANCE.md",
    )
    work.result(
        "bus_bandwidth_gb_per_s",
        Text("Bus bandwidth", "bus bandwidth"),
        algorithm * factor,
        "GB/s",
        key="busbw",
        symbol=r"\mathrm{busbw}",
        formula="<f> * <algbw>",
        source="nccl-tests, doc/PERFORMANCE.md",
        why=operations.BUS_FACTOR_WHY,
    )


def _remarks(work: Work, inputs: CollectiveInputs, plan: Plan) -> None:
    work.assume(
        "Every rank sends and receives at once at the given rate, and nobody else uses the links.",
        "每个 rank 以给定速率同时收发，链路上没有其他流量。",
    )
    for remark in plan.assumptions:
        work.assume(remark.en, remark.zh)
    for remark in plan.warnings:
        work.warn(remark.en, remark.zh)
    if inputs.ranks == 1:
        work.warn(
            "A group of one moves nothing and takes no time; its bandwidths are shown as 0.",
            "只有一个 rank 时没有数据移动，时间为 0，带宽显示为 0。",
        )
    elif inputs.algorithm == "nvls" and inputs.ranks > inputs.ranks_per_node:
        work.warn(
            f"NVLS reduces inside one NVLink domain; {inputs.ranks} ranks do not fit into one of {inputs.ranks_per_node}.",
            f"NVLS 只在一个 NVLink 域内归约；{inputs.ranks} 个 rank 放不进 {inputs.ranks_per_node} 卡的域。",
        )


def from_profile(profile: Profile, _inputs: CollectiveInputs) -> dict[str, str]:
    """The bandwidth of a machine."""
    if not profile.bytes_per_second:
        return {}
    return {"bandwidth_gb_per_s": to_text(round(profile.bytes_per_second / GIGA, 3))}


CALCULATOR = Calculator(
    slug="collective-time",
    title=Text("Collective time", "集合通信时间"),
    question=Text(
        "How long does an all-reduce, or another collective, take on n ranks?",
        "n 个 rank 做一次 all-reduce（或其他集合通信）要多久？",
    ),
    inputs=CollectiveInputs,
    compute=compute,
    headline=("time_s", "sent_per_rank_bytes", "steps", "bus_bandwidth_gb_per_s"),
    sweep="message_bytes",
    sweep_result="time_s",
    drill=Drill(
        results=("time_s", "sent_per_rank_bytes"),
        draws={
            "operation": ("all_reduce", "all_gather", "reduce_scatter"),
            "ranks": ("2", "4", "8", "16"),
            "message_bytes": ("80000000", "160000000", "400000000", "1000000000", "2000000000"),
            "bandwidth_gb_per_s": ("40", "50", "100", "200", "400"),
        },
    ),
    from_profile=from_profile,
    questions=("tp-communication", "gtp"),
)
