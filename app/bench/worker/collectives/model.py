"""What a collective is to the sweep: its buffers, its call, its bus factor and how its answer is checked.

Sizes follow nccl-tests: the size of a row is the whole buffer, where each rank holds a part of it too, and such a part is
rounded down to a multiple of 16 bytes (`AllGatherGetCollByteCount` in nccl-tests src/all_gather.cu). The bus factor turns
size / time into the rate one link must have carried (nccl-tests doc/PERFORMANCE.md).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import torch
import torch.distributed as dist

ALIGNMENT_BYTES = 16

Ready = Callable[[], object]
"""A call with its buffers: blocks on CPU tensors and queues on the current stream on GPU tensors."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Elements per rank of the send and receive buffers, nccl-tests' count, and the bytes of the whole buffer."""

    send: int
    receive: int
    count: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """Who a rank is in a call: one of `ranks`, of which `root` gives or gets all where the operation has a root.

    `redop` counts for reductions. `seed` moves the test data.
    """

    rank: int
    ranks: int
    root: int = 0
    redop: str = "sum"
    seed: int = 0

    @property
    def is_root(self) -> bool:
        """Whether this rank is the root."""
        return self.rank == self.root


class Bind(Protocol):
    """Makes a call of its buffers; whatever can be prepared is, so that it is not timed."""

    def __call__(self, send: torch.Tensor, receive: torch.Tensor, role: Role) -> Ready: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective:
    """One operation."""

    name: str
    lay_out: Callable[[int, int, int], Layout]
    """(size in bytes, ranks, bytes per element) -> Layout, with a count of 0 when the size is too small."""
    bus_factor: Callable[[int], Fraction]
    """ranks -> factor on size / time."""
    bind: Bind
    fill: Callable[[torch.Tensor, Role], None]
    """Writes what this rank sends; a rank that sends nothing leaves the buffer as it is."""
    wrong: Callable[[torch.Tensor, Role], int]
    """Wrong elements of a receive buffer; 0 on a rank that receives nothing."""
    has_root: bool = False
    reduces: bool = False
    has_one_buffer: bool = False
    """torch.distributed works in the buffer it is given: send and receive are the same."""
    in_place: Callable[[torch.Tensor, int, int], tuple[torch.Tensor, torch.Tensor]] | None = None
    """(the larger buffer, rank, ranks) -> (send, receive) sharing memory as NCCL lays it out; None where there is one form."""
    legs: int = 1
    """Messages one after another in a call; the time of a row is that of one."""
    players: Callable[[int], int] = int
    """ranks -> how many of them take part, the first ones; the others' times are no times of the operation."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """backend -> what the number is not."""


def whole(size_bytes: int, ranks: int, element_bytes: int) -> Layout:
    """Every rank sends and receives the whole buffer; only whole elements."""
    del ranks
    count = size_bytes // element_bytes
    return Layout(send=count, receive=count, count=count, size_bytes=count * element_bytes)


def gathering(size_bytes: int, ranks: int, element_bytes: int) -> Layout:
    """A rank sends one part and the whole buffer is what is received."""
    count = _part(size_bytes, ranks, element_bytes)
    return Layout(send=count, receive=count * ranks, count=count, size_bytes=count * ranks * element_bytes)


def scattering(size_bytes: int, ranks: int, element_bytes: int) -> Layout:
    """The whole buffer is what is sent and a rank receives one part."""
    count = _part(size_bytes, ranks, element_bytes)
    return Layout(send=count * ranks, receive=count, count=count, size_bytes=count * ranks * element_bytes)


def exchanging(size_bytes: int, ranks: int, element_bytes: int) -> Layout:
    """A rank sends one part to each and receives one from each."""
    count = _part(size_bytes, ranks, element_bytes)
    both = count * ranks
    return Layout(send=both, receive=both, count=count, size_bytes=both * element_bytes)


def _part(size_bytes: int, ranks: int, element_bytes: int) -> int:
    return size_bytes // ranks // ALIGNMENT_BYTES * ALIGNMENT_BYTES // element_bytes


def all_but_one(ranks: int) -> Fraction:
    """(n-1)/n: the share of the whole buffer that has to cross a rank's link when its own part stays."""
    return Fraction(ranks - 1, ranks)


def unity(ranks: int) -> Fraction:
    """1: the whole buffer crosses a link once."""
    del ranks
    return Fraction(1)


_REDUCTIONS = {
    "sum": dist.ReduceOp.SUM,
    "prod": dist.ReduceOp.PRODUCT,
    "min": dist.ReduceOp.MIN,
    "max": dist.ReduceOp.MAX,
    "avg": dist.ReduceOp.AVG,
}


def reduction(role: Role) -> dist.ReduceOp.RedOpType:
    """The reduction as torch names it."""
    return _REDUCTIONS[role.redop]
