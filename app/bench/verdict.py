"""How a run ended, from what it said, what its launcher wrote and how its processes went.

The loudest error is rarely the cause: when one rank dies, all others complain of a lost connection. `judge` looks for the
first failure (a rank's own exception, a rank that was killed) before it believes the complaints. It adds what only the
runner can know (silence, a killed launcher, a full disk) as problems of the same form; what a problem means to a
reader stands in `app/bench/diagnosis/`.
"""

import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from app.bench.events import Problem
from app.bench.result import RunResult
from app.bench.runs import Status
from app.core.units import binary_bytes

Reason = Literal["exited", "stopped", "silent", "too_long", "memory", "flood", "disk_full"]

FULL_DISK_BYTES = 1024**2
_TORCHRUN_EXIT = re.compile(r"exitcode\s*:\s*(-?\d+)\)?[^(]*?(?:local_rank: (?P<local>\d+) )?\(pid: (\d+)\)")
_TORCHRUN_RANK = re.compile(r"^\W*rank\s*:\s*(\d+) ")
_FOLLOWING = frozenset({"connection-lost", "rank-lost", "timeout"})
"""Kinds that a rank reports when another one is at fault."""
_FOLLOWING_WORDS = re.compile(r"ncclRemoteError|remote process exited")
"""The same in NCCL's words, which a rank reports as its own exception."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What is known when no process of the run is left."""

    reason: Reason
    result: RunResult
    ranks: Mapping[int, int]
    """Rank by pid, of those that reported."""
    has_met: bool
    """Whether all ranks found each other."""
    exit_code: int | None
    """Of the launcher; None when it was not our child or could not be asked."""
    was_watched: bool = True
    """Whether the launcher was seen alive by whoever tells this."""
    first_dead: int | None
    """The rank whose process was seen to vanish while the others lived."""
    log: Sequence[str]
    free_bytes: int | None
    """Room on the run's disk; None when it is not known."""
    where: str = ""
    """What was being measured last."""
    oom_limit: str = ""
    """The memory limit for which the kernel has killed processes while the run went on; empty when it has not."""


def judge(ending: Ending) -> tuple[Status, tuple[Problem, ...]]:
    """The final status, and the problems with the cause first."""
    result = ending.result
    told = result.problems
    if result.finished:
        return _good(result), told
    if ending.reason == "stopped":
        return "cancelled", told
    if ending.reason == "too_long":
        problem = Problem(kind="too-long", text="the time limit of a run was reached")
        return ("partial" if result.rows else "timeout"), (problem, *told)
    if ending.reason == "memory":
        cap = binary_bytes(result.spec.memory_bytes)
        return "crashed", (Problem(kind="memory-cap", text=f"more than {cap}"), *told)
    if ending.reason == "flood":
        return "crashed", (Problem(kind="flood", text="the run printed more than its limit"), *told)
    if ending.reason == "disk_full":
        return ("partial" if result.rows else "crashed"), (_disk_full(ending.free_bytes or 0), *told)
    if ending.reason == "silent" and not any(problem.fatal for problem in told):
        return _silent(ending)
    return _failed(ending)


def _good(result: RunResult) -> Status:
    if result.has_wrong_values:
        return "wrong"
    return "emulated" if result.environment and result.environment.emulated else "done"


def _silent(ending: Ending) -> tuple[Status, tuple[Problem, ...]]:
    told = ending.result.problems
    if not ending.has_met:
        return "init_failed", (_missing(ending), *told)
    return "timeout", (Problem(kind="silent", text=ending.where), *told)


def _missing(ending: Ending) -> Problem:
    """Who did not come to the meeting, as far as anybody reported at all."""
    missing = sorted(set(range(ending.result.spec.ranks)) - set(ending.ranks.values()))
    return Problem(kind="ranks-missing", text=f"rank {', '.join(map(str, missing))}" if missing else "?")


def _failed(ending: Ending) -> tuple[Status, tuple[Problem, ...]]:
    fatal = [problem for problem in ending.result.problems if problem.fatal]
    cause = _cause(ending, fatal)
    rest = tuple(problem for problem in ending.result.problems if problem is not cause)
    if cause.kind == "slurm-timeout":
        return ("partial" if ending.result.rows else "timeout"), (cause, *rest)
    if cause.kind == "slurm-cancelled":
        return "cancelled", (cause, *rest)
    if cause.kind == "timeout" and not ending.has_met:
        return "init_failed", (_missing(ending), cause, *rest)
    if cause.kind == "timeout":
        return "timeout", (cause, *rest)
    if ending.has_met:
        return "crashed", (cause, *rest)
    return ("init_failed" if ending.ranks else "launch_failed"), (cause, *rest)


def _cause(ending: Ending, fatal: Sequence[Problem]) -> Problem:
    own = [problem for problem in fatal if not _is_following(problem)]
    if own:
        return own[0]
    killed = _killed_rank(ending)
    if killed is not None:
        return killed
    if ending.free_bytes is not None and ending.free_bytes < FULL_DISK_BYTES:
        return _disk_full(ending.free_bytes)
    if ending.reason == "exited" and ending.exit_code == -signal.SIGKILL:
        return Problem(kind="launcher-killed", text="the launcher was killed (signal 9)")
    lost = [problem for problem in fatal if problem.rank is not None]
    if ending.oom_limit and (lost or ending.first_dead is not None):
        return Problem(kind="oom-killed", rank=lost[0].rank if lost else ending.first_dead, text=ending.oom_limit)
    if lost:
        return lost[0]
    # Who waited in vain ends first; who made it wait may live on.
    if ending.first_dead is not None and not any(problem.kind == "timeout" for problem in fatal):
        return Problem(kind="rank-lost", rank=ending.first_dead, text=f"rank {ending.first_dead} vanished first")
    if fatal:
        return fatal[0]
    return _unexplained(ending)


def _unexplained(ending: Ending) -> Problem:
    """The launcher's end, when no rank has said anything."""
    if ending.exit_code is None and ending.was_watched:
        return Problem(
            kind="launcher-lost", text="the launcher is gone; its exit code went to a runner that is gone too"
        )
    if ending.exit_code is None:
        return Problem(kind="runner-lost", text="the run ended while no runner watched it")
    return Problem(kind="launcher-failed", text=f"the launcher ended with exit code {ending.exit_code}")


def _is_following(problem: Problem) -> bool:
    return problem.kind in _FOLLOWING or _FOLLOWING_WORDS.search(problem.text) is not None


def _disk_full(free_bytes: int) -> Problem:
    return Problem(kind="disk-full", text=f"{binary_bytes(free_bytes)} left in the data folder")


def _killed_rank(ending: Ending) -> Problem | None:
    """The first rank that torchrun saw end by a signal."""
    before: int | None = None
    for line in ending.log:
        named = _TORCHRUN_RANK.search(line)
        before = int(named[1]) if named else before
        match = _TORCHRUN_EXIT.search(line)
        if match is None or int(match[1]) >= 0:
            continue
        # A rank that was killed before it could tell its pid is known by torchrun's own number.
        local = int(match["local"]) if match["local"] and ending.result.spec.hosts == 1 else before
        rank, number = ending.ranks.get(int(match[3]), local), -int(match[1])
        if rank is None or number == signal.SIGTERM:
            continue
        if number == signal.SIGKILL and ending.oom_limit:
            return Problem(kind="oom-killed", rank=rank, text=ending.oom_limit)
        name = signal.Signals(number).name if number in set(signal.Signals) else str(number)
        return Problem(kind="rank-killed", rank=rank, text=f"rank {rank} ended by signal {number} ({name})")
    return None
