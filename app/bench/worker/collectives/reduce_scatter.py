"""Reduce-scatter: the buffers of all ranks are summed and each rank ends with its part of the sum.

Each rank sends (n-1)/n of the whole buffer, the bus factor (nccl-tests doc/PERFORMANCE.md). In place, the part lands at
its place in the send buffer. Gloo has no reduce-scatter of its own: torch runs an all-reduce and keeps a slice (PyTorch
pull request 118911), twice the bytes, so a row measured there says so and cannot be compared with NCCL's.
"""

from fractions import Fraction

import torch
import torch.distributed as dist

from app.bench.worker.collectives import patterns
from app.bench.worker.collectives.model import Collective, Layout, shard

# Renamed in torch 2.13, like all-gather.
_scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor


def lay_out(size_bytes: int, ranks: int, element_bytes: int) -> Layout:
    """The whole buffer is what a rank sends."""
    count = shard(size_bytes, ranks, element_bytes)
    return Layout(send=count * ranks, receive=count, count=count, size_bytes=count * ranks * element_bytes)


def run(send: torch.Tensor, receive: torch.Tensor) -> None:
    """Sum every rank's `send` and keep this rank's part in `receive`."""
    _scatter(receive, send)


def fill(buffer: torch.Tensor, *, rank: int, ranks: int, seed: int) -> int:
    """Write what this rank contributes to every part."""
    del ranks
    return patterns.write(buffer, patterns.summand(rank, seed=seed))


def wrong(buffer: torch.Tensor, *, rank: int, ranks: int, seed: int) -> int:
    """Elements of this rank's part that are not the sum."""
    return patterns.mismatches(buffer, patterns.summed(ranks, seed=seed), offset=rank * len(buffer))


def in_place(buffer: torch.Tensor, rank: int, ranks: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Receive into this rank's place in the send buffer."""
    return buffer, buffer.chunk(ranks)[rank]


collective = Collective(
    name="reduce_scatter",
    redop="sum",
    lay_out=lay_out,
    bus_factor=lambda ranks: Fraction(ranks - 1, ranks),
    run=run,
    fill=fill,
    wrong=wrong,
    in_place=in_place,
    labels={"gloo": "all-reduce inside"},
)
