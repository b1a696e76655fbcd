"""What a single call costs that begins on an idle link: the latency pass.

The rows time many calls in a row, where one may begin while the last rank still finishes the one before (a broadcast's root,
every queued call on a GPU). Here all ranks meet before each call and wait for its end, as stas00's all_reduce_bench does, so
small sizes look slower than in the rows, and the tail shows: a call counts as long as its slowest rank took. The ranks
leave the barrier a little apart from each other, and that is in the figures.
"""

import statistics
from collections.abc import Callable

from app.bench.events import Latency
from app.bench.spec import RunSpec
from app.bench.worker.plan import Step
from app.bench.worker.timing import Call, Clock, Peers, percentile, warm_up

LARGEST_BYTES = 64 * 1024
MINIMUM_CALLS = 100
"""So that a 99th percentile is not the maximum."""
MAXIMUM_CALLS = 2000
_BEAT_EVERY = 50


def latency(
    step: Step, run: Call, *, peers: Peers, clock: Clock, spec: RunSpec, seconds: float, beat: Callable[[], None]
) -> Latency:
    """The times of single calls of `run` in about `seconds`. All ranks call this together."""
    limit = min(spec.warm_up_seconds, seconds)
    used, mean = warm_up(run, peers=peers, clock=clock, seconds=limit, beat=beat)
    # A barrier costs about as much as a small call.
    calls = max(MINIMUM_CALLS, min(MAXIMUM_CALLS, int(seconds / (2 * mean))))
    mine: list[float] = []
    for number in range(used, used + calls):
        peers.barrier()
        mine.append(clock.single(run, number=number))
        if number % _BEAT_EVERY == 0:
            beat()
    by_rank = peers.gather(mine)[: step.collective.players(spec.ranks)]
    times = sorted(max(call) / step.collective.legs * 1e6 for call in zip(*by_rank, strict=True))
    return Latency(
        operation=step.collective.name,
        size_bytes=step.layout.size_bytes,
        dtype=spec.dtype,
        ranks=spec.ranks,
        p50_us=round(statistics.median(times), 4),
        p99_us=round(percentile(times, 99), 4),
        minimum_us=round(times[0], 4),
        cv_percent=round(statistics.pstdev(times) / statistics.fmean(times) * 100, 2),
        calls=calls,
    )
