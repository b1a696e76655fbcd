"""A collective beside a matrix product: how much of the shorter one hides behind the longer.

Three times of the same work decide it: t_c the collective alone, t_g the product alone, t_b both at once with the
collective started first. hidden = (t_c + t_g - t_b) / min(t_c, t_g): by hand, 10 ms and 8 ms that take 11 ms together
hide 7/8. The three take turns in every repeat, so that a machine that drifts does so for all of them. The product is
repeated until it lasts about as long as the collective: beside a much shorter one the ratio says nothing.

On a GPU the two stand on streams of their own. On the CPU the collective runs in Gloo's thread and the product in this
one; with no core to spare for Gloo they take turns, and about 0 is the truth. Rows of that kind carry a label.
"""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
import torch.distributed as dist

from app.bench.events import Event, Overlap, Problem
from app.bench.spec import ELEMENT_BYTES, Operation, RunSpec
from app.bench.worker.buffers import TORCH_TYPES
from app.bench.worker.collectives import collectives
from app.bench.worker.collectives.model import Layout
from app.bench.worker.group import Group
from app.bench.worker.sides import CpuSides, GpuSides, Taken

SHARED_CORES = "shares the CPU cores"
"""The label of a measurement whose two sides may compete for the same cores."""
_SMALLER = 16
"""The second size is about this much smaller than the largest."""
_BALANCED = (0.5, 2.0)
_MINIMUM_REPEATS, _MAXIMUM_REPEATS = 5, 30
_PILOT_REPEATS = 3
"""Of both sides alone, in turn, to find how many products last as long as the collective."""
_CALLS_AT_LEAST = 30
"""Times of one collective that the fewest repeats take, with what goes before them."""
_PROPORTIONAL_BYTES = 1 << 20
"""From about here on the time of a collective grows with its size."""
_BATCH_SECONDS = 0.002
"""On a GPU one side lasts at least this long, so that the launch of a kernel weighs little."""
_MAXIMUM_BATCH = 1000
_TRIES = 4
"""Of these the first is not counted."""
_CPU_EDGES = (64, 128, 256, 512)
_GPU_EDGES = (1024, 2048, 4096, 8192)
_PRODUCTS_AT_LEAST = 4

# Renamed in torch 2.13.
_gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
_scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
STARTERS: Mapping[Operation, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "all_reduce": lambda _send, receive: dist.all_reduce(receive, async_op=True),
    "all_gather": lambda send, receive: _gather(receive, send, async_op=True),
    "reduce_scatter": lambda send, receive: _scatter(receive, send, async_op=True),
}
"""(send, receive) -> the work under way, for the collectives that training overlaps."""


def overlap(group: Group, spec: RunSpec, *, send: Callable[[Event], None], beat: Callable[[], None]) -> None:
    """Send an Overlap for up to two sizes of each of the specification's operations that can overlap."""
    operations = [operation for operation in spec.operations if operation in STARTERS]
    if group.ranks == 1 or not operations:
        why = "one rank has nothing to communicate" if group.ranks == 1 else f"none of {', '.join(STARTERS)} was chosen"
        send(Problem(kind="extra-skipped", text=f"overlap: {why}", fatal=False))
        return
    for operation in operations:
        measured = _Measured(group, spec, operation, seconds=spec.extra_seconds / len(operations) / 2, beat=beat)
        refusal = measured.refusal()
        if refusal is not None:
            send(Problem(kind="extra-skipped", text=f"overlap: {operation}: {refusal}", fatal=False))
            continue
        for event in measured.events():
            send(event)


class _Measured:
    """One operation at its sizes, in about twice `seconds`."""

    def __init__(
        self, group: Group, spec: RunSpec, operation: Operation, *, seconds: float, beat: Callable[[], None]
    ) -> None:
        self._group = group
        self._spec = spec
        self._operation = operation
        self._seconds = seconds
        self._beat = beat
        self._on_gpu = group.device.type == "cuda"
        self._sizes = [size for size in spec.sizes if self._layout(size).count]
        self._sides: CpuSides | GpuSides = GpuSides(group.device) if self._on_gpu else CpuSides()

    def refusal(self) -> str | None:
        """Why the backend cannot do this operation with this type; None when it can."""
        if not self._sizes:
            return "every size is too small"
        why = ""
        try:
            self._starter(self._sizes[0])().wait()
        except (RuntimeError, ValueError, TypeError) as error:
            why = str(error).splitlines()[0][:200] or type(error).__name__
        failed = self._group.gather_text(why)
        return next((text for text in failed if text), None)

    def events(self) -> list[Event]:
        """The largest size that the time allows, and one about a sixteenth of it."""
        largest, alone = self._largest()
        smaller = [size for size in self._sizes if size * _SMALLER <= largest]
        found = self._event(largest, alone)
        return [*found, *(self._event(smaller[-1], None) if smaller else ())]

    def _largest(self) -> tuple[int, float]:
        """The largest size whose repeats fit the time, found from below, and the seconds of its collective."""
        allowed = 1.5 * self._seconds / _CALLS_AT_LEAST
        size, alone = self._sizes[0], self._alone(self._starter(self._sizes[0]), 1)
        for larger in self._sizes[1:]:
            if alone * larger / size > 2 * allowed and larger >= _PROPORTIONAL_BYTES:
                break
            longer = self._alone(self._starter(larger), 1)
            if longer > allowed:
                break
            size, alone = larger, longer
        return size, alone

    def _event(self, size: int, alone: float | None) -> list[Event]:
        start = self._starter(size)
        if alone is None:
            alone = self._alone(start, 1)
        calls = min(math.ceil(_BATCH_SECONDS / alone), _MAXIMUM_BATCH) if self._on_gpu else 1
        wanted = self._alone(start, calls)
        product, once = self._product(wanted)
        products = max(1, round(wanted / once))
        alone_c, alone_g = self._repeat(start, product, ((calls, 0), (0, products)), repeats=_PILOT_REPEATS)
        products = max(1, round(products * alone_c.communication / alone_g.compute))
        repeats = max(_MINIMUM_REPEATS, min(_MAXIMUM_REPEATS, math.floor(self._seconds / (4 * wanted))))
        forms = ((calls, 0), (0, products), (calls, products))
        alone_c, alone_g, both = self._repeat(start, product, forms, repeats=repeats)
        if not _is_balanced(alone_c.communication, alone_g.compute):
            products = max(1, round(products * alone_c.communication / alone_g.compute))
            forms = ((calls, 0), (0, products), (calls, products))
            alone_c, alone_g, both = self._repeat(start, product, forms, repeats=repeats)
        return self._told(size, alone_c.communication, alone_g.compute, both, calls=calls, repeats=repeats)

    def _told(self, size: int, t_c: float, t_g: float, both: Taken, *, calls: int, repeats: int) -> list[Event]:
        event = Overlap(
            operation=self._operation,
            size_bytes=self._layout(size).size_bytes,
            dtype=self._spec.dtype,
            ranks=self._group.ranks,
            communication_us=round(t_c / calls * 1e6, 3),
            compute_us=round(t_g / calls * 1e6, 3),
            both_us=round(both.both / calls * 1e6, 3),
            hidden=round((t_c + t_g - both.both) / min(t_c, t_g), 4),
            communication_slowdown=None if math.isnan(both.communication) else round(both.communication / t_c, 3),
            compute_slowdown=round(both.compute / t_g, 3),
            repeats=repeats,
            label=None if self._on_gpu else SHARED_CORES,
        )
        if _is_balanced(t_c, t_g):
            return [event]
        text = f"{self._operation} at {event.size_bytes} bytes: product {t_g / t_c:.2g} times as long as the collective"
        return [event, Problem(kind="overlap-unbalanced", text=text, fatal=False)]

    def _repeat(
        self, start: Callable[[], Any], product: Callable[[], None], forms: Sequence[tuple[int, int]], *, repeats: int
    ) -> list[Taken]:
        """Times of each form (collectives, products), taken in turn: medians over repeats of the slowest rank."""
        mine: list[float] = []
        for _ in range(repeats):
            for calls, products in forms:
                self._group.barrier()
                taken = self._sides.run(start, calls, product, products)
                mine += (taken.communication, taken.compute, taken.both)
            self._beat()
        slowest = [_slowest(values) for values in zip(*self._group.gather(mine), strict=True)]
        columns = [_median(slowest[place :: 3 * len(forms)]) for place in range(3 * len(forms))]
        return [Taken(*columns[place : place + 3]) for place in range(0, len(columns), 3)]

    def _alone(self, start: Callable[[], Any], calls: int) -> float:
        """Seconds of `calls` collectives after a first try, of the slowest rank."""
        return self._agreed(lambda: self._sides.run(start, calls, _nothing, 0).communication)

    def _product(self, wanted: float) -> tuple[Callable[[], None], float]:
        """A product several of which last `wanted` seconds, and how long one takes."""
        edges = _GPU_EDGES if self._on_gpu else _CPU_EDGES
        products = 10 if self._on_gpu else 2
        for edge in reversed(edges):
            product = self._multiply(edge)
            once = self._agreed(partial(self._products, product, products)) / products
            if once * _PRODUCTS_AT_LEAST <= wanted:
                break
        return product, once

    def _products(self, product: Callable[[], None], products: int) -> float:
        return self._sides.run(_nothing, 0, product, products).compute

    def _agreed(self, measure: Callable[[], float]) -> float:
        times: list[float] = []
        for _ in range(_TRIES):
            self._group.barrier()
            times.append(measure())
        self._beat()
        return self._group.maximum(max(statistics.median(times[1:]), 1e-9))

    def _multiply(self, edge: int) -> Callable[[], None]:
        kind = torch.bfloat16 if self._on_gpu else torch.float32
        left, right = (torch.randn(edge, edge, device=self._group.device).to(kind) for _ in range(2))
        out = torch.empty_like(left)

        def product() -> None:
            torch.mm(left, right, out=out)

        return product

    def _layout(self, size: int) -> Layout:
        return collectives()[self._operation].lay_out(size, self._group.ranks, ELEMENT_BYTES[self._spec.dtype])

    def _starter(self, size: int) -> Callable[[], Any]:
        layout = self._layout(size)
        kind = TORCH_TYPES[self._spec.dtype]
        send, receive = (
            torch.randn(count, device=self._group.device).to(kind) for count in (layout.send, layout.receive)
        )
        starter = STARTERS[self._operation]
        return lambda: starter(send, receive)


def _is_balanced(t_c: float, t_g: float) -> bool:
    return _BALANCED[0] <= t_g / t_c <= _BALANCED[1]


def _slowest(values: Sequence[float]) -> float:
    return math.nan if any(map(math.isnan, values)) else max(values)


def _median(values: Sequence[float]) -> float:
    return math.nan if any(map(math.isnan, values)) else statistics.median(values)


def _nothing() -> None:
    pass
