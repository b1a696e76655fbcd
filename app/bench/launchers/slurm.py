"""Ranks on the nodes of a batch system: one Slurm job, one task per node, torchrun in each task.

What Slurm gets is made by pure functions (`slurm_script.py`) from the node's settings (`slurm_settings.py`). The driver
(`app/bench/drivers/slurm.py`) submits and follows the job, on this machine or on a login node behind SSH. Needed: a folder that login
and compute nodes share, and Python with PyTorch on the compute nodes. Not covered: job arrays, heterogeneous jobs, Slurm's containers.
"""

import json
import shlex
from pathlib import Path

from app.bench.launchers.driver import driver
from app.bench.launchers.model import Launch, Launcher
from app.bench.launchers.slurm_script import sbatch_arguments, srun_arguments
from app.bench.launchers.slurm_settings import SlurmSettings
from app.bench.spec import RunSpec
from app.core.i18n import Text


def commands(spec: RunSpec, folder: Path, settings: SlurmSettings) -> Launch:
    """The driver. People see what it submits; RUN stands for the run's own folder, made when it starts."""
    run = f"{settings.folder.rstrip('/')}/RUN"
    submit = shlex.join(sbatch_arguments(spec, settings, folder=run))
    step = shlex.join(srun_arguments(spec, settings, folder=run, mark="RUN"))
    there = f"ssh {settings.via} " if settings.via else ""
    return driver("slurm", "run", str(folder), shown=f"{there}{submit}\n{step}")


def probe(settings: SlurmSettings) -> Launch:
    """Ask Slurm for its partitions, and one of its nodes for what it offers."""
    return driver("slurm", "probe", json.dumps(settings.model_dump(mode="json")))


def clean(folder: Path, settings: SlurmSettings) -> Launch:
    """Cancel the job of a run whose driver was killed; the folder knows its number."""
    del settings
    return driver("slurm", "clean", str(folder))


def _nothing(settings: SlurmSettings) -> frozenset[str]:
    """Slurm itself sees to it that two jobs do not share a device."""
    del settings
    return frozenset()


launcher = Launcher(
    slug="slurm",
    title=Text("Slurm", "Slurm"),
    note=Text(
        "Ranks on the nodes of a Slurm cluster, by sbatch here or on a login node.",
        "在 Slurm 集群的节点上启动各 rank，由本机或登录节点上的 sbatch 提交。",
    ),
    settings=SlurmSettings,
    commands=commands,
    devices=_nothing,
    is_here=False,
    probe=probe,
    clean=clean,
)
