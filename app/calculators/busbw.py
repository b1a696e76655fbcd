"""Turns a measured time into the two bandwidths that nccl-tests prints.

Algorithm bandwidth is size over time; bus bandwidth multiplies it by a factor of the operation and the
number of ranks. By hand: 8 ranks all-reduce 1 GB in 4 ms, so 250 GB/s and 250 x 2 x 7 / 8 = 437.5 GB/s.
Source: nccl-tests, doc/PERFORMANCE.md.
"""

from app.calculators import operations
from app.calculators.model import Calculator, Drill, Outcome
from app.calculators.operations import Operation
from app.calculators.work import Work
from app.core.i18n import Text
from app.core.inputs import Inputs, choice, real, to_text, whole
from app.core.units import GIB, GIGA
from app.hardware.model import Profile

PERFORMANCE = "nccl-tests, doc/PERFORMANCE.md"


class BusbwInputs(Inputs):
    """One row of a benchmark."""

    operation: Operation = choice(
        "all_reduce",
        title=Text("Operation", "操作"),
        help=operations.OPERATION_HELP,
        choices=operations.TITLES,
    )
    ranks: int = whole(8, title=Text("Ranks n", "rank 数 n"), help=operations.RANKS_HELP, maximum=10**6)
    message_bytes: int = whole(
        1_000_000_000,
        title=Text("Message size S", "消息大小 S"),
        help=operations.MESSAGE_HELP,
        unit="B",
        minimum=0,
    )
    time_us: float = real(
        4000,
        title=Text("Measured time T", "实测时间 T"),
        help=Text("Time of one operation, the slowest rank's.", "一次操作的时间，以最慢的 rank 为准。"),
        unit="µs",
        maximum=1e13,
    )


def compute(inputs: BusbwInputs) -> Outcome:
    """Algorithm and bus bandwidth in GB/s (1e9 bytes per second)."""
    work = Work()
    n, size, seconds = inputs.ranks, inputs.message_bytes, inputs.time_us * 1e-6
    work.given("n", n)
    work.given("S", size, "B")
    work.given("T", inputs.time_us, "µs")

    factor = work.result(
        "bus_factor",
        Text("Bus factor", "bus 系数"),
        operations.bus_factor(inputs.operation, n),
        "",
        key="f",
        formula=operations.bus_factor_formula(inputs.operation),
        numbers="0" if n == 1 else None,
        source=operations.BUS_FACTOR_SOURCE,
        why=Text(
            "The share of the buffer that every rank's link has to carry in the best case, 1 for a plain copy.",
            "最好情况下每个 rank 的链路必须承载的数据量与 buffer 之比，单纯拷贝时为 1。",
        ),
    )
    algorithm = work.result(
        "algorithm_bandwidth_gb_per_s",
        Text("Algorithm bandwidth", "algorithm bandwidth"),
        size / seconds / GIGA if seconds else 0.0,
        "GB/s",
        key="algbw",
        symbol=r"\mathrm{algbw}",
        formula=r"\frac{<S>}{<T>}",
        numbers=None if seconds else "0",
        source=PERFORMANCE,
        why=Text(
            "What the caller sees: the size of the buffer over the time it took.",
            "调用者看到的速率：buffer 大小除以耗时。",
        ),
    )
    work.result(
        "bus_bandwidth_gb_per_s",
        Text("Bus bandwidth", "bus bandwidth"),
        algorithm * factor,
        "GB/s",
        key="busbw",
        symbol=r"\mathrm{busbw}",
        formula="<f> * <algbw>",
        source=PERFORMANCE,
        why=operations.BUS_FACTOR_WHY,
    )
    _remarks(work, inputs, algorithm)
    return work.outcome()


def _remarks(work: Work, inputs: BusbwInputs, algorithm: float) -> None:
    work.assume(
        "The size is the full buffer: for all-gather, reduce-scatter and all-to-all, n times one rank's part.",
        "大小指完整 buffer：对 all-gather、reduce-scatter、all-to-all，是单个 rank 那一份的 n 倍。",
    )
    work.assume(
        "The factor describes ring-like traffic. With in-switch reduction (NVLS) bus bandwidth can exceed the link's speed.",
        "系数按 ring 的流量推出。启用交换机内归约（NVLS）时，bus bandwidth 可以超过链路带宽。",
    )
    if not inputs.time_us:
        work.warn("No time has passed, so no rate is defined; it is shown as 0.", "时间为 0，速率没有定义，显示为 0。")
    if inputs.ranks == 1:
        work.warn(
            "A group of one moves nothing: bus bandwidth is 0.", "只有一个 rank，没有数据移动：bus bandwidth 为 0。"
        )
    factor = operations.bus_factor(inputs.operation, inputs.ranks)
    bus = "bus_bandwidth_gb_per_s"
    work.wrong(
        bus,
        Text("Algorithm bandwidth taken for bus bandwidth", "把 algorithm bandwidth 当成 bus bandwidth"),
        algorithm,
        Text(
            "Size over time still depends on the number of ranks; only after the bus factor may it be held against a link.",
            "大小除以时间还与 rank 数有关；乘上 bus 系数之后才能与链路带宽比较。",
        ),
    )
    if factor:
        work.wrong(
            bus,
            Text("Divided by the factor", "除以了系数"),
            algorithm / factor,
            Text(
                "The factor multiplies: a rank sends 2(n − 1)/n of the buffer in an all-reduce.",
                "系数是乘上去的：all-reduce 中每个 rank 要发送 buffer 的 2(n − 1)/n。",
            ),
        )
    if inputs.operation == "all_reduce":
        work.wrong(
            bus,
            Text("Factor of an all-gather", "用了 all-gather 的系数"),
            algorithm * factor / 2,
            Text(
                "An all-reduce is a reduce-scatter and an all-gather: the buffer crosses twice.",
                "all-reduce 等于 reduce-scatter 加 all-gather，数据要走两遍。",
            ),
        )
    work.wrong(
        bus,
        Text("GiB/s labelled GB/s", "把 GiB/s 写成 GB/s"),
        algorithm * factor * GIGA / GIB,
        Text("Bandwidth counts 10⁹ bytes; 2³⁰ reads 7 % low.", "带宽按 10⁹ 字节计；按 2³⁰ 会偏低 7 %。"),
    )
    if inputs.operation in operations.PARTED:
        work.wrong(
            bus,
            Text("One rank's part taken as the size", "把单个 rank 的份额当成消息大小"),
            algorithm * factor / inputs.ranks,
            Text("nccl-tests counts the total over all ranks here.", "这类操作在 nccl-tests 中按所有 rank 的总量计。"),
        )


def from_profile(profile: Profile, inputs: BusbwInputs) -> dict[str, str]:
    """The time this machine takes, or should take, for the message."""
    if inputs.ranks == 1:
        return {}
    estimate = profile.collective(inputs.operation, inputs.message_bytes, inputs.ranks)
    return {"time_us": to_text(round(estimate.seconds * 1e6, 3))}


CALCULATOR = Calculator(
    slug="busbw",
    title=Text("Bus bandwidth", "bus bandwidth"),
    question=Text(
        "I measured a collective: what bandwidth is that, and may I hold it against the link's?",
        "测到一次集合通信的时间：带宽是多少？能不能直接与链路带宽比较？",
    ),
    inputs=BusbwInputs,
    compute=compute,
    headline=("bus_bandwidth_gb_per_s", "algorithm_bandwidth_gb_per_s", "bus_factor"),
    sweep="ranks",
    sweep_result="bus_bandwidth_gb_per_s",
    drill=Drill(
        results=("bus_bandwidth_gb_per_s",),
        draws={
            "operation": ("all_reduce", "all_gather", "reduce_scatter"),
            "ranks": ("2", "4", "8", "16", "32", "64"),
            "message_bytes": ("1000000000", "2000000000", "4000000000", "8000000000"),
            "time_us": ("5000", "8000", "10000", "20000", "40000"),
        },
    ),
    from_profile=from_profile,
    questions=("tp-communication",),
)
