"""What the NVIDIA driver says of a GPU while it works: clock, throttling, links, limits.

Asks `libnvidia-ml.so.1`, which comes with the driver, through ctypes: no package is needed on the node, and a question
takes microseconds, so the clock can be read while products are still queued. Every answer is optional; a GPU, a driver
or a virtual machine that does not know one gives None. Names and numbers are those of nvml.h.
"""

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

_LIBRARY = "libnvidia-ml.so.1"
_CLOCK_SM = 1
_P2P_READ = 0
_MAXIMUM_LINKS = 18
_SUCCESS = 0
_MISSING = -1

ANCESTORS: Mapping[int, str] = {0: "one board", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
"""How far up the PCIe tree two GPUs meet, in the words of `nvidia-smi topo`."""
REASONS: Mapping[int, str] = {
    0x2: "applications clocks setting",
    0x4: "SW power cap",
    0x8: "HW slowdown",
    0x10: "sync boost",
    0x20: "SW thermal slowdown",
    0x40: "HW thermal slowdown",
    0x80: "HW power brake slowdown",
    0x100: "display clock setting",
}
"""Bits of why a GPU runs below its highest clock; that it is idle (0x1) is no reason here."""
FAULTS = frozenset({"HW slowdown", "SW thermal slowdown", "HW thermal slowdown", "HW power brake slowdown"})
"""Those that tell of heat or of a weak power supply; a power cap is normal for a busy GPU."""


@dataclass(frozen=True, slots=True)
class State:
    """One look at a GPU."""

    clock_mhz: int | None = None
    reasons: tuple[str, ...] = ()


class Nvml:
    """The library, opened. `library` is whatever answers to NVML's C functions."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def number(self, name: str, *arguments: Any, ignored: int = 0, kind: type[Any] = ctypes.c_uint) -> int | None:
        """What a function writes behind its arguments, before `ignored` further answers; None when it refuses."""
        values = [kind() for _ in range(1 + ignored)]
        return int(values[0].value) if self.call(name, *arguments, *map(ctypes.byref, values)) == _SUCCESS else None

    def call(self, name: str, *arguments: Any) -> int:
        """The return code of a function; not 0 when this driver has none of that name."""
        try:
            function = getattr(self._library, name)
        except AttributeError:
            return _MISSING
        return int(function(*arguments))

    def device(self, uuid: str) -> "Device | None":
        """The GPU with this identity, which `CUDA_VISIBLE_DEVICES` does not renumber."""
        handle = ctypes.c_void_p()
        found = self.call("nvmlDeviceGetHandleByUUID", uuid.encode(), ctypes.byref(handle))
        return Device(self, handle) if found == _SUCCESS else None


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU as NVML knows it."""

    nvml: Nvml
    handle: ctypes.c_void_p

    def state(self) -> State:
        """Clock and reasons now."""
        bits = self.nvml.number("nvmlDeviceGetCurrentClocksThrottleReasons", self.handle, kind=ctypes.c_ulonglong)
        clock = self.nvml.number("nvmlDeviceGetClockInfo", self.handle, _CLOCK_SM)
        return State(clock, tuple(word for bit, word in REASONS.items() if bits and bits & bit))

    def links(self) -> int | None:
        """NVLinks that are up, whatever stands at their other end; None where the GPU has none."""
        states = [self.nvml.number("nvmlDeviceGetNvLinkState", self.handle, link) for link in range(_MAXIMUM_LINKS)]
        return None if all(state is None for state in states) else sum(state or 0 for state in states)

    def facts(self) -> tuple[str, ...]:
        """What the driver tells of it, a line each."""
        ask, handle = self.nvml.number, self.handle
        state = self.state()
        milliwatts = ask("nvmlDeviceGetEnforcedPowerLimit", handle)
        has_mig = ask("nvmlDeviceGetMigMode", handle, ignored=1)
        generation, width = (
            ask("nvmlDeviceGetCurrPcieLinkGeneration", handle),
            ask("nvmlDeviceGetCurrPcieLinkWidth", handle),
        )
        best, widest = ask("nvmlDeviceGetMaxPcieLinkGeneration", handle), ask("nvmlDeviceGetMaxPcieLinkWidth", handle)
        told = (
            ("PCIe now: generation {}, x{}", (generation, width)),
            ("PCIe at most: generation {}, x{}", (best, widest)),
            ("NVLinks up: {}", (self.links(),)),
            ("SM clock now: {} MHz", (state.clock_mhz,)),
            ("SM clock at most: {} MHz", (ask("nvmlDeviceGetMaxClockInfo", handle, _CLOCK_SM),)),
            ("power limit: {} W", (None if milliwatts is None else milliwatts // 1000,)),
            ("MIG: {}", (None if has_mig is None else "on" if has_mig else "off",)),
            ("held back by: {}", (", ".join(state.reasons) or None,)),
        )
        return tuple(line.format(*values) for line, values in told if None not in values)

    def path_to(self, other: "Device") -> str | None:
        """How this GPU reaches another one: where they meet, and whether it may read the other's memory."""
        level = self.nvml.number("nvmlDeviceGetTopologyCommonAncestor", self.handle, other.handle)
        status = self.nvml.number("nvmlDeviceGetP2PStatus", self.handle, other.handle, _P2P_READ)
        if level is None:
            return None
        peer = "" if status is None else ", peer access" if status == 0 else ", no peer access"
        return ANCESTORS.get(level, f"level {level}") + peer


@cache
def nvml() -> Nvml | None:
    """The driver's library, opened once for this process; None without one."""
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError:
        return None
    return Nvml(library) if library.nvmlInit_v2() == _SUCCESS else None


def uuid(device: torch.device) -> str | None:
    """The identity of a GPU, as NVML spells it; None for the CPU and for a torch that does not tell."""
    if device.type != "cuda":
        return None
    known = getattr(torch.cuda.get_device_properties(device), "uuid", None)
    return None if known is None else f"GPU-{known}".replace("GPU-GPU-", "GPU-").replace("GPU-MIG-", "MIG-")


def device(of: torch.device) -> Device | None:
    """NVML's view of a GPU; None where there is none to be had."""
    library, identity = nvml(), uuid(of)
    return None if library is None or identity is None else library.device(identity)


def state(of: torch.device) -> State:
    """Clock and throttling of a GPU now; empty where the driver cannot be asked, and on the CPU."""
    known = device(of)
    return State() if known is None else known.state()
