"""What the comparison page shows: runs side by side, and the chart of their bandwidth over size."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from app.bench.events import Row
from app.core.i18n import Language
from app.hardware.presets import DatasheetProfile
from app.web import bench_view


def chart(
    groups: Sequence[tuple[str, Sequence[Row]]], *, datasheet: DatasheetProfile | None, language: Language
) -> Markup:
    """Bus bandwidth over size of several runs for one operation, with the datasheet's line where one is chosen."""
    data = [bench_view.trace(rows, name=name, style=number) for number, (name, rows) in enumerate(groups)]
    sizes = [row.size_bytes for _, rows in groups for row in rows]
    if datasheet is not None and sizes:
        line: dict[str, Any] = {
            "type": "scatter",
            "mode": "lines",
            "name": datasheet.title[language],
            "x": [min(sizes), max(sizes)],
            "y": [datasheet.sheet.nvlink_gb_per_s] * 2,
            "line": {"color": "var(--exposed)", "dash": "longdashdot", "width": 1.5},
            "hovertemplate": "%{y:.4g} GB/s",
        }
        data.append(line)
    return bench_view.figure(data, sizes, language=language)
