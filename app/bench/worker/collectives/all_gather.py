"""All-gather: every rank ends with the parts of all ranks, in rank order.

Each rank receives (n-1)/n of the whole buffer, the bus factor (nccl-tests doc/PERFORMANCE.md): 0.5 for two ranks,
0.875 for eight. In place, a rank's part already lies where it belongs in the whole buffer.
"""

from functools import partial

import torch
import torch.distributed as dist

from app.bench.worker.collectives import patterns
from app.bench.worker.collectives.model import Collective, Ready, Role, all_but_one, gathering

# torch 2.13 renamed it and deprecates the old name; which one there is tells, not the version.
_gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor


def bind(send: torch.Tensor, receive: torch.Tensor, role: Role) -> Ready:
    """Gather every rank's `send` into `receive`."""
    del role
    return partial(_gather, receive, send)


def in_place(buffer: torch.Tensor, rank: int, ranks: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Send from this rank's place in the receive buffer."""
    return buffer.chunk(ranks)[rank], buffer


collective = Collective(
    name="all_gather",
    lay_out=gathering,
    bus_factor=all_but_one,
    bind=bind,
    fill=patterns.sign,
    wrong=patterns.not_gathered,
    in_place=in_place,
)
