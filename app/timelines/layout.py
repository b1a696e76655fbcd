"""Where everything of a timeline stands: tracks, lanes, the time axis, ticks, and how wide a text is.

Pure geometry in SVG user units (one is a CSS pixel). Texts are measured too wide rather than too narrow,
because a label that sticks out of its block is worse than one left to the tooltip.
"""

import math
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from app.core.i18n import Language, Text
from app.timelines.catalog import Run
from app.timelines.explain import stream_name
from app.timelines.model import Stream

FONT = 12.0
COLUMN = 660.0
"""Width of the whole picture in a column of text at zoom 1, unless the blocks need more."""
PAGE = 1270.0
"""The same on a page of its own."""
LEAST_PLOT = 300.0
MAXIMUM_PLOT = 12_000.0
BLOCK_WIDTH = 15.0
"""Average width granted to a block of the fullest lane before the plot grows."""
TOP = 14.0
HEADING = 26.0
BETWEEN_TRACKS = 22.0
AXIS = 40.0
RIGHT = 30.0

_WIDE = frozenset("MWmw@%—→…")
_NARROW = frozenset("iljtfrI.,:;'|!()[]· ")


def text_width(text: str, size: float = FONT) -> float:
    """At least the width of `text` in a bold sans-serif of `size`."""
    total = 0.0
    for character in text:
        if unicodedata.east_asian_width(character) in "WF":
            total += 1.02
        elif character in _WIDE:
            total += 1.05
        elif character in _NARROW:
            total += 0.48
        elif character.isupper():
            total += 0.78
        else:
            total += 0.7
    return total * size


@dataclass(frozen=True, slots=True)
class Lane:
    """One row: `y` is the top of its blocks."""

    device: str
    stream: str
    label: str
    y: float


@dataclass(frozen=True, slots=True)
class Track:
    """One run with its lanes. `frames_y` is where its buffers are drawn; None where it has none."""

    run: Run
    title: Text | None
    top: float
    heading: float
    lanes: tuple[Lane, ...]
    frames_y: float | None
    cell: tuple[float, float]
    bottom: float


@dataclass(frozen=True, slots=True)
class Layout:
    """The whole picture. `x(time)` places a time in ms; `block` is the height of a block, `pitch` of a lane.

    `fits` says that it was laid out for the width asked for, not stretched by zoom or by many blocks.
    """

    width: float
    height: float
    left: float
    plot: float
    scale: float
    makespan: float
    block: float
    pitch: float
    tracks: tuple[Track, ...]
    axis: float
    ticks: tuple[float, ...]
    fits: bool

    def x(self, time: float) -> float:
        """The place of a time."""
        return self.left + time * self.scale


def arrange(
    runs: Sequence[tuple[Text | None, Run]], language: Language, *, width: float = COLUMN, zoom: float = 1.0
) -> Layout:
    """The layout of one run, or of several on a shared axis."""
    makespan = max(float(run.trace.makespan) for _, run in runs)
    rows = sum(len(run.streams) for _, run in runs)
    block, pitch = (
        (34.0, 58.0) if rows <= 3 else (32.0, 50.0) if rows <= 6 else (24.0, 34.0) if rows <= 20 else (15.0, 19.0)
    )
    labels = [_lane_labels(run, language) for _, run in runs]
    widest = max(text_width(label) * 0.92 for names in labels for label in names)
    left = min(190.0, max(64.0, widest + 18))
    fullest = max(max(Counter((o.device, o.stream) for o in run.operations).values()) for _, run in runs)
    room = max(LEAST_PLOT, width - left - max(_final(run, width - left) for _, run in runs))
    plot = min(MAXIMUM_PLOT, max(room, fullest * BLOCK_WIDTH) * zoom)
    scale = plot / makespan if makespan else 0.0

    tracks: list[Track] = []
    top = TOP
    final = 0.0
    for (title, run), names in zip(runs, labels, strict=True):
        heading = top
        cursor = top + (HEADING if title is not None else 0.0)
        cell = _cell(run, scale)
        frames_y = None
        if cell != (0.0, 0.0):
            frames_y = cursor + 18
            cursor = frames_y + cell[1] * len(run.frames[0].cells) + 20
            final = max(final, cell[0] * len(run.frames[0].cells) + 8)
        lanes = tuple(
            Lane(device=stream.device, stream=stream.name, label=label, y=cursor + place * pitch)
            for place, (stream, label) in enumerate(zip(lanes_of(run), names, strict=True))
        )
        bottom = cursor + len(lanes) * pitch - (pitch - block)
        tracks.append(Track(run, title, top, heading, lanes, frames_y, cell, bottom))
        top = bottom + BETWEEN_TRACKS
    axis = tracks[-1].bottom + (34.0 if len(tracks) > 1 else 12.0)
    return Layout(
        width=left + plot + max(RIGHT, final + 14),
        height=axis + AXIS,
        left=left,
        plot=plot,
        scale=scale,
        makespan=makespan,
        block=block,
        pitch=pitch,
        tracks=tuple(tracks),
        axis=axis,
        ticks=ticks(makespan, most=max(2, int(plot / 90))),
        fits=plot == room,
    )


def ticks(makespan: float, *, most: int) -> tuple[float, ...]:
    """Round times from 0 to `makespan`, at most `most` steps apart by 1, 2 or 5 times a power of ten."""
    if makespan <= 0:
        return (0.0,)
    rough = makespan / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    return tuple(step * place for place in range(math.floor(makespan / step * (1 + 1e-9)) + 1))


def lanes_of(run: Run) -> list[Stream]:
    """The streams from top to bottom: by device, and what computes above what communicates."""
    devices = list(dict.fromkeys(stream.device for stream in run.streams))
    return sorted(run.streams, key=lambda stream: (devices.index(stream.device), stream.kind != "compute"))


def _lane_labels(run: Run, language: Language) -> list[str]:
    """The device is named only where there are several, the stream only where one device has several."""
    devices = {stream.device for stream in run.streams}
    names = {stream.name for stream in run.streams}
    if len(devices) == 1:
        return [stream_name(stream.name, language) for stream in lanes_of(run)]
    if len(names) == 1:
        return [stream.device for stream in lanes_of(run)]
    return [f"{stream.device} · {stream_name(stream.name, language)}" for stream in lanes_of(run)]


def _final(run: Run, room: float) -> float:
    """The room right of the plot: for the buffers after the last step, else a margin for the last number."""
    steps = len(run.frames) - 1
    if steps < 1:
        return RIGHT
    return max(RIGHT, min(len(run.frames[0].cells) * _widest_cell(run) + 22, room / (steps + 1) + 14))


def _widest_cell(run: Run) -> float:
    return 88.0 if len(run.frames[0].cells) == 2 else 60.0


def _cell(run: Run, scale: float) -> tuple[float, float]:
    """Width and height of one chunk's cell, so that all chunks of a rank fit in one step; zeros when they cannot."""
    if len(run.frames) < 2:
        return (0.0, 0.0)
    step = float(run.frames[0].end - run.frames[0].start) * scale
    width = min(_widest_cell(run), (step - 8) / len(run.frames[0].cells))
    return (width, min(30.0, max(13.0, width * 0.6))) if width >= 5 else (0.0, 0.0)
