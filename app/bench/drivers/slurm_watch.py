"""When to ask Slurm for a job, and what follows from its answers: often after a change, seldom while nothing happens."""

import time
from dataclasses import dataclass

from app.bench.drivers.slurm_login import Unreachable
from app.bench.drivers.slurm_queue import UNKNOWN, Queue, Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often Slurm is asked, and how long it may be out of reach."""

    quick_seconds: float = 2.0
    slow_seconds: float = 10.0
    silent_seconds: float = 300.0
    ending_seconds: float = 60.0
    """How long a cluster may tidy up after a job."""
    cancel_seconds: float = 15.0


class Watch:
    """The standing of one job as far as it is known."""

    def __init__(self, queue: Queue, job: str, *, pace: Pace) -> None:
        self.standing = Standing("PENDING")
        self.is_over = False
        """Whether there is nothing more to wait for."""
        self._queue = queue
        self._job = job
        self._pace = pace
        self._pause = pace.quick_seconds
        self._next = 0.0
        self._forgotten = 0
        self._trouble = f"job {job}"
        self._heard = self._ending = time.monotonic()

    @property
    def is_due(self) -> bool:
        """Whether it is time to ask."""
        return time.monotonic() >= self._next

    async def look(self) -> None:
        """Ask Slurm; where it does not answer, all stays as it was."""
        try:
            seen = await self._queue.look(self._job)
        except Unreachable as error:
            self._trouble = str(error)
        else:
            self._learn(seen)
        self._next = time.monotonic() + self._pause

    def _learn(self, seen: Standing) -> None:
        self._heard = time.monotonic()
        if seen.state == UNKNOWN:
            # A controller that has just come back may not know its jobs yet: it is asked twice.
            self._forgotten += 1
            self.is_over = self._forgotten > 1
            self.standing = seen if self.is_over else self.standing
            return
        self._forgotten = 0
        self._pause = (
            self._pace.quick_seconds if seen != self.standing else min(1.5 * self._pause, self._pace.slow_seconds)
        )
        self._ending = self._ending if seen.state == "COMPLETING" else self._heard
        self.standing = seen
        self.is_over = seen.is_over or self._heard - self._ending > self._pace.ending_seconds

    def hear(self) -> None:
        """The job itself gave a sign of life."""
        self._heard = time.monotonic()

    def hurry(self) -> None:
        """The job will be over soon."""
        self._pause = self._pace.quick_seconds
        self._next = min(self._next, time.monotonic() + self._pause)

    def require_sign(self) -> None:
        """Raises Unreachable when neither Slurm nor the job was heard for too long."""
        if time.monotonic() - self._heard > self._pace.silent_seconds:
            raise Unreachable(self._trouble)
