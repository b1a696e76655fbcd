"""What stands inside lines of text: citations, computed numbers, cloze marks; and what is wrong there.

Every line of every file passes through here, so it is scanned rather than parsed: only what can
hide a mark (escapes, code, math, bare links) is stepped over, by the dialect's own functions.
A test holds this scan against the full inline parser.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from markdown_it.token import Token

from app.content import dialect
from app.content.dialect.citation import CITATION
from app.content.dialect.math import end as math_end
from app.content.dialect.number import BRACES, Number
from app.content.dialect.number import read as read_number
from app.content.findings import Findings
from app.content.metadata import SLUG
from app.content.model import Cloze

_MARKDOWN = dialect.make()
_SPECIAL = re.compile(r"\\|`+|\$|\{\{|\[\^|!\[|<[A-Za-z][A-Za-z0-9+.-]{1,31}:[^<>\x00-\x20]*>")
_IMAGE = re.compile(r"!\[[^\[\]]*\]\(")
_MISTAKES = {
    "[^": ("[^ begins a citation that does not end.", "Write [^key] with a key of `sources:`."),
    "$$": ("$$ begins math that does not end.", "Close it with $$; math holds no blank line."),
    "{{": ("{{ begins a computed number that does not end.", "Close it with }} on the same line."),
    "![": ("Images are not part of the format.", "Draw it as a timeline, or link to it."),
}
_SLUG = re.compile(SLUG)


@dataclass(slots=True)
class Marks:
    """Citations and computed numbers of a file, each with its 1-based line."""

    citations: list[tuple[str, int]] = field(default_factory=list)
    numbers: list[tuple[Number, int]] = field(default_factory=list)


def collect(tokens: Iterable[Token], marks: Marks, findings: Findings) -> None:
    """Add the marks of all text in `tokens`, noting text that looks like a mark and is none."""
    for token in tokens:
        if token.type == "inline":
            scan(token.content, line=token.map[0] + 1 if token.map else 1, marks=marks, findings=findings)


def scan(text: str, *, line: int, marks: Marks, findings: Findings) -> None:
    """The same for one run of text that begins at `line`."""
    for kind, start, end in _spans(text):
        at = line + text.count("\n", 0, start)
        if kind == "citation":
            marks.citations.append((text[start + 2 : end - 1], at))
        elif kind == "number":
            number = read_number(text[start + 2 : end - 2])
            if number is not None:
                marks.numbers.append((number, at))
            else:
                remedy = "Write {{calc:its-name:result?input=value}}, or put the braces in code."
                findings.add(at, f"{text[start:end]} names no computed number.", remedy)
        else:
            findings.add(at, *_MISTAKES[kind])


def _spans(text: str) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of each mark outside code and math, and of what only begins like one.

    The same functions as in the dialect's rules say where math, numbers and citations end.
    """
    position = 0
    while (match := _SPECIAL.search(text, position)) is not None:
        start = match.start()
        special = match[0]
        position = match.end()
        if special == "\\":
            position += 1
        elif special[0] == "`":
            closing = re.compile(f"(?<!`){special}(?!`)").search(text, position)
            position = closing.end() if closing is not None else position
        elif special == "$":
            end = math_end(text, start)
            if end < 0 and text.startswith("$$", start):
                yield "$$", start, start + 2
            position = max(position, end)
        elif special[0] == "<":
            continue
        else:
            position, kind = _mark_at(text, start, special)
            if kind:
                yield kind, start, position


def _mark_at(text: str, start: int, special: str) -> tuple[int, str]:
    """End and kind of the mark that `special` begins; the kind is empty where it is text."""
    if special == "![":
        return (start + 2, "![") if _IMAGE.match(text, start) else (start + 1, "")
    if special == "{{" and text.startswith("{", start + 2):
        return start + 1, ""  # of many braces the last two may be the mark
    match, kind = (
        (CITATION.match(text, start), "citation") if special == "[^" else (BRACES.match(text, start), "number")
    )
    return (match.end(), kind) if match is not None else (start + 2, special)


def clozes(text: str, *, item: str, line: int, findings: Findings) -> tuple[Cloze, ...]:
    """The hidden spans of a must-hit point whose id is `item`; the only one takes the point's id."""
    if "==" not in text:
        return ()
    tokens = list(_walk(text))
    if any(token.type == "text" and "==" in token.content for token in tokens):
        remedy = "Write ==hidden== with no space inside the marks; put other == in code."
        findings.add(line, "A == has no partner.", remedy)
    spans = [token.meta for token in tokens if token.type == "cloze_open"]
    found = []
    for span in spans:
        hidden = text[span["start"] : span["end"]]
        key = span["name"] or (item if len(spans) == 1 else "")
        if not key:
            remedy = (
                f"Write =={hidden}=={{#its-name}}; with several hidden parts each needs a name, and the point its id."
            )
            findings.add(line, f"The hidden part =={hidden}== has no name.", remedy)
        elif not _SLUG.fullmatch(key):
            findings.add(line, f"The name {{#{key}}} is malformed.", "Use lower-case letters, digits and dashes.")
        else:
            found.append(Cloze(key=key, text=hidden))
    return tuple(found)


def _walk(text: str) -> Iterator[Token]:
    (inline,) = _MARKDOWN.parseInline(text)
    yield from inline.children or ()
