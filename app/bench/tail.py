"""The new lines of a file that another process appends to.

A run writes to files, not to pipes: when the runner dies the run does not notice, and the next runner reads everything
from the beginning. What a process wrote last without a newline comes out at the end only. A process that writes faster than
we read must not hold us, so one call reads `CALL` bytes at most, and nothing is read beyond `maximum_bytes`.
"""

from pathlib import Path

CALL = 1 << 20
MAXIMUM_LINE = 1 << 16
"""A longer line comes out in pieces: a worker gone mad must not fill our memory."""


class Tail:
    """Reads `path` from its beginning, a little further each time."""

    def __init__(self, path: Path, *, maximum_bytes: int) -> None:
        self._path = path
        self._maximum_bytes = maximum_bytes
        self._offset = 0
        self._rest = b""

    @property
    def is_flooded(self) -> bool:
        """Whether more was written than we are ready to read."""
        try:
            return self._path.stat().st_size > self._maximum_bytes
        except FileNotFoundError:
            return False

    def lines(self) -> list[bytes]:
        """The lines that were completed since the last call."""
        *whole, self._rest = (self._rest + self._read()).split(b"\n")
        while len(self._rest) > MAXIMUM_LINE:
            whole.append(self._rest[:MAXIMUM_LINE])
            self._rest = self._rest[MAXIMUM_LINE:]
        return whole

    def remaining(self) -> list[bytes]:
        """All lines to the end of the file, an unfinished last one included. Nobody writes any more."""
        found: list[bytes] = []
        while True:
            before = self._offset
            found += self.lines()
            if self._offset == before:
                break
        last, self._rest = self._rest, b""
        return [*found, last] if last else found

    def _read(self) -> bytes:
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                chunk = file.read(min(CALL, self._maximum_bytes - self._offset))
        except FileNotFoundError:
            return b""
        self._offset += len(chunk)
        return chunk
