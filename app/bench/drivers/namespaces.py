"""The driver of hosts in network namespaces: `python -m app.bench.drivers.namespaces run FOLDER | probe SETTINGS | clean FOLDER`.

`run` starts itself anew where a network may be made, makes it, asks what a host offers, and starts a guard with torchrun on each. Guards
and ranks write straight to this program's own output. Told to end, it ends them and waits until they are gone. When it is killed, the
standard input of the guards and of those who hold the namespaces closes, and all of it ends by itself; `clean` makes sure.
"""

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from app.bench import namespaces, preflight, process
from app.bench.drivers.output import Output
from app.bench.events import HostReady, Phase, Problem
from app.bench.launchers.namespaces import NamespaceSettings, guard_commands
from app.bench.launchers.package import SPEC, WORKER, build
from app.bench.namespaces import Network, NetworkFailed
from app.bench.nodes import read_node
from app.bench.spec import RunSpec
from app.bench.wire import LogText, decode_all

MARK = "RINGSIDE_RUN"
MARK_FILE = "namespaces-mark"
PROBE_SECONDS = 120.0
"""torch is read from a cold disk."""
LAST_WORDS_SECONDS = 5.0
"""When one host has failed, the ranks of the others may still say what they saw."""
END_SECONDS = 14.0
"""A guard gives its ranks five seconds, then kills them."""
_INSIDE = "inside"
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_USAGE = "usage: python -m app.bench.drivers.namespaces run FOLDER | probe SETTINGS | clean FOLDER"


class Told(Exception):
    """A signal told this program to end."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.number = number


def main() -> None:
    """Do what the arguments say, and exit."""
    match sys.argv[1:]:
        case ["run" | "probe" as what, argument]:
            _enter(what, argument)
        case ["inside", "run", folder]:
            sys.exit(_heeding(lambda: run(Path(folder))))
        case ["inside", "probe", settings]:
            sys.exit(_heeding(lambda: probe(NamespaceSettings.model_validate_json(settings))))
        case ["clean", folder]:
            sys.exit(clean(Path(folder)))
        case _:
            sys.exit(_USAGE)


def run(folder: Path) -> int:
    """See a prepared run through; its exit code."""
    spec = RunSpec.from_json(json.loads((folder / SPEC).read_text(encoding="utf-8")))
    settings, mark = _settings(folder), _mark()
    (folder / MARK_FILE).write_text(mark, encoding="ascii")
    output = Output()
    if spec.hosts > settings.hosts:
        output.send(Problem(kind="too-few-hosts", text=f"{spec.hosts} > {settings.hosts}"))
        return 1
    environment = _environment(mark)
    output.send(Phase(name="connecting", patience_seconds=60))
    try:
        with Network(hosts=spec.hosts, cables=settings.cables, environment=environment) as network:
            output.send(Phase(name="connecting", patience_seconds=PROBE_SECONDS + 30))
            # All hosts are this machine, and importing torch costs it dearly: one answers for all.
            found = _ask(network, hosts=1, worker=folder / WORKER, environment=environment, output=output)
            problems = preflight.check(replace(spec, hosts=1), found, interface=settings.interface)
            for problem in problems:
                output.send(problem)
            if any(problem.fatal for problem in problems):
                return 1
            commands = guard_commands(spec, settings, mark=mark, python=sys.executable, folder=folder)
            output.send(Phase(name="starting", patience_seconds=150))
            return _serve([network.command(*each) for each in enumerate(commands)], environment, output)
    except NetworkFailed as error:
        output.send(error.problem)
        return 1
    finally:
        _end_marked(mark, grace_seconds=0)


def probe(settings: NamespaceSettings) -> int:
    """Make the network and ask every host; 1 when that cannot be done."""
    output, mark = Output(), _mark()
    environment = _environment(mark)
    with tempfile.TemporaryDirectory(prefix="ringside-") as folder:
        worker = Path(folder, WORKER)
        build(worker)
        try:
            with Network(hosts=settings.hosts, cables=settings.cables, environment=environment) as network:
                _ask(network, hosts=settings.hosts, worker=worker, environment=environment, output=output)
        except NetworkFailed as error:
            output.send(error.problem)
            return 1
        finally:
            _end_marked(mark, grace_seconds=0)
    return 0


def clean(folder: Path) -> int:
    """Wait until what a killed driver has left has ended by itself, then kill the rest; 1 when that does not end either."""
    try:
        mark = (folder / MARK_FILE).read_text(encoding="ascii")
    except FileNotFoundError:
        return 0
    return int(not _end_marked(mark, grace_seconds=8))


# ---------------------------------------------------------------------------------------------------------------------


def _enter(what: str, argument: str) -> None:
    """Become the same program where a network may be made; say so and exit where there is no such place."""
    try:
        way = namespaces.way_in()
    except NetworkFailed as error:
        Output().send(error.problem)
        sys.exit(1)
    again = [sys.executable, "-m", "app.bench.drivers.namespaces", _INSIDE, what, argument]
    os.execv(way[0], [*way, *again])  # noqa: S606 - a list of our own making


def _ask(
    network: Network, *, hosts: int, worker: Path, environment: Mapping[str, str], output: Output
) -> list[HostReady]:
    """What each host offers, which is passed on. Raises NetworkFailed when one cannot say."""
    arguments = [sys.executable, str(worker), "probe", "--folder", str(worker.parent)]
    hidden = {**environment, "CUDA_VISIBLE_DEVICES": ""}
    asked = [
        subprocess.Popen(
            network.short_command(number, arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=hidden
        )
        for number in range(hosts)
    ]
    found: list[HostReady] = []
    for number, child in enumerate(asked):
        try:
            out, _ = child.communicate(timeout=PROBE_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise NetworkFailed(Problem(kind="host-silent", text=namespaces.name(number))) from error
        said = [event for line in out.splitlines() for event in decode_all(line)]
        for event in said:
            if isinstance(event, LogText):
                output.log(f"{namespaces.name(number)}: {event.text}")
            elif isinstance(event, (HostReady, Problem)):
                output.send(event)
        ready = [event for event in said if isinstance(event, HostReady)]
        if not ready:
            text = f"{namespaces.name(number)}: exit code {child.returncode}"
            raise NetworkFailed(Problem(kind="host-failed", text=text))
        found += ready
    return found


def _serve(commands: Sequence[Sequence[str]], environment: Mapping[str, str], output: Output) -> int:
    """Run a guard per host to the end of all of them; the exit code of the first that failed, 0 for none."""
    guards: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            guard = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
            guards.append(guard)
        return _watch(guards, output)
    finally:
        for guard in guards:
            assert guard.stdin is not None, "it was asked for"
            guard.stdin.close()
        deadline = time.monotonic() + END_SECONDS
        for guard in guards:
            while guard.poll() is None and time.monotonic() < deadline:
                time.sleep(process.POLL_SECONDS)


def _watch(guards: Sequence["subprocess.Popen[bytes]"], output: Output) -> int:
    code, deadline = 0, float("inf")
    waiting = dict(enumerate(guards))
    while waiting and time.monotonic() < deadline:
        time.sleep(process.POLL_SECONDS)
        for number, guard in list(waiting.items()):
            ended = guard.poll()
            if ended is None:
                continue
            del waiting[number]
            if ended == -signal.SIGKILL:
                output.send(Problem(kind="launcher-killed", text=f"{namespaces.name(number)}: guard"))
            if ended and not code:
                code = 128 - ended if ended < 0 else ended
                deadline = time.monotonic() + LAST_WORDS_SECONDS
    return code


def _end_marked(mark: str, *, grace_seconds: float) -> bool:
    """Whether no process of the run is left: those that outlive the grace are killed."""
    _wait_until(lambda: not process.marked(MARK, mark), deadline=time.monotonic() + grace_seconds)

    def is_empty() -> bool:
        left = process.marked(MARK, mark)
        for each in left:
            process.send(each, signal.SIGKILL)
        return not left

    return _wait_until(is_empty, deadline=time.monotonic() + END_SECONDS)


def _wait_until(happened: Callable[[], bool], *, deadline: float) -> bool:
    while not happened():
        if time.monotonic() > deadline:
            return False
        time.sleep(process.POLL_SECONDS)
    return True


def _heeding(action: Callable[[], int]) -> int:
    """`action`, ended once by a signal or by a reader that is gone; later signals do not disturb its ending."""

    def end(number: int, frame: object) -> None:
        del frame
        for each in _ENDING:
            signal.signal(each, signal.SIG_IGN)
        raise Told(number)

    for number in _ENDING:
        signal.signal(number, end)
    try:
        return action()
    except Told as told:
        return 128 + told.number
    except BrokenPipeError:
        return 1


def _mark() -> str:
    """The runner's own, where it has marked us: then it finds all of this run's processes too."""
    return os.environ.get(MARK) or secrets.token_hex(8)


def _environment(mark: str) -> dict[str, str]:
    """For all that is started: marked, and without our own settings, which are no business of a rank's."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RINGSIDE_")} | {MARK: mark}


def _settings(folder: Path) -> NamespaceSettings:
    node = read_node(folder)
    if node is None or not isinstance(node.settings, NamespaceSettings):
        sys.exit(f"{folder} holds no node in network namespaces")
    return node.settings


if __name__ == "__main__":
    main()
