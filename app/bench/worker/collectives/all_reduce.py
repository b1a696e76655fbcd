"""All-reduce: every rank ends with the sum of all buffers.

A ring moves 2(n-1)/n of the buffer over each link, which is the bus factor (nccl-tests doc/PERFORMANCE.md): 1 for two
ranks, 1.75 for eight. torch.distributed reduces in the buffer it is given and has no other form, so there is one
measurement; it stands in the first half of the row, where every reader looks.
"""

from fractions import Fraction

import torch
import torch.distributed as dist

from app.bench.worker.collectives import patterns
from app.bench.worker.collectives.model import Collective, whole


def run(send: torch.Tensor, receive: torch.Tensor) -> None:
    """Sum into `receive`; `send` is the same buffer and not looked at."""
    del send
    dist.all_reduce(receive)


def fill(buffer: torch.Tensor, *, rank: int, ranks: int, seed: int) -> int:
    """Write what this rank contributes."""
    del ranks
    return patterns.write(buffer, patterns.summand(rank, seed=seed))


def wrong(buffer: torch.Tensor, *, rank: int, ranks: int, seed: int) -> int:
    """Elements that are not the sum."""
    del rank
    return patterns.mismatches(buffer, patterns.summed(ranks, seed=seed))


collective = Collective(
    name="all_reduce",
    redop="sum",
    lay_out=whole,
    bus_factor=lambda ranks: Fraction(2 * (ranks - 1), ranks),
    run=run,
    fill=fill,
    wrong=wrong,
    in_place=None,
    labels={},
)
