"""A run as text in the layout of nccl-tests 2.13, so that its rows can be pasted wherever such a table is understood.

One table per operation, each as if its own program had printed it. The deviations a reader of tokens never meets: rates
below 1 GB/s carry four decimals, because two would print most of a CPU run as 0.00; an operation without an in-place form
leaves that half blank, as nccl-tests leaves a missing half; with one rank there is no bus, so `-` and no average.
"""

import statistics
from collections.abc import Iterable, Sequence
from itertools import groupby

from app.bench.events import Measurement, RankStarted, Row
from app.bench.result import RunResult

_COLUMNS = ("size", "count", "type", "redop", "root")
_HALF = ("time", "algbw", "busbw", "#wrong")
_UNITS = ("(us)", "(GB/s)", "(GB/s)", "")


def document(result: RunResult) -> str:
    """The whole run, with a footer for every operation; what did not finish is left out."""
    lines = list(preamble(result))
    for operation, group in groupby(result.rows, key=lambda row: row.operation):
        rows = list(group)
        lines += [*heading(operation, label=rows[0].label), *map(row_line, rows), *footer(operation, rows)]
    return "\n".join(lines) + "\n"


def preamble(result: RunResult) -> Iterable[str]:
    """What was measured and where: comment lines."""
    spec, environment = result.spec, result.environment
    yield (
        f"# nThread 1 nGpus 1 minBytes {spec.sizes[0]} maxBytes {spec.sizes[-1]} step: {_step(spec.sizes)}(factor)"
        f" warmup iters: 5 iters: {spec.batches} agg iters: 1 validation: {int(spec.check)} graph: 0"
    )
    if environment is None:
        return
    yield f"# ringside: torch.distributed {environment.backend}, torch {environment.torch}, {environment.timing} timing"
    yield "#"
    yield "# Using devices"
    for rank in range(spec.ranks):
        started = next((entry for entry in result.started if entry.rank == rank), None)
        yield _device_line(rank, started, hosts=environment.hosts, device=environment.devices[0])
    yield "#"


def heading(operation: str, *, label: str | None) -> Iterable[str]:
    """The title of a table."""
    yield f"# Collective test starting: {operation}_perf"
    if label:
        yield f"# note: {label}"
    yield "#"
    yield f"#{'':51}{'out-of-place':^33}{'in-place':^33}".rstrip()
    yield _title(_COLUMNS, _HALF)
    yield _title(("(B)", "(elements)", "", "", ""), _UNITS)


def row_line(row: Row) -> str:
    """One row."""
    start = f"{row.size_bytes:>12}  {row.count:>12}  {row.dtype:>8}  {row.redop:>6}  {row.root:>6}"
    halves = [_half(half) for half in (row.out_of_place, row.in_place) if half is not None]
    return start + "".join(halves)


def footer(operation: str, rows: Sequence[Row]) -> Iterable[str]:
    """Wrong values and the average bus bandwidth of a table: the plain mean over all halves."""
    halves = [half for row in rows for half in (row.out_of_place, row.in_place) if half is not None]
    checked = [half.wrong for half in halves if half.wrong is not None]
    wrong = sum(checked)
    yield (
        f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}" if checked else "# Out of bounds values : N/A"
    )
    rates = [half.busbw_gb_per_s for half in halves if half.busbw_gb_per_s is not None]
    if rates:
        yield f"# Avg bus bandwidth    : {statistics.fmean(rates):g}"
    yield "#"
    yield f"# Collective test concluded: {operation}_perf"
    yield ""


def _step(sizes: Sequence[int]) -> int:
    return max(2, round(sizes[1] / sizes[0])) if len(sizes) > 1 else 2


def _device_line(rank: int, started: RankStarted | None, *, hosts: Sequence[str], device: str) -> str:
    host = hosts[0] if len(hosts) == 1 or started is None else started.host
    pid = started.pid if started else 0
    return f"#  Rank {rank:2d} Group  0 Pid {pid:6d} on {host:>10} device {rank:2d} [0x00] {device}"


def _title(columns: Sequence[str], half: Sequence[str]) -> str:
    size, count, kind, redop, root = columns
    time, algbw, busbw, wrong = half
    once = f"  {time:>7}  {algbw:>6}  {busbw:>6}  {wrong:>6}"
    return f"#{size:>11}  {count:>12}  {kind:>8}  {redop:>6}  {root:>6}{once}{once}".rstrip()


def _half(half: Measurement) -> str:
    wrong = "N/A" if half.wrong is None else f"{half.wrong:g}"
    busbw = "-" if half.busbw_gb_per_s is None else _rate(half.busbw_gb_per_s)
    return f"  {_time(half.time_us):>7}  {_rate(half.algbw_gb_per_s):>6}  {busbw:>6}  {wrong:>6}"


def _time(time_us: float) -> str:
    """Microseconds in seven characters: fewer decimals as they grow, then an exponent."""
    for limit, decimals in ((1e4, 2), (1e5, 1), (1e7, 0)):
        if time_us < limit:
            return f"{time_us:.{decimals}f}"
    return f"{time_us:.1e}"


def _rate(gb_per_s: float) -> str:
    return f"{gb_per_s:.4f}" if gb_per_s < 1 else f"{gb_per_s:.2f}"
