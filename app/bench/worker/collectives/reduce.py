"""Reduce: the root ends with all buffers reduced to one.

The whole buffer has to leave each rank's link once: bus factor 1 (nccl-tests doc/PERFORMANCE.md). torch.distributed reduces
in the buffer it is given, so there is one measurement, in the first half of the row; what the other ranks' buffers hold
afterwards is not said and not checked.
"""

from functools import partial

import torch
import torch.distributed as dist

from app.bench.worker.collectives import patterns
from app.bench.worker.collectives.model import Collective, Ready, Role, reduction, unity, whole


def bind(send: torch.Tensor, receive: torch.Tensor, role: Role) -> Ready:
    """Reduce to the root in `receive`, which is `send`."""
    del send
    return partial(dist.reduce, receive, dst=role.root, op=reduction(role))


def wrong(buffer: torch.Tensor, role: Role) -> int:
    """Elements of the root that are not the reduction."""
    return patterns.not_reduced(buffer, role) if role.is_root else 0


collective = Collective(
    name="reduce",
    has_root=True,
    reduces=True,
    has_one_buffer=True,
    lay_out=whole,
    bus_factor=unity,
    bind=bind,
    fill=patterns.contribute,
    wrong=wrong,
)
