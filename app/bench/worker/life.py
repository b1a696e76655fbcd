"""The life of a rank: its private line to whoever runs it, and its end.

torchrun gives each rank a session of its own, so a signal to torchrun's group misses the ranks, and a killed torchrun
leaves them to init. A rank ends with its parent by the kernel's parent-death signal and by a thread that watches the parent's pid;
where a guard runs (`guard.py`), it ends with that too. A failure becomes one `Problem` and an exit without clean-up, because clean-up of a broken group can hang.
"""

import ctypes
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import NoReturn

from app.bench.events import Event, Problem
from app.bench.process import start_time
from app.bench.wire import emit

GUARD = "RINGSIDE_GUARD"
"""The variable that names the guard of a run as `pid-start time`, set by the guard itself."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
_WATCH_SECONDS = 0.2
FAILED = 1


class Failure(Exception):
    """The run cannot go on, for a reason we know; it ends as this `Problem`."""

    def __init__(self, kind: str, text: str, *, rank: int | None = None) -> None:
        super().__init__(text)
        self.problem = Problem(kind=kind, text=text, rank=rank)


class Line:
    """The stream of events. Standard output is turned to standard error, so that no library prints into it."""

    def __init__(self) -> None:
        self._descriptor = os.dup(1)
        os.dup2(2, 1)

    def send(self, event: Event) -> None:
        """Write `event`; a reader that is gone ends this process."""
        try:
            emit(event, descriptor=self._descriptor)
        except BrokenPipeError:
            os._exit(FAILED)


def die_with_parent() -> None:
    """From now on this process does not outlive its parent; termination signals end it at once."""
    parent = os.getppid()
    for number in (signal.SIGTERM, signal.SIGINT):
        # Python's own handlers wait until a blocking collective returns; the default action does not.
        signal.signal(number, signal.SIG_DFL)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    guard = os.environ.get(GUARD, "")
    if parent != 1 or guard:
        threading.Thread(target=_watch, args=(parent, guard), daemon=True, name="parent watch").start()


def die_with(parent: int) -> None:
    """For a child between fork and exec: be killed when `parent` dies, or now if it has died already."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(FAILED)


def adopt_orphans() -> None:
    """From now on descendants whose parent dies become children of this process instead of init's."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _watch(parent: int, guard: str) -> None:
    # A rank whose launcher died before it could look has init for a parent; its guard, dead by then too, tells.
    while os.getppid() == parent and (not guard or _lives(guard)):
        time.sleep(_WATCH_SECONDS)
    os._exit(FAILED)


def _lives(guard: str) -> bool:
    pid, _, started = guard.partition("-")
    return pid.isdigit() and start_time(int(pid)) == started


def fail(line: Line, *, error: BaseException, rank: int, lost: Callable[[], int | None] | None = None) -> NoReturn:
    """Report `error` and exit. `lost` names a rank whose death is the real cause, where there is one."""
    # The launcher ends the other ranks as soon as one has failed; this one still has to say why.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    traceback.print_exception(error)
    text = f"{type(error).__name__}: {error}".strip()
    dead = lost() if lost and not isinstance(error, Failure) and _is_loss(text) else None
    if isinstance(error, Failure):
        line.send(error.problem)
    elif dead is not None:
        line.send(Problem(kind="rank-lost", rank=dead, text=f"rank {dead} is gone; rank {rank} saw: {text}"))
    elif "Timed out" in text or "wait timeout" in text:
        line.send(Problem(kind="timeout", text=f"rank {rank} waited in vain: {text}"))
    elif _is_loss(text):
        line.send(Problem(kind="connection-lost", text=f"rank {rank}: {text}"))
    else:
        line.send(Problem(kind="exception", rank=rank, text=text))
    sys.stderr.flush()
    os._exit(FAILED)


def _is_loss(text: str) -> bool:
    """Whether an error says that a peer went away; its wording is Gloo's or the socket's."""
    return any(
        words in text for words in ("closed by peer", "reset by peer", "Broken pipe", "Read error", "Write error")
    )


def within(seconds: float, action: Callable[[], None]) -> bool:
    """Whether `action` finished in `seconds`; it is left behind when it did not."""
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()
