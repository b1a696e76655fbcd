"""The guard of a node: starts a launcher there and sees that nothing of it outlives the one who asked for it.

`worker.pyz guard [options] -- torchrun ...` is what a driver starts on another machine. It ends the launcher and every process that
came of it when its standard input closes or falls silent, when it is told to by a signal, when the run holds more memory than it
may, or when the kernel has killed one of its processes for want of memory. The launcher's output is not touched: events pass
straight through. It covers every process that descends from the launcher or kept its environment, also one that left for a
session of its own. Killed itself (SIGKILL), it takes the launcher with it by the kernel's parent-death signal, and the ranks
follow: they watch their parent and this guard (`life.py`). It does not cover other hosts, nor what runs as another user.
Source: prctl(2), PR_SET_CHILD_SUBREAPER and PR_SET_PDEATHSIG.
"""

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Sequence

from app.bench import cgroup, machine, process
from app.bench.events import Problem
from app.bench.process import ProcessId
from app.bench.wire import emit
from app.bench.worker.guard_options import MARK, Rules, parse
from app.bench.worker.life import GUARD, adopt_orphans, die_with, within
from app.bench.worker.lock import Busy, lock

STRAY_SECONDS = 1.0
"""From SIGTERM to SIGKILL, for what outlived the launcher that should have ended it."""
KILL_SECONDS = 10.0
"""How long a SIGKILL may take: a process inside a driver call ends only after it."""
OOM_SECONDS = 5.0
"""Between the kernel's count of a kill and the end of the process it means."""
_TICK_SECONDS = 0.25
_CHECK_SECONDS, _CHECK_SHARE = 0.5, 0.05
"""Between two looks at the family's memory; longer where looking would take more than this share of a processor."""
_SAY_SECONDS = 2.0
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main(arguments: Sequence[str]) -> int:
    """Guard what stands behind `--`; its exit code, or 128 and the signal that ended it."""
    rules, command = parse(arguments)
    try:
        with lock(rules.lock):
            return Guard(rules, command).run()
    except Busy as busy:
        say(Problem(kind="devices-busy", text=str(busy)))
        return 1


class Guard:
    """One launcher under guard, once."""

    def __init__(self, rules: Rules, command: Sequence[str]) -> None:
        self._rules = rules
        self._command = command
        me = process.identify(os.getpid())
        assert me is not None, "this process lives"
        self._me = me
        self._name = f"{me.pid}-{me.start_time}"
        self._seen: set[ProcessId] = set()
        self._faults = 0
        self._kills = cgroup.oom_kills()
        self._oom_since: float | None = None
        self._signalled = False

    def run(self) -> int:
        """Start, wait, end everything."""
        adopt_orphans()
        wake = self._listen()
        try:
            child = self._start()
        except OSError as error:
            say(Problem(kind="launcher-failed", text=f"{self._command[0]}: {error.strerror}"))
            return 127 if isinstance(error, FileNotFoundError) else 126
        leader = process.identify(child.pid) or ProcessId(child.pid, "")
        is_early = True
        try:
            is_early, problem = self._watch(child, wake)
            if not is_early:
                problem = self._explain(child.wait())
            if problem is not None:
                say(problem)
        finally:
            left = self._end(leader)
        if left:
            pids = ", ".join(str(stray.pid) for stray in left)
            say(Problem(kind="stray-left", text=pids, fatal=False))
        code = -signal.SIGKILL if leader in left else child.wait()
        return 128 - code if code < 0 else code or int(is_early)

    def _start(self) -> "subprocess.Popen[bytes]":
        guard = os.getpid()
        return subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            env={**os.environ, MARK: self._rules.mark or self._name, GUARD: self._name},
            start_new_session=True,
            preexec_fn=lambda: die_with(guard),  # noqa: PLW1509 - no thread runs yet
        )

    def _listen(self) -> int:
        """A descriptor that becomes readable when a signal comes."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        os.set_blocking(reader, False)
        signal.set_wakeup_fd(writer)
        for number in _ENDING:
            signal.signal(number, self._note)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        return reader

    def _note(self, number: int, frame: object) -> None:
        del number, frame
        self._signalled = True

    # -----------------------------------------------------------------------------------------------------------------

    def _watch(self, child: "subprocess.Popen[bytes]", wake: int) -> tuple[bool, Problem | None]:
        """Wait for the launcher's end, or for a reason to end it early: whether there is one, and what to say of it."""
        sources = [wake, 0] if self._rules.has_input else [wake]
        heard = next_check = time.monotonic()
        while True:
            ready, _, _ = select.select(sources, [], [], _TICK_SECONDS)
            now = time.monotonic()
            if wake in ready:
                _drain(wake)
            if self._rules.has_input and 0 in ready:
                if not _read(0):
                    return True, None
                heard = now
            if self._signalled:
                return True, None
            if _has_ended(child):
                return False, None
            if self._rules.has_input and 0 < self._rules.quiet_seconds < now - heard:
                text = f"{self._rules.quiet_seconds:g} s"
                return True, Problem(kind="driver-lost", text=text)
            if now >= next_check:
                problem = self._check_memory(now)
                if problem is not None:
                    return True, problem
                next_check = now + max(_CHECK_SECONDS, (time.monotonic() - now) / _CHECK_SHARE)

    def _check_memory(self, now: float) -> Problem | None:
        own = process.descendants(self._me)
        faults = process.faults_of_reaped({self._me, *own})
        is_one_gone = bool(self._seen - own) or faults > self._faults
        self._seen, self._faults = own, faults
        kills = cgroup.oom_kills()
        if kills is not None and self._kills is not None and kills > self._kills and self._oom_since is None:
            self._oom_since = now
        if self._oom_since is not None:
            if is_one_gone:
                return _oom_killed()
            if now - self._oom_since > OOM_SECONDS:
                # All of ours live: the kernel took somebody else's process in the same group.
                self._oom_since, self._kills = None, kills
        cap = self._rules.memory_bytes
        # Resident pages that processes share count for each; only where that is too much the exact sum is worth its time.
        if 0 < cap < process.resident_bytes(own) and cap < machine.proportional_bytes(own):
            return Problem(kind="memory-cap", text=f"> {machine.binary(cap)}")
        return None

    def _explain(self, code: int) -> Problem | None:
        """Why the launcher ended by itself; None when it has to say that."""
        if code == 0:
            return None
        kills = cgroup.oom_kills()
        if kills is not None and self._kills is not None and kills > self._kills:
            return _oom_killed()
        if code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
            return Problem(kind="launcher-killed", text=f"the launcher was ended by signal {-code} ({name})")
        return None

    def _end(self, leader: ProcessId) -> list[ProcessId]:
        """End the launcher, then what it leaves; gives what not even SIGKILL could end."""
        process.send(leader, signal.SIGTERM)
        _wait(lambda: not process.is_alive(leader), seconds=process.GRACE_SECONDS)
        for stray in self._own():
            process.send(stray, signal.SIGTERM)
        _wait(lambda: not self._own(), seconds=STRAY_SECONDS)
        deadline = time.monotonic() + KILL_SECONDS
        while (own := self._own()) and time.monotonic() < deadline:
            for stray in own:
                process.send(stray, signal.SIGKILL)
            time.sleep(process.POLL_SECONDS)
        return sorted(own, key=lambda stray: stray.pid)

    def _own(self) -> set[ProcessId]:
        return process.descendants(self._me) | process.marked(GUARD, self._name)


def _wait(happened: Callable[[], bool], *, seconds: float) -> None:
    """Until it has `happened`, at most so long."""
    deadline = time.monotonic() + seconds
    while not happened() and time.monotonic() < deadline:
        time.sleep(process.POLL_SECONDS)


def say(problem: Problem) -> None:
    """Write `problem` to the stream, if somebody still reads it."""
    within(_SAY_SECONDS, lambda: _write(problem))


def _write(problem: Problem) -> None:
    try:
        emit(problem, descriptor=1)
    except OSError:
        return


def _oom_killed() -> Problem:
    limit = cgroup.memory_limit()
    if limit is not None:
        return Problem(kind="oom-killed", text=f"{machine.binary(limit.limit)} (cgroup {limit.group})")
    return Problem(kind="oom-killed", text=machine.binary(machine.physical_bytes()))


def _has_ended(child: "subprocess.Popen[bytes]") -> bool:
    """Whether the launcher is done. Orphans that ended meanwhile are laid to rest; the launcher's exit code stays."""
    if not hasattr(os, "waitid"):
        return child.poll() is not None
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        if found is None:
            return False
        if found.si_pid == child.pid:
            return True
        os.waitpid(found.si_pid, os.WNOHANG)


def _drain(descriptor: int) -> None:
    try:
        while os.read(descriptor, 4096):
            pass
    except BlockingIOError:
        return


def _read(descriptor: int) -> bool:
    """Take what has come; whether there was anything, or the other side has closed."""
    try:
        return bool(os.read(descriptor, 4096))
    except OSError:
        return False
