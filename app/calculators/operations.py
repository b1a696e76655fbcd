"""The collective operations and their bus factors, shared by the calculators that time them.

Sizes are counted as nccl-tests counts them: for all-reduce, broadcast and reduce the buffer of one rank,
for all-gather, reduce-scatter, all-to-all, gather and scatter the whole of it, n times one rank's part.
"""

from typing import Literal, get_args

from app.core.i18n import Text, same

Operation = Literal[
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
    "send_recv",
]

OPERATIONS: tuple[Operation, ...] = get_args(Operation)
TITLES: dict[str, Text] = {
    name: same(name.replace("_", "-").replace("send-recv", "send / recv")) for name in OPERATIONS
}

ROOTED: tuple[Operation, ...] = ("broadcast", "reduce")
PARTED: tuple[Operation, ...] = ("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter")
"""Operations whose size is the total over ranks."""

BUS_FACTOR_SOURCE = "nccl-tests, doc/PERFORMANCE.md and src/*.cu"

BUS_FACTOR_WHY = Text(
    "Bus bandwidth rescales the rate so that it can be held against the speed of one link, whatever the number of ranks.",
    "bus bandwidth 把速率换算成可以直接与单条链路的带宽比较的数，与 rank 数无关。",
)


def bus_factor(operation: Operation, ranks: int) -> float:
    """Bus bandwidth over algorithm bandwidth; 0 for a group of one, which moves nothing."""
    if ranks == 1:
        return 0.0
    if operation == "all_reduce":
        return 2 * (ranks - 1) / ranks
    return (ranks - 1) / ranks if operation in PARTED else 1.0


def bus_factor_formula(operation: Operation) -> str:
    """The same as a formula template over `n`."""
    if operation == "all_reduce":
        return r"\frac{2(<n> - 1)}{<n>}"
    return r"\frac{<n> - 1}{<n>}" if operation in PARTED else "1"


OPERATION_HELP = Text("Which collective the ranks run together.", "各 rank 一起执行的集合通信操作。")
RANKS_HELP = Text("How many GPUs take part. One rank moves nothing.", "参与通信的 GPU 数。只有 1 个 rank 时没有通信。")
MESSAGE_HELP = Text(
    "The full buffer, as nccl-tests counts it: for all-gather and its kin all ranks' parts together. 2^26 works too.",
    "完整 buffer 的大小，按 nccl-tests 的口径：all-gather 一类操作指所有 rank 的部分之和。也可以写 2^26。",
)
