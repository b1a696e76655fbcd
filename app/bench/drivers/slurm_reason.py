"""Why a job ended without a result: Slurm's state, unless the ranks have said it themselves."""

from app.bench.drivers.slurm_output import Output
from app.bench.drivers.slurm_queue import UNKNOWN, Standing
from app.bench.events import Problem
from app.bench.launchers.slurm_settings import SlurmSettings

_BY_STATE = {
    "TIMEOUT": "slurm-timeout",
    "DEADLINE": "slurm-timeout",
    "CANCELLED": "slurm-cancelled",
    "REVOKED": "slurm-cancelled",
    "PREEMPTED": "slurm-preempted",
    "NODE_FAIL": "slurm-node-failed",
    "BOOT_FAIL": "slurm-node-failed",
    UNKNOWN: "slurm-lost",
}
"""States that are the cause, whatever the ranks complained of meanwhile."""


def reason(standing: Standing, *, job: str, settings: SlurmSettings, output: Output) -> Problem | None:
    """The problem; None where a rank or a guard has told it, or where ranks ran and their log will tell."""
    said = f"{standing.state}, {standing.reason}" if standing.reason else standing.state
    if standing.state == "TIMEOUT":
        said = f"{settings.time_limit_minutes} min"
    kind = _BY_STATE.get(standing.state)
    if kind is not None:
        return Problem(kind=kind, text=f"{job} ({said})")
    if output.fatal is not None:
        return None
    if standing.state == "OUT_OF_MEMORY":
        return Problem(kind="slurm-memory", text=f"{job} ({said})")
    if output.is_empty:
        return Problem(kind="slurm-no-output", text=f"{job} ({said}): {settings.folder}")
    if not output.has_ranks:
        return Problem(kind="slurm-failed", text=f"{job} ({said})")
    return None
