"""Measured times sorted into series: what was measured alike and may stand in one curve.

A series is one operation over one rank count, element type, reduction and root, under one label, out-of-place or in-place; a fit
over two of them would describe neither. Rows of a run and rows of a log both become `Sample`s, which is all that fits and profiles
need. Start at `grouped` and `leading`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from app.bench.events import Row
from app.hardware.collective import OPERATIONS


class Point(NamedTuple):
    """One measured size: message bytes as nccl-tests counts them, and seconds."""

    message_bytes: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """What the points of one curve have in common. A None is what a log did not tell."""

    operation: str
    ranks: int
    dtype: str | None = None
    redop: str | None = None
    root: int | None = None
    label: str | None = None
    in_place: bool = False


class Sample(NamedTuple):
    """One measured time."""

    series: Series
    message_bytes: float
    seconds: float
    is_wrong: bool = False
    """The operation computed a wrong value."""

    @property
    def is_usable(self) -> bool:
        """Whether it may feed a model: a known operation, several ranks, a size and a time, no wrong value."""
        return (
            self.series.operation in OPERATIONS
            and self.series.ranks > 1
            and self.message_bytes > 0
            and self.seconds > 0
            and not self.is_wrong
        )


def samples(rows: Iterable[Row]) -> Iterator[Sample]:
    """The times of all halves of `rows`."""
    for row in rows:
        for half, in_place in ((row.out_of_place, False), (row.in_place, True)):
            if half is not None:
                series = Series(
                    operation=row.operation,
                    ranks=row.ranks,
                    dtype=row.dtype,
                    redop=row.redop,
                    root=row.root,
                    label=row.label,
                    in_place=in_place,
                )
                yield Sample(series, row.size_bytes, half.time_us * 1e-6, bool(half.wrong))


def grouped(found: Iterable[Sample]) -> dict[Series, tuple[Point, ...]]:
    """The usable points of each series, ascending; a size that was measured several times has the median of them."""
    groups: dict[Series, dict[float, list[float]]] = {}
    for sample in found:
        if sample.is_usable:
            groups.setdefault(sample.series, {}).setdefault(sample.message_bytes, []).append(sample.seconds)
    return {
        series: tuple(Point(size, median(times)) for size, times in sorted(sizes.items()))
        for series, sizes in groups.items()
    }


def leading(groups: Mapping[Series, tuple[Point, ...]]) -> dict[str, Series]:
    """The series that speaks for each operation: out-of-place before in-place, then without a label, then with the most points.

    Where only labelled times exist, such as Gloo's reduce-scatter, they are what there is.
    """
    found: dict[str, Series] = {}
    for series, points in groups.items():
        best = found.get(series.operation)
        if best is None or _rank(series, points) > _rank(best, groups[best]):
            found[series.operation] = series
    return found


def _rank(series: Series, points: tuple[Point, ...]) -> tuple[bool, bool, int]:
    return not series.in_place, series.label is None, len(points)
