"""The devices a run occupies: two runs on the same ones would measure each other.

A device is a name (`local`, `me@gpu1:22`), its lock a file in a folder that all programs of this user share; so the runners of
two data folders and `ringside bench` in a terminal wait for each other. The kernel drops a lock with its holder.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from app.bench import process
from app.bench.lock import Lock


class Devices:
    """The locks of some devices. `take` all of them or none."""

    def __init__(self, names: Iterable[str], *, folder: Path) -> None:
        # One order for everybody, so that two that want the same pair cannot each hold one half.
        self._paths = [folder / f"{quote(name, safe='@')}.lock" for name in sorted(names)]
        self._held: list[Lock] = []
        self.holder = ""
        """Who has one of them, when `take` failed: a pid, for people."""

    def take(self) -> bool:
        """Lock all; False, and nothing is held, when somebody has one of them."""
        me = process.identify(os.getpid())
        assert me is not None, "this process lives"
        for path in self._paths:
            lock = Lock(path)
            if not lock.acquire(me):
                self.holder = _holder(path)
                self.release()
                return False
            self._held.append(lock)
        return True

    def release(self) -> None:
        """Give back what is held."""
        while self._held:
            self._held.pop().release()


def _holder(path: Path) -> str:
    try:
        return f"pid {json.loads(path.read_text(encoding='utf-8'))['pid']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "?"
