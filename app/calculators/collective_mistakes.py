"""What people answer by mistake when asked how long a collective takes, with the same inputs."""

from app.calculators import operations
from app.calculators.collective_plan import Plan
from app.calculators.operations import Operation
from app.calculators.work import Work
from app.core.i18n import Text
from app.core.units import GIB, GIGA


def add(
    work: Work,
    *,
    operation: Operation,
    ranks: int,
    size: float,
    rate: float,
    fixed: float,
    plan: Plan,
    in_switch: bool,
) -> None:
    """Write the mistakes onto `work`. `fixed` is the latency in seconds, `rate` is bytes per second."""
    if ranks == 1:
        return
    if not in_switch:
        work.wrong(
            "time_s",
            Text("Message over bandwidth", "直接用消息大小除以带宽"),
            fixed + size / rate,
            Text(
                "What counts is what a rank sends, not the size of the buffer.",
                "要看每个 rank 实际发送多少，而不是 buffer 的大小。",
            ),
        )
    if operation == "all_reduce":
        _all_reduce(work, ranks=ranks, size=size, fixed=fixed, plan=plan, in_switch=in_switch)
    else:
        work.wrong(
            "time_s",
            Text("Both directions of the link", "用了双向带宽"),
            fixed + plan.transfer_s / 2,
            Text(
                "A rate that adds up both directions is twice what one can send at.", "双向合计的带宽是发送速率的两倍。"
            ),
        )
    if operation in operations.PARTED:
        _parted(work, ranks=ranks, size=size, fixed=fixed, plan=plan)
    work.wrong(
        "time_s",
        Text("Divided by 8 once more", "又多除了一次 8"),
        fixed + plan.transfer_s * 8,
        Text("The rate is in bytes already, not in bits.", "这里的带宽单位已经是字节，不是比特。"),
    )
    work.wrong(
        "time_s",
        Text("GiB over GB/s", "用 GiB 除以 GB/s"),
        fixed + plan.transfer_s * GIGA / GIB,
        Text("2³⁰ against 10⁹ bytes: 7 % off.", "2³⁰ 与 10⁹ 字节混用，差 7 %。"),
    )


def _all_reduce(work: Work, *, ranks: int, size: float, fixed: float, plan: Plan, in_switch: bool) -> None:
    if not in_switch:
        work.wrong(
            "time_s",
            Text("Only half of the all-reduce", "只算了 all-reduce 的一半"),
            fixed + plan.transfer_s / 2,
            Text(
                "Reducing is only the first half; spreading the result costs as much.",
                "归约只是前一半，把结果发回去还要同样多的时间。",
            ),
        )
        work.wrong(
            "sent_per_rank_bytes",
            Text("Only half of the all-reduce", "只算了 all-reduce 的一半"),
            plan.sent_bytes / 2,
            Text("Reducing and spreading the result each send their share.", "归约与分发结果各发送一遍。"),
        )
    work.wrong(
        "sent_per_rank_bytes",
        Text("One copy to every other rank", "给其他每个 rank 各发一份"),
        (ranks - 1) * size,
        Text(
            "Nobody sends its buffer to all others: sums are formed on the way.",
            "没有人把整个 buffer 发给所有人：数据在途中就累加了。",
        ),
    )


def _parted(work: Work, *, ranks: int, size: float, fixed: float, plan: Plan) -> None:
    work.wrong(
        "time_s",
        Text("One rank's part taken as the size", "把单个 rank 的份额当成消息大小"),
        fixed + plan.transfer_s * ranks,
        Text(
            "The size is the whole buffer over all ranks already; taking it for one rank's part counts n times too much.",
            "这里的大小已经是所有 rank 合计的 buffer；当成单个 rank 的份额会多算 n 倍。",
        ),
    )
    work.wrong(
        "sent_per_rank_bytes",
        Text("The own part sent as well", "把自己那一份也算进去"),
        size,
        Text(
            "A rank's own part stays where it is: (n − 1)/n of the buffer moves.",
            "自己的那份不用传，只移动 buffer 的 (n − 1)/n。",
        ),
    )
