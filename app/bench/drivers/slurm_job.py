"""One run as a Slurm job, from sbatch to its end: hand it in, say how it stands, pass its output on, say why it ended.

Start at `JobRun.run`. While the job waits, the driver's heartbeats keep the run alive; once it runs, only what the ranks say does,
so that a rank that hangs is noticed. Slurm being out of reach ends nothing by itself: the job goes on, and so does its output.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from app.bench import preflight
from app.bench.drivers.output import Output as Voice
from app.bench.drivers.slurm_login import Login, Unreachable
from app.bench.drivers.slurm_output import Output
from app.bench.drivers.slurm_queue import WAITING, Queue, Refused, Standing, is_gone
from app.bench.drivers.slurm_reason import reason
from app.bench.drivers.slurm_record import Record
from app.bench.drivers.slurm_watch import Pace, Watch
from app.bench.drivers.ssh_problems import SshFailed
from app.bench.events import Event, Heartbeat, Job, Phase, Problem
from app.bench.launchers.package import SPEC, WORKER
from app.bench.launchers.slurm_script import SCRIPT, batch_script, sbatch_arguments
from app.bench.launchers.slurm_settings import SlurmSettings
from app.bench.spec import RunSpec

WAIT_PATIENCE_SECONDS = 120.0
START_PATIENCE_SECONDS = 240.0
"""From the job's start to the first word of a rank: Python is read from a network disk, and nodes wait for each other."""
_TICK_SECONDS = 0.5
_LATE_SECONDS = 5.0
"""How long the last lines of a job may take to come over a network file system."""


class Unfit(Exception):
    """The nodes Slurm gave cannot do the run, for the first of `problems`."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(problems[0].text)
        self.problems = problems


class JobRun:
    """The run in the local `folder`, as one job.

    `say` gets what the driver itself has to tell; `mask` hides names, where the run asks for it.
    """

    def __init__(
        self,
        spec: RunSpec,
        settings: SlurmSettings,
        *,
        folder: Path,
        login: Login,
        record: Record,
        mark: str,
        say: Callable[[Event], None],
        mask: Voice | None = None,
        pace: Pace | None = None,
    ) -> None:
        self._spec = spec
        self._settings = settings
        self._folder = folder
        self._login = login
        self._queue = Queue(login, settings)
        self._record = record
        self._mark = mark
        self._say = say
        self._pace = pace or Pace()
        self._output = Output(login, folder=record.folder, hosts=spec.hosts, mask=mask)
        self._begin = time.monotonic()
        self._standing = Standing("")
        self._is_checked = False

    async def run(self) -> int:
        """The exit code of the driver. When cancelled it takes the job back first."""
        try:
            await self._prepare()
            job = await self._submit()
            standing = await self._follow(job)
            await self._drain(standing)
            self._check()
        except Unfit as error:
            for problem in error.problems:
                self._say(problem)
            await self._withdraw()
            return 1
        except Refused as error:
            self._say(error.problem)
            await self._tidy()
            return 1
        except Unreachable as error:
            self._say(Problem(kind="slurm-silent", text=str(error)))
            await self._withdraw()
            return 1
        except BaseException:
            # Told to end, or an error nobody foresaw: in no case may the job go on unwatched.
            await self._withdraw()
            raise
        if not self._output.is_done:
            why = reason(standing, job=job, settings=self._settings, output=self._output)
            if why is not None:
                self._say(why)
        await self._tidy()
        return 0 if self._output.is_done else 1

    async def _prepare(self) -> None:
        """Put into the shared folder what the job needs."""
        there = self._record.folder
        script = batch_script(self._spec, self._settings, folder=there, mark=self._mark)
        files = {
            WORKER: (self._folder / WORKER).read_bytes(),
            SPEC: (self._folder / SPEC).read_bytes(),
            SCRIPT: script.encode(),
        }
        self._record.write(self._folder)
        try:
            for name, data in files.items():
                await self._login.put(f"{there}/{name}", data)
        except OSError as error:
            raise Refused(Problem(kind="slurm-no-folder", text=f"{there}: {error.strerror}")) from error

    async def _submit(self) -> str:
        """The job's number, written down at once. Once begun it is seen through, or nobody would know of the job."""
        arguments = sbatch_arguments(self._spec, self._settings, folder=self._record.folder)
        sending = asyncio.ensure_future(self._queue.submit(arguments))
        try:
            job = await asyncio.shield(sending)
        except asyncio.CancelledError:
            self._note(await sending)
            raise
        self._note(job)
        return job

    def _note(self, job: str) -> None:
        self._record.job = job
        self._record.write(self._folder)

    # -----------------------------------------------------------------------------------------------------------------

    async def _follow(self, job: str) -> Standing:
        """How the job stands when it is over. Raises Unreachable when nothing of it was heard for too long."""
        watch = Watch(self._queue, job, pace=self._pace)
        self._tell(job, watch.standing)
        while not watch.is_over:
            if watch.is_due:
                await watch.look()
                self._tell(job, watch.standing)
                if self._standing.state in (*WAITING, "COMPLETING"):
                    self._say(Heartbeat(seconds=round(time.monotonic() - self._begin, 1)))
            if self._standing.state not in WAITING and await self._take():
                watch.hear()
                self._check()
            if self._output.has_stirred():
                watch.hurry()
            watch.require_sign()
            await asyncio.sleep(_TICK_SECONDS)
        return watch.standing

    def _check(self) -> None:
        """Once every node has said what it offers, see whether the run can be done. Raises Unfit."""
        if self._is_checked or len(self._output.ready) < self._spec.hosts:
            return
        self._is_checked = True
        hosts = [self._output.ready[node] for node in range(self._spec.hosts)]
        found = preflight.check(self._spec, hosts, interface=self._settings.interface)
        if any(problem.fatal for problem in found):
            raise Unfit(found)
        for problem in found:
            self._say(problem)

    def _tell(self, job: str, standing: Standing) -> None:
        """Say what is new of how the job stands."""
        before, self._standing = self._standing, standing
        if standing == before:
            return
        words = standing.reason
        if words is not None and self._spec.hide_host:
            words = words.partition(",")[0]  # what follows names nodes
        self._say(Job(system="slurm", id=job, state=standing.state, reason=words))
        if standing.state == before.state:
            return
        if standing.state in WAITING:
            self._say(Phase(name="waiting", patience_seconds=WAIT_PATIENCE_SECONDS))
        elif before.state in WAITING and not self._output.has_ranks:
            self._say(Phase(name="starting", patience_seconds=START_PATIENCE_SECONDS))
        elif before.state in WAITING:
            self._say(Phase(name="measuring", patience_seconds=START_PATIENCE_SECONDS))
        elif standing.state == "COMPLETING":
            self._say(Phase(name="ending", patience_seconds=WAIT_PATIENCE_SECONDS))

    async def _take(self) -> bool:
        """Pass on what the job wrote; whether there was anything."""
        try:
            return await self._output.take()
        except Unreachable:
            return False

    async def _drain(self, standing: Standing) -> None:
        """Pass on the job's last lines, which a network file system may show late."""
        until = time.monotonic() + _LATE_SECONDS
        is_short = standing.state in ("COMPLETED", "COMPLETING")
        while await self._take() or (is_short and not self._output.is_done):
            if time.monotonic() > until:
                break
            await asyncio.sleep(_TICK_SECONDS)
        await self._last()

    async def _last(self) -> None:
        try:
            await self._output.take(at_end=True)
        except (Unreachable, SshFailed, OSError) as error:
            # OSError: nobody reads any more, which is no reason to leave the files there.
            sys.stderr.write(f"the end of the output is lost: {error}\n")

    # -----------------------------------------------------------------------------------------------------------------

    async def _withdraw(self) -> None:
        """Take the job back and wait until it is gone, as long as whoever ends us has patience."""
        until = time.monotonic() + self._pace.cancel_seconds
        record = self._record
        while True:
            try:
                await self._queue.cancel(job=record.job, name=record.name)
                is_over = record.job is None or await is_gone(self._queue, record.job, until=until)
                break
            except (Unreachable, SshFailed) as error:
                if time.monotonic() > until:
                    text = f"scancel {record.job or f'--name={record.name}'}: {error}"
                    self._say(Problem(kind="slurm-not-cancelled", text=text, fatal=False))
                    return
            await asyncio.sleep(_TICK_SECONDS)
        await self._last()
        if is_over:
            await self._tidy()

    async def _tidy(self) -> None:
        """Remove the run's files over there."""
        await remove(self._login, self._record)
        self._record.is_over = True
        self._record.write(self._folder)


async def remove(login: Login, record: Record) -> None:
    """Remove the folder of a run on the shared file system."""
    try:
        await login.run(["rm", "-rf", "--", record.folder])
    except (Unreachable, SshFailed) as error:
        sys.stderr.write(f"{record.folder} is left behind: {error}\n")
