"""Rows and a run for the tests of this folder."""

from typing import Any

from app.bench.events import Environment, Gemm, GemmRate, Measurement, RankStarted, Row
from app.bench.result import RunResult
from tests.bench.ranks import small_spec


def half(time_us: float, *, size_bytes: int, factor: float = 0.5, **changes: Any) -> Measurement:
    algbw = size_bytes / time_us / 1e3
    figures: dict[str, Any] = {
        "time_us": time_us,
        "algbw_gb_per_s": algbw,
        "busbw_gb_per_s": algbw * factor,
        "wrong": 0,
        "average_us": time_us,
        "minimum_us": time_us,
        "slowest_rank": 1,
        "p50_us": time_us,
        "p99_us": time_us,
        "cv_percent": 1.0,
        "iterations": 10,
        "batches_us": (time_us,),
    }
    return Measurement(**{**figures, **changes})


def row(operation: str, size_bytes: int, out: Measurement, in_place: Measurement | None = None, **changes: Any) -> Row:
    fields: dict[str, Any] = {
        "operation": operation,
        "size_bytes": size_bytes,
        "count": size_bytes // 4,
        "dtype": "float",
        "redop": "none" if operation == "all_gather" else "sum",
        "root": -1,
        "ranks": 2,
        "out_of_place": out,
        "in_place": in_place,
    }
    return Row(**{**fields, **changes})


def result() -> RunResult:
    environment = Environment(
        backend="gloo",
        torch="2.13.0+cpu",
        python="3.11.7",
        platform="Linux",
        cpu="A CPU",
        cores=2,
        memory_bytes=2**34,
        threads_per_rank=1,
        timing="blocking",
        hosts=("box",),
        devices=("cpu",),
    )
    started = tuple(RankStarted(rank=rank, pid=100 + rank, start_ticks=1, host="box") for rank in (1, 0))
    rate = GemmRate(dtype="float", m=2, n=2, k=2, tflop_per_s=0.1, maximum_tflop_per_s=0.2, repeats=5)
    rows = (
        row("all_reduce", 1024, half(341.5, size_bytes=1024, factor=1.0)),
        row("all_reduce", 67108864, half(53826.4, size_bytes=67108864, factor=1.0)),
        row("all_gather", 1024, half(254.3, size_bytes=1024), half(12345678.9, size_bytes=1024, wrong=None), count=128),
        row(
            "reduce_scatter",
            1024,
            half(1.5, size_bytes=1024, wrong=3),
            half(9.25, size_bytes=1024),
            count=128,
            label="all-reduce inside",
        ),
    )
    gemm = Gemm(best_dtype="float", tflop_per_s=0.1, rates=(rate,))
    return RunResult(spec=small_spec(), environment=environment, started=started, rows=rows, gemm=gemm, finished=True)
