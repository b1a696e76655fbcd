"""What a collective is to the sweep: its buffers, its call, its bus factor and how its answer is checked.

Sizes follow nccl-tests: the size of a row is the whole buffer, for all-gather and reduce-scatter too, and what each
rank contributes there is rounded down to a multiple of 16 bytes (`AllGatherGetCollByteCount` in nccl-tests
src/all_gather.cu). The bus factor turns size / time into the rate one link must have carried
(nccl-tests doc/PERFORMANCE.md).
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import torch

ALIGNMENT_BYTES = 16


@dataclass(frozen=True, slots=True)
class Layout:
    """Elements per rank of the send and receive buffers, nccl-tests' count, and the bytes of the whole buffer."""

    send: int
    receive: int
    count: int
    size_bytes: int


class Check(Protocol):
    """Writes or checks a buffer of one rank; `seed` moves the pattern."""

    def __call__(self, buffer: torch.Tensor, *, rank: int, ranks: int, seed: int) -> int:
        """Returns the number of wrong elements; 0 when writing."""
        ...


@dataclass(frozen=True, slots=True)
class Collective:
    """One operation. `run` blocks on CPU tensors and queues on the current stream on GPU tensors."""

    name: str
    redop: str
    lay_out: Callable[[int, int, int], Layout]
    """(size in bytes, ranks, bytes per element) -> Layout, with a count of 0 when the size is too small."""
    bus_factor: Callable[[int], Fraction]
    """ranks -> factor on size / time."""
    run: Callable[[torch.Tensor, torch.Tensor], None]
    """(send, receive)"""
    fill: Check
    wrong: Check
    in_place: Callable[[torch.Tensor, int, int], tuple[torch.Tensor, torch.Tensor]] | None
    """(the larger buffer, rank, ranks) -> (send, receive) sharing memory as NCCL lays it out; None when there is one form only."""
    labels: dict[str, str]
    """backend -> what the number is not."""


def whole(size_bytes: int, ranks: int, element_bytes: int) -> Layout:
    """Every rank sends and receives the whole buffer; only whole elements."""
    del ranks
    count = size_bytes // element_bytes
    return Layout(send=count, receive=count, count=count, size_bytes=count * element_bytes)


def shard(size_bytes: int, ranks: int, element_bytes: int) -> int:
    """Elements of one rank's part, rounded down to 16 bytes."""
    return size_bytes // ranks // ALIGNMENT_BYTES * ALIGNMENT_BYTES // element_bytes
