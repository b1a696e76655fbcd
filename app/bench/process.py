"""Processes by pid and start time, so that a pid used anew is never taken for the old process.

The runner keeps both in the database and in its lock file: after a restart it can tell whether a run it finds there is
still alive, and before a SIGKILL it makes sure that it hits what it means. Linux reads /proc; elsewhere `ps` answers.
Stdlib only and Python 3.10, because it ships to the node with the worker.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROC = Path("/proc")
GRACE_SECONDS = 5.0
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process for all time: `start_time` is what the system says of the pid's beginning."""

    pid: int
    start_time: str

    def to_json(self) -> dict[str, Any]:
        return {"pid": self.pid, "start_time": self.start_time}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "ProcessId":
        return cls(int(data["pid"]), str(data["start_time"]))


def start_time(pid: int) -> str | None:
    """When the process began, as text to compare; None when there is no such process, or only its zombie."""
    if PROC.joinpath("self", "stat").exists():
        fields = _stat(pid)
        return None if fields is None or fields[0] in "ZX" else fields[19]
    answer = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.strip()
    return None if not answer or answer.startswith("Z") else answer.split(maxsplit=1)[1]


def start_ticks(pid: int) -> int | None:
    """When process `pid` started, in clock ticks since boot (proc(5)); None when it is gone, or where there is no /proc."""
    fields = _stat(pid)
    return None if fields is None or fields[0] in "ZX" else int(fields[19])


def resident_bytes(processes: Iterable[ProcessId]) -> int:
    """Memory the processes hold, each page counted once a process: shared pages count several times, so this is an upper bound."""
    pages = 0
    for process in processes:
        try:
            pages += int(PROC.joinpath(str(process.pid), "statm").read_text(encoding="ascii").split()[1])
        except (OSError, ValueError, IndexError):
            continue
    return pages * os.sysconf("SC_PAGE_SIZE")


def faults_of_reaped(processes: Iterable[ProcessId]) -> int:
    """Page faults of all children that the processes have laid to rest (proc(5), cminflt): it grows when one more has died.

    So a child shows that lived and died between two looks at who there is.
    """
    found = (_stat(process.pid) for process in processes)
    return sum(int(fields[8]) for fields in found if fields is not None)


def identify(pid: int) -> ProcessId | None:
    """The process that has this pid now; None when there is none."""
    started = start_time(pid)
    return None if started is None else ProcessId(pid, started)


def is_alive(process: ProcessId) -> bool:
    """Whether this very process still runs."""
    return start_time(process.pid) == process.start_time


def descendants(process: ProcessId) -> set[ProcessId]:
    """Children, their children and so on. Empty where /proc does not tell."""
    children: dict[int, list[int]] = {}
    for entry in PROC.glob("[0-9]*"):
        fields = _stat(int(entry.name))
        if fields is not None:
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found: set[ProcessId] = set()
    waiting = [process.pid] if is_alive(process) else []
    while waiting:
        for pid in children.get(waiting.pop(), ()):
            child = identify(pid)
            if child is not None and child not in found:
                found.add(child)
                waiting.append(pid)
    return found


def send(process: ProcessId, number: signal.Signals) -> None:
    """Signal this very process; nothing happens when it is gone."""
    if is_alive(process):
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            return


def end(leader: ProcessId, *, others: Iterable[ProcessId] = (), grace: float = GRACE_SECONDS) -> list[ProcessId]:
    """SIGTERM `leader`, wait up to `grace` seconds for all, then SIGKILL what is left. Gives what had to be killed.

    torchrun puts each rank in a session of its own, so a signal to its process group would miss them: every pid
    is addressed by itself.
    """
    everyone = {leader, *others, *descendants(leader)}
    send(leader, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while any(map(is_alive, everyone)) and time.monotonic() < deadline:
        if not is_alive(leader):
            for process in everyone:
                send(process, signal.SIGTERM)
        time.sleep(POLL_SECONDS)
    left = [process for process in everyone if is_alive(process)]
    for process in left:
        send(process, signal.SIGKILL)
    return left


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/<pid>/stat from the state on: [0] state, [1] parent, [19] start in ticks since boot."""
    try:
        text = PROC.joinpath(str(pid), "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command name in parentheses may hold spaces and parentheses itself.
    return text.rpartition(")")[2].split()


def marked(name: str, value: str) -> set[ProcessId]:
    """Our processes that have the environment variable `name` set to `value`, besides this one.

    A launcher's children inherit the mark, so none of a run's processes can hide, not even one whose start was never
    recorded. Empty where /proc does not tell.
    """
    mark = f"{name}={value}".encode()
    found: set[ProcessId] = set()
    for entry in PROC.glob("[0-9]*"):
        try:
            variables = entry.joinpath("environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark in variables and int(entry.name) != os.getpid():
            process = identify(int(entry.name))
            if process is not None:
                found.add(process)
    return found
