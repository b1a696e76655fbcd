"""Scatter: the root's buffer is cut into parts and each rank ends with its own.

The root's own part stays, so (n-1)/n of the whole buffer leaves its link, the bus factor. In place, the root's part stays
where it is, as in nccl-tests src/scatter.cu; the other ranks receive at the same place of theirs.
"""

from functools import partial

import torch
import torch.distributed as dist

from app.bench.worker.collectives import patterns
from app.bench.worker.collectives.model import Collective, Ready, Role, all_but_one, scattering


def bind(send: torch.Tensor, receive: torch.Tensor, role: Role) -> Ready:
    """Scatter the root's `send` into every rank's `receive`."""
    parts = list(send.chunk(role.ranks)) if role.is_root else None
    return partial(dist.scatter, receive, parts, src=role.root)


def fill(buffer: torch.Tensor, role: Role) -> None:
    """Only the root has something to send."""
    if role.is_root:
        patterns.sign(buffer, role)


def wrong(buffer: torch.Tensor, role: Role) -> int:
    """Elements that are not this rank's part of the root's buffer."""
    return patterns.not_from(buffer, role.root, role, offset=role.rank * len(buffer))


def in_place(buffer: torch.Tensor, rank: int, ranks: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Receive into this rank's place in the send buffer."""
    return buffer, buffer.chunk(ranks)[rank]


collective = Collective(
    name="scatter",
    has_root=True,
    lay_out=scattering,
    bus_factor=all_but_one,
    bind=bind,
    fill=fill,
    wrong=wrong,
    in_place=in_place,
)
