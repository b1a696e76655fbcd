"""Real ranks for tests: small specifications, sessions in a folder of their own, and a search for processes left behind."""

import os
import time
from pathlib import Path
from typing import Any

from app.bench.launchers import local
from app.bench.launchers.package import prepare
from app.bench.launchers.session import Session
from app.bench.process import start_ticks
from app.bench.result import RunResult
from app.bench.spec import RunSpec


def small_spec(**changes: Any) -> RunSpec:
    """A run of a few seconds; enough to see everything once."""
    return RunSpec(
        **{
            "operations": ("all_reduce", "all_gather", "reduce_scatter"),
            "sizes": (1000, 65536, 1 << 20),
            "ranks": 2,
            "backend": "gloo",
            "budget_seconds": 0.02,
            "warm_up_seconds": 0.02,
            "batches": 3,
            "gemm_seconds": 0.2,
            **changes,
        }
    )


def long_spec() -> RunSpec:
    """A run that is still measuring when a test does something to it."""
    return small_spec(sizes=tuple(1024 << place for place in range(12)), budget_seconds=3.0)


def start(spec: RunSpec, folder: Path) -> Session:
    """A session of this machine's launcher; enter it to start."""
    prepare(folder, spec)
    return Session(local.commands(spec, folder), folder=folder, result=RunResult(spec=spec))


def left_after(pids: list[tuple[int, int | None]], *, seconds: float = 5.0) -> list[int]:
    """Those of the processes (pid, start) that still live after at most `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        alive = [pid for pid, begin in pids if begin is not None and start_ticks(pid) == begin]
        if not alive or time.monotonic() > deadline:
            return alive
        time.sleep(0.05)


def site_packages() -> str:
    """The folder that holds torch; on PYTHONPATH, where `.pth` files are not followed, it does not lead to this app."""
    import torch

    return os.fspath(Path(torch.__file__).parent.parent)
