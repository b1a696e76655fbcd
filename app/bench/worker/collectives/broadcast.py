"""Broadcast: every rank ends with the root's buffer.

The whole buffer has to enter each rank's link once: bus factor 1 (nccl-tests doc/PERFORMANCE.md). torch.distributed works
in the buffer it is given, so there is one measurement, which stands in the first half of the row. Calls that follow each
other overlap as in nccl-tests: the root may begin the next while the last rank still receives.
"""

from functools import partial

import torch
import torch.distributed as dist

from app.bench.worker.collectives import patterns
from app.bench.worker.collectives.model import Collective, Ready, Role, unity, whole


def bind(send: torch.Tensor, receive: torch.Tensor, role: Role) -> Ready:
    """Send the root's `receive`, which is `send`, to all."""
    del send
    return partial(dist.broadcast, receive, src=role.root)


def fill(buffer: torch.Tensor, role: Role) -> None:
    """Only the root has something to send."""
    if role.is_root:
        patterns.sign(buffer, role)


def wrong(buffer: torch.Tensor, role: Role) -> int:
    """Elements that are not the root's."""
    return patterns.not_from(buffer, role.root, role)


collective = Collective(
    name="broadcast",
    has_root=True,
    has_one_buffer=True,
    lay_out=whole,
    bus_factor=unity,
    bind=bind,
    fill=fill,
    wrong=wrong,
)
