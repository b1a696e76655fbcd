"""Do the rows agree with a bare loop? `python benchmarks/bench_agreement.py [--ranks 2] [--rounds 7]`

Two Gloo ranks time each size in two ways in the same process: the worker's own measurement, and a plain loop of
`dist.all_reduce` between two readings of the clock, with as many calls. They take turns batch by batch, and the side that goes first
changes; each batch is compared with its neighbour, so that a busy machine hits both alike. `bare` walks through memory as
the worker does; `hot` keeps to one tensor, which after the first call lies in the cache, and shows what that is worth. The
median ratio of row to bare over all pairs has to be within 5 %, or it exits with 1.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

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
    parser.add_argument("--rounds", type=int, default=7)
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
        operations=("all_reduce",), sizes=SIZES, ranks=ranks, budget_seconds=0.2, warm_up_seconds=0.2, batches=20
    )
    buffers = Buffers(largest_bytes=SIZES[-1], dtype="float", device=group.device, seed=0)
    lines = [f"{'bytes':>10} {'pairs':>6} {'row us':>10} {'bare us':>10} {'hot us':>10} {'row/bare':>9} {'row/hot':>9}"]
    pairs: list[Turn] = []
    for size in SIZES:
        turns = one_size(size, group=group, spec=spec, buffers=buffers, rounds=rounds)
        times = " ".join(f"{statistics.median(column) * 1e6:>10.1f}" for column in zip(*turns, strict=True))
        to_bare, to_hot = ratios(turns)
        lines.append(f"{size:>10} {len(turns):>6} {times} {to_bare:>9.3f} {to_hot:>9.3f}")
        pairs += turns
    to_bare, to_hot = ratios(pairs)
    verdict = "within" if abs(to_bare - 1) <= LIMIT else "NOT within"
    lines.append(f"median ratio of row to bare {to_bare:.3f}: {verdict} {LIMIT:.0%} (to hot {to_hot:.3f})")
    if rank == 0:
        print("\n".join(lines), flush=True)
    group.barrier()
    os._exit(0)


class Turn(NamedTuple):
    """Seconds of one all-reduce in three batches that ran one after another."""

    row: float
    bare: float
    hot: float


def ratios(turns: Sequence[Turn]) -> tuple[float, float]:
    """The median ratios of row to bare and of row to hot."""
    return statistics.median(turn.row / turn.bare for turn in turns), statistics.median(
        turn.row / turn.hot for turn in turns
    )


def one_size(size: int, *, group: Group, spec: RunSpec, buffers: Buffers, rounds: int) -> list[Turn]:
    """The timed batches of `rounds` measurements with their neighbours."""
    collective = collectives()["all_reduce"]
    layout = collective.lay_out(size, group.ranks, 4)
    places = [buffers.pair(collective, layout, number=number) for number in range(min(buffers.slots(layout), 4096))]
    clock = TurnsClock(group, [receive for _, receive in places])

    def call(number: int) -> None:
        collective.run(*places[number % len(places)])

    turns: list[Turn] = []
    for _ in range(rounds):
        times = measure(call, peers=group, clock=clock, spec=spec, beat=lambda: None)
        half = summarize(times, size_bytes=size, bus_factor=Fraction(1), ranks=group.ranks, wrong=None)
        # Warm-up turns have batches of another length, whose means see more or less of the slow calls.
        timed = len(half.batches_us)
        rows = [batch * 1e-6 for batch in half.batches_us]
        turns += map(Turn, rows, clock.bare[-timed:], clock.hot[-timed:])
    return turns


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
