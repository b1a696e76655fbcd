"""Plotly figures in the look of the house, as JSON for the island `static/js/chart.js`.

A page writes `<div class="chart" data-chart="x"></div>` and, beside it,
`<script type="application/json" id="x">{{ figure }}</script>` with what `as_json` gives. Colours are the tokens,
`var(--compute)` and so on, which the island resolves for the theme. Give a table with the same data as well.
"""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup


def layout(**changes: Any) -> dict[str, Any]:
    """The layout every chart shares, with `changes` on top; axes merge key by key."""
    axis: dict[str, Any] = {
        "gridcolor": "var(--line)",
        "linecolor": "var(--line-strong)",
        "zerolinecolor": "var(--line-strong)",
        "tickcolor": "var(--line-strong)",
        "automargin": True,
        "fixedrange": True,
        "title": {"font": {"size": 13, "color": "var(--ink-soft)"}, "standoff": 12},
    }
    base: dict[str, Any] = {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": "var(--ink)"},
        "margin": {"l": 8, "r": 12, "t": 12, "b": 8},
        "xaxis": axis,
        "yaxis": axis,
        "hovermode": "closest",
        "dragmode": False,
        "showlegend": False,
        "hoverlabel": {
            "bgcolor": "var(--panel)",
            "bordercolor": "var(--line-strong)",
            "font": {"color": "var(--ink)", "size": 13},
        },
    }
    return _merged(base, changes)


def as_json(data: list[Any], layout: Mapping[str, Any]) -> Markup:
    """The figure for a script element. Plotly checks names and values, so a misspelt property fails here."""
    from plotly import graph_objects  # noqa: PLC0415 - only pages with a chart pay for it

    figure = graph_objects.Figure(data=data, layout=layout)
    figure.update_layout(template=None)
    text: str = figure.to_json(engine="json")
    # Inside a script element only "<" could end it or open a comment.
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 - JSON with every "<" escaped


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = _merged(old, value) if both and old is not None else value
    return merged
