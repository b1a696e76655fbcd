"""The map of topics: one lane per topic, questions placed by what must be known before them.

Geometry only, in pixels; `home.html` draws it. A question stands one column to the right of its
last prerequisite, and a line turns only in the gap after a column, so that it crosses no box.
Planned questions that nothing needs yet stand in rows below.
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.content.model import Question, Topic
from app.content.search import plain
from app.core.i18n import Language

COLUMNS = 4
NODE_WIDTH, NODE_HEIGHT, LOOSE_HEIGHT = 240, 66, 46
GAP_X, GAP_Y = 56, 12
LANE_HEAD, LANE_PADDING = 38, 16
MARGIN = 16
FONT_SIZE = 13
LINE_HEIGHT = 18
BOLD = 0.9
"""Share of the room that bold text may be counted to have: its letters are wider than `_measure` says."""
LINES, LOOSE_LINES = 3, 2


@dataclass(frozen=True, slots=True)
class Node:
    """One question; `href` is empty for a planned one. `lines` is the title as it fits the box."""

    slug: str
    title: str
    lines: tuple[str, ...]
    href: str
    x: int
    y: int
    width: int
    height: int

    @property
    def baseline(self) -> int:
        """Where the first line of text stands, so that all lines are centred."""
        return self.y + self.height // 2 + 5 - (len(self.lines) - 1) * LINE_HEIGHT // 2


@dataclass(frozen=True, slots=True)
class Edge:
    """From a prerequisite to the question that needs it; `path` is an SVG path."""

    source: str
    target: str
    path: str


@dataclass(frozen=True, slots=True)
class Lane:
    """The band of one topic."""

    topic: Topic
    y: int
    height: int
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class TopicMap:
    """Everything to draw."""

    width: int
    height: int
    lanes: tuple[Lane, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    slug: str
    title: str
    href: str
    needs: tuple[str, ...]


def topic_map(topics: Sequence[Topic], questions: Sequence[Question], *, language: Language) -> TopicMap:
    """The map of all topics in `language`."""
    entries = {topic.slug: _entries(topic, questions, language) for topic in topics}
    known = {entry.slug: entry for lane in entries.values() for entry in lane}
    needed = {slug for entry in known.values() for slug in entry.needs if slug in known}
    depth = _depths(known)
    columns = max([COLUMNS, *(column + 1 for column in depth.values())])
    lanes: list[Lane] = []
    y = 0
    for topic in topics:
        bound = [entry for entry in entries[topic.slug] if entry.href or entry.slug in needed]
        loose = [entry for entry in entries[topic.slug] if entry not in bound]
        nodes = _graph(bound, depth=depth, columns=columns, top=y + LANE_HEAD)
        nodes += _rows(loose, columns=columns, top=_bottom(nodes, y + LANE_HEAD - GAP_Y) + GAP_Y)
        height = _bottom(nodes, y + LANE_HEAD) + LANE_PADDING - y
        lanes.append(Lane(topic, y, height, tuple(nodes)))
        y += height + GAP_Y
    width = 2 * MARGIN + columns * NODE_WIDTH + (columns - 1) * GAP_X
    places = {node.slug: node for lane in lanes for node in lane.nodes}
    edges = [
        Edge(slug, entry.slug, _curve(places[slug], places[entry.slug]))
        for entry in known.values()
        for slug in entry.needs
        if slug in places and slug != entry.slug
    ]
    return TopicMap(width, max(0, y - GAP_Y), tuple(lanes), tuple(edges))


def _entries(topic: Topic, questions: Iterable[Question], language: Language) -> list[_Entry]:
    written = [
        _Entry(q.slug, plain(q.label(language)), f"/study/{q.topic}/{q.slug}", q.prerequisites)
        for q in questions
        if q.topic == topic.slug
    ]
    slugs = {entry.slug for entry in written}
    planned = [_Entry(p.slug, p.title[language], "", ()) for p in topic.planned if p.slug not in slugs]
    return [*written, *planned]


def _depths(known: Mapping[str, _Entry]) -> dict[str, int]:
    """Column of each question: one more than its deepest prerequisite. A circle is cut where it closes."""
    depths: dict[str, int] = {}

    def visit(slug: str, above: frozenset[str]) -> int:
        if slug not in depths:
            needs = [need for need in known[slug].needs if need in known and need not in above and need != slug]
            depths[slug] = max((visit(need, above | {slug}) + 1 for need in needs), default=0)
        return depths[slug]

    for slug in known:
        visit(slug, frozenset())
    return depths


def _graph(entries: Iterable[_Entry], *, depth: Mapping[str, int], columns: int, top: int) -> list[Node]:
    """The questions that lines lead to or from, by column, each column centred."""
    cells: list[list[_Entry]] = [[] for _ in range(columns)]
    for entry in entries:
        cells[depth[entry.slug]].append(entry)
    rows = max(len(cell) for cell in cells)
    return [
        _node(entry, column=column, y=top + (2 * row + rows - len(cell)) * (NODE_HEIGHT + GAP_Y) // 2)
        for column, cell in enumerate(cells)
        for row, entry in enumerate(cell)
    ]


def _rows(entries: Iterable[_Entry], *, columns: int, top: int) -> list[Node]:
    """The planned questions without lines, in rows."""
    return [
        _node(entry, column=index % columns, y=top + index // columns * (LOOSE_HEIGHT + GAP_Y), loose=True)
        for index, entry in enumerate(entries)
    ]


def _node(entry: _Entry, *, column: int, y: int, loose: bool = False) -> Node:
    room = (NODE_WIDTH - 28) * (BOLD if entry.href else 1)
    lines = fit(entry.title, width=room, lines=LOOSE_LINES if loose else LINES)
    x = MARGIN + column * (NODE_WIDTH + GAP_X)
    height = LOOSE_HEIGHT if loose else NODE_HEIGHT
    return Node(entry.slug, entry.title, lines, entry.href, x, y, NODE_WIDTH, height)


def _bottom(nodes: Iterable[Node], empty: int) -> int:
    return max((node.y + node.height for node in nodes), default=empty)


def _curve(source: Node, target: Node) -> str:
    """A bend within the gap after the source's column, then straight on to the target."""
    x1, y1 = source.x + source.width, source.y + source.height // 2
    x2, y2 = target.x - 3, target.y + target.height // 2
    turn = x1 + GAP_X - 14
    bend = (turn - x1) * 3 // 5
    return f"M{x1} {y1}C{x1 + bend} {y1} {turn - bend} {y2} {turn} {y2}H{x2}"


def fit(text: str, *, width: float, lines: int) -> tuple[str, ...]:
    """`text` broken into at most `lines` lines of about `width` pixels, with an ellipsis where it does not fit."""
    broken: list[str] = [""]
    for word in _words(text):
        if broken[-1] and _measure(broken[-1] + word.rstrip()) > width:
            broken.append("")
        broken[-1] += word if broken[-1] else word.lstrip()
    broken = [line.strip() for line in broken if line.strip()]
    if len(broken) <= lines:
        return tuple(broken)
    last = broken[lines - 1]
    while last and _measure(last + "…") > width:
        last = last[:-1]
    return (*broken[: lines - 1], last.rstrip(" ,:;，：；、") + "…")


def _words(text: str) -> Iterable[str]:
    """Pieces a line may break between: words with the space after them, single Han characters."""
    word = ""
    for character in text:
        wide = _is_wide(character)
        if wide and not _closes(character):
            if word:
                yield word
            word = character
            continue
        if word and _is_wide(word[-1]) and not wide and character != " ":
            yield word
            word = ""
        word += character
        if character == " ":
            yield word
            word = ""
    if word:
        yield word


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in {"W", "F"}


def _closes(character: str) -> bool:
    return character in "，。：；、？！）」』》”’"


def _measure(text: str) -> float:
    return sum(FONT_SIZE if _is_wide(character) else FONT_SIZE * 0.56 for character in text)
