"""What a run's page shows besides rows: overlap as bars, pairs of ranks as heat tables, copies, latencies and reports.

Bars and cells are made here, so that the template only places them: widths in percent of the longest bar, heat as one of
`LEVELS` steps. Numbers stand inside, so no colour carries a meaning alone.
"""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from app.bench.catalog import OVERLAP_LABELS, REPORT_TITLES
from app.bench.events import Copy, Finding, Latency, Link, Overlap, Report
from app.core.i18n import Text, same

LEVELS = 6
_EVEN = 1.1
"""Values within this factor of each other are the same to a reader; they get one colour."""

COPY_TITLES: Mapping[str, Text] = {
    "host_to_host": Text("within host memory", "主机内存内"),
    "host_to_device": Text("host to GPU", "主机到 GPU"),
    "device_to_host": Text("GPU to host", "GPU 到主机"),
    "device_to_device": Text("within GPU memory", "显存内"),
}


@dataclass(frozen=True, slots=True)
class OverlapBars:
    """An overlap as two bars: one after the other, and both at once. Shares are percent of the longer bar."""

    overlap: Overlap
    communication: float
    compute: float
    both: float
    hidden_percent: float
    note: Text | None

    @property
    def best(self) -> float:
        """Where the second bar would end if the shorter side were hidden whole."""
        return max(self.communication, self.compute)


@dataclass(frozen=True, slots=True)
class Cell:
    """A value with its heat, from 0 to LEVELS - 1."""

    value: float
    level: int


@dataclass(frozen=True, slots=True)
class Matrix:
    """A value for each ordered pair of ranks; missing pairs were not measured."""

    key: Literal["one_way", "both_ways", "latency"]
    title: Text
    unit: str
    ranks: tuple[int, ...]
    cells: Mapping[tuple[int, int], Cell]
    low: float
    median: float
    high: float


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything besides rows, ready to be shown."""

    latencies: Mapping[str, list[Latency]]
    overlaps: tuple[OverlapBars, ...]
    copies: tuple[Copy, ...]
    matrices: tuple[Matrix, ...]
    reports: tuple[tuple[Text, Report], ...]

    def __bool__(self) -> bool:
        return any((self.latencies, self.overlaps, self.copies, self.matrices, self.reports))


def gather(findings: Iterable[Finding]) -> Findings:
    """The findings of a run by kind."""
    found = list(findings)
    latencies: dict[str, list[Latency]] = {}
    for latency in (each for each in found if isinstance(each, Latency)):
        latencies.setdefault(latency.operation, []).append(latency)
    return Findings(
        latencies=latencies,
        overlaps=tuple(bars(each) for each in found if isinstance(each, Overlap)),
        copies=tuple(each for each in found if isinstance(each, Copy)),
        matrices=matrices([each for each in found if isinstance(each, Link)]),
        reports=tuple((report_title(each), each) for each in found if isinstance(each, Report)),
    )


def bars(overlap: Overlap) -> OverlapBars:
    """The bars of one overlap."""
    longest = max(overlap.communication_us + overlap.compute_us, overlap.both_us)
    scale = 100 / longest if longest > 0 else 0.0
    return OverlapBars(
        overlap,
        communication=overlap.communication_us * scale,
        compute=overlap.compute_us * scale,
        both=overlap.both_us * scale,
        hidden_percent=overlap.hidden * 100,
        note=OVERLAP_LABELS.get(overlap.label or ""),
    )


def matrices(links: Sequence[Link]) -> tuple[Matrix, ...]:
    """Bandwidth one way, both ways, and latency of the pairs that were measured."""
    if not links:
        return ()
    ranks = tuple(sorted({rank for link in links for rank in (link.source, link.target)}))
    rows: tuple[tuple[Literal["one_way", "both_ways", "latency"], Text, str, list[float]], ...] = (
        ("one_way", Text("One way", "单向"), "GB/s", [link.one_way_gb_per_s for link in links]),
        ("both_ways", Text("Both ways at once", "双向同时"), "GB/s", [link.both_ways_gb_per_s for link in links]),
        ("latency", Text("Latency", "延迟"), "µs", [link.latency_us for link in links]),
    )
    pairs = [(link.source, link.target) for link in links]
    return tuple(
        Matrix(
            key,
            title,
            unit,
            ranks,
            dict(zip(pairs, _heated(values), strict=True)),
            min(values),
            statistics.median(values),
            max(values),
        )
        for key, title, unit, values in rows
    )


def report_title(report: Report) -> Text:
    """What a report is about."""
    return REPORT_TITLES.get(report.title) or same(report.title)


def _heated(values: Sequence[float]) -> list[Cell]:
    """The values with their place between the least and the greatest, on a logarithmic scale."""
    low, high = min(values), max(values)
    if low <= 0 or high / low < _EVEN:
        return [Cell(value, LEVELS // 2) for value in values]
    span = math.log(high / low)
    return [Cell(value, min(LEVELS - 1, int(LEVELS * math.log(value / low) / span))) for value in values]
