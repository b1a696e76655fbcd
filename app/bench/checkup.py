"""What a node answers when it is asked what it offers, and the last answer kept for pages.

`ask` runs the launcher's probe to its end, bounded in time and output; no process of it is left. `Checkups` keeps the newest
answer per node in a folder of files, with a lock, so that the command line and the Bench pages see the same and only one asks.
"""

import json
import os
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.bench import process
from app.bench.codec import build, plain
from app.bench.events import HostReady, Problem, Report
from app.bench.launchers.model import Launch, Node
from app.bench.lock import Lock, is_held
from app.bench.process import ProcessId
from app.bench.tail import Tail
from app.bench.wire import LogText, decode_all
from app.core.clock import Clock

SECONDS = 30.0
MAXIMUM_BYTES = 1 << 20
LOG_LINES = 20
_POLL_SECONDS = 0.05
_GRACE_SECONDS = 5.0
_ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """The answer. `asked_at` is a time of ISO 8601 in UTC."""

    asked_at: str
    seconds: float
    hosts: tuple[HostReady, ...]
    problems: tuple[Problem, ...]
    reports: tuple[Report, ...] = ()
    """What it says of itself besides, such as the partitions of a cluster."""
    log: tuple[str, ...] = ()
    """The last lines that were no events, when something went wrong."""

    @property
    def is_ready(self) -> bool:
        """Whether a run could start there."""
        return bool(self.hosts) and not any(problem.fatal for problem in self.problems)


def ask(node: Node, *, clock: Clock, seconds: float = SECONDS) -> Checkup:
    """What the hosts of `node` answer within `seconds`."""
    asked_at, began = clock().isoformat(timespec="seconds"), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ringside-") as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        try:
            code = _run(node.probe(), out=out, err=err, seconds=seconds)
        except OSError as error:
            problem = Problem(kind="probe-failed", text=str(error))
            return Checkup(asked_at=asked_at, seconds=time.monotonic() - began, hosts=(), problems=(problem,))
        events = [event for line in _lines(out) for event in decode_all(line)]
        log = [event.text for event in events if isinstance(event, LogText)]
        log += [line.decode("utf-8", "replace") for line in _lines(err) if line.strip()]
    hosts = tuple(event for event in events if isinstance(event, HostReady))
    # A probe only notes that PyTorch is missing, but nothing can run there: `_unsaid` says it as the failure it is.
    problems = [event for event in events if isinstance(event, Problem) and (event.fatal or event.kind != "no-torch")]
    return Checkup(
        asked_at=asked_at,
        seconds=time.monotonic() - began,
        hosts=hosts,
        reports=tuple(event for event in events if isinstance(event, Report)),
        problems=(*problems, *_unsaid(hosts, problems, code=code, seconds=seconds, log=log)),
        log=() if code == 0 else tuple(line[:500] for line in log[-LOG_LINES:]),
    )


class Checkups:
    """The newest answer of each node, in the files of `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def last(self, node: Node) -> Checkup | None:
        """The newest answer; None when it was never asked as it is now."""
        try:
            raw = json.loads(self._path(node.name).read_text(encoding="utf-8"))
            return build(Checkup, raw["checkup"]) if raw["node"] == _identity(node) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def is_asking(self, name: str) -> bool:
        """Whether somebody waits for the node's answer."""
        return is_held(self._lock_path(name))

    def ask(self, node: Node, *, clock: Clock, seconds: float = SECONDS) -> Checkup | None:
        """Ask and keep the answer; None when somebody else is asking."""
        lock = self._take(node)
        return None if lock is None else self._asked(node, lock, clock=clock, seconds=seconds)

    def begin(self, node: Node, *, clock: Clock, seconds: float = SECONDS) -> bool:
        """Ask in the background; `is_asking` until the answer is kept. False when somebody else is asking already."""
        lock = self._take(node)
        if lock is None:
            return False
        options = {"clock": clock, "seconds": seconds}
        name = f"ask {node.name}"
        threading.Thread(target=self._asked, args=(node, lock), kwargs=options, name=name, daemon=True).start()
        return True

    def _take(self, node: Node) -> Lock | None:
        me = process.identify(os.getpid())
        assert me is not None, "this process lives"
        lock = Lock(self._lock_path(node.name))
        return lock if lock.acquire(me) else None

    def _asked(self, node: Node, lock: Lock, *, clock: Clock, seconds: float) -> Checkup:
        try:
            checkup = ask(node, clock=clock, seconds=seconds)
            document = {"node": _identity(node), "checkup": plain(checkup)}
            draft = self._path(node.name).with_suffix(".draft")
            draft.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
            draft.replace(self._path(node.name))
            return checkup
        finally:
            lock.release()

    def forget(self, name: str) -> None:
        """The node is gone."""
        for path in (self._path(name), self._lock_path(name)):
            path.unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"

    def _lock_path(self, name: str) -> Path:
        return self._folder / f"{name}.lock"


def checkups_folder(data: Path) -> Path:
    """Where an installation keeps the answers."""
    return data / "nodes"


def _identity(node: Node) -> dict[str, Any]:
    return {"launcher": node.launcher.slug, "settings": node.settings.model_dump(mode="json")}


def _run(launch: Launch, *, out: Path, err: Path, seconds: float) -> int | None:
    """The exit code; None when it had to be ended. Raises OSError when it cannot be started."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("RINGSIDE_")}
    with out.open("wb") as out_file, err.open("wb") as err_file:
        child = subprocess.Popen(
            launch.arguments,
            stdin=subprocess.DEVNULL,
            stdout=out_file,
            stderr=err_file,
            cwd=_ROOT,
            env={**inherited, **launch.environment},
            start_new_session=True,
        )
    leader = process.identify(child.pid) or ProcessId(child.pid, "")
    deadline = time.monotonic() + seconds
    try:
        while child.poll() is None:
            if time.monotonic() > deadline or out.stat().st_size + err.stat().st_size > MAXIMUM_BYTES:
                return None
            time.sleep(_POLL_SECONDS)
        return child.returncode
    finally:
        process.end(leader, grace=_GRACE_SECONDS)
        child.wait()


def _lines(path: Path) -> list[bytes]:
    return Tail(path, maximum_bytes=MAXIMUM_BYTES).remaining()


def _unsaid(
    hosts: tuple[HostReady, ...], problems: list[Problem], *, code: int | None, seconds: float, log: list[str]
) -> list[Problem]:
    """What the probe did not say itself."""
    found: list[Problem] = []
    kinds = {problem.kind for problem in problems}
    if "no-torch" not in kinds and (without := [host.host for host in hosts if host.torch is None]):
        found.append(Problem(kind="no-torch", text=", ".join(without)))
    if any(problem.fatal for problem in (*problems, *found)):
        return found
    if code is None:
        return [*found, Problem(kind="node-silent", text=f"{seconds:g}")]
    if code or not hosts:
        last = next(iter(reversed(log)), f"exit code {code}")
        return [*found, Problem(kind="probe-failed", text=last[:300])]
    return found
