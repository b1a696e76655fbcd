"""Gather: the root ends with the parts of all ranks, in rank order.

The root's own part stays, so (n-1)/n of the whole buffer enters its link, the bus factor. In place, the root's part already
lies where it belongs, as in nccl-tests src/gather.cu; the other ranks send from the same place of theirs.
"""

from functools import partial

import torch
import torch.distributed as dist

from app.bench.worker.collectives import patterns
from app.bench.worker.collectives.model import Collective, Ready, Role, all_but_one, gathering


def bind(send: torch.Tensor, receive: torch.Tensor, role: Role) -> Ready:
    """Gather every rank's `send` into the root's `receive`."""
    parts = list(receive.chunk(role.ranks)) if role.is_root else None
    return partial(dist.gather, send, parts, dst=role.root)


def wrong(buffer: torch.Tensor, role: Role) -> int:
    """Elements of the root's parts that are not what their ranks sent."""
    return patterns.not_gathered(buffer, role) if role.is_root else 0


def in_place(buffer: torch.Tensor, rank: int, ranks: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Send from this rank's place in the receive buffer."""
    return buffer.chunk(ranks)[rank], buffer


collective = Collective(
    name="gather",
    has_root=True,
    lay_out=gathering,
    bus_factor=all_but_one,
    bind=bind,
    fill=patterns.sign,
    wrong=wrong,
    in_place=in_place,
)
