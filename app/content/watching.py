"""Follows a content folder: calls back after each change, also when the folder itself is replaced by another.

The watcher of the system holds on to the folder it was given, so a checkout or a deployment that puts a new folder in
its place would end it without a word. The folder's identity is therefore compared now and then.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

from watchfiles import Change, DefaultFilter, awatch

log = logging.getLogger(__name__)

STEP_MS = 50
DEBOUNCE_MS = 100
IDENTITY_MS = 1_000
"""How often the folder is checked for being the same."""


async def follow(root: Path, refresh: Callable[[], object]) -> None:
    """Call `refresh` in a thread at once and after each change below `root`, until cancelled."""
    while True:
        known = await asyncio.to_thread(_identity, root)
        if known is None:
            await _refreshed(refresh)
            await asyncio.sleep(IDENTITY_MS / 1000)
            continue
        try:
            await _follow_one(root, refresh, known)
        except OSError:
            log.exception("watching %s failed; trying again", root)
            await asyncio.sleep(IDENTITY_MS / 1000)


async def _follow_one(root: Path, refresh: Callable[[], object], known: tuple[int, int]) -> None:
    """The same, until another folder stands at `root`."""
    changes = awatch(
        root,
        watch_filter=_Filter(),
        step=STEP_MS,
        debounce=DEBOUNCE_MS,
        rust_timeout=IDENTITY_MS,
        yield_on_timeout=True,
    )
    async with aclosing(changes):
        await _refreshed(refresh)
        async for change in changes:
            if change:
                await _refreshed(refresh)
            # A new folder may get the number of the old one, so its removal counts as well.
            is_gone = any(kind == Change.deleted and Path(path) == root for kind, path in change)
            if is_gone or await asyncio.to_thread(_identity, root) != known:
                return


async def _refreshed(refresh: Callable[[], object]) -> None:
    try:
        await asyncio.to_thread(refresh)
    except Exception:
        # Whatever a file does to the parser, the next change must be seen.
        log.exception("reading changed content failed; the next change tries again")


def _identity(root: Path) -> tuple[int, int] | None:
    """What tells the folder from another of the same name; None where there is none."""
    try:
        status = root.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


class _Filter(DefaultFilter):
    """Passes over what editors and version control write beside the files."""

    def __call__(self, change: Change, path: str) -> bool:
        return not Path(path).name.startswith(".") and super().__call__(change, path)
