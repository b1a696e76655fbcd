"""All-gather: every rank ends with the parts of all ranks, in rank order.

Each rank receives (n-1)/n of the whole buffer, the bus factor (nccl-tests doc/PERFORMANCE.md): 0.5 for two ranks,
0.875 for eight. In place, a rank's part already lies where it belongs in the whole buffer.
"""

from fractions import Fraction

import torch
import torch.distributed as dist

from app.bench.worker.collectives import patterns
from app.bench.worker.collectives.model import Collective, Layout, shard

# torch 2.13 renamed it and deprecates the old name; which one there is tells, not the version.
_gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor


def lay_out(size_bytes: int, ranks: int, element_bytes: int) -> Layout:
    """The whole buffer is what a rank receives."""
    count = shard(size_bytes, ranks, element_bytes)
    return Layout(send=count, receive=count * ranks, count=count, size_bytes=count * ranks * element_bytes)


def run(send: torch.Tensor, receive: torch.Tensor) -> None:
    """Gather every rank's `send` into `receive`."""
    _gather(receive, send)


def fill(buffer: torch.Tensor, *, rank: int, ranks: int, seed: int) -> int:
    """Write this rank's part."""
    del ranks
    return patterns.write(buffer, patterns.gathered(rank, seed=seed))


def wrong(buffer: torch.Tensor, *, rank: int, ranks: int, seed: int) -> int:
    """Elements of any part that are not what its rank sent."""
    del rank
    parts = enumerate(buffer.chunk(ranks))
    return sum(patterns.mismatches(part, patterns.gathered(sender, seed=seed)) for sender, part in parts)


def in_place(buffer: torch.Tensor, rank: int, ranks: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Send from this rank's place in the receive buffer."""
    return buffer.chunk(ranks)[rank], buffer


collective = Collective(
    name="all_gather",
    redop="none",
    lay_out=lay_out,
    bus_factor=lambda ranks: Fraction(ranks - 1, ranks),
    run=run,
    fill=fill,
    wrong=wrong,
    in_place=in_place,
    labels={},
)
