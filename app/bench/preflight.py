"""Whether hosts can do a run, judged from what they said of themselves before any rank starts.

`check` is for a driver that has probed its hosts (`worker.pyz probe`); `fits` is what can be told without having asked PyTorch,
and what the runner asks of this machine. Both give problems: a fatal one means that the run would fail for sure, and only then,
because an estimate that is too high would forbid what works. Texts are names and numbers without words, since they stand in
messages of both languages (`app/bench/diagnosis/node.py`).
"""

from collections.abc import Callable, Iterator, Sequence

from app.bench.events import HostReady, Problem
from app.bench.spec import RunSpec
from app.core.units import GIB, MIB, binary_bytes

RANK_BYTES = 250 * MIB
"""What PyTorch itself takes per rank: 221 MiB resident were measured with torch 2.14 on the CPU."""
CACHE_BYTES = 32 * MIB
"""The last-level cache that is assumed; buffers are at least twice as large, so that no call finds its data there."""
SHM_BYTES, SHM_MINIMUM_BYTES = 64 * MIB, 16 * MIB
"""Shared memory per rank on one host for NCCL: less than the first is scarce, less than the second fails."""
DISK_BYTES, DISK_MINIMUM_BYTES = 64 * MIB, MIB
MEMLOCK_BYTES = GIB
"""RDMA pins its buffers; NCCL's documentation asks for no limit at all."""
SHARED_RANKS = 2
"""How many ranks may share a GPU in an `emulated` run: `worker/sharing.py`, which nothing here may import."""
MINIMUM_PYTHON = (3, 10)


def needed_bytes(spec: RunSpec, *, on_gpu: bool = False) -> int:
    """Host memory the ranks of one host take together: two pools each (`worker/buffers.py`) and PyTorch itself.

    >>> needed_bytes(RunSpec(operations=("all_reduce",), sizes=(2**30,), ranks=2)) == 2 * (2 * 2**30 + 250 * 2**20)
    True

    On GPUs the pools are in their memory and only PyTorch counts.
    """
    pools = 0 if on_gpu else pool_bytes(spec)
    return spec.ranks // spec.hosts * (pools + RANK_BYTES)


def pool_bytes(spec: RunSpec) -> int:
    """The two pools of one rank, wherever they are."""
    return 2 * max(*spec.sizes, 2 * CACHE_BYTES)


def check(spec: RunSpec, hosts: Sequence[HostReady], *, interface: str = "") -> tuple[Problem, ...]:
    """What stands in the way of `spec` on `hosts`; `interface` is the node's setting, one name or several with commas."""
    on_gpu = _uses_gpus(spec, hosts)
    found: list[Problem] = []
    for place, host in enumerate(hosts):
        name = _name(spec, host, place)
        found += [*_software(host, name), *_gpus(spec, host, name, on_gpu=on_gpu)]
        found += _fits(spec, host, name, interface=interface, on_gpu=on_gpu)
    found += _versions(spec, hosts, on_gpu=on_gpu)
    return tuple(sorted(found, key=lambda problem: not problem.fatal))


def fits(spec: RunSpec, host: HostReady, *, interface: str = "") -> tuple[Problem, ...]:
    """What stands in the way of `spec` on one `host` whose PyTorch was not asked: memory, disk, interface."""
    found = _fits(spec, host, _name(spec, host, 0), interface=interface, on_gpu=_uses_gpus(spec, [host]))
    return tuple(sorted(found, key=lambda problem: not problem.fatal))


def _uses_gpus(spec: RunSpec, hosts: Sequence[HostReady]) -> bool:
    """Whether the ranks will take NCCL: the worker's own rule for `auto`."""
    if spec.backend == "auto":
        enough = 1 if spec.emulated else spec.ranks // spec.hosts
        return bool(hosts) and all(len(host.gpus) >= enough for host in hosts)
    return spec.backend == "nccl"


def _name(spec: RunSpec, host: HostReady, place: int) -> str:
    return f"node-{place}" if spec.hide_host else host.host


def _software(host: HostReady, name: str) -> Iterator[Problem]:
    if _version(host.python, 2) < MINIMUM_PYTHON:
        yield Problem(kind="old-python", text=f"{name}: Python {host.python}")
    if host.torch is None:
        yield Problem(kind="no-torch", text=name)


def _gpus(spec: RunSpec, host: HostReady, name: str, *, on_gpu: bool) -> Iterator[Problem]:
    if not on_gpu or host.torch is None:
        return
    ranks, gpus = spec.ranks // spec.hosts, len(host.gpus)
    if not gpus:
        yield Problem(kind="no-gpu", text=name)
        return
    places = gpus * (SHARED_RANKS if spec.emulated else 1)
    if places < ranks:
        yield Problem(kind="too-few-gpus", text=f"{name}: {places} < {ranks}")
        return
    for place, free in enumerate(host.gpu_free_bytes[: min(gpus, ranks)]):
        needed = pool_bytes(spec) * -(-ranks // gpus)
        if free < needed:
            text = f"{name}, GPU {place}: {binary_bytes(needed)} > {binary_bytes(free)}"
            yield Problem(kind="too-little-gpu-memory", text=text)


def _fits(spec: RunSpec, host: HostReady, name: str, *, interface: str, on_gpu: bool) -> Iterator[Problem]:
    ranks = spec.ranks // spec.hosts
    needed = needed_bytes(spec, on_gpu=on_gpu)
    if host.memory_bytes < needed:
        text = f"{name}: {binary_bytes(needed)} > {binary_bytes(host.memory_bytes)}"
        yield Problem(kind="too-little-memory", text=text)
    if on_gpu and ranks > 1 and host.shm_bytes is not None and host.shm_bytes < ranks * SHM_BYTES:
        text = f"{name}: {binary_bytes(host.shm_bytes)} < {ranks} × {binary_bytes(SHM_BYTES)}"
        yield Problem(kind="shm-small", text=text, fatal=host.shm_bytes < ranks * SHM_MINIMUM_BYTES)
    missing = [part for part in interface.split(",") if part and part not in host.interfaces]
    if missing and host.interfaces:
        text = f"{name}: {', '.join(missing)} ∉ {', '.join(host.interfaces)}"
        yield Problem(kind="no-interface", text=text)
    if host.disk_bytes < DISK_BYTES:
        is_full = host.disk_bytes < DISK_MINIMUM_BYTES
        text = f"{name}: {binary_bytes(host.disk_bytes)}"
        yield Problem(kind="disk-small", text=text, fatal=is_full)
    if on_gpu and spec.hosts > 1 and host.memlock_bytes is not None and host.memlock_bytes < MEMLOCK_BYTES:
        yield Problem(kind="memlock-low", text=f"{name}: {binary_bytes(host.memlock_bytes)}", fatal=False)


def _versions(spec: RunSpec, hosts: Sequence[HostReady], *, on_gpu: bool) -> Iterator[Problem]:
    """PyTorch of another minor version speaks another protocol; a patch or a build for another CUDA usually gets along."""
    yield from _differ(spec, hosts, "PyTorch", lambda host: host.torch)
    if on_gpu:
        yield from _differ(spec, hosts, "NCCL", lambda host: host.nccl)


def _differ(
    spec: RunSpec, hosts: Sequence[HostReady], what: str, version: Callable[[HostReady], str | None]
) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for place, host in enumerate(hosts):
        found = version(host)
        if found is not None:
            first.setdefault(found, _name(spec, host, place))
    if len(first) > 1:
        text = f"{what} {', '.join(f'{found} ({name})' for found, name in first.items())}"
        is_fatal = len({_version(found, 2) for found in first}) > 1
        yield Problem(kind="versions-differ", text=text, fatal=is_fatal)


def _version(text: str, length: int) -> tuple[int, ...]:
    """The first numbers of a version: `2.13.0+cu126` is (2, 13)."""
    numbers = []
    for part in text.partition("+")[0].split(".")[:length]:
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)
