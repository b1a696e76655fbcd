"""The buffers of a collective, drawn above its lanes: one grid of ranks by chunks for each step.

A cell is the fuller the more ranks have contributed to it; the one that has just arrived is outlined. The grid of a
step stands over the time of that step, so that the playhead moves through both.
"""

from html import escape

from app.core.i18n import Language, Text
from app.timelines.layout import Layout, Track, text_width
from app.timelines.scenario import Frame

SIZE = 10.5
TITLES = Text("buffers", "缓冲区")


def draw(layout: Layout, track: Track, language: Language) -> str:
    """All frames of a track."""
    assert track.frames_y is not None
    width, height = track.cell
    ranks = len(track.run.frames[0].cells)
    texts = [text for frame in track.run.frames for row in frame.cells for text, _, _ in row]
    sums = all(_fits(text, width) for text in texts)
    parts = [
        '<g class="tl-frames" aria-hidden="true">',
        *(
            f'<text class="tl-lane" x="0" y="{track.frames_y + height * rank + height / 2 + 4:.1f}" fill="#59626c">'
            f"{escape(track.lanes[rank].device)}</text>"
            for rank in range(ranks)
        ),
    ]
    for place, frame in enumerate(track.run.frames):
        last = place == len(track.run.frames) - 1
        left = layout.x(float(frame.start)) + (8 if last else 2)
        parts.append(_frame(frame, language, place=(left, track.frames_y), cell=(width, height), sums=sums))
    parts.append("</g>")
    return "".join(parts)


def _frame(
    frame: Frame, language: Language, *, place: tuple[float, float], cell: tuple[float, float], sums: bool
) -> str:
    """One grid. `sums` writes `1+3=4`, else only `4` where it fits: all cells of a picture alike."""
    left, top = place
    width, height = cell
    ranks = len(frame.cells)
    head = (
        f'<g class="tl-frame" data-start="{float(frame.start)!r}" data-end="{float(frame.end)!r}">'
        f'<text class="tl-frame-title" x="{left:.1f}" y="{top - 6:.1f}" font-size="11" fill="#59626c">'
        f"{escape(frame.title[language])}</text>"
    )
    parts = [head]
    for rank, row in enumerate(frame.cells):
        for chunk, (text, contributions, changed) in enumerate(row):
            x, y = left + chunk * width, top + rank * height
            share = 0.12 + 0.78 * (contributions - 1) / (ranks - 1)
            ring = ' data-changed="" stroke="#1d2329" stroke-width="1.6"' if changed else ""
            parts.append(
                f'<rect class="tl-cell" x="{x + 0.8:.1f}" y="{y + 0.8:.1f}" width="{width - 1.6:.1f}"'
                f' height="{height - 1.6:.1f}" rx="2.5" fill="#009e73" fill-opacity="{share:.2f}"{ring}/>'
            )
            label = text if sums else text.rsplit("=", 1)[-1]
            strong = 'data-strong=""' if share > 0.75 else ""
            if _fits(label, width):
                parts.append(
                    f'<text class="tl-cell-text" {strong} x="{x + width / 2:.1f}"'
                    f' y="{y + height / 2 + 3.8:.1f}" font-size="{SIZE:g}" text-anchor="middle" fill="#1d2329">'
                    f"{label}</text>"
                )
    parts.append("</g>")
    return "".join(parts)


def _fits(text: str, width: float) -> bool:
    """Whether a text fits a cell. The cells are not bold, so the measure is generous."""
    return text_width(text, SIZE) * 0.92 <= width - 3
