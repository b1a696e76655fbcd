"""A run as text in the layout of nccl-tests 2.13, so that its rows can be pasted wherever such a table is understood.

One table per operation, each with its own header as if its own program had printed it. Known readers were held against it,
see `tests/bench/formats/test_readers.py`. Where it deviates from nccl-tests: rates below 1 GB/s carry four decimals, because two
would print most of a CPU run as 0.00; numbers that do not fit their column overflow it, where nccl-tests goes over to an exponent
that some readers take for the end of the number; an in-place half that was not measured is `N/A` in all four columns, so that columns can be
counted from both ends; with one rank there is no bus, so `-` and no average.
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from app.bench.events import Measurement, Row
from app.bench.result import RunResult

_COLUMNS = ("size", "count", "type", "redop", "root")
_HALF = ("time", "algbw", "busbw", "#wrong")
_UNITS = ("(us)", "(GB/s)", "(GB/s)", "")
_NOT_MEASURED = f"  {'N/A':>7}  {'N/A':>6}  {'N/A':>6}  {'N/A':>6}"
_PROGRAMS = {"all_to_all": "alltoall", "send_recv": "sendrecv"}
WARM_UP = 5
"""Operations before the clock starts, at least."""


def document(result: RunResult) -> str:
    """The whole run, with a footer for every operation; what did not finish is left out."""
    lines = [] if result.rows else list(preamble(result))
    for operation, group in groupby(result.rows, key=lambda row: row.operation):
        rows = list(group)
        header = heading(operation, label=rows[0].label, preamble=preamble(result))
        lines += [*header, *map(row_line, rows), *footer(operation, rows)]
    return "\n".join(lines) + "\n"


def program(operation: str) -> str:
    """The nccl-tests program that measures `operation`; one of ours where it has none."""
    return f"{_PROGRAMS.get(operation, operation)}_perf"


def preamble(result: RunResult) -> Iterable[str]:
    """What was measured and where: comment lines."""
    spec, environment = result.spec, result.environment
    yield (
        f"# nThread 1 nGpus 1 minBytes {spec.sizes[0]} maxBytes {spec.sizes[-1]} step: {step_factor(spec.sizes)}(factor)"
        f" warmup iters: {WARM_UP} iters: {spec.batches} agg iters: 1 validation: {int(spec.check)} graph: 0"
    )
    if environment is None:
        return
    yield f"# ringside: torch.distributed {environment.backend}, torch {environment.torch}, {environment.timing} timing"
    if environment.emulated:
        yield "# ringside: several ranks share one GPU (emulated): these figures say nothing of the hardware"
    yield "#"
    yield "# Using devices"
    for place in places(result):
        yield (
            f"#  Rank {place.rank:2d} Group  0 Pid {place.pid:6d} on {place.host:>10} device {place.device:2d}"
            f" [{place.bus}] {place.name}"
        )


def heading(operation: str, *, label: str | None, preamble: Iterable[str] = ()) -> Iterable[str]:
    """The title of a table; `preamble` goes where nccl-tests prints it, behind the name of the program."""
    yield f"# Collective test starting: {program(operation)}"
    yield from preamble
    if label:
        yield f"# note: {label}"
    yield "#"
    yield f"#{'':51}{'out-of-place':^33}{'in-place':^33}".rstrip()
    yield _title(_COLUMNS, _HALF)
    yield _title(("(B)", "(elements)", "", "", ""), _UNITS)


def row_line(row: Row) -> str:
    """One row."""
    start = f"{row.size_bytes:>12}  {row.count:>12}  {row.dtype:>8}  {row.redop:>6}  {row.root:>6}"
    return start + _half(row.out_of_place) + (_NOT_MEASURED if row.in_place is None else _half(row.in_place))


def footer(operation: str, rows: Sequence[Row]) -> Iterable[str]:
    """Wrong values and the average bus bandwidth of a table."""
    wrong, average = wrong_values(rows), average_busbw(rows)
    yield f"# Out of bounds values : {'N/A' if wrong is None else f'{wrong} FAILED' if wrong else '0 OK'}"
    if average is not None:
        yield f"# Avg bus bandwidth    : {_without_exponent(average)}"
    yield "#"
    yield f"# Collective test concluded: {program(operation)}"
    yield ""


def wrong_values(rows: Iterable[Row]) -> int | None:
    """Wrong elements in all halves; None when nothing was checked."""
    checked = [half.wrong for half in _halves(rows) if half.wrong is not None]
    return sum(checked) if checked else None


def average_busbw(rows: Iterable[Row]) -> float | None:
    """The plain mean of the bus bandwidths of all halves, GB/s, as the footer of nccl-tests gives it; None for one rank."""
    rates = [half.busbw_gb_per_s for half in _halves(rows) if half.busbw_gb_per_s is not None]
    return statistics.fmean(rates) if rates else None


def step_factor(sizes: Sequence[int]) -> int:
    """What one size is multiplied with to get the next, as far as there is such a number; at least 2."""
    return max(2, round(sizes[1] / sizes[0])) if len(sizes) > 1 else 2


@dataclass(frozen=True, slots=True)
class Place:
    """Where a rank ran; `device` counts within its host, `bus` is a placeholder."""

    rank: int
    pid: int
    host: str
    device: int
    name: str
    bus: str = "0x00"


def places(result: RunResult) -> tuple[Place, ...]:
    """The place of each rank, in order; empty when the ranks never met."""
    environment = result.environment
    if environment is None:
        return ()
    started = {entry.rank: entry for entry in result.started}
    per_host = max(1, result.spec.ranks // result.spec.hosts)
    return tuple(
        Place(
            rank=rank,
            pid=started[rank].pid if rank in started else 0,
            host=environment.hosts[0] if len(environment.hosts) == 1 or rank not in started else started[rank].host,
            device=rank % per_host,
            name=environment.devices[0],
        )
        for rank in range(result.spec.ranks)
    )


def _halves(rows: Iterable[Row]) -> list[Measurement]:
    return [half for row in rows for half in (row.out_of_place, row.in_place) if half is not None]


def _title(columns: Sequence[str], half: Sequence[str]) -> str:
    size, count, kind, redop, root = columns
    time, algbw, busbw, wrong = half
    once = f"  {time:>7}  {algbw:>6}  {busbw:>6}  {wrong:>6}"
    return f"#{size:>11}  {count:>12}  {kind:>8}  {redop:>6}  {root:>6}{once}{once}".rstrip()


def _half(half: Measurement) -> str:
    wrong = "N/A" if half.wrong is None else str(half.wrong)
    busbw = "-" if half.busbw_gb_per_s is None else _rate(half.busbw_gb_per_s)
    return f"  {_fitted(half.time_us, 7):>7}  {_rate(half.algbw_gb_per_s):>6}  {busbw:>6}  {wrong:>6}"


def _rate(gb_per_s: float) -> str:
    return f"{gb_per_s:.4f}" if gb_per_s < 1 else _fitted(gb_per_s, 6)


def _fitted(value: float, width: int) -> str:
    """With as many decimals, two at most, as `width` characters leave room for."""
    texts = [f"{value:.{decimals}f}" for decimals in (2, 1, 0)]
    return next((text for text in texts if len(text) <= width), texts[-1])


def _without_exponent(value: float) -> str:
    """Six significant digits like `%g`, written out: a reader that looks for digits and a dot reads 9.5e-05 as 9.5."""
    text = f"{value:g}"
    return text if "e" not in text else f"{value:.10f}" if value < 1 else f"{value:.2f}"
