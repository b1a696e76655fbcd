"""How long a timeline of 5,000 blocks takes to simulate and draw; run `python benchmarks/timeline_speed.py`.

The target is 300 ms on one core. Two schedules: the blocks of a training step with prefetch on three streams, and a
ring whose ranks all wait for each other. The best of five rounds is printed, then the median.
"""

import statistics
import time
from collections.abc import Callable

from app.core.i18n import Text
from app.timelines import catalog, svg

ROUNDS = 7
TARGET_MS = 300.0
CASES = {
    "gtp-chain step, 512 layers": ("gtp-chain", {"pass": "step", "layers": "512"}),
    "gtp-chain step, shared queue": ("gtp-chain", {"pass": "step", "layers": "512", "shared_queue": "true"}),
    "ring all-reduce, 50 ranks": ("ring-all-reduce", {"ranks": "50"}),
}


def measure(work: Callable[[], int]) -> tuple[int, list[float]]:
    """The number of blocks, and the processor milliseconds of each round after one to warm up."""
    blocks = work()
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        times.append((time.process_time() - start) * 1e3)
    return blocks, times


def main() -> None:
    for name, (slug, raw) in CASES.items():

        def work(slug: str = slug, raw: dict[str, str] = raw) -> int:
            run = catalog.run(slug, raw)
            svg.draw([(None, run)], "en", embed_id="speed", title=Text("speed", "速度"))
            return len(run.operations)

        blocks, times = measure(work)
        per_5000 = statistics.median(times) * 5000 / blocks
        verdict = "ok" if per_5000 < TARGET_MS else "too slow"
        print(
            f"{name}: {blocks} blocks, best {min(times):.0f} ms, median {statistics.median(times):.0f} ms;"
            f" per 5,000 blocks {per_5000:.0f} ms of {TARGET_MS:.0f} ms: {verdict}"
        )


if __name__ == "__main__":
    main()
