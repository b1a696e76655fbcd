"""What the page of a hardware profile shows: its curves, what it answers on what basis, and what else the run found."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from app.bench.events import Gemm, GemmRate, Link
from app.core.errors import InvalidInput
from app.core.i18n import Language, Text
from app.core.units import GIB, GIGA, KIB, MIB, binary_bytes
from app.hardware import reference
from app.hardware.collective import OPERATIONS, bus_factor
from app.hardware.measured import Curve, MeasuredProfile
from app.hardware.model import Basis, Estimate, Kind, Profile
from app.web import bench_view
from app.web.timeline_view import BASIS

EXAMPLE_SIZES = (KIB, MIB, 64 * MIB, GIB)
DATASHEET_RANKS = 8
KINDS: dict[Kind, Text] = {
    "measured": Text("measured here", "本机实测"),
    "imported": Text("measured elsewhere", "别处实测"),
    "datasheet": Text("datasheet", "数据手册"),
}
COPY_TITLES: dict[str, Text] = {
    "host_to_host": Text("within host memory", "主机内存内"),
    "host_to_device": Text("host to GPU", "主机到 GPU"),
    "device_to_host": Text("GPU to host", "GPU 到主机"),
    "device_to_device": Text("within GPU memory", "显存内"),
}


# --- curves --------------------------------------------------------------------------------------------------------


def chart(profile: MeasuredProfile, *, language: Language) -> Markup | None:
    """Bus bandwidth over size, a curve per operation that the profile answers from, each with its fit."""
    data: list[dict[str, Any]] = []
    for place, curve in enumerate(profile.curves.values()):
        data.append(_points(curve, style=place, language=language))
        if curve.fit.refused is None:
            data.append(_fitted(curve, style=place, language=language))
    sizes = [int(point.message_bytes) for curve in profile.curves.values() for point in curve.points]
    return bench_view.figure(data, sizes, language=language) if data else None


def _points(curve: Curve, *, style: int, language: Language) -> dict[str, Any]:
    colour, dash, symbol = _style(style)
    factor = float(bus_factor(curve.operation, ranks=curve.ranks))
    return {
        "type": "scatter",
        # Where there is a fit, it is the line; otherwise the points are joined as the profile reads between them.
        "mode": "markers" if curve.fit.refused is None else "lines+markers",
        "line": {"color": colour, "width": 1, "dash": dash},
        "name": bench_view.operation_title(curve.operation)[language],
        "x": [point.message_bytes for point in curve.points],
        "y": [point.message_bytes * factor / point.seconds / GIGA for point in curve.points],
        "customdata": [[binary_bytes(point.message_bytes), point.seconds * 1e6] for point in curve.points],
        "hovertemplate": "%{customdata[0]}: %{y:.4g} GB/s, %{customdata[1]:,.1f} µs",
        "marker": {"color": colour, "symbol": symbol, "size": 7},
    }


def _fitted(curve: Curve, *, style: int, language: Language) -> dict[str, Any]:
    colour, dash, _ = _style(style)
    factor = float(bus_factor(curve.operation, ranks=curve.ranks))
    sizes = [point.message_bytes for point in curve.points]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": Text("fit", "拟合")[language],
        "showlegend": False,
        "hoverinfo": "skip",
        "x": sizes,
        "y": [size * factor / curve.fit.seconds(size) / GIGA for size in sizes],
        "line": {"color": colour, "width": 1.5, "dash": dash},
    }


def _style(place: int) -> tuple[str, str, str]:
    return bench_view.STYLES[place % len(bench_view.STYLES)]


def all_curves(profile: MeasuredProfile) -> tuple[tuple[Curve, bool], ...]:
    """Every curve and whether the profile answers from it, those of one operation together."""
    curves = [*((curve, True) for curve in profile.curves.values()), *((curve, False) for curve in profile.others)]
    order = {name: place for place, name in enumerate(dict.fromkeys(curve.operation for curve, _ in curves))}
    return tuple(sorted(curves, key=lambda entry: order[entry[0].operation]))


def series_words(curve: Curve) -> Text:
    """What tells a series from others of its operation: type, half, root, label."""
    series = curve.series
    parts = [Text(part, part) for part in (series.dtype, series.redop if series.redop != "none" else None) if part]
    parts += [Text("in-place", "in-place")] if series.in_place else []
    parts += (
        [Text(f"root {series.root}", f"root {series.root}")] if series.root is not None and series.root >= 0 else []
    )
    parts += [Text(series.label, series.label)] if series.label else []
    return Text(", ".join(part.en for part in parts) or "–", "，".join(part.zh for part in parts) or "–")


# --- answers -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """What a profile says of an operation at a size; `refused` where it has no answer."""

    size_bytes: int
    estimate: Estimate | None
    refused: Text | None = None
    gb_per_s: float | None = None
    """Bus bandwidth that the time amounts to."""

    @property
    def basis(self) -> Text:
        """Where the number comes from."""
        return basis_title(self.estimate.basis) if self.estimate else Text("no answer", "没有答案")


def basis_title(basis: Basis) -> Text:
    """A basis for people."""
    return BASIS[basis]


def answers(profile: Profile) -> dict[str, tuple[Answer, ...]]:
    """Examples of what the profile answers: a few sizes of each operation that it knows, for its own number of ranks."""
    known: Iterable[str] = profile.curves if isinstance(profile, MeasuredProfile) else OPERATIONS
    ranks = profile.ranks or DATASHEET_RANKS
    return {operation: tuple(_answer(profile, operation, size, ranks) for size in EXAMPLE_SIZES) for operation in known}


def reasons(found: dict[str, tuple[Answer, ...]]) -> tuple[Text, ...]:
    """Why there is no answer, each reason once."""
    return tuple(dict.fromkeys(answer.refused for row in found.values() for answer in row if answer.refused))


def _answer(profile: Profile, operation: str, size_bytes: int, ranks: int) -> Answer:
    try:
        estimate = profile.collective(operation, size_bytes, ranks)
    except InvalidInput as error:
        return Answer(size_bytes, None, refused=next(iter(error.fields.values())))
    rate = size_bytes * float(bus_factor(operation, ranks=ranks)) / estimate.seconds / GIGA
    return Answer(size_bytes, estimate, gb_per_s=rate if math.isfinite(rate) else None)


# --- what else the run found ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GemmLine:
    """A matrix multiplication, with what others posted of it on such a device."""

    rate: GemmRate
    posted: Text | None


def gemm_lines(gemm: Gemm | None, *, device: str | None) -> tuple[GemmLine, ...]:
    """The rates of a run. `device` is what the GPU calls itself, None for a CPU."""
    if gemm is None:
        return ()
    return tuple(
        GemmLine(
            rate,
            None if device is None else reference.range_text(reference.gemm(device, dtype=rate.dtype), unit="TFLOP/s"),
        )
        for rate in gemm.rates
    )


@dataclass(frozen=True, slots=True)
class LinkSummary:
    """One quantity over all pairs of ranks, and the pair that has the worst of it."""

    title: Text
    unit: str
    low: float
    median: float
    high: float
    worst: tuple[int, int]


def link_summary(links: Sequence[Link]) -> tuple[LinkSummary, ...]:
    """Bandwidth one way, both ways, and latency between pairs of ranks; empty where no pair was measured."""
    if not links:
        return ()
    slowest_one = min(links, key=lambda link: link.one_way_gb_per_s)
    slowest_both = min(links, key=lambda link: link.both_ways_gb_per_s)
    longest = max(links, key=lambda link: link.latency_us)
    columns = (
        (Text("one way", "单向"), "GB/s", [link.one_way_gb_per_s for link in links], slowest_one),
        (
            Text("both ways at once, sum", "双向同时，合计"),
            "GB/s",
            [link.both_ways_gb_per_s for link in links],
            slowest_both,
        ),
        (Text("latency of 8 B", "8 B 的延迟"), "µs", [link.latency_us for link in links], longest),
    )
    return tuple(
        LinkSummary(title, unit, min(values), statistics.median(values), max(values), (worst.source, worst.target))
        for title, unit, values, worst in columns
    )
