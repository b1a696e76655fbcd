"""What Slurm is given for a run, from nothing but the specification and the node's settings.

`options` is what is asked for, `sbatch_arguments` the command, `srun_arguments` the job's one step, `batch_script` the script around
it. Nothing here touches a machine.
"""

import shlex
from pathlib import PurePosixPath

from app.bench.launchers.model import rank_environment
from app.bench.launchers.package import SPEC, WORKER
from app.bench.launchers.slurm_settings import SlurmSettings
from app.bench.spec import RunSpec

SCRIPT = "job.sh"
BATCH_LOG = "batch.log"
"""What the script and Slurm itself have to say."""
PORT_TAKEN = "port-taken"
"""A file the first node makes when somebody took the port between choosing and using it."""
PORT_TRIES = 3
PROBE_SECONDS = 10


def job_name(folder: str) -> str:
    """The name of the job of a run, by which it is found when its number was never learnt."""
    return f"ringside-{PurePosixPath(folder).name}"


def events_path(folder: str, node: int | str) -> str:
    """The file of one node's events. A file each, because a shared file system tears what two nodes append to one."""
    return f"{folder}/events-{node}.log"


def log_path(folder: str, node: int | str) -> str:
    """The file of what else one node printed."""
    return f"{folder}/log-{node}.log"


def options(spec: RunSpec, settings: SlurmSettings, *, folder: str) -> tuple[str, ...]:
    """What is asked of Slurm, as options of sbatch. `folder` is the run's own, on the shared file system."""
    return (
        f"--job-name={job_name(folder)}",
        f"--nodes={spec.hosts}",
        "--ntasks-per-node=1",
        f"--cpus-per-task={_cpus(spec, settings)}",
        f"--time={settings.time_limit_minutes}",
        "--no-requeue",
        "--export=ALL",
        f"--chdir={folder}",
        f"--output={folder}/{BATCH_LOG}",
        "--open-mode=append",
        *_wanted(settings),
    )


def sbatch_arguments(spec: RunSpec, settings: SlurmSettings, *, folder: str) -> tuple[str, ...]:
    """The command that submits the run.

    It repeats what the script asks for: an SBATCH_ variable of the user overrules a script, but not the command line.
    """
    asked = options(spec, settings, folder=folder)
    return (settings.program("sbatch"), "--parsable", *asked, f"{folder}/{SCRIPT}")


def srun_arguments(spec: RunSpec, settings: SlurmSettings, *, folder: str, mark: str) -> tuple[str, ...]:
    """The step of the job: on every node one `slurm-node` of the worker, which starts torchrun under a guard."""
    variables = (f"{name}={value}" for name, value in rank_environment(spec, settings).items())
    memory = ("--memory", str(spec.memory_bytes)) if spec.memory_bytes else ()
    scontrol = ("--scontrol", settings.program("scontrol")) if settings.bin_folder else ()
    return (
        settings.program("srun"),
        f"--nodes={spec.hosts}",
        f"--ntasks={spec.hosts}",
        "--ntasks-per-node=1",
        f"--cpus-per-task={_cpus(spec, settings)}",
        "--kill-on-bad-exit=1",
        "--mpi=none",
        "--input=none",
        "--export=ALL",
        "--open-mode=append",
        f"--output={events_path(folder, '%t')}",
        f"--error={log_path(folder, '%t')}",
        "env",
        *variables,
        settings.python,
        f"{folder}/{WORKER}",
        "slurm-node",
        "--nodes",
        str(spec.hosts),
        "--ranks-per-node",
        str(spec.ranks // spec.hosts),
        "--mark",
        mark,
        *memory,
        *scontrol,
        f"{folder}/{SPEC}",
    )


def batch_script(spec: RunSpec, settings: SlurmSettings, *, folder: str, mark: str) -> str:
    """The script of the job. It can be submitted again by hand: everything it asks for stands in it."""
    asked = "".join(f"#SBATCH {shlex.quote(option)}\n" for option in options(spec, settings, folder=folder))
    step = shlex.join(srun_arguments(spec, settings, folder=folder, mark=mark))
    if spec.hosts == 1:
        return f"#!/bin/sh\n{asked}exec {step}\n"
    port = shlex.join([settings.python, f"{folder}/{WORKER}", "slurm-node", "--free-port"])
    taken = shlex.quote(f"{folder}/{PORT_TAKEN}")
    tries = " ".join(map(str, range(1, PORT_TRIES + 1)))
    return (
        f"#!/bin/sh\n{asked}"
        "# The ranks meet on a port of this, the first node; when it was taken meanwhile, another one is tried.\n"
        f"for attempt in {tries}; do\n"
        f"    rm -f {taken}\n"
        f"    RINGSIDE_PORT=$({port}) || exit\n"
        "    export RINGSIDE_PORT\n"
        f"    {step}\n"
        "    code=$?\n"
        f"    [ -e {taken} ] || exit $code\n"
        "done\n"
        f'echo "EADDRINUSE: no port of this node stayed free in {PORT_TRIES} tries" >&2\n'
        "exit 1\n"
    )


def probe_arguments(settings: SlurmSettings, *, folder: str) -> tuple[str, ...]:
    """The command that asks one node what it offers, if there is a free one within PROBE_SECONDS."""
    return (
        settings.program("srun"),
        f"--job-name={job_name(folder)}",
        "--nodes=1",
        "--ntasks=1",
        "--time=2",
        f"--immediate={PROBE_SECONDS}",
        "--mpi=none",
        "--input=none",
        "--export=ALL",
        f"--chdir={folder}",
        *_wanted(settings),
        settings.python,
        f"{folder}/{WORKER}",
        "probe",
    )


def _wanted(settings: SlurmSettings) -> tuple[str, ...]:
    """The options that only some nodes set."""
    wanted = (
        ("partition", settings.partition),
        ("account", settings.account),
        ("qos", settings.qos),
        ("constraint", settings.constraint),
        ("nodelist", settings.nodelist),
        ("gres", f"gpu:{settings.gpus_per_node}" if settings.gpus_per_node else ""),
        ("mem", settings.memory),
    )
    return (*(f"--{name}={value}" for name, value in wanted if value), *settings.extra)


def _cpus(spec: RunSpec, settings: SlurmSettings) -> int:
    return settings.cpus_per_task or spec.ranks // spec.hosts
