"""A sweep as Plotly traces and axes: plain data, in the colours that mean something everywhere.

Axes are logarithmic where the numbers span more than a factor of thirty. The current value is marked and labelled.
"""

import math
from typing import Any

from app.calculators.model import Calculator
from app.calculators.sweep import Point, Sweep
from app.core import units
from app.core.i18n import Language

WIDE = 30
"""Numbers that span more than this factor are shown on a logarithmic axis."""
MAXIMUM_TICKS = 12
MAXIMUM_Y_TICKS = 8

_COLOURS = {"FLOP/B": "var(--compute)", "FLOP": "var(--compute)", "": "var(--compute)"}


def colour(calculator: Calculator, unit: str) -> str:
    """Memory of a weight, compute, or communication."""
    if unit == "bytes" and calculator.slug.endswith("memory"):
        return "var(--memory)"
    return _COLOURS.get(unit, "var(--intra)")


def traces(sweep: Sweep, calculator: Calculator, language: Language) -> tuple[list[Any], dict[str, Any]]:
    """The data and the changes to the house layout."""
    fill = colour(calculator, sweep.unit)
    y_title = f"{sweep.title[language]}{f' ({_axis_unit(sweep)})' if _axis_unit(sweep) else ''}"
    scale = _scale(sweep)
    layout: dict[str, Any] = {"yaxis": {"title": {"text": y_title}, **_y_axis(sweep)}}
    texts = [_hover(point, sweep, language) for point in sweep.points]
    y = [point.y / scale for point in sweep.points]
    if any(point.at is None for point in sweep.points):
        bars = {
            "type": "bar",
            "x": [_name(point, language) for point in sweep.points],
            "y": y,
            "text": [units.quantity(point.y, sweep.unit).split(" (")[0] for point in sweep.points],
            "textposition": "outside",
            "cliponaxis": False,
            "hovertext": texts,
            "hoverinfo": "text",
            "marker": {
                "color": fill,
                "opacity": [1.0 if point.is_current else 0.45 for point in sweep.points],
            },
        }
        layout |= {"xaxis": {"type": "category", "title": {"text": sweep.field.title[language]}}, "margin": {"t": 28}}
        return [bars], layout
    x = [point.at for point in sweep.points]
    line = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": x,
        "y": y,
        "line": {"color": fill, "width": 2.5},
        "marker": {"color": fill, "size": 6},
        "hovertext": texts,
        "hoverinfo": "text",
    }
    here = [point for point in sweep.points if point.is_current]
    now = {
        "type": "scatter",
        "mode": "markers+text",
        "x": [point.at for point in here],
        "y": [point.y / scale for point in here],
        "marker": {"color": "var(--panel)", "size": 13, "line": {"color": "var(--ink)", "width": 2.5}},
        "text": [units.quantity(point.y, sweep.unit).split(" (")[0] for point in here],
        "textposition": "top left" if _is_late(sweep) else "top right",
        "textfont": {"color": "var(--ink)", "size": 14},
        "cliponaxis": False,
        "hovertext": [_hover(point, sweep, language) for point in here],
        "hoverinfo": "text",
    }
    layout["xaxis"] = _x_axis(sweep, language)
    threshold = calculator.thresholds.get(sweep.result)
    if threshold is not None:
        layout |= _threshold(threshold[0] / scale, threshold[1][language], sweep)
    layout["margin"] = {"t": 28}
    return [line, now], layout


def _threshold(value: float, label: str, sweep: Sweep) -> dict[str, Any]:
    """A dashed line across the plot, labelled at its left end."""
    is_log = _y_axis(sweep).get("type") == "log"
    line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": value, "y1": value, "layer": "below"}
    note = {
        "xref": "paper",
        "x": 0,
        "xanchor": "left",
        "yanchor": "bottom",
        "y": math.log10(value) if is_log else value,
        "text": label,
        "showarrow": False,
        "font": {"color": "var(--exposed-ink)", "size": 12},
    }
    return {
        "shapes": [{**line, "line": {"color": "var(--exposed)", "width": 1.5, "dash": "dash"}}],
        "annotations": [note],
    }


def _x_axis(sweep: Sweep, language: Language) -> dict[str, Any]:
    unit = sweep.field.unit
    is_size = unit == "B" and sweep.field.kind == "whole"
    title = sweep.field.title[language] + (f" ({unit})" if unit and not is_size else "")
    axis: dict[str, Any] = {"title": {"text": title}}
    numbers = [point.at for point in sweep.points if point.at is not None]
    positive = [number for number in numbers if number > 0]
    if len(positive) < len(numbers) or not positive or max(positive) / min(positive) < WIDE / 4:
        return axis
    axis["type"] = "log"
    step = -(-len(positive) // MAXIMUM_TICKS)
    if sweep.field.kind == "whole":
        ticks = [number for number in positive if number.is_integer() and not int(number) & (int(number) - 1)][::step]
        axis |= {
            "tickvals": ticks,
            "ticktext": [units.binary_bytes(tick) if is_size else units.number(tick) for tick in ticks],
        }
    return axis


def _y_axis(sweep: Sweep) -> dict[str, Any]:
    values = [point.y / _scale(sweep) for point in sweep.points]
    positive = [value for value in values if value > 0]
    if not (positive and len(positive) == len(values) and max(values) / min(values) > WIDE):
        return {"rangemode": "tozero"}
    low, high = (math.floor(math.log10(value)) for value in (min(values), max(values)))
    powers = range(low, high + 2)[:: -(-(high + 2 - low) // MAXIMUM_Y_TICKS)]
    # Written out: Plotly would set powers with an inline style, which the policy forbids.
    return {
        "type": "log",
        "tickvals": [10.0**power for power in powers],
        "ticktext": [units.number(10.0**power) for power in powers],
    }


def _is_late(sweep: Sweep) -> bool:
    """Whether the current point stands in the right half, where a label to the right would leave the plot."""
    place = next((index for index, point in enumerate(sweep.points) if point.is_current), 0)
    return place * 2 > len(sweep.points)


_BYTE_UNITS = (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10))
_TIME_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))


def _unit_and_scale(sweep: Sweep) -> tuple[str, float]:
    """The unit of the axis, chosen for the current value, and how many of the result's own unit it is."""
    ladder = {"bytes": _BYTE_UNITS, "s": _TIME_UNITS}.get(sweep.unit)
    if ladder is None:
        return sweep.unit, 1.0
    reference = max((point.y for point in sweep.points if point.is_current), default=0.0)
    reference = reference or max((point.y for point in sweep.points), default=0.0)
    return next(((name, factor) for name, factor in ladder if reference >= factor), ladder[-1])


def _axis_unit(sweep: Sweep) -> str:
    return _unit_and_scale(sweep)[0]


def _scale(sweep: Sweep) -> float:
    return _unit_and_scale(sweep)[1]


def _name(point: Point, language: Language) -> str:
    return point.label[language] if point.label else point.x


def _hover(point: Point, sweep: Sweep, language: Language) -> str:
    value = units.quantity(point.y, sweep.unit)
    at = _name(point, language) if point.at is None else units.number(point.at, 6)
    unit = f"{units.THIN_SPACE}{sweep.field.unit}" if sweep.field.unit else ""
    return f"{sweep.field.title[language]} = {at}{unit}<br>{sweep.title[language]}: {value}"
