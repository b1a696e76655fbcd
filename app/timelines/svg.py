"""Draws runs as one SVG: blocks on lanes, exposed time hatched, dependencies, axis, the reasons of gaps.

`draw` gives a complete picture that needs no script: hover texts are `<title>` elements. Colours stand as
presentation attributes of the light theme, so a saved file looks right alone; on the page the classes of
`timelines.css` win and follow the theme. `static/js/timeline.js` finds blocks by `data-op` and gaps by `data-gap`.
The lanes themselves are drawn by `svg_track.py`.
"""

from collections.abc import Sequence
from html import escape

from app.core.i18n import Language, Text
from app.core.units import number
from app.timelines import svg_track
from app.timelines.catalog import Run
from app.timelines.explain import time
from app.timelines.layout import COLUMN, FONT, Layout, arrange, lanes_of, text_width
from app.timelines.svg_style import EXPOSED, LINE, SANS, SOFT, TEXT, definitions, fill, n, tone

TIME = Text("time, ms", "时间 / ms")

THUMBNAIL_WIDTH = 300.0
THUMBNAIL_LANES = 6


def draw(
    runs: Sequence[tuple[Text | None, Run]],
    language: Language,
    *,
    embed_id: str,
    title: Text,
    width: float = COLUMN,
    zoom: float = 1.0,
) -> str:
    """The SVG of one run, or of several on one axis. Ids start with `embed_id`, so that a page can hold many."""
    layout = arrange(runs, language, width=width, zoom=zoom)
    fit = ' data-fit=""' if layout.fits else ""
    head = (
        f'<svg class="tl-svg"{fit} xmlns="http://www.w3.org/2000/svg" role="group" id="{embed_id}-svg"'
        f' aria-labelledby="{embed_id}-title" aria-describedby="{embed_id}-desc"'
        f' viewBox="0 0 {n(layout.width)} {n(layout.height)}" width="{n(layout.width)}"'
        f' height="{n(layout.height)}" font-family="{SANS}" font-size="{FONT:g}"'
        f' data-left="{n(layout.left)}" data-scale="{layout.scale!r}" data-makespan="{layout.makespan!r}">'
        f'<title id="{embed_id}-title">{escape(title[language])}</title>'
        f'<desc id="{embed_id}-desc">{escape(_description(runs, language))}</desc>'
    )
    painter = svg_track.Painter(layout, language, embed_id)
    parts = [head, definitions(embed_id), _grid(layout, language)]
    parts += [painter.track(track, place) for place, track in enumerate(layout.tracks)]
    if len(layout.tracks) > 1:
        parts.append(_difference(layout))
    parts += [_playhead(layout), "</svg>"]
    return "".join(parts)


def thumbnail(run: Run, *, embed_id: str) -> str:
    """A small picture without words, for a list of timelines. Hidden from screen readers: the list has the words."""
    block, pitch = 15.0, 21.0
    streams = lanes_of(run)[:THUMBNAIL_LANES]
    height = len(streams) * pitch
    scale = THUMBNAIL_WIDTH / float(run.trace.makespan) if run.trace.makespan else 0.0
    rows = {(stream.device, stream.name): 3 + place * pitch for place, stream in enumerate(streams)}
    head = (
        '<svg class="tl-thumbnail" xmlns="http://www.w3.org/2000/svg"'
        f' viewBox="0 0 {n(THUMBNAIL_WIDTH)} {n(height)}" aria-hidden="true" focusable="false">'
    )
    areas = [
        (gap.start, gap.end, rows[gap.device, gap.stream], "tl-exposed-area", f"url(#{embed_id}-exposed)")
        for gap in run.gaps
        if gap.exposed and (gap.device, gap.stream) in rows
    ]
    areas += [
        (block.start, block.end, rows[block.device, block.stream], f"tl-{tone(block)}", fill(tone(block), embed_id))
        for block in run.operations
        if (block.device, block.stream) in rows and block.end > block.start
    ]
    rects = [
        f'<rect x="{n(start * scale + 0.5)}" y="{n(y)}" width="{n(max(0.6, (end - start) * scale - 1))}"'
        f' height="{block:g}" rx="2" class="tl-block {look}" fill="{paint}"/>'
        for start, end, y, look, paint in areas
    ]
    return "".join([head, definitions(embed_id), *rects, "</svg>"])


def _description(runs: Sequence[tuple[Text | None, Run]], language: Language) -> str:
    sentences = []
    for title, run in runs:
        name = title[language] + ("：" if language == "zh" else ": ") if title else ""
        total, exposed = time(run.trace.makespan), time(run.trace.exposed)
        lanes, blocks = len(run.streams), len(run.operations)
        sentence = Text(
            f"{total} in total, {exposed} exposed, {lanes} lanes, {blocks} blocks. The table below has every block.",
            f"总时长 {total}，暴露 {exposed}，{lanes} 条泳道，{blocks} 个块。下方表格列出了每个块。",
        )
        sentences.append(name + sentence[language])
    return ("" if language == "zh" else " ").join(sentences)


def _grid(layout: Layout, language: Language) -> str:
    """Vertical lines at round times, their numbers, and what the axis is."""
    places = [(n(layout.x(tick)), number(tick)) for tick in layout.ticks]
    lines = [f'<path d="M{x} 6V{n(layout.axis + 4)}"/>' for x, _ in places]
    numbers = [f'<text x="{x}" y="{n(layout.axis + 19)}">{text}</text>' for x, text in places]
    return "".join(
        (
            f'<rect class="tl-plot" x="{n(layout.left)}" y="0" width="{n(layout.plot)}" height="{n(layout.axis)}" ',
            'fill="none"/>',
            f'<g class="tl-grid" stroke="{LINE}" stroke-width="1">',
            *lines,
            f'</g><g class="tl-axis" fill="{SOFT}" font-size="11.5" text-anchor="middle">',
            *numbers,
            f'<text x="{n(layout.left + layout.plot)}" y="{n(layout.axis + 35)}" text-anchor="end">',
            f"{TIME[language]}</text></g>",
        )
    )


def _difference(layout: Layout) -> str:
    """The ends of two runs, and what lies between them."""
    ends = [float(track.run.trace.makespan) for track in layout.tracks[:2]]
    parts = [f'<g class="tl-difference" stroke="{TEXT}" fill="none" aria-hidden="true">']
    for track, end in zip(layout.tracks[:2], ends, strict=True):
        x = n(layout.x(end))
        parts.append(f'<path class="tl-end" d="M{x} {n(track.top + 18)}V{n(layout.axis)}" stroke-dasharray="3 3"/>')
    first, second = layout.x(min(ends)), layout.x(max(ends))
    if second - first >= 1:
        label = time(max(ends) - min(ends))
        outside = text_width(label, 11) + 12 > second - first
        middle, anchor = (first - 6, "end") if outside else ((first + second) / 2, "middle")
        y = layout.axis - 8
        parts.append(f'<path class="tl-span" d="M{n(first)} {n(y)}H{n(second)}" stroke-width="1.5"/>')
        parts.append(
            f'<text class="tl-span-label" x="{n(middle)}" y="{n(y + 4 if outside else y - 6)}" fill="{TEXT}"'
            f' stroke="none" font-size="11" font-weight="650" text-anchor="{anchor}">{label}</text>'
        )
    parts.append("</g>")
    return "".join(parts)


def _playhead(layout: Layout) -> str:
    """Stands at time zero; hidden until a script moves it."""
    return (
        f'<g class="tl-playhead" visibility="hidden" transform="translate({n(layout.left)} 0)" aria-hidden="true">'
        f'<path class="tl-playhead-line" d="M0 4V{n(layout.axis)}" stroke="{EXPOSED}" stroke-width="2"/>'
        f'<circle class="tl-playhead-knob" cx="0" cy="7" r="6" fill="{EXPOSED}"/></g>'
    )
