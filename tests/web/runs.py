"""Ended runs in the store, for the tests of the comparison and of the profiles."""

import dataclasses
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from app.bench.events import Copy, Latency, Link, Report, Row
from app.bench.result import RunResult
from app.bench.runs import Status
from app.bench.store import RunStore
from tests.conftest import NOON
from tests.hardware.rows import environment, gemm, overlap, row, spec

SIZES = [1024 * 2**power for power in range(11)]
H100 = "NVIDIA H100 80GB HBM3"


def sweep(
    *, factor: float = 1.0, operation: str = "all_reduce", sizes: Sequence[int] = SIZES, **changes: Any
) -> list[Row]:
    """100 µs and 1 GB/s, `factor` times as long."""
    return [row(size, factor * (100 + size / 1e3), operation=operation, **changes) for size in sizes]


def keep(
    store: RunStore,
    rows: Sequence[Row],
    *,
    status: Status = "done",
    ranks: int = 2,
    hosts: int = 1,
    machine: dict[str, Any] | None = None,
    **parts: Any,
) -> int:
    """Store an ended run; `machine` changes its environment, `parts` are other fields of the result."""
    result = RunResult(
        spec=dataclasses.replace(spec(ranks=ranks), hosts=hosts),
        environment=environment(**(machine or {})),
        rows=tuple(rows),
        gemm=gemm(),
        finished=True,
        **parts,
    )
    end = NOON + timedelta(seconds=20)
    return store.record(result, status, node="local", command=["torchrun"], began=NOON, ended=end)


def h100(store: RunStore, *, ranks: int = 8, hosts: int = 1, gb_per_s: float = 400.0, **changes: Any) -> int:
    """An all-reduce on H100s that levels off at `gb_per_s` of bus bandwidth."""
    sizes = [2**power for power in range(10, 35)]
    factor = 2 * (ranks - 1) / ranks
    rows = [row(size, 20 + size * factor / gb_per_s / 1e3, ranks=ranks) for size in sizes]
    machine = {"backend": "nccl", "devices": (H100,) * ranks, "nccl": "2.30.7", "cuda": "13.0", "timing": "events"}
    return keep(store, rows, ranks=ranks, hosts=hosts, machine={**machine, **changes})


def latency(size_bytes: int, p50_us: float, *, operation: str = "all_reduce") -> Latency:
    return Latency(
        operation=operation,
        size_bytes=size_bytes,
        dtype="float",
        ranks=2,
        p50_us=p50_us,
        p99_us=3 * p50_us,
        minimum_us=p50_us / 2,
        cv_percent=5.0,
        calls=200,
    )


def everything(store: RunStore) -> int:
    """A run with each kind of finding."""
    links = [(0, 1, 1.5, 2.5, 30.0), (0, 2, 1.0, 1.6, 40.0), (1, 2, 3.0, 5.0, 20.0)]
    return keep(
        store,
        [
            *sweep(),
            *sweep(operation="all_gather", in_place_us=90.0),
            *sweep(operation="reduce_scatter", label="all-reduce inside"),
        ],
        machine={"variables": {"NCCL_ALGO": "Ring"}},
        overlaps=(overlap(hidden=1.2), overlap("all_gather", hidden=-0.1, label="shares the CPU cores")),
        latencies=(latency(8, 40.0), latency(1024, 42.0)),
        copies=(Copy(kind="host_to_host", size_bytes=2**26, gb_per_s=9.5, pinned=False, repeats=5),),
        links=tuple(
            Link(
                source=a,
                target=b,
                size_bytes=2**22,
                one_way_gb_per_s=one,
                both_ways_gb_per_s=both,
                latency_us=latency_us,
            )
            for a, b, one, both, latency_us in links
        ),
        reports=(
            Report(
                title="nccl",
                host="node-0",
                lines=("Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM (8 channels)", "Using network IB"),
            ),
        ),
    )
