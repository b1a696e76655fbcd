"""Does anything survive or get lost under kill -9? `python benchmarks/random_kills.py [--kills 200] [--seed N] [--json]`

A real web server is started in a folder of its own, then short runs of two Gloo ranks follow one another. During each, one or more of
a rank, torchrun, the runner and the web server is killed (SIGKILL) at a random moment: right after the run was asked for, while
its processes start, while it measures, or while it is already being ended. Then only that is done which a user would do: a
dead web server is started again, and the run's page is opened now and then.

After every run it is checked that the run has come to an end, that no process with its mark lives, that every row in its
`events.log` stands in the database, that its devices are free again, and that neither the folder for temporary files nor
/dev/shm holds a file of it. At the end one run is left alone and has to be `done`. The exit code is 1 when anything was violated;
the folder is kept then, and named. Linux only.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from app.bench import process
from app.bench.runs import Run
from app.bench.spec import RunSpec
from app.core.clock import utc_now
from benchmarks.kills_checks import check, check_after, lost_rows
from benchmarks.kills_place import NeverHappened, Place, wait_for

VICTIMS = {"rank": 3, "torchrun": 1, "runner": 1, "server": 1}
"""How likely each is to be chosen among those that live."""
MOMENTS = ("asked", "launched", "met", "measured")
ANOTHER = 0.75
"""How likely one more kill follows in the same run while it goes on."""


@dataclass(frozen=True, slots=True)
class Kill:
    """One process that was killed: `moment` is how far the run was."""

    run: int
    victim: str
    moment: str
    second: float
    """Since the run was asked for."""


@dataclass(slots=True)
class Tally:
    """What happened, and what should not have."""

    kills: list[Kill] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    rows: int = 0
    violations: list[str] = field(default_factory=list)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None, help="of the order and the moments; random by default")
    parser.add_argument("--minutes", type=float, default=0, help="begin no further run after so long; 0 for no limit")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the tables")
    chosen = parser.parse_args()
    seed = random.SystemRandom().randrange(2**31) if chosen.seed is None else chosen.seed
    random.seed(seed)
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    tally, began, load = Tally(), time.monotonic(), os.getloadavg()[0]
    if not chosen.json:
        print(f"seed {seed}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="ringside-kills-"))
    with place(folder) as here:
        while len(tally.kills) < chosen.kills and not (0 < chosen.minutes * 60 < time.monotonic() - began):
            one_run(here, tally, wanted=chosen.kills - len(tally.kills), is_quiet=chosen.json)
        undisturbed(here, tally)
    tally.violations += check_after(here)
    report(tally, seed=seed, seconds=time.monotonic() - began, load=(load, os.getloadavg()[0]), as_json=chosen.json)
    if tally.violations:
        print(f"kept for a look: {folder}", file=sys.stderr)
        return 1
    shutil.rmtree(folder)
    return 0


@contextmanager
def place(folder: Path) -> Iterator[Place]:
    here = Place(folder)
    try:
        here.serve()
        yield here
    finally:
        here.close()


def one_run(here: Place, tally: Tally, *, wanted: int, is_quiet: bool) -> None:
    """One run with one kill or more, and the checks after it."""
    run_id, kills = start(here), 0
    began = time.monotonic()
    try:
        while kills < wanted and (kills == 0 or random.random() < ANOTHER):
            # The first kill comes at a random time after a random event, another one soon after it.
            moment = random.choice(MOMENTS) if kills == 0 else "again"
            wait_for_moment(here, run_id, moment)
            time.sleep(random.uniform(0, 1.5 if kills == 0 else 1.0))
            reached = moment_of(here.store.get(run_id))
            if kills and reached == "over":
                break
            second = round(time.monotonic() - began, 2)
            tally.kills.append(Kill(run_id, strike(here, run_id), reached, second))
            kills += 1
            here.serve()
            here.visit(f"/bench/runs/{run_id}")
        run = ended(here, run_id)
    except NeverHappened as error:
        tally.violations.append(f"run {run_id}: {error}")
        here.store.request_stop(run_id, now=utc_now())
        return
    tally.statuses[run.status] += 1
    tally.rows += run.rows
    violations = [f"run {run_id} ({run.status}): {found}" for found in check(here, run)]
    tally.violations += violations
    if not is_quiet:
        told = ", ".join(f"{kill.victim} at {kill.second} s ({kill.moment})" for kill in tally.kills[-kills:])
        kind = run.problems[0].kind if run.problems else "-"
        print(f"{len(tally.kills):>4} run {run_id}: {told} -> {run.status}, {kind}, {run.rows} rows", flush=True)
        for violation in violations:
            print(f"     VIOLATION {violation}", flush=True)


def start(here: Place) -> int:
    """Ask for a run the way the Bench page does."""
    spec = RunSpec(
        operations=("all_reduce", "all_gather"),
        sizes=tuple(1024 << place for place in range(0, 8, 2)),
        ranks=2,
        backend="gloo",
        budget_seconds=0.1,
        warm_up_seconds=0.05,
        batches=5,
        gemm_seconds=0.2,
        timeout_seconds=60,
    )
    run_id = here.store.enqueue(spec, node="local", now=utc_now())
    here.visit(f"/bench/runs/{run_id}")
    return run_id


def strike(here: Place, run_id: int) -> str:
    """Kill something that lives now; what it was."""
    while True:
        here.note_shared(run_id)
        living = {victim: found for victim in VICTIMS if (found := here.find(victim, run_id)) is not None}
        if living:
            # Ranks live for the shortest time of all.
            (victim,) = random.choices(list(living), [VICTIMS[victim] for victim in living])
            if process.is_alive(living[victim]):
                process.send(living[victim], signal.SIGKILL)
                return victim
        here.serve()


def wait_for_moment(here: Place, run_id: int, moment: str) -> None:
    """Until that has happened in the run, or it is over."""

    def has_come() -> bool:
        run = here.store.get(run_id)
        reached = {
            "asked": True,
            "again": True,
            "launched": run.leader is not None,
            "met": run.environment is not None,
            "measured": run.rows > 0,
        }
        return reached[moment] or not run.is_active

    wait_for(has_come, what=f"it gets as far as {moment!r}", meanwhile=lambda: here.visit(f"/bench/runs/{run_id}"))


def moment_of(run: Run) -> str:
    """How far the run is, for the table."""
    if not run.is_active:
        return "over"
    if run.rows:
        return "measuring"
    if run.started:
        return "starting"
    return "launched" if run.leader else "waiting"


def ended(here: Place, run_id: int) -> Run:
    """The run once it is over; its page is opened now and then, as one does who waits for it."""

    def visit() -> None:
        here.serve()
        here.visit(f"/bench/runs/{run_id}")

    wait_for(lambda: not here.store.get(run_id).is_active, what="it comes to an end", meanwhile=visit)
    return here.store.get(run_id)


def undisturbed(here: Place, tally: Tally) -> None:
    """After all that, a run that nobody touches ends well."""
    run = ended(here, start(here))
    if run.status != "done" or lost_rows(here, run.id):
        tally.violations.append(f"run {run.id}, left alone: {run.status} {run.problems}")


def report(tally: Tally, *, seed: int, seconds: float, load: tuple[float, float], as_json: bool) -> None:
    victims = Counter((kill.victim, kill.moment) for kill in tally.kills)
    if as_json:
        document = {
            "seed": seed,
            "seconds": round(seconds, 1),
            "load": {"before": load[0], "after": load[1], "cores": os.cpu_count()},
            "kills": [asdict(kill) for kill in tally.kills],
            "statuses": dict(tally.statuses),
            "rows": tally.rows,
            "violations": tally.violations,
        }
        print(json.dumps(document))
        return
    moments = ("waiting", "launched", "starting", "measuring", "over")
    print(f"\n{'killed while':<14}" + "".join(f"{moment:>11}" for moment in moments) + f"{'all':>8}")
    for victim in VICTIMS:
        counts = [victims[victim, moment] for moment in moments]
        print(f"{victim:<14}" + "".join(f"{count:>11}" for count in counts) + f"{sum(counts):>8}")
    statuses = ", ".join(f"{count} {status}" for status, count in tally.statuses.most_common())
    print(f"\n{len(tally.kills)} kills in {sum(tally.statuses.values())} runs ({statuses}), {tally.rows} rows kept")
    print(f"{seconds:.0f} s, load {load[0]:.1f} to {load[1]:.1f} on {os.cpu_count()} cores, seed {seed}")
    print("nothing left, nothing stuck, nothing lost" if not tally.violations else "VIOLATIONS:")
    for violation in tally.violations:
        print(f"  {violation}")


if __name__ == "__main__":
    sys.exit(main())
