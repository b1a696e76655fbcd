"""Do the rows agree with a bare loop? `python benchmarks/bench_agreement.py [OPERATION ...] [--ranks 2] [--rounds 8] [--json]`

Two Gloo ranks time every operation at nine sizes in two ways in the same process: the worker's own measurement (the
out-of-place half of a row), and a plain loop of the `torch.distributed` call between two readings of the clock, with as
many calls over the same walk through memory. They take turns batch by batch, and the side that goes first changes; each
batch is compared with its neighbour, so that a busy machine hits both alike. `hot` is the bare loop again on one pair of
buffers, which after the first call lie in the cache, and shows what that is worth.

The figure of an operation is the median ratio of row to bare over all pairs of batches; it has to be within 5 %, or the exit
code is 1. The spread (the middle half of the ratios) says how far to trust it: on a busy machine it is wide.
`--json` prints everything, with the machine's load before and after.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
import torch.distributed as dist

from app.bench.spec import ELEMENT_BYTES, OPERATIONS, RunSpec
from app.bench.worker.buffers import Buffers
from app.bench.worker.calls import Calls
from app.bench.worker.collectives import collectives
from app.bench.worker.collectives.model import Role
from app.bench.worker.group import Group, join
from app.bench.worker.plan import Step
from app.bench.worker.timing import BlockingClock, Call, measure, summarize

ROOT = Path(__file__).parent.parent
SIZES = tuple(1024 << place for place in range(0, 17, 2))
LIMIT = 0.05
GATHER = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
SCATTER = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
Bare = Callable[[], object]


def main() -> int:
    """Start the ranks, or be one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operations", nargs="*", metavar="OPERATION", help="all ten unless named")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    if unknown := set(chosen.operations) - set(OPERATIONS):
        parser.error(f"{', '.join(sorted(unknown))}: choose from {', '.join(OPERATIONS)}")
    operations = chosen.operations or list(OPERATIONS)
    if "RANK" in os.environ:
        be_rank(operations, rounds=chosen.rounds)
    before = os.getloadavg()[0]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.fspath(ROOT), "GLOO_SOCKET_IFNAME": "lo"}
    arguments = [f"--nproc-per-node={chosen.ranks}", __file__, f"--rounds={chosen.rounds}", *operations]
    with subprocess.Popen([*command, *arguments], env=environment, stdout=subprocess.PIPE, text=True) as ranks:
        assert ranks.stdout is not None
        found = []
        for line in ranks.stdout:
            found.append(json.loads(line))
            if not chosen.json:
                print(table(found[-1]), flush=True)
    if chosen.json:
        load = {"before": before, "after": os.getloadavg()[0], "cores": os.cpu_count()}
        print(json.dumps({"ranks": chosen.ranks, "torch": torch.__version__, "load": load, "operations": found}))
    agree = len(found) == len(operations) and all(one["is_within"] for one in found)
    return 0 if agree and ranks.returncode == 0 else 1


def table(found: dict[str, object]) -> str:
    """What was found of one operation, for people."""
    lines = [f"{found['operation']:>14} {'row us':>10} {'bare us':>10} {'hot us':>10} {'row/bare':>9} {'row/hot':>9}"]
    sizes = found["sizes"]
    assert isinstance(sizes, list)
    for size in sizes:
        times = " ".join(f"{size[name]:>10.1f}" for name in ("row_us", "bare_us", "hot_us"))
        lines.append(f"{size['size_bytes']:>14} {times} {size['row_to_bare']:>9.3f} {size['row_to_hot']:>9.3f}")
    verdict = "within" if found["is_within"] else "NOT within"
    lines.append(
        f"  row to bare {found['row_to_bare']:.3f}, {verdict} {LIMIT:.0%} (middle half {found['low']:.3f} to"
        f" {found['high']:.3f} of {found['pairs']} pairs; row to hot {found['row_to_hot']:.3f})"
    )
    return "\n".join(lines)


def be_rank(operations: Sequence[str], *, rounds: int) -> None:
    """Time every operation and, as rank 0, print a line of JSON for each. Does not return."""
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    group = join(rank=rank, ranks=ranks, local_rank=rank, choice="gloo", timeout_seconds=120)
    buffers = Buffers(largest_bytes=SIZES[-1], dtype="float", device=group.device, seed=0)
    calls = Calls(buffers, Role(rank=rank, ranks=ranks))
    for operation in operations:
        found = one_operation(operation, group=group, calls=calls, rounds=rounds)
        if rank == 0:
            print(json.dumps(found), flush=True)
    group.barrier()
    os._exit(0)


class Turn(NamedTuple):
    """Seconds of one call in three batches that ran one after another."""

    row: float
    bare: float
    hot: float


def one_operation(operation: str, *, group: Group, calls: Calls, rounds: int) -> dict[str, object]:
    """All sizes of one operation: times in microseconds, and ratios."""
    spec = RunSpec(
        operations=("all_reduce",), sizes=SIZES, ranks=group.ranks, budget_seconds=0.1, warm_up_seconds=0.1, batches=20
    )
    collective = collectives()[operation]
    everything: list[Turn] = []
    sizes = []
    for size in SIZES:
        step = Step(collective, collective.lay_out(size, group.ranks, ELEMENT_BYTES["float"]))
        turns = one_size(step, group=group, spec=spec, calls=calls, rounds=rounds)
        everything += turns
        row, bare, hot = (statistics.median(column) * 1e6 for column in zip(*turns, strict=True))
        to_bare, to_hot = ratios(turns)
        sizes.append(
            {
                "size_bytes": step.layout.size_bytes,
                "row_us": row,
                "bare_us": bare,
                "hot_us": hot,
                "row_to_bare": to_bare,
                "row_to_hot": to_hot,
            }
        )
    to_bare, to_hot = ratios(everything)
    low, _, high = statistics.quantiles((turn.row / turn.bare for turn in everything), n=4)
    return {
        "operation": operation,
        "row_to_bare": to_bare,
        "low": low,
        "high": high,
        "row_to_hot": to_hot,
        "is_within": abs(to_bare - 1) <= LIMIT,
        "pairs": len(everything),
        "sizes": sizes,
    }


def ratios(turns: Sequence[Turn]) -> tuple[float, float]:
    """The median ratios of row to bare and of row to hot."""
    return statistics.median(turn.row / turn.bare for turn in turns), statistics.median(
        turn.row / turn.hot for turn in turns
    )


def one_size(step: Step, *, group: Group, spec: RunSpec, calls: Calls, rounds: int) -> list[Turn]:
    """The timed batches of `rounds` measurements with their neighbours."""
    places = [calls.pair(step, number=number) for number in range(min(calls.buffers.slots(step.layout), 4096))]
    legs = step.collective.legs
    bare = [bare_call(step.collective.name, *place, group=group) for place in places]
    clock = TurnsClock(group, bare)
    turns: list[Turn] = []
    for _ in range(rounds):
        times = measure(calls.of(step), peers=group, clock=clock, spec=spec, beat=lambda: None)
        half = summarize(
            times.of_one_leg(legs, players=step.collective.players(group.ranks)),
            size_bytes=step.layout.size_bytes,
            bus_factor=step.collective.bus_factor(group.ranks),
            ranks=group.ranks,
            wrong=None,
        )
        # Warm-up turns have batches of another length, whose means see more or less of the slow calls.
        timed = len(half.batches_us)
        rows = [batch * 1e-6 for batch in half.batches_us]
        loops = ([seconds / legs for seconds in side[-timed:]] for side in (clock.bare, clock.hot))
        turns += map(Turn, rows, *loops)
    return turns


def bare_call(operation: str, send: torch.Tensor, receive: torch.Tensor, *, group: Group) -> Bare:
    """The call as anybody would write it, its arguments made beforehand; root 0, sums."""
    rank, ranks = group.rank, group.ranks
    following, before, partner = (rank + 1) % ranks, (rank - 1) % ranks, rank ^ 1
    sent, received = list(send.chunk(ranks)), list(receive.chunk(ranks))

    def exchange() -> None:
        works = [dist.isend(send, following), dist.irecv(receive, before)]
        for work in works:
            assert work is not None
            work.wait()

    def ping_pong() -> None:
        if partner == ranks:
            return
        if rank % 2 == 0:
            dist.send(send, partner)
        dist.recv(receive, partner)
        if rank % 2 == 1:
            dist.send(send, partner)

    bare: dict[str, Bare] = {
        "all_reduce": lambda: dist.all_reduce(receive),
        "all_gather": lambda: GATHER(receive, send),
        "reduce_scatter": lambda: SCATTER(receive, send),
        "all_to_all": lambda: dist.all_to_all_single(receive, send),
        "broadcast": lambda: dist.broadcast(receive, 0),
        "reduce": lambda: dist.reduce(receive, 0),
        "gather": lambda: dist.gather(send, received if rank == 0 else None, 0),
        "scatter": lambda: dist.scatter(receive, sent if rank == 0 else None, 0),
        "send_recv": exchange,
        "ping_pong": ping_pong,
    }
    return bare[operation]


class TurnsClock(BlockingClock):
    """The worker's clock, which runs the bare loops before and after each batch in turn."""

    def __init__(self, group: Group, calls: list[Bare]) -> None:
        self._group = group
        self._calls = calls
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
        count = len(self._calls)
        walking = [self._calls[number % count] for number in range(first, first + iterations)]
        self.bare.append(self._loop(walking))
        self.hot.append(self._loop([self._calls[0]] * iterations))

    def _loop(self, calls: list[Bare]) -> float:
        self._group.barrier()
        begin = time.perf_counter()
        for call in calls:
            call()
        return self._group.maximum((time.perf_counter() - begin) / len(calls))


if __name__ == "__main__":
    sys.exit(main())
