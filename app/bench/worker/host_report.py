"""How the host is built, read from `/sys` without any program: sockets, NUMA nodes, caches, network interfaces.

Everything is optional: containers and virtual machines hide much of it, and a line is left out where nothing is known.
`root` is `/`, or a copy of the tree for a test.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

_MAXIMUM_INTERFACES = 64
_VIRTUAL = ("veth", "docker", "br-", "cali", "cni", "flannel", "virbr", "tap", "ifb", "dummy")
"""Interfaces that only lead to containers and virtual machines of the same host."""


def cpu_lines(root: Path) -> list[str]:
    """Processors by socket and core, caches, NUMA nodes with their distances."""
    folder = root / "sys/devices/system/cpu"
    processors = sorted(folder.glob("cpu[0-9]*/topology"), key=_number)
    sockets = {_read(path / "physical_package_id") for path in processors} - {None}
    cores = {(_read(path / "physical_package_id"), _read(path / "core_id")) for path in processors}
    lines = []
    if processors:
        lines.append(f"{len(processors)} processors, {len(cores)} cores, {len(sockets)} sockets")
    lines += _caches(folder)
    nodes = sorted((root / "sys/devices/system/node").glob("node[0-9]*"), key=_number)
    for node in nodes:
        facts = [f"NUMA {node.name}: processors {_read(node / 'cpulist') or 'none'}"]
        memory = re.search(r"MemTotal:\s+(\d+) kB", _read(node / "meminfo") or "")
        if memory:
            facts.append(f"{int(memory[1]) / 1024**2:.1f} GiB")
        distance = _read(node / "distance")
        if distance and len(nodes) > 1:
            facts.append(f"distances {distance}")
        lines.append(", ".join(facts))
    return lines


def network_lines(root: Path) -> list[str]:
    """Interfaces that are up, with speed, MTU and NUMA node where the driver tells; then InfiniBand ports."""
    lines = []
    for folder in sorted((root / "sys/class/net").glob("*")):
        if folder.name.startswith(_VIRTUAL) or not _is_up(folder):
            continue
        speed = _read(folder / "speed")
        facts = [f"{folder.name}: {_rate(speed)}"]
        mtu, node = _read(folder / "mtu"), _read(folder / "device/numa_node")
        facts += [f"MTU {mtu}"] if mtu else []
        facts += [f"NUMA node {node}"] if node and node != "-1" else []
        lines.append(", ".join(facts))
    for port in sorted((root / "sys/class/infiniband").glob("*/ports/*")):
        layer, state, rate = (_read(port / name) or "unknown" for name in ("link_layer", "state", "rate"))
        lines.append(
            f"{port.parent.parent.name} port {port.name}: {layer}, {rate}, {state.partition(': ')[2] or state}"
        )
    return lines[:_MAXIMUM_INTERFACES]


def _is_up(folder: Path) -> bool:
    state = _read(folder / "operstate")
    return state == "up" or (state == "unknown" and folder.name != "bonding_masters")


def _rate(speed: str | None) -> str:
    known = speed is not None and speed.isdecimal() and int(speed) > 0
    return f"{int(speed or 0) / 1000:g} Gbit/s" if known else "speed unknown"


def _caches(folder: Path) -> Sequence[str]:
    found: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    for cache in folder.glob("cpu[0-9]*/cache/index[0-9]*"):
        level, kind, size, shared = (_read(cache / name) for name in ("level", "type", "size", "shared_cpu_list"))
        if level and kind and size and shared:
            found[level, kind, size].add(shared)
    return [
        f"{len(places)} x L{level} {kind.lower()} cache of {size.removesuffix('K')} KiB"
        for (level, kind, size), places in sorted(found.items())
    ]


def _number(path: Path) -> int:
    digits = re.search(r"(\d+)$", path.name) or re.search(r"(\d+)$", path.parent.name)
    return int(digits[1]) if digits else 0


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
