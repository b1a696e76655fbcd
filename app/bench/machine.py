"""What this machine offers a process: memory, shared memory, processors, disk, network interfaces, GPUs.

Asked without special rights and without importing torch; where the system does not tell, the answer is None or empty. The limits of
a container or a batch job count, not only what the hardware has. Stdlib only and Python 3.10, because it ships to the node.
Sources: proc(5), netdevice(7), getrlimit(2).
"""

import fcntl
import os
import platform
import resource
import shutil
import socket
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

from app.bench import cgroup
from app.bench.cgroup import ROOT
from app.bench.events import HostReady
from app.bench.process import ProcessId, resident_bytes

MAXIMUM_INTERFACES = 32
"""More do not fit on one line of the wire."""
_SIOCGIFFLAGS, _SIOCGIFADDR, _IFF_UP = 0x8913, 0x8915, 0x1  # linux/sockios.h, linux/if.h
_GLOBAL_SCOPE, _HOST_SCOPE = 0x00, 0x10  # of an IPv6 address: include/net/ipv6.h


def ready(
    folder: Path,
    *,
    torch: str | None = None,
    nccl: str | None = None,
    cuda: str | None = None,
    gpus: tuple[str, ...] | None = None,
    gpu_free_bytes: tuple[int, ...] = (),
) -> HostReady:
    """What this machine offers a run that writes to `folder`, made or not yet.

    What torch knows is passed in; without `gpus` they are the driver's, which may be more than a rank would see.
    """
    return HostReady(
        host=socket.gethostname(),
        python=platform.python_version(),
        torch=torch,
        nccl=nccl,
        cuda=cuda,
        gpus=driver_gpus() if gpus is None else gpus,
        cores=cores(),
        memory_bytes=available_bytes(),
        shm_bytes=shm_bytes(),
        disk_bytes=disk_bytes(folder),
        interfaces=interfaces(),
        free_port=free_port(),
        memlock_bytes=memlock_bytes(),
        gpu_free_bytes=gpu_free_bytes,
    )


def physical_bytes() -> int:
    """The memory of the hardware."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def available_bytes(root: Path = ROOT) -> int:
    """Memory a new process may use: the least of what the machine has free and what its control groups leave."""
    limit = cgroup.memory_limit(root)
    free = _meminfo(root).get("MemAvailable", physical_bytes())
    return free if limit is None else min(free, limit.room)


def shm_bytes(folder: Path = Path("/dev/shm")) -> int | None:  # noqa: S108 - the system's, not a place to write to
    """Room in shared memory; None where there is none of that name."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize


def disk_bytes(folder: Path) -> int:
    """Room on the disk of `folder`, or of the nearest of its parents that exists."""
    folder = folder.absolute()
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def memlock_bytes() -> int | None:
    """How much memory a process may pin, as RDMA needs it; None for any amount."""
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return None if soft == resource.RLIM_INFINITY else soft


def cores(root: Path = ROOT) -> int:
    """Processors this process may use: its affinity, and the time its control groups grant it."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cgroup.processors(root)
    return allowed if quota is None else max(1, min(allowed, int(quota)))


def interfaces(root: Path = ROOT) -> dict[str, str]:
    """The address by interface, of those that are up: IPv4 where there is one, else IPv6 beyond the link. Linux only."""
    if sys.platform != "linux":
        return {}
    wide = _ipv6(root)
    found: dict[str, str] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        for _, name in socket.if_nameindex():
            flags = _ask(asker, _SIOCGIFFLAGS, name)
            if flags is None or not struct.unpack_from("H", flags, 16)[0] & _IFF_UP:
                continue
            answer = _ask(asker, _SIOCGIFADDR, name)
            address = wide.get(name) if answer is None else socket.inet_ntoa(answer[20:24])
            if address is not None and len(found) < MAXIMUM_INTERFACES:
                found[name] = address
    return found


def free_port() -> int:
    """A TCP port nobody listens on now. Somebody may take it before it is used: be ready to try another."""
    with socket.create_server(("", 0)) as server:
        return int(server.getsockname()[1])


def driver_gpus(root: Path = ROOT) -> tuple[str, ...]:
    """The models of the GPUs NVIDIA's driver has on this machine; some may be hidden from this process."""
    found = [_fields(path) for path in sorted((root / "proc/driver/nvidia/gpus").glob("*/information"))]
    return tuple(fields.get("Model", "GPU") for fields in found)


def proportional_bytes(processes: Iterable[ProcessId]) -> int:
    """Memory the processes hold, shared pages divided among those that share them; whole where the kernel does not divide."""
    total = 0
    for each in processes:
        share = _fields(Path(f"/proc/{each.pid}/smaps_rollup")).get("Pss")
        total += resident_bytes([each]) if share is None else 1024 * int(share.split()[0])
    return total


def binary(size_bytes: float) -> str:
    """A size for people: `1.5 GiB`, `640.0 MiB`."""
    gib = 1024**3
    return f"{size_bytes / gib:.1f} GiB" if size_bytes >= gib else f"{size_bytes / 1024**2:.1f} MiB"


def _meminfo(root: Path) -> dict[str, int]:
    return {name: 1024 * int(text.split()[0]) for name, text in _fields(root / "proc/meminfo").items()}


def _fields(path: Path) -> dict[str, str]:
    """A file of lines `name: value`; empty when it cannot be read."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    pairs = (line.partition(":") for line in lines)
    return {name.strip(): value.strip() for name, colon, value in pairs if colon and value.strip()}


def _ask(asker: socket.socket, request: int, name: str) -> bytes | None:
    """The answer of the kernel about one interface, a `struct ifreq`; None when it has none, e.g. no IPv4 address."""
    try:
        return fcntl.ioctl(asker, request, struct.pack("256s", name.encode()[:15]))
    except OSError:
        return None


def _ipv6(root: Path) -> dict[str, str]:
    """The first address by interface that reaches beyond the link (or is the loopback's), from /proc/net/if_inet6."""
    try:
        lines = (root / "proc/net/if_inet6").read_text(encoding="ascii").splitlines()
    except OSError:
        return {}
    found: dict[str, str] = {}
    for line in lines:
        address, _, _, scope, _, name = line.split()
        if int(scope, 16) in (_GLOBAL_SCOPE, _HOST_SCOPE):
            found.setdefault(name, socket.inet_ntop(socket.AF_INET6, bytes.fromhex(address)))
    return found
