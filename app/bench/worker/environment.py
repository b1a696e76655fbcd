"""What a reader needs to know to judge the numbers: versions, devices, hosts, the variables that steer a backend.

Only variables on the allow-list leave the machine; environments hold secrets. Host names become `node-0`, `node-1` when the
specification asks for it.
"""

import os
import platform
import shutil
import subprocess
from pathlib import Path

import torch

from app.bench.events import Environment
from app.bench.worker import gpu
from app.bench.worker.group import Group
from app.bench.worker.timing import clock_for

_ALLOWED = ("NCCL_", "GLOO_", "TORCH_NCCL_", "UCX_", "FI_", "OMP_", "MKL_", "KMP_", "CUDA_VISIBLE_DEVICES")
_MAXIMUM_VARIABLES = 24
_MAXIMUM_NAMES = 16


def environment(group: Group, *, hide_host: bool) -> Environment:
    """The report of this run, seen from this rank's host."""
    hosts = list(dict.fromkeys(peer.host for peer in group.peers))
    if hide_host:
        hosts = [f"node-{place}" for place in range(len(hosts))]
    devices = list(dict.fromkeys(peer.device for peer in group.peers))
    on_gpu = group.device.type == "cuda"
    return Environment(
        backend=group.backend,
        torch=str(torch.__version__),
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.release()} {platform.machine()}",
        cpu=_cpu(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        threads_per_rank=torch.get_num_threads(),
        timing=clock_for(group.device).name,
        hosts=tuple(hosts[:_MAXIMUM_NAMES]),
        devices=tuple(devices[:_MAXIMUM_NAMES]),
        nccl=".".join(map(str, torch.cuda.nccl.version())) if on_gpu else None,
        cuda=torch.version.cuda if on_gpu else None,
        driver=_driver() if on_gpu else None,
        emulated=shares_gpu(group),
        variables=variables(dict(os.environ)),
    )


def shares_gpu(group: Group) -> bool:
    """Whether any two ranks use one GPU; all ranks ask together. Where torch does not tell GPUs apart, their number does."""
    identity = gpu.uuid(group.device) or f"{group.peers[group.rank].host} {group.device}"
    used = group.gather_text(identity if group.device.type == "cuda" else f"rank {group.rank}")
    return len(set(used)) < len(used)


def variables(environ: dict[str, str]) -> dict[str, str]:
    """Those of `environ` that steer a backend, cut to a bearable length."""
    names = sorted(name for name in environ if name.startswith(_ALLOWED))
    return {name: environ[name][:100] for name in names[:_MAXIMUM_VARIABLES]}


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model"))]
    return models[0] if models else platform.processor() or platform.machine()


def _driver() -> str | None:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    query = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.splitlines()[0].strip() if answer.stdout else None
