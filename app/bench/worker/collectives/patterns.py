"""Test data whose results are exact in every element type, so that a check may demand equality.

A buffer holds a short table of small integers over and over. bfloat16 holds every integer up to 256, so gathered values stay
below 251, and a sum stays below 7 times the 32 ranks that contribute. The periods are prime, so a block that
lands in the wrong place, shifted by any power of two, does not go unseen. Work is done in chunks: no second buffer.
"""

from collections.abc import Sequence

import torch

GATHER_PERIOD = 251
SUM_PERIOD = 7
_CONTRIBUTING = 32
_CHUNK = 1 << 18


def gathered(rank: int, *, seed: int) -> list[int]:
    """The table of one rank when values only move."""
    return [(place + 89 * rank + seed) % GATHER_PERIOD for place in range(GATHER_PERIOD)]


def summand(rank: int, *, seed: int) -> list[int]:
    """The table of one rank when values are summed; ranks beyond 32 add zero."""
    if rank >= _CONTRIBUTING:
        return [0] * SUM_PERIOD
    return [(place * (rank % 5 + 1) + rank + seed) % SUM_PERIOD for place in range(SUM_PERIOD)]


def summed(ranks: int, *, seed: int) -> list[int]:
    """The table of the sum over all ranks."""
    return [sum(column) for column in zip(*(summand(rank, seed=seed) for rank in range(ranks)), strict=True)]


def write(buffer: torch.Tensor, table: Sequence[int], *, offset: int = 0) -> int:
    """Fill `buffer` with `table`, starting at place `offset` of the endless repetition; 0 wrong elements."""
    chunk = _chunk(buffer, table, offset)
    for part in buffer.split(len(chunk)):
        part.copy_(chunk[: len(part)])
    return 0


def mismatches(buffer: torch.Tensor, table: Sequence[int], *, offset: int = 0) -> int:
    """Elements of `buffer` that differ from `table` repeated from `offset`; NaN differs."""
    chunk = _chunk(buffer, table, offset)
    return sum(int(torch.count_nonzero(part != chunk[: len(part)])) for part in buffer.split(len(chunk)))


def _chunk(buffer: torch.Tensor, table: Sequence[int], offset: int) -> torch.Tensor:
    period = len(table)
    start = offset % period
    turned = [*table[start:], *table[:start]]
    repeats = min(_CHUNK, len(buffer)) // period + 1
    return torch.tensor(turned, dtype=buffer.dtype, device=buffer.device).repeat(repeats)
