"""What a driver says: events on standard output, one line in one write; all else on standard error.

With a run's `hide_host`, names of hosts in the driver's own events become `node-0`, `node-1`, ... Events of ranks pass as they are: the
worker has masked its own.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import replace

from app.bench.events import Event, HostReady, Problem
from app.bench.wire import emit

MAXIMUM_PIECE = 64 * 1024
"""Bytes after which a line without an end is passed on all the same."""


class Output:
    """The streams of a driver. `hide` maps what must not be read to what stands for it; add to it while names become known."""

    def __init__(self, hide: Mapping[str, str] | None = None) -> None:
        self._hide = dict(hide or {})

    def hide(self, secret: str, shown: str) -> None:
        """From now on `secret` reads `shown` in own events."""
        if secret:
            self._hide[secret] = shown

    @property
    def is_hiding(self) -> bool:
        """Whether names are masked."""
        return bool(self._hide)

    def send(self, event: Event) -> None:
        """Write one event. Raises BrokenPipeError when nobody reads any more."""
        if isinstance(event, Problem):
            event = replace(event, text=self.masked(event.text))
        elif isinstance(event, HostReady) and self.is_hiding:
            event = replace(event, host=self.masked(event.host), interfaces=dict.fromkeys(event.interfaces, "-"))
        emit(event, descriptor=1)

    def masked(self, text: str) -> str:
        """`text` without the names as words of their own; the longest first, since one may be part of another."""
        for secret in sorted(self._hide, key=len, reverse=True):
            text = re.sub(rf"(?<![\w.-]){re.escape(secret)}(?![\w-])", self._hide[secret], text)
        return text

    def log(self, text: str) -> None:
        """Write to the log, line by line."""
        for line in text.splitlines():
            _write_all(2, f"{self.masked(line)}\n".encode())


class Lines:
    """Cuts a stream into whole lines and passes them on in one write each, behind `prefix`."""

    def __init__(self, descriptor: int, *, prefix: str = "") -> None:
        self._descriptor = descriptor
        self._prefix = prefix.encode()
        self._rest = b""

    def take(self, data: bytes) -> None:
        """Pass on what became whole."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            self._write(line)
        if len(self._rest) > MAXIMUM_PIECE:
            self.close()

    def close(self) -> None:
        """Pass on the last line, which has no end."""
        if self._rest:
            self._write(self._rest)
            self._rest = b""

    def _write(self, line: bytes) -> None:
        _write_all(self._descriptor, self._prefix + line + b"\n")


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
