"""What stands inside lines of text: citations, computed numbers, cloze marks; and what is wrong there.

Only lines that hold one of the marks at all are read, since most hold none. The dialect's own
inline rules decide, so a mark in code or math is none here just as on the page.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from markdown_it.token import Token

from app.content import dialect
from app.content.dialect.number import Number
from app.content.findings import Findings
from app.content.metadata import SLUG
from app.content.model import Cloze

_MARKDOWN = dialect.make()
_MARKS = re.compile(r"\[\^|\{\{|\$\$|!\[|==")
_SLUG = re.compile(SLUG)


@dataclass(slots=True)
class Marks:
    """Citations and computed numbers of a file, each with its 1-based line."""

    citations: list[tuple[str, int]] = field(default_factory=list)
    numbers: list[tuple[Number, int]] = field(default_factory=list)


def collect(tokens: Iterable[Token], marks: Marks, findings: Findings) -> None:
    """Add the marks of all text in `tokens`, noting text that looks like a mark and is none."""
    for token in tokens:
        if token.type == "inline" and _MARKS.search(token.content):
            line = token.map[0] + 1 if token.map else 1
            scan(token.content, line=line, marks=marks, findings=findings)


def scan(text: str, *, line: int, marks: Marks, findings: Findings) -> None:
    """The same for one run of text that begins at `line`."""
    if not _MARKS.search(text):
        return
    for token in _walk(text):
        at = line + text.count("\n", 0, token.meta.get("position", 0))
        if token.type == "citation":
            marks.citations.append((token.content, at))
        elif token.type == "number":
            number = token.meta["number"]
            if number is not None:
                marks.numbers.append((number, at))
            else:
                remedy = "Write {{calc:its-name:result?input=value}}, or put the braces in code."
                findings.add(at, f"{{{{{token.content}}}}} names no computed number.", remedy)
        elif token.type == "image":
            findings.add(at, "Images are not part of the format.", "Draw it as a timeline, or link to it.")
        elif token.type == "text":
            _check_text(token.content, at, findings)


def _check_text(text: str, line: int, findings: Findings) -> None:
    if "[^" in text:
        findings.add(line, "[^ begins a citation that does not end.", "Write [^key] with a key of `sources:`.")
    if "$$" in text:
        findings.add(line, "$$ begins math that does not end.", "Close it with $$; math holds no blank line.")
    if "{{" in text:
        findings.add(line, "{{ begins a computed number that does not end.", "Close it with }} on the same line.")


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
