"""Rows and results for the tests of this folder and of the store."""

from app.bench.events import Gemm, GemmRate, Measurement, Row
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
) -> Row:
    factor = float(bus_factor(operation, ranks=ranks))
    return Row(
        operation=operation,
        size_bytes=size_bytes,
        count=size_bytes // 4,
        dtype="float",
        redop="sum",
        root=-1,
        ranks=ranks,
        out_of_place=measurement(time_us, size_bytes=size_bytes, factor=factor, wrong=wrong),
        label=label,
    )


def gemm(tflop_per_s: float = 0.48) -> Gemm:
    rate = GemmRate(
        dtype="bfloat16", m=1024, n=1024, k=1024, tflop_per_s=tflop_per_s, maximum_tflop_per_s=0.5, repeats=5
    )
    return Gemm(best_dtype="bfloat16", tflop_per_s=tflop_per_s, rates=(rate,))


def spec(*, ranks: int = 2) -> RunSpec:
    return RunSpec(operations=("all_reduce",), sizes=(1024, 1048576), ranks=ranks)


def result(*rows: Row, with_gemm: bool = True) -> RunResult:
    return RunResult(spec=spec(), rows=rows, gemm=gemm() if with_gemm else None, finished=True)
