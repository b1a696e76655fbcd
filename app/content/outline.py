"""Cuts a language file into its title, its sections and their entries, by markdown-it's blocks.

Because headings and lists are blocks that markdown-it found, a `##` inside code is code. Each
piece keeps the source lines it came from, so text reaches the model exactly as it was written.
What a section means is for `page.py`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it.token import Token

from app.content.dialect import blocks_only
from app.content.findings import Findings
from app.content.metadata import SLUG

_BLOCKS = blocks_only()
_ID = re.compile(r"(?P<text>.*?)\s*\{#(?P<id>[^{}]*)\}\s*", re.DOTALL)
_SLUG = re.compile(SLUG)


@dataclass(frozen=True, slots=True)
class Source:
    """A file's lines and block tokens; each inline token knows its lines."""

    lines: tuple[str, ...]
    tokens: tuple[Token, ...]

    def text(self, start: int, end: int) -> tuple[str, int]:
        """The text of lines `start` to `end` (0-based, exclusive) without blank edges, and its first line (1-based)."""
        while start < end and not self.lines[start].strip():
            start += 1
        while end > start and not self.lines[end - 1].strip():
            end -= 1
        return "\n".join(self.lines[start:end]), start + 1


@dataclass(frozen=True, slots=True)
class Block:
    """The tokens of one block at the top level of the file; `start` and `end` are 0-based lines."""

    tokens: Sequence[Token]
    start: int
    end: int

    @property
    def kind(self) -> str:
        """The type of its first token."""
        return self.tokens[0].type

    @property
    def heading(self) -> str:
        """`h1`… for a heading, else an empty text."""
        return self.tokens[0].tag if self.kind == "heading_open" else ""

    @property
    def inline(self) -> str:
        """The text of a heading or paragraph."""
        return self.tokens[1].content


@dataclass(frozen=True, slots=True)
class Section:
    """A heading's text, its 1-based line, and the blocks up to the next heading of its level."""

    name: str
    line: int
    blocks: tuple[Block, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Named:
    """Text that ended in `{#id}`."""

    id: str
    text: str


def read(text: str) -> Source:
    """The source of a file whose line endings are a line feed."""
    return Source(tuple(text.split("\n")), tuple(_BLOCKS.parse(text)))


def blocks(source: Source) -> Iterator[Block]:
    """The top-level blocks in order."""
    start = 0
    depth = 0
    for position, token in enumerate(source.tokens):
        depth += token.nesting
        if depth == 0:
            first = source.tokens[start]
            assert first.map is not None, "top-level blocks know their lines"
            yield Block(source.tokens[start : position + 1], *first.map)
            start = position + 1


def cut(parts: Sequence[Block], level: str, end: int) -> tuple[tuple[Block, ...], tuple[Section, ...]]:
    """The blocks before the first heading of `level` (such as `h2`), and the sections; the last ends at `end`."""
    heads = [position for position, block in enumerate(parts) if block.heading == level]
    before = tuple(parts[: heads[0]] if heads else parts)
    sections = []
    for position, following in zip(heads, (*heads[1:], len(parts)), strict=False):
        head = parts[position]
        stop = parts[following].start if following < len(parts) else end
        body = tuple(parts[position + 1 : following])
        sections.append(Section(head.inline, head.start + 1, body, head.end, stop))
    return before, tuple(sections)


def named(text: str, *, line: int, what: str, findings: Findings) -> Named | None:
    """`text` without the id at its end, or None after noting that the id is missing or malformed."""
    match = _ID.fullmatch(text)
    if match is None:
        findings.add(line, f"{what} has no id.", "End it in {#an-id}; the id stays the same in both languages.")
        return None
    if not _SLUG.fullmatch(match["id"]):
        findings.add(line, f"The id {{#{match['id']}}} is malformed.", "Use lower-case letters, digits and dashes.")
        return None
    if not match["text"].strip():
        findings.add(line, f"{what} is empty.", "Write its text before the id.")
        return None
    return Named(match["id"], match["text"].strip())
