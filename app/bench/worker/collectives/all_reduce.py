"""All-reduce: every rank ends with all buffers reduced to one.

A ring moves 2(n-1)/n of the buffer over each link, which is the bus factor (nccl-tests doc/PERFORMANCE.md): 1 for two
ranks, 1.75 for eight. torch.distributed reduces in the buffer it is given and has no other form, so there is one
measurement; it stands in the first half of the row, where every reader looks.
"""

from fractions import Fraction
from functools import partial

import torch
import torch.distributed as dist

from app.bench.worker.collectives import patterns
from app.bench.worker.collectives.model import Collective, Ready, Role, reduction, whole


def bind(send: torch.Tensor, receive: torch.Tensor, role: Role) -> Ready:
    """Reduce in `receive`, which is `send`."""
    del send
    return partial(dist.all_reduce, receive, op=reduction(role))


collective = Collective(
    name="all_reduce",
    reduces=True,
    has_one_buffer=True,
    lay_out=whole,
    bus_factor=lambda ranks: Fraction(2 * (ranks - 1), ranks),
    bind=bind,
    fill=patterns.contribute,
    wrong=patterns.not_reduced,
)
