"""The rate of plain copies on every rank at once: what feeds a GPU, or what a CPU rank's memory gives.

A copy of n bytes counts n bytes, as nvbandwidth counts it, though the memory reads n and writes n. The blocks of all
ranks together are twice the last-level cache. Host memory is copied by one thread a rank, as the ranks run; between host and GPU once with
pinned memory, which the GPU reads by itself, and once with pageable memory, which goes through a buffer of the driver.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch

from app.bench.events import Copy, Event, Problem
from app.bench.spec import RunSpec
from app.bench.worker.buffers import last_level_cache
from app.bench.worker.group import Group
from app.bench.worker.timing import BlockingClock, Clock, EventClock

Kind = Literal["host_to_host", "host_to_device", "device_to_host", "device_to_device"]

_SMALLEST, _LARGEST = 64 * 1024**2, 512 * 1024**2
_DEVICE_BYTES = 256 * 1024**2
_CACHES = 2
"""The blocks of a host's ranks together are this many times its last-level cache, within the bounds above."""
_MEMORY_SHARE = 4
"""All blocks of a host take at most this part of the memory a run may use."""
_WARM_UP = 2
_MINIMUM_REPEATS, _MAXIMUM_REPEATS = 5, 50


@dataclass(frozen=True, slots=True)
class Way:
    """One kind of copy between two blocks of equal size."""

    kind: Kind
    pinned: bool
    source: torch.device
    target: torch.device

    def blocks(self, size: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The block to copy from, and the one to copy to; every page of both has been written."""
        first, second = (
            torch.ones(size, dtype=torch.uint8, device=device, pin_memory=self.pinned and device.type == "cpu")
            for device in (self.source, self.target)
        )
        return first, second


def ways(device: torch.device) -> Iterator[Way]:
    """The kinds of copy that a rank with `device` has."""
    host = torch.device("cpu")
    yield Way("host_to_host", pinned=False, source=host, target=host)
    if device.type == "cuda":
        for pinned in (True, False):
            yield Way("host_to_device", pinned=pinned, source=host, target=device)
            yield Way("device_to_host", pinned=pinned, source=device, target=host)
        yield Way("device_to_device", pinned=False, source=device, target=device)


def copies(group: Group, spec: RunSpec, *, send: Callable[[Event], None], beat: Callable[[], None]) -> None:
    """Send a Copy for each kind of copy that the ranks have."""
    cache, local = last_level_cache(torch.device("cpu")), group.local_ranks
    usable = min(spec.memory_bytes or available_bytes(), available_bytes())
    size = int(-group.maximum(-block_bytes(ranks=local, cache=cache, usable=usable)))
    if group.total(2 * size * local < _CACHES * cache):
        text = f"{local} ranks with two blocks of {size >> 20} MiB beside a cache of {cache >> 20} MiB"
        send(Problem(kind="copies-cached", text=text, fatal=False))
    known = list(ways(group.device))
    for way in known:
        on_gpu = "cuda" in (way.source.type, way.target.type)
        clock = EventClock() if on_gpu else BlockingClock()
        event = _measure(
            group,
            way,
            clock=clock,
            size=_DEVICE_BYTES if on_gpu else size,
            seconds=spec.extra_seconds / len(known),
            beat=beat,
        )
        send(event)


def block_bytes(*, ranks: int, cache: int, usable: int) -> int:
    """Bytes of a block in host memory: whole MiB, at least one. `ranks` of a host share its cache and `usable` memory.

    Two ranks beside a cache of 96 MiB need four blocks of 48 MiB to be twice as large; 64 MiB is the least.
    """
    blocks = 2 * ranks
    wanted = max(_SMALLEST, _CACHES * cache // blocks)
    return max(1, min(wanted, _LARGEST, usable // _MEMORY_SHARE // blocks) >> 20) << 20


def available_bytes() -> int:
    """Memory that a process may still take, by the kernel's estimate; all of it where there is none."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123 - a line at a time
            found = next((line for line in lines if line.startswith("MemAvailable:")), None)
    except OSError:
        found = None
    return int(found.split()[1]) * 1024 if found else 2**32


def _measure(group: Group, way: Way, *, clock: Clock, size: int, seconds: float, beat: Callable[[], None]) -> Copy:
    source, target = way.blocks(size)

    def call(number: int) -> None:
        del number
        target.copy_(source, non_blocking=way.pinned)

    def once() -> float:
        group.barrier()
        took, _ = clock.batch(call, first=0, iterations=1)
        beat()
        return took

    begin = time.monotonic()
    for _ in range(_WARM_UP):
        once()
    mean = group.maximum((time.monotonic() - begin) / _WARM_UP)
    repeats = max(_MINIMUM_REPEATS, min(_MAXIMUM_REPEATS, int(seconds / max(mean, 1e-6))))
    by_rank = group.gather([once() for _ in range(repeats)])
    slowest = statistics.median(map(max, zip(*by_rank, strict=True)))
    return Copy(kind=way.kind, size_bytes=size, gb_per_s=size / slowest / 1e9, pinned=way.pinned, repeats=repeats)
