"""The driver of Slurm jobs: `python -m app.bench.drivers.slurm run FOLDER`, `probe SETTINGS`, `clean FOLDER`.

`run` speaks for the ranks of one job and takes the job back when it is ended by a signal; killed without one, `clean` does. `probe`
prints the partitions and what one free node offers, looked at by a short srun job.
"""

import asyncio
import json
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from app.bench.drivers.ending import until_told
from app.bench.drivers.output import Output
from app.bench.drivers.slurm_job import JobRun, remove
from app.bench.drivers.slurm_login import Login, Unreachable
from app.bench.drivers.slurm_queue import Queue, Refused, is_gone
from app.bench.drivers.slurm_record import Record
from app.bench.drivers.ssh_problems import SshFailed
from app.bench.events import Event, Phase, Problem, Report
from app.bench.launchers.package import SPEC, WORKER, build
from app.bench.launchers.slurm_script import PROBE_SECONDS, job_name, probe_arguments
from app.bench.launchers.slurm_settings import SlurmSettings
from app.bench.nodes import read_node
from app.bench.spec import RunSpec
from app.bench.wire import emit

CLEAN_SECONDS = 45.0
_CONNECT_PATIENCE_SECONDS = 180.0
_PROBE_SECONDS = PROBE_SECONDS + 12.0
_USAGE = "usage: python -m app.bench.drivers.slurm run FOLDER | probe SETTINGS-JSON | clean FOLDER\n"


def main(arguments: Sequence[str]) -> int:
    """Do what the first argument says; the exit code."""
    match arguments:
        case ["run", folder]:
            return asyncio.run(until_told(run(Path(folder))))
        case ["probe", settings]:
            return asyncio.run(until_told(probe(SlurmSettings.model_validate_json(settings))))
        case ["clean", folder]:
            return asyncio.run(clean(Path(folder)))
        case _:
            sys.stderr.write(_USAGE)
            return 2


async def run(folder: Path) -> int:
    """See the run that is prepared in `folder` through."""
    spec = RunSpec.from_json(json.loads((folder / SPEC).read_text(encoding="utf-8")))
    settings = _settings(folder)
    voice = Output()
    if spec.hide_host and settings.via:
        for name in (settings.via, settings.target(settings.via).host):
            voice.hide(name, "login")
    mark = os.environ.get("RINGSIDE_RUN", "")
    for name in [name for name in os.environ if name.startswith("RINGSIDE_")]:
        del os.environ[name]  # sbatch hands our environment to the job: the address of a database is not its business
    voice.send(Phase(name="connecting", patience_seconds=_CONNECT_PATIENCE_SECONDS))
    try:
        async with Login(settings) as login:
            settings = await _at_home(login, settings)
            there = f"{settings.folder}/run-{secrets.token_hex(6)}"
            record = Record(name=job_name(there), folder=there)
            return await JobRun(
                spec,
                settings,
                folder=folder,
                login=login,
                record=record,
                mark=mark or record.name,
                say=voice.send,
                mask=voice if spec.hide_host else None,
            ).run()
    except (SshFailed, Unreachable) as error:
        voice.send(_problem(error))
        return 1


async def clean(folder: Path) -> int:
    """Take back the job of a driver that was killed, and remove its files; 0 when nothing of it is left."""
    record = Record.read(folder)
    if record is None or record.is_over:
        return 0
    settings = _settings(folder)
    until = time.monotonic() + CLEAN_SECONDS
    try:
        async with Login(settings) as login:
            queue = Queue(login, settings)
            await queue.cancel(job=record.job, name=record.name)
            jobs = [record.job] if record.job else await queue.named(record.name)
            if not all([await is_gone(queue, job, until=until) for job in jobs]):
                sys.stderr.write(f"Slurm has not ended job {', '.join(jobs)} yet\n")
                return 1
            await remove(login, record)
    except (SshFailed, Unreachable) as error:
        sys.stderr.write(f"the job could not be cancelled: {error}\n")
        return 1
    record.is_over = True
    record.write(folder)
    return 0


async def probe(settings: SlurmSettings) -> int:
    """Print the partitions and what one free node offers."""
    try:
        async with Login(settings) as login:
            queue = Queue(login, settings)
            partitions = tuple(await queue.partitions())
            _say(Report(title="sinfo", host=login.name, lines=partitions))
            return await _probe_node(login, queue, settings)
    except (SshFailed, Unreachable, Refused) as error:
        _say(_problem(error))
        return 1


async def _probe_node(login: Login, queue: Queue, settings: SlurmSettings) -> int:
    settings = await _at_home(login, settings)
    there = f"{settings.folder}/probe-{secrets.token_hex(6)}"
    record = Record(name=job_name(there), folder=there)
    try:
        with tempfile.TemporaryDirectory(prefix="ringside-") as folder:
            build(Path(folder) / WORKER)
            await login.put(f"{there}/{WORKER}", (Path(folder) / WORKER).read_bytes())
        answer = await login.run(probe_arguments(settings, folder=there), seconds=_PROBE_SECONDS)
    except OSError as error:
        raise Refused(Problem(kind="slurm-no-folder", text=f"{there}: {error.strerror}")) from error
    except (asyncio.CancelledError, Unreachable):
        await queue.cancel(job=None, name=record.name)
        raise
    finally:
        await remove(login, record)
    sys.stdout.write(answer.out)
    sys.stdout.flush()
    sys.stderr.write(answer.err)
    if answer.code and ("mmediate" in answer.err or "busy" in answer.err):
        _say(Problem(kind="slurm-busy", text=f"{PROBE_SECONDS} s"))
    elif answer.code and "Unable to allocate" in answer.err:
        _say(Problem(kind="slurm-rejected", text=answer.err.strip().splitlines()[-1][:300]))
    return answer.code


async def _at_home(login: Login, settings: SlurmSettings) -> SlurmSettings:
    """The settings with paths as they are over there: no shell of a job resolves `~`."""
    paths = {"folder": await login.resolve(settings.folder), "python": await login.resolve(settings.python)}
    return settings.model_copy(update=paths)


def _settings(folder: Path) -> SlurmSettings:
    node = read_node(folder)
    if node is None or not isinstance(node.settings, SlurmSettings):
        raise SystemExit(f"{folder} holds no run for Slurm")
    return node.settings


def _problem(error: SshFailed | Unreachable | Refused) -> Problem:
    if isinstance(error, Unreachable):
        return Problem(kind="slurm-silent", text=str(error))
    return error.problem


def _say(event: Event) -> None:
    emit(event, descriptor=1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
