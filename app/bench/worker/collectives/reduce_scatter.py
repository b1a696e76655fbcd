"""Reduce-scatter: the buffers of all ranks are reduced to one and each rank ends with its part of it.

Each rank sends (n-1)/n of the whole buffer, the bus factor (nccl-tests doc/PERFORMANCE.md). In place, the part lands at
its place in the send buffer. Gloo has no reduce-scatter of its own: torch runs an all-reduce and keeps a slice (PyTorch
pull request 118911), twice the bytes, so a row measured there says so and cannot be compared with NCCL's.
"""

from functools import partial

import torch
import torch.distributed as dist

from app.bench.worker.collectives import patterns
from app.bench.worker.collectives.model import Collective, Ready, Role, all_but_one, reduction, scattering

# Renamed in torch 2.13, like all-gather.
_scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor


def bind(send: torch.Tensor, receive: torch.Tensor, role: Role) -> Ready:
    """Reduce every rank's `send` and keep this rank's part in `receive`."""
    return partial(_scatter, receive, send, op=reduction(role))


def wrong(buffer: torch.Tensor, role: Role) -> int:
    """Elements of this rank's part that are not the reduction."""
    return patterns.not_reduced(buffer, role, offset=role.rank * len(buffer))


def in_place(buffer: torch.Tensor, rank: int, ranks: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Receive into this rank's place in the send buffer."""
    return buffer, buffer.chunk(ranks)[rank]


collective = Collective(
    name="reduce_scatter",
    reduces=True,
    lay_out=scattering,
    bus_factor=all_but_one,
    bind=bind,
    fill=patterns.contribute,
    wrong=wrong,
    in_place=in_place,
    labels={"gloo": "all-reduce inside"},
)
