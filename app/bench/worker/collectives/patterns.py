"""Test data whose results are known to the last bit, whatever the element type and the reduction.

A buffer holds a short table of small numbers over and over. Its period is prime, so a block that lands in the wrong place,
shifted by any power of two, does not go unseen. Work is done in chunks: no second buffer.

Where values only move, a rank signs its buffer with a table of its own; eight-bit floats are signed in their bits. Where
values are reduced, only some ranks are active at a place and the others hold what changes nothing, so that every
intermediate result, in any order, is a number the type holds exactly: sums stay within 127 for int8, 255 for bfloat16 and
uint8, 16 and 8 for the eight-bit floats, products within 64. Which ranks are active changes from place to place. An average
divides by the number of ranks, which may not be exact: there an error of 1.5 times the type's epsilon passes, because a backend
may round both 1/n and the product with it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import torch

from app.bench.worker.collectives.model import Role

PERIOD = 251
BYTE_PERIOD = 113
"""Of signatures in one byte: below int8's limit, and as bits of an eight-bit float neither infinite nor NaN."""
_EXACT = {
    getattr(torch, name): limit
    for name, limit in {"int8": 127, "float8_e4m3fn": 16, "float8_e5m2": 8}.items()
    if hasattr(torch, name)
}
"""Integers up to here are exact; the other types hold at least `_EXACT_ELSE`. An old torch has no eight-bit floats."""
_EXACT_ELSE = 255
_COMBINATIONS: Mapping[str, Callable[[Sequence[int]], int]] = {
    "sum": sum,
    "avg": sum,
    "prod": math.prod,
    "min": min,
    "max": max,
}
_DOUBLING = 6
"""Ranks that may double a product at one place."""
_CHUNK = 1 << 18


def spoil(buffer: torch.Tensor) -> None:
    """Write what is neither a signature nor a reduction, so that untouched elements show."""
    buffer.fill_(255 if buffer.dtype == torch.uint8 else -1)


def sign(buffer: torch.Tensor, role: Role) -> None:
    """Write the signature of this rank."""
    raw = _raw(buffer)
    write(raw, signature(role.rank, seed=role.seed, period=_period(raw)))


def not_from(buffer: torch.Tensor, sender: int, role: Role, *, offset: int = 0) -> int:
    """Elements of `buffer` that are not `sender`'s, read from its place `offset` on."""
    raw = _raw(buffer)
    return mismatches(raw, signature(sender, seed=role.seed, period=_period(raw)), offset=offset)


def not_gathered(buffer: torch.Tensor, role: Role) -> int:
    """Elements of any part that are not what its rank sent."""
    return sum(not_from(part, sender, role) for sender, part in enumerate(buffer.chunk(role.ranks)))


def contribute(buffer: torch.Tensor, role: Role) -> None:
    """Write what this rank adds to a reduction."""
    write(buffer, contribution(role, exact=_exact(buffer)))


def not_reduced(buffer: torch.Tensor, role: Role, *, offset: int = 0) -> int:
    """Elements that are not the reduction over all ranks, read from its place `offset` on."""
    table = reduced(role.redop, role.ranks, role.seed, _exact(buffer))
    if role.redop != "avg":
        return mismatches(buffer, table, offset=offset)
    tolerance = 1.5 * torch.finfo(buffer.dtype).eps
    return mismatches(buffer, [total / role.ranks for total in table], offset=offset, tolerance=tolerance)


@lru_cache(maxsize=4096)
def signature(rank: int, *, seed: int, period: int) -> tuple[int, ...]:
    """The table of one rank when values only move."""
    return tuple((place + 89 * rank + seed) % period for place in range(period))


@lru_cache(maxsize=4096)
def contribution(role: Role, *, exact: int) -> tuple[int, ...]:
    """The table of one rank when values are reduced and integers up to `exact` are exact."""
    top = _top(exact)
    together = {"sum": exact // top, "prod": _DOUBLING}.get(role.redop, 1)
    groups = math.ceil(role.ranks / together)
    return tuple(
        _held(role, place + role.seed, top, is_active=(role.rank + place + role.seed) % groups == 0)
        for place in range(PERIOD)
    )


@lru_cache(maxsize=64)
def reduced(redop: str, ranks: int, seed: int, exact: int) -> tuple[int, ...]:
    """The table of the reduction; for an average, of the sum before it is divided."""
    combine = _COMBINATIONS[redop]
    roles = (Role(rank=rank, ranks=ranks, redop=redop, seed=seed) for rank in range(ranks))
    return tuple(combine(column) for column in zip(*(contribution(role, exact=exact) for role in roles), strict=True))


def _held(role: Role, place: int, top: int, *, is_active: bool) -> int:
    """The number of one rank at one place, at most `top`. Squares, so that no small period shows within the prime one."""
    mixed = place * place % PERIOD
    varied = mixed * (role.rank % 5 + 1) + role.rank
    if role.redop == "prod":
        return 1 + varied % 2 if is_active else 1
    if role.redop in ("min", "max"):
        lower = mixed % top
        return lower if is_active == (role.redop == "min") else lower + 1
    return 1 + varied % top if is_active else 0


def write(buffer: torch.Tensor, table: Sequence[float], *, offset: int = 0) -> None:
    """Fill `buffer` with `table`, starting at place `offset` of the endless repetition."""
    chunk = _chunk(buffer, table, offset, buffer.dtype)
    for part in buffer.split(len(chunk)):
        part.copy_(chunk[: len(part)])


def mismatches(buffer: torch.Tensor, table: Sequence[float], *, offset: int = 0, tolerance: float = 0.0) -> int:
    """Elements of `buffer` off from `table`, repeated from `offset`, by more than the share `tolerance`; NaN is off."""
    kind = torch.float32 if buffer.dtype in _EXACT and buffer.is_floating_point() else buffer.dtype
    chunk = _chunk(buffer, table, offset, torch.float64 if tolerance else kind)
    return sum(_off(part.to(chunk.dtype), chunk[: len(part)], tolerance) for part in buffer.split(len(chunk)))


def _off(part: torch.Tensor, right: torch.Tensor, tolerance: float) -> int:
    if not tolerance:
        return int(torch.count_nonzero(part != right))
    return len(part) - int(torch.count_nonzero((part - right).abs() <= tolerance * right.abs()))


def _chunk(buffer: torch.Tensor, table: Sequence[float], offset: int, dtype: torch.dtype) -> torch.Tensor:
    period = len(table)
    start = offset % period
    turned = [*table[start:], *table[:start]]
    repeats = min(_CHUNK, len(buffer)) // period + 1
    return torch.tensor(turned, dtype=torch.float64, device=buffer.device).to(dtype).repeat(repeats)


def _raw(buffer: torch.Tensor) -> torch.Tensor:
    """The buffer itself, or its bits where the type is too small for a signature."""
    return buffer.view(torch.uint8) if buffer.is_floating_point() and buffer.element_size() == 1 else buffer


def _period(buffer: torch.Tensor) -> int:
    return BYTE_PERIOD if buffer.element_size() == 1 else PERIOD


def _exact(buffer: torch.Tensor) -> int:
    return _EXACT.get(buffer.dtype, _EXACT_ELSE)


def _top(exact: int) -> int:
    """The largest number an active rank holds: small where few are exact, so that several can be summed."""
    return 6 if exact > 16 else 2
