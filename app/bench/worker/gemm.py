"""Matrix multiplication on every rank at once: the rate a rank gets beside its peers, as in training.

Random normal data, because zeros draw less power and let a GPU clock higher than real work would. Each shape is
warmed up, then repeated; the figure of a shape is the median over repeats of the slowest rank. Two pairs of operands
take turns, so that the last product's operands are not all in the cache. A product of m x k by k x n counts 2mnk FLOP.
"""

import math
import statistics
import time
from collections.abc import Callable

import torch

from app.bench.events import Gemm, GemmRate
from app.bench.worker.buffers import TORCH_TYPES
from app.bench.worker.group import Group
from app.bench.worker.timing import Clock, clock_for

Shape = tuple[int, int, int]

CPU_SHAPES: tuple[Shape, ...] = ((512, 512, 512), (1024, 1024, 1024), (512, 4096, 1024))
GPU_SHAPES: tuple[Shape, ...] = ((4096, 4096, 4096), (8192, 8192, 8192), (8192, 28672, 8192))
DTYPES = ("bfloat16", "float")
_WARM_UP_SHARE = 0.3
_MINIMUM_REPEATS = 5
_MAXIMUM_REPEATS = 200


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
    warm = max(1, math.ceil(seconds * _WARM_UP_SHARE / mean))
    clock.batch(call, first=0, iterations=min(warm, _MAXIMUM_REPEATS))
    mean = group.maximum(clock.batch(call, first=0, iterations=2)[0] / 2)
    repeats = max(_MINIMUM_REPEATS, min(_MAXIMUM_REPEATS, math.ceil(seconds * (1 - _WARM_UP_SHARE) / mean)))
    group.barrier()
    _, singles = clock.batch(call, first=0, iterations=repeats)
    by_rank = group.gather(singles or clock.singles(call, iterations=repeats))
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
    )
