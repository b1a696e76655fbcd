"""What a job writes, followed file by file and passed on as whole lines: events to standard output, the rest to standard error.

Files are read by offset, so a connection that was lost meanwhile loses nothing.
"""

import asyncio
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from app.bench.drivers.output import Output as Voice
from app.bench.drivers.slurm_login import Login
from app.bench.events import Done, Event, HostReady, Problem
from app.bench.launchers.slurm_script import BATCH_LOG, events_path, log_path
from app.bench.wire import LogText, decode_all, encode

PIECE_BYTES = 1 << 18
LINE_BYTES = 1 << 16
"""A line that is longer is passed on in pieces: no event is."""


@dataclass
class _File:
    path: str
    prefix: bytes
    node: int | None = None
    """Whose events these are; None where it is a log."""
    offset: int = 0
    rest: bytes = b""

    def lines(self, piece: bytes, *, at_end: bool) -> Iterator[bytes]:
        """The lines that are whole now, each with its newline."""
        self.offset += len(piece)
        *whole, self.rest = (self.rest + piece).split(b"\n")
        yield from (line + b"\n" for line in whole)
        if self.rest and (at_end or len(self.rest) > LINE_BYTES):
            yield self.rest + b"\n"
            self.rest = b""


class Output:
    """The output of the job of the run in `folder` on `hosts` nodes.

    `write` gets a descriptor and a whole line. With `mask`, names of nodes are hidden as soon as they are known.
    """

    def __init__(
        self,
        login: Login,
        *,
        folder: str,
        hosts: int,
        mask: Voice | None = None,
        write: Callable[[int, bytes], object] | None = None,
    ) -> None:
        self._login = login
        self._mask = mask
        self._write = write or write_all
        names = [b"" if hosts == 1 else b"[%d] " % node for node in range(hosts)]
        self._files = [
            *(_File(events_path(folder, node), b"", node=node) for node in range(hosts)),
            *(_File(log_path(folder, node), names[node]) for node in range(hosts)),
            _File(f"{folder}/{BATCH_LOG}", b""),
        ]
        self._log_bytes = 0
        self.has_ranks = False
        """Whether a rank has said anything."""
        self.ready: dict[int, HostReady] = {}
        """What each node offers."""
        self.is_done = False
        self.fatal: Problem | None = None
        """The first fatal problem that was told."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all has come."""
        return not any(file.offset for file in self._files)

    def has_stirred(self) -> bool:
        """Whether something came that a job says near its end: its result, a failure, or a word of Slurm itself."""
        before, self._log_bytes = self._log_bytes, self._files[-1].offset
        return self.is_done or self.fatal is not None or self._log_bytes != before

    async def take(self, *, at_end: bool = False) -> bool:
        """Pass on what is new; whether there was anything. Raises Unreachable."""
        return any(await asyncio.gather(*(self._take(file, at_end=at_end) for file in self._files)))

    async def _take(self, file: _File, *, at_end: bool) -> bool:
        is_new = False
        while piece := await self._login.read(file.path, offset=file.offset, limit=PIECE_BYTES):
            is_new = True
            for line in file.lines(piece, at_end=False):
                self._pass_on(file, line)
        for line in file.lines(b"", at_end=at_end):
            self._pass_on(file, line)
        return is_new

    def _pass_on(self, file: _File, line: bytes) -> None:
        if file.node is None:
            self._write(2, file.prefix + (line if self._mask is None else self._masked(self._mask, line)))
            return
        for event in decode_all(line):
            if isinstance(event, HostReady):
                self.ready[file.node] = event
                line = encode(self._shown(event, file.node))
            elif not isinstance(event, LogText):
                self._note(event)
        self._write(1, line)

    def _shown(self, host: HostReady, node: int) -> HostReady:
        if self._mask is None:
            return host
        for name in {host.host, host.host.partition(".")[0]}:
            self._mask.hide(name, f"node-{node}")
        return replace(host, host=f"node-{node}", interfaces=dict.fromkeys(host.interfaces, "-"))

    @staticmethod
    def _masked(mask: Voice, line: bytes) -> bytes:
        return mask.masked(line.decode("utf-8", "replace")).encode()

    def _note(self, event: Event) -> None:
        self.is_done = self.is_done or isinstance(event, Done)
        if not isinstance(event, Problem):
            self.has_ranks = True
        elif event.fatal:
            self.fatal = self.fatal or event


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it: a pipe may take a part at a time."""
    while data:
        data = data[os.write(descriptor, data) :]
