"""A small bar chart as SVG: one bar a day, labels where they fit. Pure; the numbers also stand in a table beside it."""

from collections.abc import Sequence

WIDTH = 600
HEIGHT = 150
FOOT = 20
HEAD = 16
LABELS = 7
"""At most this many labels below the bars."""


def draw(values: Sequence[int], *, labels: Sequence[str]) -> str:
    """An SVG element with a bar for each value. Hidden from screen readers, which have the table."""
    assert len(values) == len(labels)
    step = WIDTH / max(1, len(values))
    top = max([*values, 1])
    every = max(1, -(-len(values) // LABELS))
    parts = [
        f'<svg class="progress-chart" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true" focusable="false">',
        f'<text x="0" y="{HEAD - 5}">{max(values, default=0)}</text>',
    ]
    for index, (value, label) in enumerate(zip(values, labels, strict=True)):
        # An empty day keeps a thin line, so that one sees it was counted.
        height = max(2.0, (HEIGHT - FOOT - HEAD) * value / top)
        x, y = index * step, HEIGHT - FOOT - height
        empty = "" if value else " data-empty"
        parts.append(
            f'<rect x="{x + step * 0.12:.1f}" y="{y:.1f}" width="{step * 0.76:.1f}" height="{height:.1f}" rx="2"{empty}>'
            f"<title>{label}: {value}</title></rect>"
        )
        if index % every == 0:
            parts.append(f'<text x="{x + step * 0.12:.1f}" y="{HEIGHT - 5}">{label}</text>')
    return "".join([*parts, "</svg>"])
