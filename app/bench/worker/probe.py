"""What this host offers, asked before any rank starts: `worker.pyz probe` prints one `HostReady`, and a `Problem` for each doubt.

It imports torch as a rank would, so that a PyTorch that is missing or broken shows here; every GPU has to compute a sum. Problems are
not fatal here: whether a run can do with this host is decided by `app/bench/preflight.py`.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.bench import machine
from app.bench.events import Problem
from app.bench.worker.life import Line


def main(arguments: Sequence[str]) -> int:
    """Print what this host offers; 0."""
    parser = argparse.ArgumentParser(prog="worker.pyz probe", allow_abbrev=False)
    parser.add_argument(
        "--folder", type=Path, default=_folder(), help="where the run's files go (default: beside the worker)"
    )
    folder = parser.parse_args(arguments).folder
    line = Line()
    torch, doubts = _torch()
    names, free, more = _gpus(torch)
    ready = machine.ready(
        folder,
        torch=None if torch is None else str(torch.__version__),
        nccl=_nccl(torch),
        cuda=None if torch is None else torch.version.cuda,
        gpus=names,
        gpu_free_bytes=free,
    )
    line.send(ready)
    for problem in (*doubts, *more):
        line.send(problem)
    return 0


def _folder() -> Path:
    """The folder of the zip; of `python -m`, the one it was called in."""
    started = Path(sys.argv[0])
    return started.parent if started.suffix == ".pyz" else Path.cwd()


def _torch() -> tuple[Any, list[Problem]]:
    """The module, or None and the reason."""
    try:
        import torch  # noqa: PLC0415 - its absence is an answer
        import torch.distributed as dist  # noqa: PLC0415
    except Exception as error:  # noqa: BLE001 - a broken installation raises anything: OSError for a missing library
        return None, [Problem(kind="no-torch", text=f"{type(error).__name__}: {error}", fatal=False)]
    if not dist.is_available():
        return None, [Problem(kind="no-torch", text="this build has no torch.distributed", fatal=False)]
    return torch, []


def _nccl(torch: Any) -> str | None:
    if torch is None or not torch.distributed.is_nccl_available():
        return None
    try:
        version = torch.cuda.nccl.version()
    except Exception:  # noqa: BLE001 - builds differ in what they raise; the version is a detail
        return None
    return ".".join(map(str, version)) if isinstance(version, tuple) else str(version)


def _gpus(torch: Any) -> tuple[tuple[str, ...], tuple[int, ...], list[Problem]]:
    """Names and free memory of the GPUs a rank could use, and what is wrong with the others."""
    if torch is None:
        return machine.driver_gpus(), (), []
    names: list[str] = []
    free: list[int] = []
    problems: list[Problem] = []
    try:
        count = torch.cuda.device_count()
        if machine.driver_gpus() and not torch.cuda.is_available():
            torch.cuda.init()  # raises the reason
    except Exception as error:  # noqa: BLE001 - a CPU build raises AssertionError, an old driver RuntimeError
        return (), (), [_unusable("GPU", error)]
    for place in range(count):
        try:
            device = torch.device("cuda", place)
            torch.ones(8, device=device).sum().item()
            free.append(int(torch.cuda.mem_get_info(device)[0]))
            names.append(str(torch.cuda.get_device_name(device)))
        except Exception as error:  # noqa: BLE001 - whatever keeps a GPU from computing
            problems.append(_unusable(f"GPU {place}", error))
    return tuple(names), tuple(free), problems


def _unusable(what: str, error: Exception) -> Problem:
    first = (str(error).splitlines() or [""])[0]
    return Problem(kind="gpu-unusable", text=f"{what}: {type(error).__name__}: {first}", fatal=False)
