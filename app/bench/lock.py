"""One runner per data folder: a locked file that says who holds it.

The kernel drops the lock when the holder dies, however it dies, so no stale lock has to be recognised. The pid and
start time written inside are for people and for `ringside doctor`.
"""

import fcntl
import json
import os
from pathlib import Path
from typing import IO

from app.bench.process import ProcessId


class Lock:
    """The lock of one file. Not reentrant; one object per process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def acquire(self, holder: ProcessId) -> bool:
        """Take the lock and write `holder` into the file; False when another process has it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        file.seek(0)
        file.truncate()
        json.dump(holder.to_json(), file)
        file.flush()
        self._file = file
        return True

    def release(self) -> None:
        """Give the lock back; the file stays."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def is_intact(self) -> bool:
        """Whether the file we hold is still the one at its path: a deleted data folder ends its runner."""
        try:
            return self._file is not None and self._path.stat().st_ino == _inode(self._file)
        except FileNotFoundError:
            return False


def is_held(path: Path) -> bool:
    """Whether some process holds the lock of `path`. Takes nothing and waits for nothing."""
    try:
        file = path.open("r", encoding="utf-8")
    except FileNotFoundError:
        return False
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def _inode(file: IO[str]) -> int:
    return os.fstat(file.fileno()).st_ino
