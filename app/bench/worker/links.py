"""What each pair of ranks gets between them while all others rest: bandwidth one way and both ways, and latency.

Ranks next to each other come first, then those further apart, until the time is up; what is left out is said. Both
ranks of a pair time themselves and the slower counts, because a sender is done as soon as the system has taken its data.
Sends and receives go through `batch_isend_irecv`: with NCCL it uses the communicator of all ranks, where plain sends
would build one per pair.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch
import torch.distributed as dist

from app.bench.events import Event, Link, Problem
from app.bench.spec import RunSpec
from app.bench.worker.group import Group
from app.bench.worker.timing import Call, Clock, clock_for

MAXIMUM_RANKS = 64
MAXIMUM_PAIRS = 500
LATENCY_BYTES = 8
_CPU_BYTES, _GPU_BYTES = 16 * 1024**2, 128 * 1024**2
_TRIAL_BYTES = 64 * 1024
_SMALLEST_BYTES = 64 * 1024
_REPEATS = 3
_ROUND_TRIPS = 30
_FORMS = 3


@dataclass(frozen=True, slots=True)
class Buffers:
    """Memory to send from and to receive into."""

    out: torch.Tensor
    inward: torch.Tensor

    def cut(self, size: int) -> "Buffers":
        """The first `size` bytes of both."""
        return Buffers(self.out[:size], self.inward[:size])


def pairs(ranks: int) -> list[tuple[int, int]]:
    """Each two of the first `MAXIMUM_RANKS` ranks, neighbours first, at most `MAXIMUM_PAIRS`.

    >>> pairs(3)
    [(0, 1), (1, 2), (0, 2)]
    """
    known = min(ranks, MAXIMUM_RANKS)
    near = [(rank, rank + apart) for apart in range(1, known) for rank in range(known - apart)]
    return near[:MAXIMUM_PAIRS]


def links(group: Group, spec: RunSpec, *, send: Callable[[Event], None], beat: Callable[[], None]) -> None:
    """Send two Links for each pair, one per direction; those of both ways and the latency are the same in both."""
    wanted = pairs(group.ranks)
    if not wanted:
        send(Problem(kind="extra-skipped", text="links: one rank has nobody to talk to", fatal=False))
        return
    largest = _GPU_BYTES if group.device.type == "cuda" else _CPU_BYTES
    buffers = Buffers(*(torch.ones(largest, dtype=torch.uint8, device=group.device) for _ in range(2)))
    begin = time.monotonic()
    done = 0
    for first, second in wanted:
        left = -group.maximum(time.monotonic() - begin - spec.extra_seconds)
        if done and left <= 0:
            break
        for event in _pair(group, buffers, first, second, seconds=max(left, 0) / (len(wanted) - done)):
            send(event)
        done += 1
        beat()
    every = group.ranks * (group.ranks - 1) // 2
    if done < every:
        send(Problem(kind="links-left-out", text=f"{done} of {every} pairs were measured", fatal=False))


def _pair(group: Group, buffers: Buffers, first: int, second: int, *, seconds: float) -> Iterator[Link]:
    clock = clock_for(group.device)
    timed = partial(_slower, group, clock, frozenset((first, second)))
    peer = {first: second, second: first}.get(group.rank, group.rank)

    def form(size: int, *directions: tuple[int, int]) -> Call:
        return partial(exchange, group.rank, peer, buffers.cut(size), directions)

    to, fro = (first, second), (second, first)
    trial = statistics.median(timed(form(_TRIAL_BYTES, to, fro), repeats=_REPEATS))
    size = fitting(trial, seconds=seconds / (_FORMS * (_REPEATS + 1)), largest=len(buffers.out))
    forward, backward, both = (
        size / statistics.median(timed(form(size, *ways), repeats=_REPEATS)) / 1e9
        for ways in ((to,), (fro,), (to, fro))
    )
    latency = _latency(group, clock, buffers.cut(LATENCY_BYTES), first, peer if group.rank in to else None)
    for (source, target), one_way in ((to, forward), (fro, backward)):
        yield Link(
            source=source,
            target=target,
            size_bytes=size,
            one_way_gb_per_s=one_way,
            both_ways_gb_per_s=2 * both,
            latency_us=round(latency * 1e6, 3),
        )


def fitting(trial: float, *, seconds: float, largest: int) -> int:
    """The power of two of bytes that a transfer of about `seconds` holds, when `trial` seconds move the trial's bytes."""
    size = _SMALLEST_BYTES
    while size < largest and 2 * size / _TRIAL_BYTES * trial <= seconds:
        size *= 2
    return size


def exchange(rank: int, peer: int, buffers: Buffers, directions: Sequence[tuple[int, int]], number: int) -> None:
    """Send and receive whatever of `directions` (source, target) concerns `rank`, all at once, and wait for it."""
    del number
    works = []
    for source, target in directions:
        if rank == source:
            works.append(dist.P2POp(dist.isend, buffers.out, peer))
        if rank == target:
            works.append(dist.P2POp(dist.irecv, buffers.inward, peer))
    for work in dist.batch_isend_irecv(works):
        work.wait()


def _slower(group: Group, clock: Clock, pair: frozenset[int], call: Call, *, repeats: int) -> list[float]:
    """Seconds of each repeat after a first try, of the slower rank of the pair; the others wait meanwhile."""
    times: list[float] = []
    for _ in range(repeats + 1):
        group.barrier()
        times.append(clock.batch(call, first=0, iterations=1)[0] if group.rank in pair else 0.0)
    return list(map(max, zip(*(mine[1:] for mine in group.gather(times)), strict=True)))


def _latency(group: Group, clock: Clock, buffers: Buffers, first: int, peer: int | None) -> float:
    """Half a round trip of 8 bytes in seconds, as `first` sees it: the median, or on a GPU the mean of queued ones."""

    def ping_pong(number: int) -> None:
        del number
        assert peer is not None
        for sends in (True, False) if group.rank == first else (False, True):
            buffer = buffers.out if sends else buffers.inward
            for work in dist.batch_isend_irecv([dist.P2POp(dist.isend if sends else dist.irecv, buffer, peer)]):
                work.wait()

    group.barrier()
    seconds = 0.0
    if peer is not None:
        clock.batch(ping_pong, first=0, iterations=3)
        whole, singles = clock.batch(ping_pong, first=0, iterations=_ROUND_TRIPS)
        seconds = statistics.median(singles) if singles else whole / _ROUND_TRIPS
    return group.gather([seconds])[first][0] / 2
