"""Matrix multiplication on every rank at once: the rate a rank gets beside its peers, as in training.

Random normal data, because zeros draw less power and let a GPU clock higher than real work would. Each shape is warmed
up until two successive batches agree within 5 %, then repeated; its figure is the median over repeats of the slowest
rank. Two pairs of operands take turns: on a GPU the two and the result are larger than its L2 cache, so no product
finds its operands there; on a CPU the smaller shapes fit into the cache, as the tiles of a real layer do.
A product of m x k by k x n counts 2mnk FLOP. On GPUs the clock and the reasons that hold it back are read while products
are still queued behind the measured ones.
"""

import math
import statistics
import time
from collections.abc import Callable

import torch

from app.bench.events import Gemm, GemmRate, Problem
from app.bench.worker import gpu
from app.bench.worker.buffers import TORCH_TYPES
from app.bench.worker.group import Group
from app.bench.worker.timing import SETTLED, Call, Clock, clock_for

Shape = tuple[int, int, int]

CPU_SHAPES: tuple[Shape, ...] = ((512, 512, 512), (1024, 1024, 1024), (512, 4096, 1024))
GPU_SHAPES: tuple[Shape, ...] = ((4096, 4096, 4096), (8192, 8192, 8192), (8192, 28672, 8192))
DTYPES = ("bfloat16", "float")
_WARM_UP_SHARE = 0.3
_WARM_UP_BATCHES = 8
"""A batch of the warm-up takes this part of its time."""
_MINIMUM_REPEATS = 5
_MAXIMUM_REPEATS = 200
_LOAD_SECONDS = 0.02
"""How long products are queued while the driver is asked for the clock."""


def gemm(group: Group, *, seconds: float, seed: int, beat: Callable[[], None]) -> Gemm | None:
    """The rates of all shapes in about `seconds`; None when there is no time for one."""
    if not seconds:
        return None
    shapes = GPU_SHAPES if group.device.type == "cuda" else CPU_SHAPES
    clock = clock_for(group.device)
    deadline = time.monotonic() + seconds
    left = len(DTYPES) * len(shapes)
    rates: list[GemmRate] = []
    for dtype in DTYPES:
        for shape in shapes:
            share = group.maximum((deadline - time.monotonic()) / left)
            left -= 1
            rate = _rate(group, clock, shape, dtype=dtype, seconds=max(share, 0.05), seed=seed, beat=beat)
            if rate is not None:
                rates.append(rate)
    if not rates:
        return None
    best = max(rates, key=lambda rate: rate.tflop_per_s)
    return Gemm(best_dtype=best.dtype, tflop_per_s=best.tflop_per_s, rates=tuple(rates))


def throttling(rates: Gemm) -> Problem | None:
    """A warning when heat or a weak power supply held any GPU back; None when all was well."""
    faults = sorted({reason for rate in rates.rates for reason in rate.throttled} & gpu.FAULTS)
    return Problem(kind="throttled", text=", ".join(faults), fatal=False) if faults else None


def _rate(
    group: Group, clock: Clock, shape: Shape, *, dtype: str, seconds: float, seed: int, beat: Callable[[], None]
) -> GemmRate | None:
    m, n, k = shape
    generator = torch.Generator(device=group.device).manual_seed(seed)

    def normal(rows: int, columns: int) -> torch.Tensor:
        return torch.randn(rows, columns, generator=generator, device=group.device).to(TORCH_TYPES[dtype])

    pairs = [(normal(m, k), normal(k, n)) for _ in range(2)]
    out = torch.empty(m, n, dtype=TORCH_TYPES[dtype], device=group.device)

    def call(number: int) -> None:
        torch.mm(*pairs[number % 2], out=out)

    group.barrier()
    once, _ = clock.batch(call, first=0, iterations=2)
    mean = group.maximum(once / 2)
    beat()
    if mean * _MINIMUM_REPEATS > 10 * seconds:
        return None

    def several(iterations: int) -> float:
        beat()
        return clock.batch(call, first=0, iterations=iterations)[0]

    mean = warm_up(several, agree=group.maximum, mean=mean, seconds=seconds * _WARM_UP_SHARE)
    repeats = max(_MINIMUM_REPEATS, min(_MAXIMUM_REPEATS, math.ceil(seconds * (1 - _WARM_UP_SHARE) / mean)))
    group.barrier()
    _, singles = clock.batch(call, first=0, iterations=repeats)
    by_rank = group.gather(singles or clock.singles(call, iterations=repeats))
    clock_mhz, throttled = _under_load(group, call, mean=mean)
    beat()
    flop = 2 * m * n * k
    return GemmRate(
        dtype=dtype,
        m=m,
        n=n,
        k=k,
        tflop_per_s=flop / max(map(statistics.median, by_rank)) / 1e12,
        maximum_tflop_per_s=flop / min(map(min, by_rank)) / 1e12,
        repeats=repeats,
        clock_mhz=clock_mhz,
        throttled=throttled,
    )


def warm_up(several: Callable[[int], float], *, agree: Callable[[float], float], mean: float, seconds: float) -> float:
    """Seconds of one product once two successive batches agree, or when the time is up.

    `several` gives the seconds of so many products; `agree` makes ranks act upon the same number, the largest.
    """
    begin = time.monotonic()
    iterations = max(2, min(_MAXIMUM_REPEATS, math.ceil(seconds / _WARM_UP_BATCHES / mean)))
    before = 0.0
    while True:
        mean = max(agree(several(iterations) / iterations), 1e-9)
        if abs(mean - before) <= SETTLED * before or agree(time.monotonic() - begin) >= seconds:
            return mean
        before = mean


def _under_load(group: Group, call: Call, *, mean: float) -> tuple[int | None, tuple[str, ...]]:
    """The clock of rank 0's GPU, and what holds any rank's clock back; nothing on the CPU."""
    if group.device.type != "cuda":
        return None, ()
    for number in range(min(_MAXIMUM_REPEATS, math.ceil(_LOAD_SECONDS / mean))):
        call(number)
    seen = gpu.state(group.device)
    torch.cuda.synchronize()
    told = {reason for text in group.gather_text("\n".join(seen.reasons)) for reason in text.splitlines()}
    return seen.clock_mhz, tuple(sorted(told))
