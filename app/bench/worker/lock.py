"""One guard at a time by a name: a locked file in a folder of this user. The kernel drops the lock with its holder."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Busy(Exception):
    """Somebody else has the lock; the message says who."""


@contextmanager
def lock(name: str) -> Iterator[None]:
    """Hold the lock `name`, none when it is empty. Raises Busy, also when no lock can be made."""
    if not name:
        yield
        return
    try:
        path = _folder() / f"{name}.lock"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise Busy(f"{error.filename}: {error.strerror}") from error
    with os.fdopen(descriptor, "r+", encoding="ascii", errors="replace") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Busy(f"pid {file.read(20).strip() or '?'} ({name})") from error
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def _folder() -> Path:
    """A folder that only this user can write to. Raises Busy when somebody else made one of that name first."""
    folder = Path(tempfile.gettempdir()) / f"ringside-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise Busy(f"{folder} belongs to another user")
    return folder
