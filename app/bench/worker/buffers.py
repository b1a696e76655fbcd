"""Memory for the measured calls: allocated once, and each call uses the next part of it.

A call that finds its data in the cache from the call before reports a rate no training step would see. So the pool is at least
twice the last-level cache (within reason) and calls walk through it in slots of the row's size, as nccl-tests does.
"""

from collections.abc import Mapping
from pathlib import Path

import torch

from app.bench.spec import ELEMENT_BYTES
from app.bench.worker.collectives.model import Collective, Layout

_MAXIMUM_POOL = 128 * 1024**2
_BLOCK = 1 << 20
"""Random elements, repeated through the pool."""
_ALIGNMENT = 256
"""Bytes; slots start on it, as allocators' blocks do."""

_TORCH_NAMES = {
    "float": "float32",
    "bfloat16": "bfloat16",
    "half": "float16",
    "double": "float64",
    "int8": "int8",
    "uint8": "uint8",
    "int32": "int32",
    "int64": "int64",
    "f8e4m3": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
}
TORCH_TYPES: Mapping[str, torch.dtype] = {
    dtype: getattr(torch, name) for dtype, name in _TORCH_NAMES.items() if hasattr(torch, name)
}
"""Element types by nccl-tests' names, those that this torch has."""


class Buffers:
    """Two pools, for sending and receiving, big enough for a buffer of `largest_bytes` each."""

    def __init__(self, *, largest_bytes: int, dtype: str, device: torch.device, seed: int) -> None:
        self._element_bytes = ELEMENT_BYTES[dtype]
        flushing = min(2 * last_level_cache(device), _MAXIMUM_POOL)
        elements = max(largest_bytes, flushing) // self._element_bytes
        block = _random(TORCH_TYPES[dtype], device=device, seed=seed)
        self._pools = (_filled(elements, block), _filled(elements, block))

    def slots(self, layout: Layout) -> int:
        """How many different places a call of this layout can use."""
        return max(1, len(self._pools[0]) // self._stride(layout))

    def pair(self, collective: Collective, layout: Layout, *, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Send and receive buffers of call `number`, apart from each other unless the operation has one buffer."""
        begin = number % self.slots(layout) * self._stride(layout)
        receive = self._pools[1][begin : begin + layout.receive]
        if collective.has_one_buffer:
            return receive, receive
        return self._pools[0][begin : begin + layout.send], receive

    def shared(
        self, collective: Collective, layout: Layout, *, number: int, rank: int, ranks: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Send and receive buffers of call `number` in the same memory."""
        assert collective.in_place is not None
        begin = number % self.slots(layout) * self._stride(layout)
        whole = self._pools[1][begin : begin + max(layout.send, layout.receive)]
        return collective.in_place(whole, rank, ranks)

    def _stride(self, layout: Layout) -> int:
        size = max(layout.send, layout.receive)
        unit = _ALIGNMENT // self._element_bytes
        return min(-(-size // unit) * unit, len(self._pools[0]))


def _random(dtype: torch.dtype, *, device: torch.device, seed: int) -> torch.Tensor:
    generator = torch.Generator(device=device).manual_seed(seed)
    if dtype.is_floating_point:
        return torch.randn(_BLOCK, generator=generator, device=device).to(dtype)
    return torch.randint(0, 100, (_BLOCK,), generator=generator, device=device, dtype=dtype)


def _filled(elements: int, block: torch.Tensor) -> torch.Tensor:
    pool = torch.empty(elements, dtype=block.dtype, device=block.device)
    for part in pool.split(len(block)):
        part.copy_(block[: len(part)])
    return pool


def last_level_cache(device: torch.device) -> int:
    """Bytes of the last-level cache; 32 MiB where the system does not say."""
    if device.type == "cuda":
        return int(getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 32 * 1024**2))
    sizes = [_cache_bytes(path) for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")]
    return max(sizes, default=32 * 1024**2)


def _cache_bytes(path: Path) -> int:
    text = path.read_text(encoding="ascii").strip()
    unit = {"K": 1024, "M": 1024**2}.get(text[-1:])
    return int(text[:-1]) * unit if unit else int(text)
