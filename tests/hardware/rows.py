"""Rows and results for the tests of this folder and of the store."""

from typing import Any

from app.bench.events import Environment, Gemm, GemmRate, Measurement, Overlap, Row
from app.bench.result import RunResult
from app.bench.spec import RunSpec
from app.hardware.collective import bus_factor


def measurement(time_us: float, *, size_bytes: int, factor: float, wrong: int | None = 0) -> Measurement:
    algbw = size_bytes / time_us / 1e3
    return Measurement(
        time_us=time_us,
        algbw_gb_per_s=algbw,
        busbw_gb_per_s=algbw * factor,
        wrong=wrong,
        average_us=time_us,
        minimum_us=time_us,
        slowest_rank=0,
        p50_us=time_us,
        p99_us=time_us,
        cv_percent=1.0,
        iterations=10,
        batches_us=(time_us,),
    )


def row(
    size_bytes: int,
    time_us: float,
    *,
    operation: str = "all_reduce",
    ranks: int = 2,
    wrong: int | None = 0,
    label: str | None = None,
    dtype: str = "float",
    root: int = -1,
    in_place_us: float | None = None,
) -> Row:
    factor = float(bus_factor(operation, ranks=ranks))
    return Row(
        operation=operation,
        size_bytes=size_bytes,
        count=size_bytes // 4,
        dtype=dtype,
        redop="sum",
        root=root,
        ranks=ranks,
        out_of_place=measurement(time_us, size_bytes=size_bytes, factor=factor, wrong=wrong),
        in_place=None if in_place_us is None else measurement(in_place_us, size_bytes=size_bytes, factor=factor),
        label=label,
    )


def gemm(tflop_per_s: float = 0.48) -> Gemm:
    rate = GemmRate(
        dtype="bfloat16", m=1024, n=1024, k=1024, tflop_per_s=tflop_per_s, maximum_tflop_per_s=0.5, repeats=5
    )
    return Gemm(best_dtype="bfloat16", tflop_per_s=tflop_per_s, rates=(rate,))


def overlap(
    operation: str = "all_reduce", *, hidden: float, size_bytes: int = 2**26, label: str | None = None
) -> Overlap:
    """A collective and a GEMM of 1 ms each."""
    return Overlap(
        operation=operation,
        size_bytes=size_bytes,
        dtype="float",
        ranks=2,
        communication_us=1000.0,
        compute_us=1000.0,
        both_us=2000.0 - 1000.0 * hidden,
        hidden=hidden,
        communication_slowdown=1.1,
        compute_slowdown=None,
        repeats=5,
        label=label,
    )


def environment(**changes: Any) -> Environment:
    fields: dict[str, Any] = {
        "backend": "gloo",
        "torch": "2.14.1",
        "python": "3.11.9",
        "platform": "Linux",
        "cpu": "A CPU",
        "cores": 2,
        "memory_bytes": 2**34,
        "threads_per_rank": 1,
        "timing": "blocking",
        "hosts": ("box",),
        "devices": ("cpu",),
    }
    return Environment(**{**fields, **changes})


def spec(*, ranks: int = 2) -> RunSpec:
    return RunSpec(operations=("all_reduce",), sizes=(1024, 1048576), ranks=ranks)


def result(*rows: Row, with_gemm: bool = True) -> RunResult:
    return RunResult(spec=spec(), rows=rows, gemm=gemm() if with_gemm else None, finished=True)
