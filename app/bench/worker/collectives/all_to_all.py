"""All-to-all: rank i sends its j-th part to rank j, which keeps it as its i-th.

A rank's own part stays, so (n-1)/n of the whole buffer crosses its link, the bus factor. There is no in-place form in
torch.distributed, and nccl-tests prints none either (src/alltoall.cu).
"""

from functools import partial

import torch
import torch.distributed as dist

from app.bench.worker.collectives import patterns
from app.bench.worker.collectives.model import Collective, Ready, Role, all_but_one, exchanging


def bind(send: torch.Tensor, receive: torch.Tensor, role: Role) -> Ready:
    """Exchange equal parts."""
    del role
    return partial(dist.all_to_all_single, receive, send)


def wrong(buffer: torch.Tensor, role: Role) -> int:
    """Elements of any part that are not what its sender had for this rank."""
    parts = enumerate(buffer.chunk(role.ranks))
    return sum(patterns.not_from(part, sender, role, offset=role.rank * len(part)) for sender, part in parts)


collective = Collective(
    name="all_to_all",
    lay_out=exchanging,
    bus_factor=all_but_one,
    bind=bind,
    fill=patterns.sign,
    wrong=wrong,
)
