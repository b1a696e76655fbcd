"""Hosts of one machine that have networks of their own: a network namespace each, joined by a switch over cables of a set rate.

`Network` makes them out of nothing but processes. A namespace lives as long as a process in it, and here each is held by one that
ends when its standard input closes; so whatever ends the one who made the network, SIGKILL too, the kernel takes all of it away. No
name is registered anywhere, and nothing is changed outside. `way_in` tells how this machine lets us in: as root, or as any user
whom the kernel lets be root of a user namespace. Source: network_namespaces(7), user_namespaces(7), tc-tbf(8), tc-netem(8).
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Self

from app.bench.events import Problem

PROGRAMS = {
    **dict.fromkeys(("ip", "tc"), "iproute2"),
    **dict.fromkeys(("unshare", "nsenter", "setpriv"), "util-linux"),
}
"""What is called, and the package that holds it."""
INTERFACE = "eth0"
BURST_BYTES = 64 * 1024
"""What a cable may send at once after a pause: far below a payload, or that would seem to travel for nothing."""
QUEUE_BYTES = 16 * 1024 * 1024
_QUEUE_PACKETS = 100_000
_SWITCH = "switch"
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_TRY_SECONDS = 20.0
_END_SECONDS = 5.0
_HOLD = (
    "import socket, sys\nsocket.sethostname(sys.argv[1])\nsys.stdout.write('.')\nsys.stdout.flush()\nsys.stdin.read()\n"
)


class NetworkFailed(Exception):
    """The network cannot be made, for the reason in `problem`."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.kind}: {problem.text}")
        self.problem = problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Cables:
    """What joins each host with the switch: `rate_mbit` in 10^6 bit/s for each direction, 0 for no limit; `delay_ms` one way."""

    rate_mbit: int = 0
    delay_ms: int = 0


def name(number: int) -> str:
    """What host `number` calls itself."""
    return f"host-{number}"


def address(number: int) -> str:
    """The address of host `number`; nobody outside ever sees it."""
    return f"10.214.0.{number + 1}"


def switch_commands() -> tuple[tuple[str, ...], ...]:
    """What makes the switch, in the namespace that joins the others."""
    return (
        ("ip", "link", "set", "lo", "up"),
        ("ip", "link", "add", _SWITCH, "type", "bridge"),
        ("ip", "link", "set", _SWITCH, "up"),
    )


def host_commands(number: int, *, pid: int | str, cables: Cables) -> tuple[tuple[str, ...], ...]:
    """What joins host `number`, whose namespaces process `pid` holds, with the switch."""
    port = f"port{number}"
    there = inside(pid)
    return (
        ("ip", "link", "add", port, "type", "veth", "peer", "name", INTERFACE, "netns", str(pid)),
        ("ip", "link", "set", port, "master", _SWITCH, "up"),
        (*there, "ip", "link", "set", "lo", "up"),
        (*there, "ip", "address", "add", f"{address(number)}/24", "dev", INTERFACE),
        (*there, "ip", "link", "set", INTERFACE, "up"),
        *(there + command for command in _limits(INTERFACE, cables)),
        *_limits(port, Cables(rate_mbit=cables.rate_mbit)),
    )


def _limits(device: str, cables: Cables) -> tuple[tuple[str, ...], ...]:
    """What slows one end of a cable down: only what leaves a device can be held back, so each end limits its direction."""
    found: list[tuple[str, ...]] = []
    parent: tuple[str, ...] = ("root",)
    if cables.delay_ms:
        delay = ("netem", "delay", f"{cables.delay_ms}ms", "limit", str(_QUEUE_PACKETS))
        found.append(("tc", "qdisc", "add", "dev", device, *parent, "handle", "1:", *delay))
        parent = ("parent", "1:1")
    if cables.rate_mbit:
        # Never less than a millisecond's worth, which is how exactly a busy machine comes back to a queue.
        burst = max(BURST_BYTES, cables.rate_mbit * 125)
        rate = ("tbf", "rate", f"{cables.rate_mbit}mbit", "burst", str(burst), "limit", str(QUEUE_BYTES))
        found.append(("tc", "qdisc", "add", "dev", device, *parent, "handle", "2:", *rate))
    return tuple(found)


def inside(pid: int | str) -> tuple[str, ...]:
    """What to put before a command that shall run in the namespaces of process `pid`."""
    return ("nsenter", f"--net=/proc/{pid}/ns/net", f"--uts=/proc/{pid}/ns/uts", "--")


def way_in() -> tuple[str, ...]:
    """What to put before a program that shall make a network. Raises NetworkFailed when this machine allows none."""
    missing = [program for program in PROGRAMS if _find(program) is None]
    if missing:
        text = ", ".join(f"{program} ({PROGRAMS[program]})" for program in missing)
        raise NetworkFailed(Problem(kind="namespaces-no-program", text=text))
    ways: list[tuple[str, ...]] = [(_path("unshare"), "--user", "--map-root-user", "--net", "--")]
    if os.geteuid() == 0:
        ways.insert(0, (_path("unshare"), "--net", "--"))
    reasons = []
    for way in ways:
        # Some systems let everybody into a user namespace, only to take away there all that it is good for.
        tried = _run([*way, _path("ip"), "link", "set", "lo", "up"])
        if not tried.returncode:
            return way
        reasons.append(_last_line(tried))
    raise NetworkFailed(Problem(kind="namespaces-refused", text="; ".join(dict.fromkeys(reasons))))


class Network:
    """`hosts` hosts behind `cables`, between the begin and the end of a `with` block.

    Only a program that was started by `way_in` can enter it. `environment` is that of the processes that hold it. Raises NetworkFailed.
    """

    def __init__(self, *, hosts: int, cables: Cables, environment: dict[str, str]) -> None:
        self._hosts = hosts
        self._cables = cables
        self._environment = environment
        self._holders: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            for command in switch_commands():
                _make(command)
            for number in range(self._hosts):
                holder = self._hold(number)
                for command in host_commands(number, pid=holder.pid, cables=self._cables):
                    _make(command)
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del kind, error, trace
        self._leave()

    def command(self, number: int, arguments: Sequence[str]) -> list[str]:
        """The arguments that run a command on host `number`; its pid stays that of the process that is started."""
        return [*located(inside(self._holders[number].pid)), *arguments]

    def short_command(self, number: int, arguments: Sequence[str]) -> list[str]:
        """As `command`, for what nobody guards: it is killed when the one who started it dies."""
        return [*located(("setpriv", "--pdeathsig", "KILL", "--")), *self.command(number, arguments)]

    def _hold(self, number: int) -> "subprocess.Popen[bytes]":
        holder = subprocess.Popen(
            [_path("unshare"), "--net", "--uts", "--", sys.executable, "-I", "-S", "-c", _HOLD, name(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._environment,
        )
        self._holders.append(holder)
        if not _of(holder.stdout).read(1):
            error = _of(holder.stderr).read()
            said = _last_line(subprocess.CompletedProcess([], holder.wait(), b"", error))
            raise NetworkFailed(Problem(kind="namespaces-refused", text=said))
        return holder

    def _leave(self) -> None:
        for holder in self._holders:
            for stream in (holder.stdin, holder.stdout, holder.stderr):
                _of(stream).close()
        for holder in self._holders:
            try:
                holder.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                holder.kill()
                holder.wait()


def located(command: Sequence[str]) -> list[str]:
    """The command with its program's whole path; an ordinary user's PATH often lacks /usr/sbin."""
    return [_path(word) if word in PROGRAMS else word for word in command]


def _make(command: Sequence[str]) -> None:
    done = _run(located(command))
    if not done.returncode:
        return
    kind = "namespaces-no-delay" if "netem" in command else "namespaces-failed"
    shown = " ".join(command[command.index("--") + 1 :] if "--" in command else command)
    raise NetworkFailed(Problem(kind=kind, text=f"`{shown}`: {_last_line(done)}"))


def _run(command: Sequence[str]) -> "subprocess.CompletedProcess[bytes]":
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRY_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, b"", b"timeout")


def _last_line(done: "subprocess.CompletedProcess[bytes]") -> str:
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return _named(lines[-1][:200]) if lines else f"exit code {done.returncode}"


def _named(text: str) -> str:
    """What the kernel calls a lack of space is a limit here, and no disk is full."""
    return text.replace("No space left on device", "/proc/sys/user/max_*_namespaces")


def _find(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:{_PATH}")


def _path(program: str) -> str:
    return _find(program) or program


def _of(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None, "it was asked for"
    return stream
