"""Measurements side by side: what they share, where they differ, and how they relate to the first.

A `Side` is one thing to compare, wherever its figures come from: `of_run` makes one of a stored run. A ratio always says how
many times as fast as the first side: of bus bandwidth for a sweep, of times for a latency, so above 1 is faster.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from app.bench.events import Latency, Measurement, Row
from app.bench.result import RunResult
from app.bench.runs import Run
from app.core.i18n import Text
from app.hardware.measured import overlap_factors
from app.web import bench_view
from app.web.conditions import CONDITIONS, OF_ROWS, Condition, conditions

ALIKE = 1.02
"""Sizes that differ by less are one line: with another rank count they were rounded differently."""


class _Sized(Protocol):
    @property
    def size_bytes(self) -> int: ...


C = TypeVar("C", bound=_Sized)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One measured size. Times in microseconds, rates in GB/s."""

    size_bytes: int
    time_us: float
    algbw_gb_per_s: float
    busbw_gb_per_s: float | None
    is_wrong: bool = False

    @property
    def rate(self) -> float:
        """Bus bandwidth; of a single rank, which has none, the algorithm bandwidth."""
        return self.algbw_gb_per_s if self.busbw_gb_per_s is None else self.busbw_gb_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the things compared. `sweeps` and `latencies` are by operation, ascending in size."""

    key: str
    title: Text
    href: str
    status: Text
    status_kind: str
    about: str
    ranks: int
    hosts: int
    device: str | None
    """What the GPU calls itself; None where no GPU was measured."""
    sweeps: Mapping[str, tuple[Cell, ...]]
    conditions: Callable[[str], Mapping[str, Text]]
    """The known conditions of an operation, by key of `CONDITIONS`."""
    dtype: str = "float"
    latencies: Mapping[str, tuple[Latency, ...]] = field(default_factory=dict)
    overlaps: Mapping[str, float] = field(default_factory=dict)
    tflop_per_s: float | None = None
    gemm_dtype: str | None = None


def of_run(run: Run, result: RunResult) -> Side:
    """A stored run as a side."""
    environment = result.environment
    backend = environment.backend if environment else run.spec.backend
    latencies: dict[str, list[Latency]] = {}
    for latency in sorted(result.latencies, key=lambda each: each.size_bytes):
        latencies.setdefault(latency.operation, []).append(latency)
    return Side(
        key=str(run.id),
        title=Text(f"Run {run.id}", f"运行 {run.id}"),
        href=f"/bench/runs/{run.id}",
        status=bench_view.status_title(run),
        status_kind=bench_view.status_kind(run),
        about=f"{run.spec.ranks} × {backend}, {run.created_at:%Y-%m-%d}",
        ranks=run.spec.ranks,
        hosts=run.spec.hosts,
        device=environment.devices[0] if environment and environment.backend == "nccl" else None,
        dtype=run.spec.dtype,
        sweeps={
            operation: tuple(sorted(map(_cell, rows), key=lambda cell: cell.size_bytes))
            for operation, rows in bench_view.by_operation(result.rows).items()
        },
        conditions=lambda operation: conditions(result, operation=operation),
        latencies={operation: tuple(each) for operation, each in latencies.items()},
        overlaps=overlap_factors(result),
        tflop_per_s=result.gemm.tflop_per_s if result.gemm else None,
        gemm_dtype=result.gemm.best_dtype if result.gemm else None,
    )


def _cell(row: Row) -> Cell:
    half: Measurement = row.out_of_place
    return Cell(
        size_bytes=row.size_bytes,
        time_us=half.time_us,
        algbw_gb_per_s=half.algbw_gb_per_s,
        busbw_gb_per_s=half.busbw_gb_per_s,
        is_wrong=bool(half.wrong or (row.in_place and row.in_place.wrong)),
    )


def operations(sides: Sequence[Side]) -> list[str]:
    """Every operation that any side measured, in the order they came."""
    return list(dict.fromkeys(operation for side in sides for operation in side.sweeps))


# --- one operation, size by size -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line(Generic[C]):
    """One size: what each side has there, and how many times as fast as the first it is."""

    size_bytes: int
    cells: tuple[C | None, ...]
    ratios: tuple[float | None, ...]


def sweep_lines(sides: Sequence[Side], operation: str) -> list[Line[Cell]]:
    """The sizes of an operation; the ratio is that of the bus bandwidths."""
    return _lines(
        [side.sweeps.get(operation, ()) for side in sides], lambda first, other: _ratio(other.rate, first.rate)
    )


def latency_lines(sides: Sequence[Side], operation: str) -> list[Line[Latency]]:
    """Single calls of an operation; the ratio is that of the medians."""
    return _lines(
        [side.latencies.get(operation, ()) for side in sides], lambda first, other: _ratio(first.p50_us, other.p50_us)
    )


def _lines(sweeps: Sequence[Sequence[C]], ratio: Callable[[C, C], float | None]) -> list[Line[C]]:
    found = []
    for cells in aligned(sweeps):
        first = cells[0]
        ratios = [None if first is None or cell is None else ratio(first, cell) for cell in cells[1:]]
        size = next(cell.size_bytes for cell in cells if cell is not None)
        found.append(Line(size, cells, (None if first is None else 1.0, *ratios)))
    return found


def aligned(sweeps: Sequence[Sequence[C]]) -> list[tuple[C | None, ...]]:
    """What stands at the same size in each of `sweeps`, ascending; sizes that are nearly the same share a line."""
    entries = sorted((each.size_bytes, place) for place, sweep in enumerate(sweeps) for each in sweep)
    lines: list[dict[int, int]] = []
    for size, place in entries:
        last = lines[-1] if lines else {}
        if not last or place in last or size > ALIKE * min(last.values()):
            lines.append({})
        lines[-1][place] = size
    by_size = [{each.size_bytes: each for each in sweep} for sweep in sweeps]
    return [tuple(by_size[place].get(line.get(place, -1)) for place in range(len(sweeps))) for line in lines]


# --- all operations at a glance ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Glance:
    """An operation at the largest and the smallest size that all sides which measured it have in common."""

    operation: str
    large: Line[Cell] | None
    small: Line[Cell] | None


def glances(sides: Sequence[Side]) -> list[Glance]:
    """Every operation; the ratio at the small size is that of the times."""
    found = []
    for operation in operations(sides):
        lines = sweep_lines(sides, operation)
        owners = [place for place, side in enumerate(sides) if operation in side.sweeps]
        shared = [line for line in lines if all(line.cells[place] is not None for place in owners)]
        small = _by_time(shared[0]) if shared else None
        found.append(Glance(operation, shared[-1] if shared else None, small))
    return found


def _ratio(value: float, base: float) -> float | None:
    """How many times `base`; None where a figure was so small that it was printed as zero."""
    return value / base if value > 0 and base > 0 else None


def _by_time(line: Line[Cell]) -> Line[Cell]:
    first = line.cells[0]
    ratios = tuple(
        None if first is None or cell is None else _ratio(first.time_us, cell.time_us) for cell in line.cells
    )
    return Line(line.size_bytes, line.cells, ratios)


# --- what differs --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Difference:
    """A condition that is not the same on all sides; None where a side does not tell it."""

    condition: Condition
    values: tuple[Text | None, ...]


def differences(sides: Sequence[Side], operation: str) -> list[Difference]:
    """The conditions that are known to differ, the weightiest first; those of rows are of the rows of `operation`."""
    known = [side.conditions(operation) for side in sides]
    found = []
    for name, condition in CONDITIONS.items():
        # A side that did not measure the operation has no rows to tell the conditions of rows.
        has_told = [name not in OF_ROWS or operation in side.sweeps for side in sides]
        values = tuple(each.get(name) if told else None for each, told in zip(known, has_told, strict=True))
        told = {value for value, each in zip(values, has_told, strict=True) if each}
        if len(told if condition.absence_counts else told - {None}) > 1:
            found.append(Difference(condition, values))
    return found
