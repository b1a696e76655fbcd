"""How large the blocks of a copy are, and what real ranks report."""

import pytest
import torch

from app.bench.result import RunResult
from app.bench.worker.copies import available_bytes, block_bytes, ways

MIB, GIB = 1024**2, 1024**3


@pytest.mark.parametrize(
    ("ranks", "cache", "usable", "expected"),
    [
        (1, 32 * MIB, 64 * GIB, 64 * MIB),  # the least
        (1, 96 * MIB, 64 * GIB, 96 * MIB),  # two blocks are twice the cache
        (2, 480 * MIB, 64 * GIB, 240 * MIB),
        (1, 2 * GIB, 64 * GIB, 512 * MIB),  # the most
        (8, 32 * MIB, 2 * GIB, 32 * MIB),  # sixteen blocks in a quarter of the memory
        (64, 32 * MIB, 64 * MIB, 1 * MIB),
    ],
)
def test_blocks_outgrow_the_cache_and_fit_the_memory(ranks: int, cache: int, usable: int, expected: int) -> None:
    assert block_bytes(ranks=ranks, cache=cache, usable=usable) == expected


def test_the_machine_has_memory_left() -> None:
    assert 0 < available_bytes() < 2**50


def test_a_cpu_rank_copies_host_memory_only() -> None:
    (way,) = ways(torch.device("cpu"))
    source, target = way.blocks(4096)

    assert (way.kind, way.pinned) == ("host_to_host", False)
    assert source.data_ptr() != target.data_ptr()
    assert source.nbytes == target.nbytes == 4096


def test_a_gpu_rank_copies_both_ways_with_both_kinds_of_host_memory() -> None:
    gpu = torch.device("cuda", 3)

    assert [(way.kind, way.pinned, way.source.type, way.target.type) for way in ways(gpu)] == [
        ("host_to_host", False, "cpu", "cpu"),
        ("host_to_device", True, "cpu", "cuda"),
        ("device_to_host", True, "cuda", "cpu"),
        ("host_to_device", False, "cpu", "cuda"),
        ("device_to_host", False, "cuda", "cpu"),
        ("device_to_device", False, "cuda", "cuda"),
    ]


@pytest.mark.gloo
def test_real_ranks_report_the_rate_of_host_memory(extras_run: RunResult) -> None:
    (copy,) = extras_run.copies

    assert (copy.kind, copy.pinned) == ("host_to_host", False)
    assert copy.size_bytes % MIB == 0
    assert copy.gb_per_s > 0
    assert copy.repeats >= 5
