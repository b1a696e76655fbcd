"""Two kinds of work on one device, alone or at once, and when each of them was done.

Used by `overlap`. A collective is started without waiting; a product is a call that computes (CPU) or queues (GPU).
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds from the start until the collectives were done, the products were done, and both."""

    communication: float
    """NaN where the end of the collective could not be seen."""
    compute: float
    both: float


class CpuSides:
    """The collective in the backend's thread, the product in this one."""

    def run(self, start: Callable[[], Any], calls: int, product: Callable[[], None], products: int) -> Taken:
        """Times of `calls` collectives, one after another, beside `products` products."""
        assert calls <= 1, "works of one group may overtake each other"
        finished: list[float] = []
        begin = time.perf_counter()
        work = start() if calls else None
        if work is not None and products:
            _watch(work, finished)
        for _ in range(products):
            product()
        computed = time.perf_counter()
        if work is None:
            return Taken(math.nan, computed - begin, computed - begin)
        was_running = not work.is_completed()
        work.wait()
        end = time.perf_counter()
        done = finished[0] if finished else end if was_running or not products else math.nan
        return Taken(done - begin, computed - begin, end - begin)


def _watch(work: Any, finished: list[float]) -> None:
    try:
        future = work.get_future()
    except RuntimeError:  # Gloo's reduce-scatter has none
        return
    future.add_done_callback(lambda _: finished.append(time.perf_counter()))


_CALL_SECONDS, _PRODUCT_SECONDS, _SPARE_SECONDS = 30e-6, 10e-6, 200e-6
"""What the launch of one takes on the host, generously."""
_CYCLES_PER_SECOND = 2e9


class GpuSides:
    """The collective on a stream of its own, the product on the current one.

    The GPU is held back until everything has been queued. Otherwise the products of a batch of short collectives would
    reach it only after the last of these had been launched, and no overlap would be seen where there is one.
    """

    def __init__(self, device: torch.device) -> None:
        self._side = torch.cuda.Stream(device)

    def run(self, start: Callable[[], Any], calls: int, product: Callable[[], None], products: int) -> Taken:
        """Times of `calls` collectives, one after another, beside `products` products."""
        begin, communicated, computed, end = (torch.cuda.Event(enable_timing=True) for _ in range(4))
        main = torch.cuda.current_stream()
        torch.cuda.synchronize()
        held = calls * _CALL_SECONDS + products * _PRODUCT_SECONDS + _SPARE_SECONDS
        torch.cuda._sleep(int(held * _CYCLES_PER_SECOND))  # noqa: SLF001 - the only kernel of torch that just waits
        begin.record(main)
        self._side.wait_stream(main)
        with torch.cuda.stream(self._side):
            for _ in range(calls):
                start().wait()  # the stream waits, not this thread
            communicated.record(self._side)
        for _ in range(products):
            product()
        computed.record(main)
        main.wait_event(communicated)
        end.record(main)
        torch.cuda.synchronize()
        return Taken(*(begin.elapsed_time(event) * 1e-3 for event in (communicated, computed, end)))
