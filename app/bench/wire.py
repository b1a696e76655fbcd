"""The contract between a benchmark worker and whoever runs it: JSON Lines on standard output.

A line is one event, at most `MAXIMUM_LINE` bytes, written by one `os.write`, so lines of several ranks never mix.
Anything else on the stream (a library's print, a launcher's banner) is log text, never an error: `decode_all` reads a
line whatever it holds. The events stand in `app/bench/events.py`; what to run is `app.bench.spec.RunSpec`.
Stdlib only and Python 3.10, because this file ships to the node.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from app.bench.codec import Malformed, build, plain
from app.bench.events import Event

SCHEMA = 1
MAXIMUM_LINE = 4096
"""Bytes of a line with its newline; Linux writes up to this much to a pipe in one piece (`PIPE_BUF`)."""


@dataclass(frozen=True, slots=True)
class LogText:
    """Anything on the stream that is no event."""

    text: str


KINDS: Mapping[str, type[Any]] = {kind.__name__: kind for kind in get_args(Event)}
"""Events by the name that stands on their line."""

_MARK = '{"ringside":'
_DECODER = json.JSONDecoder()


def encode(event: Event) -> bytes:
    """`event` as one line with its newline, at most MAXIMUM_LINE bytes: the longest text is cut until it fits."""
    body = plain(event)
    while True:
        document = {"ringside": SCHEMA, "event": type(event).__name__, **body}
        line = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        data = line.encode("utf-8", "replace") + b"\n"
        if len(data) <= MAXIMUM_LINE:
            return data
        longest = max(_texts(body), key=len)
        if len(longest) <= 1:
            raise ValueError(f"{type(event).__name__} has too many values for one line")
        body = _replaced(body, longest, longest[: len(longest) // 2] + "…" if len(longest) > 8 else "…")


def emit(event: Event, *, descriptor: int) -> None:
    """Write `event` in one piece."""
    os.write(descriptor, encode(event))


def decode(line: bytes | str) -> Event | LogText:
    """What one line holds; anything but exactly one event of this schema is LogText."""
    text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    text = text.rstrip("\r\n")
    if text.startswith(_MARK):
        try:
            return _event(json.loads(text))
        except (ValueError, RecursionError):
            pass
    return LogText(text)


def decode_all(line: bytes | str) -> tuple[Event | LogText, ...]:
    """Everything one line holds in order: text that was glued before or after an event is kept apart from it."""
    text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    text = text.rstrip("\r\n")
    found: list[Event | LogText] = []
    kept = at = 0
    while (at := text.find(_MARK, at)) >= 0:
        try:
            raw, end = _DECODER.raw_decode(text, at)
            event = _event(raw)
        except (ValueError, RecursionError):
            at += len(_MARK)
            continue
        if text[kept:at].strip():
            found.append(LogText(text[kept:at]))
        found.append(event)
        kept = at = end
    if text[kept:].strip():
        found.append(LogText(text[kept:]))
    return tuple(found)


def _event(raw: Mapping[str, Any]) -> Event:
    if raw.get("ringside") != SCHEMA:
        raise Malformed(f"schema {raw.get('ringside')!r}, not {SCHEMA}")
    kind = KINDS.get(str(raw.get("event")))
    if kind is None:
        raise Malformed(f"unknown event {raw.get('event')!r}")
    event: Event = build(kind, raw)
    return event


def _replaced(value: Any, old: str, new: str) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(item, old, new) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, old, new) for item in value]
    return new if value == old else value


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, (dict, list)):
        items = value.values() if isinstance(value, dict) else value
        return [text for item in items for text in _texts(item)]
    return [""]
