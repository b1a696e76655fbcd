"""Slurm's commands: hand a job in, ask how it stands, take it back. Nothing of a run is known here.

squeue is asked and not sacct, because a cluster may keep no accounts; a job that squeue has forgotten is looked for there.
"""

import asyncio
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from app.bench.drivers.slurm_login import Login, Unreachable
from app.bench.events import Problem
from app.bench.launchers.slurm_settings import SlurmSettings

WAITING = frozenset(
    {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"}
    | {"STOPPED", "SUSPENDED"}
)
"""States in which no rank works; a suspended job's ranks are stopped."""
ENDED = frozenset(
    {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"}
    | {"REVOKED", "TIMEOUT"}
)
UNKNOWN = "UNKNOWN"
"""Slurm has forgotten the job."""
SUBMIT_SECONDS = 120.0
_NOT_FOUND = 127  # what a shell answers for a command that it does not find
_JOB = re.compile(r"^([0-9]+)(?:;[\w.-]+)?$", re.MULTILINE)
_FORGOTTEN = "Invalid job id"


@dataclass(frozen=True, slots=True)
class Standing:
    """How a job stands, in Slurm's own words; the reason is None when Slurm gives none."""

    state: str
    reason: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing of it runs or will run."""
        return self.state in ENDED or self.state == UNKNOWN


class Refused(Exception):
    """Slurm does not take the job, or is not there at all."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text)
        self.problem = problem


class Queue:
    """Slurm, as seen from a login node."""

    def __init__(self, login: Login, settings: SlurmSettings) -> None:
        self._login = login
        self._settings = settings

    async def submit(self, arguments: Sequence[str]) -> str:
        """The number of the new job. Raises Refused, or Unreachable when it may have been taken or not."""
        answer = await self._login.run(arguments, seconds=SUBMIT_SECONDS)
        if answer.code == _NOT_FOUND:
            raise Refused(self.missing())
        found = _JOB.search(answer.out)
        if answer.code or found is None:
            raise Refused(Problem(kind="slurm-rejected", text=_words(answer.err) or _words(answer.out) or "sbatch"))
        return found[1]

    async def look(self, job: str) -> Standing:
        """How the job stands. Raises Unreachable."""
        answer = await self._login.run(
            [self._program("squeue"), "--noheader", "--states=all", f"--jobs={job}", "--format=%T|%r"]
        )
        line = answer.out.strip().partition("\n")[0]
        if answer.code == 0 and line:
            state, _, reason = line.partition("|")
            return Standing(state, None if reason in ("", "None", "N/A") else reason)
        if answer.code == 0 or _FORGOTTEN in answer.err:
            return await self._remembered(job)
        raise Unreachable(_words(answer.err) or f"squeue: {answer.code}")

    async def cancel(self, *, job: str | None, name: str) -> None:
        """Take a job back, by its name when its number was never learnt. Raises Unreachable."""
        target = [job] if job else [f"--name={name}"]
        answer = await self._login.run([self._program("scancel"), *target])
        if answer.code and _FORGOTTEN not in answer.err:
            raise Unreachable(_words(answer.err) or f"scancel: {answer.code}")

    async def named(self, name: str) -> list[str]:
        """The numbers of the jobs of that name that are not over. Raises Unreachable."""
        answer = await self._login.run([self._program("squeue"), "--noheader", f"--name={name}", "--format=%A"])
        if answer.code:
            raise Unreachable(_words(answer.err) or f"squeue: {answer.code}")
        return answer.out.split()

    async def partitions(self) -> list[str]:
        """A line per partition and state, with the version first. Raises Refused and Unreachable."""
        version = await self._login.run([self._program("sinfo"), "--version"])
        if version.code == _NOT_FOUND:
            raise Refused(self.missing())
        answer = await self._login.run([self._program("sinfo"), "--format=%P %a %l %D %t %G %N"])
        if answer.code:
            raise Unreachable(_words(answer.err) or f"sinfo: {answer.code}")
        return [version.out.strip(), *answer.out.splitlines()]

    def missing(self) -> Problem:
        """Slurm's programs are not there."""
        return Problem(kind="slurm-missing", text=f"{self._login.name}: {self._program('sbatch')}")

    async def _remembered(self, job: str) -> Standing:
        """What the accounts say, where there are any."""
        answer = await self._login.run([self._program("sacct"), f"--jobs={job}", "-nPX", "--format=State,Reason"])
        state, _, reason = answer.out.strip().partition("\n")[0].partition("|")
        words = state.split()
        if answer.code or not words or words[0] not in ENDED:
            return Standing(UNKNOWN)
        said = " ".join(words[1:]) or reason  # "CANCELLED by 1000"
        return Standing(words[0], None if said in ("", "None") else said)

    def _program(self, name: str) -> str:
        return self._settings.program(name)


async def is_gone(queue: Queue, job: str, *, until: float, pause: float = 0.5) -> bool:
    """Whether the job is over before `until` on the monotonic clock. Raises Unreachable."""
    while not (await queue.look(job)).is_over:
        if time.monotonic() > until:
            return False
        await asyncio.sleep(pause)
    return True


def _words(text: str) -> str:
    """An answer for people: Slurm's programs say their own name before every line."""
    lines = (re.sub(r"^\w+: (error: )?", "", line.strip()) for line in text.splitlines())
    return "; ".join(line for line in lines if line)[:500]
