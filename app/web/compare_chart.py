"""The chart of the comparison: bus bandwidth over size, a datasheet's line, and the range that others posted."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from app.core.i18n import Language, Text
from app.core.units import binary_bytes, number
from app.hardware.comparability import LARGE_BYTES
from app.hardware.presets import DatasheetProfile
from app.hardware.reference import Figure, range_of
from app.web import bench_view
from app.web.compare_view import Cell, Side


def chart(
    sides: Sequence[Side],
    operation: str,
    *,
    datasheet: DatasheetProfile | None,
    posted: Sequence[Figure],
    language: Language,
) -> Markup:
    """A curve per side; `posted` are the figures whose range is drawn as a band, all of them comparable."""
    curves = [(side, side.sweeps[operation]) for side in sides if operation in side.sweeps]
    sizes = [cell.size_bytes for _, cells in curves for cell in cells]
    # What comes first lies below: the band must not cover the curves.
    data = _band(posted, sizes, language) if posted and sizes else []
    data += [_curve(side, cells, style=place, language=language) for place, (side, cells) in enumerate(curves)]
    if datasheet is not None and sizes:
        data.append(_datasheet(datasheet, sizes, language))
    return bench_view.figure(data, sizes, language=language)


def _curve(side: Side, cells: Sequence[Cell], *, style: int, language: Language) -> dict[str, Any]:
    colour, dash, symbol = bench_view.STYLES[style % len(bench_view.STYLES)]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": side.title[language],
        "x": [cell.size_bytes for cell in cells],
        "y": [cell.rate for cell in cells],
        "customdata": [[binary_bytes(cell.size_bytes), cell.time_us] for cell in cells],
        "hovertemplate": "%{customdata[0]}: %{y:.4g} GB/s, %{customdata[1]:,.1f} µs",
        "line": {"color": colour, "dash": dash, "width": 2},
        "marker": {"color": colour, "symbol": symbol, "size": 7},
    }


def _datasheet(sheet: DatasheetProfile, sizes: Sequence[int], language: Language) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": sheet.title[language],
        "x": [min(sizes), max(sizes)],
        "y": [sheet.sheet.nvlink_gb_per_s] * 2,
        "line": {"color": "var(--exposed)", "dash": "longdashdot", "width": 1.5},
        "hovertemplate": "%{y:.4g} GB/s",
    }


def _band(posted: Sequence[Figure], sizes: Sequence[int], language: Language) -> list[dict[str, Any]]:
    """Two edges with the space between them filled, over the sizes that the posts are about."""
    low, high = range_of(posted) or (0.0, 0.0)
    known = [figure.posted.size_bytes for figure in posted if figure.posted.size_bytes is not None]
    start = min([LARGE_BYTES, *known])
    ends = [start, max(*sizes, *known, 2 * start)]
    name = Text("posted by others", "他人公布")[language]
    edge = {"type": "scatter", "mode": "lines", "x": ends, "line": {"color": "var(--ink-soft)", "width": 1}}
    label = f"{number(low, 3)} – {number(high, 3)} GB/s" if low != high else f"{number(low, 3)} GB/s"
    hover = f"{name}{Text(': ', '：')[language]}{label}"
    lower = {**edge, "y": [low, low], "showlegend": False, "hoverinfo": "skip"}
    upper = {**edge, "y": [high, high], "name": name, "hovertemplate": f"{hover}<extra></extra>"}
    return [lower, {**upper, "fill": "tonexty", "fillcolor": "var(--line)"}]
