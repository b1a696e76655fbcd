"""JSON documents in a text, whole or cut off: several may follow each other, with other text between them."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_BARE = re.compile(r"(?<=[:,\[])(\s*)-?(?:inf|nan|Infinity|NaN)\b(?=\s*[,\]}])")
_MARKS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[{}\[\],]', re.DOTALL)
"""Strings as a whole, so that what stands inside them counts for nothing, and the marks between values."""
_NO_CHARACTER = re.compile(
    r"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u(?:[dD][89a-fA-F][0-9a-fA-F]{2}|0000)"
)
"""Escapes that spell NUL or half of a character, which no page and no database can hold; a whole pair is left alone."""
_BEGINNING = re.compile(r"^\{\s*\"(?:version|nvbandwidth)\"", re.MULTILINE)
_MAXIMUM_FAILED = 20
_MAXIMUM_DOCUMENTS = 10_000


@dataclass(frozen=True, slots=True)
class Document:
    """An object, the 1-based line on which it begins, and whether it was whole."""

    value: dict[str, Any]
    line: int
    is_whole: bool


def documents(text: str) -> Iterator[Document]:
    """Every outermost object in `text`; the last one is completed where it was cut off."""
    decoder = json.JSONDecoder(parse_constant=lambda _: None)
    text = _NO_CHARACTER.sub(lambda escape: escape[1] or r"\ufffd", _BARE.sub(r"\1null", text))
    at = 0
    failed = 0
    for _ in range(_MAXIMUM_DOCUMENTS):
        at = text.find("{", at)
        if at < 0:
            return
        line = text.count("\n", 0, at) + 1
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = _next_document(text, at)
            if (value := _completed(text[at:end])) is None:
                at = end if end < len(text) else _next_line(text, at)
                failed += 1
                if at < 0 or failed > _MAXIMUM_FAILED:
                    return
                continue
            yield Document(value, line, is_whole=False)
        else:
            if isinstance(value, dict):
                yield Document(value, line, is_whole=True)
        at = end


def _next_line(text: str, at: int) -> int:
    """Where the next line begins with an object, -1 for nowhere."""
    found = text.find("\n{", at)
    return found + 1 if found >= 0 else -1


def _next_document(text: str, at: int) -> int:
    """Where a cut document ends: before a line that begins the next one, else at the end."""
    found = _BEGINNING.search(text, at + 1)
    return found.start() if found else len(text)


def _completed(text: str) -> dict[str, Any] | None:
    """What a cut object holds up to its last complete element, None if nothing can be saved."""
    closers: list[str] = []
    safe: tuple[int, str] | None = None
    for mark in _MARKS.finditer(text):
        character = mark.group()
        if character in "{[":
            closers.append("}" if character == "{" else "]")
        elif character == ",":
            safe = (mark.start(), "".join(reversed(closers)))
        elif character in "}]":
            if not closers or closers.pop() != character:
                break
            safe = (mark.end(), "".join(reversed(closers)))
    if safe is None:
        return None
    end, tail = safe
    try:
        value = json.loads(text[:end] + tail)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
