"""The lanes of one run: blocks with their labels, idle time with its reason, the curves of dependencies.

A block or gap carries its place in the run (`data-op`, `data-gap`), so that a script can find what it knows of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from app.core.i18n import Language, Text
from app.timelines import svg_frames
from app.timelines.catalog import RunGap, RunOperation
from app.timelines.explain import moment, time
from app.timelines.layout import Lane, Layout, Track, text_width
from app.timelines.svg_style import EXPOSED, FILL, INK, SOFT, TEXT, fill, n, tone

MOST_CURVES = 600
"""Above this many dependencies only those of the critical path are drawn."""
MOST_FOCUSABLE = 40
"""Above this many gaps none is a tab stop; the arrow keys still reach them."""
MOST_GAPS = 400
"""Above this many gaps those of lanes that only communicate are left to the table."""

STOP = Text(". ", "。")
COMMA = Text(", ", "，")
WORDS = {"exposed": Text("exposed", "暴露"), "idle": Text("idle", "空闲")}

Lanes = Mapping[tuple[str, str], Lane]


@dataclass(frozen=True, slots=True)
class Painter:
    """Draws tracks of one layout in one language."""

    layout: Layout
    language: Language
    embed_id: str

    def track(self, track: Track, place: int) -> str:
        """Everything of one run: heading, buffers, lane names, gaps, curves, blocks."""
        lanes = {(lane.device, lane.stream): lane for lane in track.lanes}
        parts = [f'<g class="tl-track" data-track="{place}">', self._heading(track)]
        if track.frames_y is not None:
            parts.append(svg_frames.draw(self.layout, track, self.language))
        parts += [self._lane(lane) for lane in track.lanes]
        computing = {(stream.device, stream.name) for stream in track.run.streams if stream.kind == "compute"}
        many = sum((gap.device, gap.stream) in computing for gap in track.run.gaps) > MOST_FOCUSABLE
        for index, gap in enumerate(track.run.gaps):
            lane = lanes[gap.device, gap.stream]
            computes = (gap.device, gap.stream) in computing
            if not computes and len(track.run.gaps) > MOST_GAPS:
                continue
            look = "exposed" if gap.exposed else "idle" if computes else "quiet"
            parts.append(self._gap(lane, gap, index, look=look, focusable=computes and not many))
        parts.append(self._curves(track, lanes))
        parts += [
            self._block(lanes[operation.device, operation.stream], operation, index)
            for index, operation in enumerate(track.run.operations)
        ]
        parts.append("</g>")
        return "".join(parts)

    def _heading(self, track: Track) -> str:
        if track.title is None:
            return ""
        return (
            f'<text class="tl-heading" x="{n(self.layout.left)}" y="{n(track.heading + 13)}" fill="{TEXT}"'
            f' font-weight="650" font-size="12.5">{escape(track.title[self.language])}'
            f'<tspan class="tl-soft" fill="{SOFT}" font-weight="400" dx="8">'
            f"{time(track.run.trace.makespan)}</tspan></text>"
        )

    def _lane(self, lane: Lane) -> str:
        y = n(lane.y + self.layout.block / 2 + 4)
        return f'<text class="tl-lane" x="0" y="{y}" fill="{SOFT}">{escape(lane.label)}</text>'

    def _block(self, lane: Lane, operation: RunOperation, index: int) -> str:
        """A block with its hover text, and its label where it fits. One of no duration is a diamond."""
        layout = self.layout
        look = tone(operation)
        x, width = layout.x(operation.start), (operation.end - operation.start) * layout.scale
        critical = ' data-critical=""' if operation.critical else ""
        times = f"{moment(operation.start)}–{time(operation.end)}{STOP[self.language]}"
        head = (
            f'<g class="tl-op tl-{look}" data-op="{index}"{critical}>'
            f"<title>{escape(operation.label)}{COMMA[self.language]}{times}{escape(operation.detail[self.language])}</title>"
        )
        middle = lane.y + layout.block / 2
        if operation.end <= operation.start:
            return f'{head}<path class="tl-block" d="M{n(x)} {n(middle - 6)}l5 6l-5 6l-5-6z" fill="{FILL[look]}"/></g>'
        inset = min(1.5, width * 0.15)
        body = (
            f'<rect class="tl-block" x="{n(x + inset / 2)}" y="{n(lane.y)}" width="{width - inset:.2f}"'
            f' height="{layout.block:g}" rx="{min(4, width / 4):.1f}" fill="{fill(look, self.embed_id)}"/>'
        )
        label = _fitting(operation, width - 7)
        if not label:
            return f"{head}{body}</g>"
        return (
            f'{head}{body}<text class="tl-label" x="{n(x + width / 2)}" y="{n(middle + 4.2)}" text-anchor="middle"'
            f' font-weight="600" fill="{INK[look]}">{escape(label)}</text></g>'
        )

    def _gap(self, lane: Lane, gap: RunGap, index: int, *, look: str, focusable: bool) -> str:
        """Idle time. On a compute lane it is seen, hatched where communication is to blame; elsewhere only on hover."""
        layout = self.layout
        x, width = layout.x(gap.start), (gap.end - gap.start) * layout.scale
        paint = "transparent" if look == "quiet" else f"url(#{self.embed_id}-{look})"
        outline = f' stroke="{EXPOSED}" stroke-opacity="0.55"' if look == "exposed" else ""
        label = "" if look == "quiet" else self._gap_label(gap, look, width)
        why = gap.why[self.language]
        reason = escape(f"{label}{STOP[self.language]}{why}" if label else why)  # it begins with the word that is seen
        role = f' role="img" aria-label="{reason}" tabindex="0"' if focusable else ""
        area = (
            f'<g class="tl-gap tl-gap-{look}" data-gap="{index}"{role}>'
            f"<title>{reason}</title>"
            f'<rect class="tl-gap-area" x="{n(x + 0.75)}" y="{n(lane.y + 0.5)}" width="{max(0.5, width - 1.5):.2f}"'
            f' height="{layout.block - 1:g}" rx="4" fill="{paint}"{outline}/>'
        )
        if not label:
            return f"{area}</g>"
        wide = text_width(label, 11) + 4
        middle, y = x + width / 2, lane.y + layout.block / 2
        return (
            f'{area}<rect class="tl-gap-plate" x="{n(middle - wide / 2)}" y="{n(y - 8)}" width="{n(wide)}" height="16"'
            f' rx="4" fill="#ffffff" fill-opacity="0.9"/><text class="tl-gap-label" x="{n(middle)}" y="{n(y + 4)}"'
            f' text-anchor="middle" font-size="11" font-weight="600" fill="#a84700">{label}</text></g>'
        )

    def _gap_label(self, gap: RunGap, look: str, width: float) -> str:
        word, amount = WORDS[look][self.language], moment(gap.end - gap.start)
        room = width - 8
        candidates = (f"{word} {amount}", word, amount)
        return next((label for label in candidates if text_width(label, 11) + 4 <= room), "")

    def _curves(self, track: Track, lanes: Lanes) -> str:
        """Dependencies between lanes. The one that decided a start is drawn stronger."""
        by_id = {operation.id: operation for operation in track.run.operations}
        edges = [
            (by_id[name], operation)
            for operation in track.run.operations
            for name in operation.waits_for
            if (by_id[name].stream, by_id[name].device) != (operation.stream, operation.device)
        ]
        if len(edges) > MOST_CURVES:
            edges = [(a, b) for a, b in edges if a.critical and b.critical and b.blocked_by == a.id]
        curves = [self._curve(before, after, lanes) for before, after in edges]
        return "".join(
            (f'<g class="tl-curves" fill="none" stroke="{SOFT}" aria-hidden="true">', *curves, "</g>"),
        )

    def _curve(self, before: RunOperation, after: RunOperation, lanes: Lanes) -> str:
        layout = self.layout
        upper, lower = lanes[before.device, before.stream], lanes[after.device, after.stream]
        down = lower.y > upper.y
        x1, x2 = layout.x(before.end) - 2.5, layout.x(after.start) + 3.5
        y1 = upper.y + (layout.block if down else 0)
        y2 = lower.y + (-1 if down else layout.block + 1)
        bend = (y2 - y1) * 0.7
        decides = after.blocked_by == before.id
        look = "tl-curve" if decides else "tl-curve tl-curve-slack"
        opacity = "0.85" if decides else "0.45"
        critical = ' data-critical=""' if decides and before.critical and after.critical else ""
        return (
            f'<path class="{look}"{critical} d="M{n(x1)} {n(y1)}C{n(x1)} {n(y1 + bend)} {n(x2)} {n(y2 - bend)}'
            f' {n(x2)} {n(y2)}" stroke-opacity="{opacity}" marker-end="url(#{self.embed_id}-arrow)"/>'
        )


def _fitting(operation: RunOperation, room: float) -> str:
    """The label, else its short form, else nothing."""
    if room <= 0:
        return ""
    return next((text for text in (operation.label, operation.short) if text and text_width(text) <= room), "")
