"""Do the rows agree with a bare loop? `python benchmarks/bench_agreement.py [--ranks 2] [--rounds 9]`

Two Gloo ranks time each size in two ways in the same process: the worker's own measurement, and a plain loop of
`dist.all_reduce` between two readings of the clock, with as many calls. They take turns batch by batch, the first turn
changing sides, so that a busy machine hits both alike. `bare` walks through memory as the worker does; `hot` keeps to one tensor,
which after the first call lies in the cache, and shows what that is worth. The median ratio of row to bare over all
sizes has to be within 5 %, or it exits with 1.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import torch
import torch.distributed as dist

from app.bench.spec import RunSpec
from app.bench.worker.buffers import Buffers
from app.bench.worker.collectives import collectives
from app.bench.worker.group import Group, join
from app.bench.worker.timing import BlockingClock, Call, measure, summarize

ROOT = Path(__file__).parent.parent
SIZES = tuple(1024 << place for place in range(0, 17, 2))
LIMIT = 0.05


def main() -> int:
    """Start the ranks, or be one of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    chosen = parser.parse_args()
    if "RANK" in os.environ:
        be_rank(chosen.rounds)
        return 0
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.fspath(ROOT), "GLOO_SOCKET_IFNAME": "lo"}
    arguments = [f"--nproc-per-node={chosen.ranks}", __file__, f"--rounds={chosen.rounds}"]
    done = subprocess.run([*command, *arguments], env=environment, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, end="")
    return 0 if f": within {LIMIT:.0%}" in done.stdout else 1


def be_rank(rounds: int) -> None:
    """Time every size and, as rank 0, print the table."""
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    group = join(rank=rank, ranks=ranks, local_rank=rank, choice="gloo", timeout_seconds=120)
    spec = RunSpec(
        operations=("all_reduce",), sizes=SIZES, ranks=ranks, budget_seconds=0.15, warm_up_seconds=0.2, batches=7
    )
    buffers = Buffers(largest_bytes=SIZES[-1], dtype="float", device=group.device, seed=0)
    lines = [f"{'bytes':>10} {'row us':>10} {'bare us':>10} {'hot us':>10} {'row/bare':>9} {'row/hot':>9}"]
    ratios: list[tuple[float, float]] = []
    for size in SIZES:
        row, bare, hot = one_size(size, group=group, spec=spec, buffers=buffers, rounds=rounds)
        ratios.append((row / bare, row / hot))
        lines.append(
            f"{size:>10} {row * 1e6:>10.1f} {bare * 1e6:>10.1f} {hot * 1e6:>10.1f} {row / bare:>9.3f} {row / hot:>9.3f}"
        )
    to_bare, to_hot = (statistics.median(column) for column in zip(*ratios, strict=True))
    verdict = "within" if abs(to_bare - 1) <= LIMIT else "NOT within"
    lines.append(f"median ratio of row to bare {to_bare:.3f}: {verdict} {LIMIT:.0%} (to hot {to_hot:.3f})")
    if rank == 0:
        print("\n".join(lines), flush=True)
    group.barrier()
    os._exit(0)


def one_size(size: int, *, group: Group, spec: RunSpec, buffers: Buffers, rounds: int) -> tuple[float, float, float]:
    """Median seconds of one all-reduce: as rows say, in a bare loop, and in a bare loop over one tensor."""
    collective = collectives()["all_reduce"]
    layout = collective.lay_out(size, group.ranks, 4)
    places = [buffers.pair(collective, layout, number=number) for number in range(min(buffers.slots(layout), 4096))]
    clock = TurnsClock(group, [receive for _, receive in places])

    def call(number: int) -> None:
        collective.run(*places[number % len(places)])

    rows: list[float] = []
    bare: list[float] = []
    hot: list[float] = []
    for _ in range(rounds):
        times = measure(call, peers=group, clock=clock, spec=spec, beat=lambda: None)
        half = summarize(times, size_bytes=size, bus_factor=Fraction(1), ranks=group.ranks, wrong=None)
        rows.append(half.time_us * 1e-6)
        # Warm-up turns have shorter batches, whose means miss the tail of slow calls: only the timed ones compare.
        timed = len(half.batches_us)
        bare.append(statistics.median(clock.bare[-timed:]))
        hot.append(statistics.median(clock.hot[-timed:]))
    return statistics.median(rows), statistics.median(bare), statistics.median(hot)


class TurnsClock(BlockingClock):
    """The worker's clock, which runs the bare loops before and after each batch in turn."""

    def __init__(self, group: Group, tensors: list[torch.Tensor]) -> None:
        self._group = group
        self._tensors = tensors
        self.bare: list[float] = []
        self.hot: list[float] = []
        self._turn = 0

    def batch(self, call: Call, *, first: int, iterations: int) -> tuple[float, list[float]]:
        self._turn += 1
        if self._turn % 2:
            self._loops(first, iterations)
            self._group.barrier()
            return super().batch(call, first=first, iterations=iterations)
        taken = super().batch(call, first=first, iterations=iterations)
        self._loops(first, iterations)
        return taken

    def _loops(self, first: int, iterations: int) -> None:
        count = len(self._tensors)
        walking = [self._tensors[number % count] for number in range(first, first + iterations)]
        self.bare.append(self._loop(walking))
        self.hot.append(self._loop([self._tensors[0]] * iterations))

    def _loop(self, tensors: list[torch.Tensor]) -> float:
        self._group.barrier()
        begin = time.perf_counter()
        for tensor in tensors:
            dist.all_reduce(tensor)
        return self._group.maximum((time.perf_counter() - begin) / len(tensors))


if __name__ == "__main__":
    sys.exit(main())
