"""The guard with real process trees: whatever ends first, nothing is left."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from app.bench import process
from app.bench.diagnosis.explain import kinds
from app.bench.events import Problem, RankStarted
from app.bench.launchers import local
from app.bench.launchers.package import build, prepare
from app.bench.process import ProcessId
from app.bench.wire import LogText, decode
from tests.bench.ranks import long_spec, small_spec
from tests.bench.worker.cgroups import small_group

ROOT = Path(__file__).parent.parent.parent.parent
FAMILY = Path(__file__).parent / "family.py"
MIB = 1024**2
SECONDS = 30


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("worker") / "worker.pyz"
    build(path)
    return path


class Guarded:
    """A guard under test, and what comes out of it."""

    def __init__(self, arguments: Sequence[str], *, environment: dict[str, str], group: Path | None = None) -> None:
        join = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group)] if group else []
        self.process = subprocess.Popen(
            [*join, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        )
        self.born: list[ProcessId] = []
        self.lines: list[str] = []

    def wait_for(self, count: int) -> None:
        """Until `count` processes have said that they live."""
        while len(self.born) < count:
            assert self._read_line(), "the guard ended too early"

    def _read_line(self) -> bool:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        self.lines.append(line.rstrip("\n"))
        words = line.split()
        event = decode(line)
        pid = int(words[1]) if words[:1] == ["born"] else event.pid if isinstance(event, RankStarted) else None
        found = None if pid is None else process.identify(pid)
        if found is not None:
            self.born.append(found)
        return bool(line)

    def beat(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b".")
        self.process.stdin.flush()

    def hang_up(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def end(self) -> int:
        """The exit code, when all output was read. A guard that never ends is killed by the fixture's watch."""
        while self._read_line():
            pass
        return self.process.wait(SECONDS)

    @property
    def problems(self) -> list[Problem]:
        return [event for event in map(decode, self.lines) if isinstance(event, Problem)]

    @property
    def left(self) -> list[ProcessId]:
        """Those born that still live, given a moment to vanish."""
        deadline = time.monotonic() + 5
        while (alive := [each for each in self.born if process.is_alive(each)]) and time.monotonic() < deadline:
            time.sleep(0.02)
        return alive

    def close(self) -> None:
        """Nothing of a test that failed may outlive it."""
        everyone = {*self.born, *process.descendants(ProcessId(self.process.pid, ""))}
        self.process.kill()
        for each in everyone:
            process.send(each, signal.SIGKILL)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None and not stream.closed:
                stream.close()
        self.process.wait()


Start = Callable[..., Guarded]


@pytest.fixture
def start(worker: Path, tmp_path: Path) -> Iterator[Start]:
    """Start a guard: `start(options..., command=...)`; without a command it guards the family's behaviour."""
    guards: list[Guarded] = []

    def make(*options: str, family: str = "wait", command: Sequence[str] = (), group: Path | None = None) -> Guarded:
        inner = command or (sys.executable, str(FAMILY), family)
        arguments = [sys.executable, str(worker), "guard", *options, "--", *inner]
        guards.append(Guarded(arguments, environment={"TMPDIR": str(tmp_path)}, group=group))
        timer = threading.Timer(2 * SECONDS, guards[-1].process.kill)
        timer.daemon = True
        timer.start()
        timers.append(timer)
        return guards[-1]

    timers: list[threading.Timer] = []
    yield make
    for timer in timers:
        timer.cancel()
    for guard in guards:
        guard.close()


def test_the_launchers_output_and_exit_code_pass_through(start: Start) -> None:
    guard = start("--mark", "home/7", command=("sh", "-c", "echo $RINGSIDE_RUN; cat; exit 5"))

    assert guard.end() == 5
    assert guard.lines[0] == "home/7"
    assert guard.problems == []


def test_a_closed_input_ends_the_whole_family(start: Start) -> None:
    guard = start("--mark", "home/8")
    guard.wait_for(3)

    guard.hang_up()

    assert guard.end() == 128 + signal.SIGTERM
    assert guard.left == []
    assert process.marked("RINGSIDE_RUN", "home/8") == set()
    assert guard.problems == []


def test_a_silent_input_ends_the_family_and_says_so(start: Start) -> None:
    guard = start("--quiet-seconds", "3")
    guard.wait_for(3)

    assert guard.end() == 128 + signal.SIGTERM
    assert guard.left == []
    assert [(problem.kind, problem.text) for problem in guard.problems] == [("driver-lost", "3 s")]


def test_bytes_on_the_input_keep_the_run_alive(start: Start) -> None:
    guard = start("--quiet-seconds", "2", command=("sleep", "4"))
    while guard.process.poll() is None:
        guard.beat()
        time.sleep(0.1)

    assert guard.end() == 0
    assert guard.problems == []


def test_a_guard_without_input_does_not_look_at_it(start: Start) -> None:
    guard = start("--no-stdin", "--quiet-seconds", "0.1", command=("sh", "-c", "sleep 1; exit 4"))
    guard.hang_up()

    assert guard.end() == 4


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_guard_ends_the_family(start: Start, number: signal.Signals) -> None:
    guard = start()
    guard.wait_for(3)

    guard.process.send_signal(number)

    assert guard.end() == 128 + signal.SIGTERM
    assert guard.left == []


def test_a_launcher_that_was_killed_is_named_and_its_children_follow(start: Start) -> None:
    guard = start(family="die")

    assert guard.end() == 128 + signal.SIGKILL
    assert guard.left == []
    assert len(guard.born) == 3
    assert [problem.kind for problem in guard.problems] == ["launcher-killed"]
    assert "9 (SIGKILL)" in guard.problems[0].text


def test_what_a_launcher_leaves_behind_is_ended(start: Start) -> None:
    guard = start(family="leave")

    assert guard.end() == 3
    assert len(guard.born) == 3
    assert guard.left == []
    assert guard.problems == []


def test_a_killed_guard_takes_the_launcher_and_the_ranks_with_it(start: Start) -> None:
    guard = start(family="faithful")
    guard.wait_for(2)

    guard.process.kill()

    assert guard.left == []


def test_a_rank_that_starts_after_its_guard_has_died_ends_at_once() -> None:
    """Its launcher is dead too by then, so its parent is init, which says nothing."""
    code = "import time; from app.bench.worker.life import die_with_parent; die_with_parent(); time.sleep(600)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RINGSIDE_GUARD": "4194305-1"}

    done = subprocess.run([sys.executable, "-c", code], env=environment, timeout=SECONDS, check=False)

    assert done.returncode == 1


def test_a_neighbour_of_the_same_mark_is_left_alone(start: Start) -> None:
    """Two nodes of a batch system can be one machine."""
    one, other = start("--mark", "job"), start("--mark", "job")
    one.wait_for(3)
    other.wait_for(3)

    one.hang_up()
    one.end()

    assert one.left == []
    assert all(map(process.is_alive, other.born))


def test_orphans_that_have_ended_do_not_pile_up(start: Start) -> None:
    guard = start(family="many-orphans")

    assert guard.end() == 0
    assert "zombies: 0" in guard.lines


def test_more_memory_than_the_cap_ends_the_run(start: Start) -> None:
    guard = start("--memory", str(200 * MIB), family="eat")

    assert guard.end() == 128 + signal.SIGTERM
    assert guard.left == []
    assert [(problem.kind, problem.text) for problem in guard.problems] == [("memory-cap", "> 200.0 MiB")]


def test_memory_that_two_processes_share_counts_once(start: Start) -> None:
    guard = start("--memory", str(320 * MIB), family="share")

    assert guard.end() == 0
    assert guard.problems == []


def test_a_limit_of_the_system_is_the_launchers_own_affair(start: Start) -> None:
    guard = start(family="limited")

    assert guard.end() == 1
    assert guard.problems == []
    assert guard.process.stderr is not None
    assert b"MemoryError" in guard.process.stderr.read()


def test_the_kernels_kill_for_want_of_memory_is_told_with_the_limit(start: Start) -> None:
    with small_group(limit_bytes=200 * MIB) as group:
        guard = start(family="lose-child", group=group)
        code = guard.end()

    assert "the child ended with -9" in guard.lines
    assert code == 1
    assert [problem.kind for problem in guard.problems] == ["oom-killed"]
    assert guard.problems[0].text == f"200.0 MiB (cgroup {group.name})"


def test_a_launcher_that_waits_for_a_child_the_kernel_killed_is_ended(start: Start) -> None:
    with small_group(limit_bytes=200 * MIB) as group:
        guard = start(family="eat", group=group)
        code = guard.end()

    assert code == 128 + signal.SIGTERM
    assert [problem.kind for problem in guard.problems] == ["oom-killed"]


def test_a_kill_among_strangers_of_the_same_group_is_passed_over(start: Start) -> None:
    with small_group(limit_bytes=200 * MIB) as group:
        guard = start(command=("sleep", "8"), group=group)
        join = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group)]
        hog = subprocess.run([*join, sys.executable, str(FAMILY), "lose-child"], capture_output=True, check=False)

        assert b"ended with -9" in hog.stdout
        assert guard.end() == 0
    assert guard.problems == []


def test_a_second_guard_of_the_same_lock_is_refused_and_told_who_has_it(start: Start) -> None:
    first = start("--lock", "gpus")
    first.wait_for(3)
    second = start("--lock", "gpus")
    stranger = start("--lock", "cpu", command=("true",))

    assert second.end() == 1
    assert [(problem.kind, problem.text) for problem in second.problems] == [
        ("devices-busy", f"pid {first.process.pid} (gpus)")
    ]
    assert stranger.end() == 0


def test_the_lock_goes_with_its_holder(start: Start) -> None:
    first = start("--lock", "gpus")
    first.wait_for(3)
    first.process.kill()
    first.process.wait()

    assert start("--lock", "gpus", command=("true",)).end() == 0


def test_a_lock_that_cannot_be_made_refuses_too(start: Start, tmp_path: Path) -> None:
    in_the_way = tmp_path / f"ringside-{os.getuid()}"
    in_the_way.write_text("a file", encoding="ascii")

    guard = start("--lock", "gpus", command=("true",))

    assert guard.end() == 1
    assert [(problem.kind, problem.text) for problem in guard.problems] == [
        ("devices-busy", f"{in_the_way}: File exists")
    ]


def test_a_command_that_does_not_exist_is_told(start: Start) -> None:
    guard = start(command=("/nothing/here",))

    assert guard.end() == 127
    assert [(problem.kind, problem.text) for problem in guard.problems] == [
        ("launcher-failed", "/nothing/here: No such file or directory")
    ]


def test_a_file_that_is_no_program_is_told(start: Start, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("1 2 3", encoding="ascii")

    guard = start(command=(str(tmp_path / "data"),))

    assert guard.end() == 126
    assert [problem.kind for problem in guard.problems] == ["launcher-failed"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the command to run is missing"),
        (["--"], "the command to run is missing"),
        (["--memory", "2 GiB", "--", "true"], "no number of bytes"),
        (["--quiet-seconds", "nan", "--", "true"], "no number of seconds"),
        (["--lock", "../x", "--", "true"], "no name"),
        (["--mark", "a b", "--", "true"], "no spaces"),
        (["--quiet", "3", "--", "true"], "unrecognized arguments"),
        (["true"], "unrecognized arguments"),
    ],
)
def test_options_that_make_no_sense_are_refused(worker: Path, arguments: list[str], message: str) -> None:
    done = subprocess.run(
        [sys.executable, str(worker), "guard", *arguments], capture_output=True, text=True, timeout=SECONDS, check=False
    )

    assert done.returncode == 2
    assert message in done.stderr


def test_a_reader_that_is_gone_does_not_keep_the_guard_from_its_work(start: Start) -> None:
    guard = start(family="die")
    guard.wait_for(3)
    assert guard.process.stdout is not None
    guard.process.stdout.close()

    assert guard.process.wait(SECONDS) == 128 + signal.SIGKILL
    assert guard.left == []


@pytest.mark.parametrize(
    "kind", ["memory-cap", "oom-killed", "driver-lost", "devices-busy", "stray-left", "launcher-killed"]
)
def test_what_a_guard_says_is_explained(kind: str) -> None:
    assert kind in kinds()


@pytest.mark.gloo
def test_real_ranks_run_to_their_end_under_guard(start: Start, tmp_path: Path) -> None:
    spec = small_spec(operations=("all_reduce",), sizes=(1000,))
    prepare(tmp_path, spec)
    launch = local.commands(spec, tmp_path)

    guard = start("--memory", str(8 * 1024 * MIB), command=("env", "GLOO_SOCKET_IFNAME=lo", *launch.arguments))

    assert guard.end() == 0
    assert not [problem for problem in guard.problems if problem.fatal]
    assert [type(event).__name__ for event in map(decode, guard.lines) if not isinstance(event, LogText)][-1] == "Done"
    assert len(guard.born) == 2
    assert guard.left == []


@pytest.mark.gloo
@pytest.mark.parametrize("victim", ["guard", "launcher", "rank"])
def test_no_rank_outlives_a_kill_9_of_guard_launcher_or_rank(start: Start, tmp_path: Path, victim: str) -> None:
    spec = long_spec()
    prepare(tmp_path, spec)
    launch = local.commands(spec, tmp_path)
    guard = start("--mark", f"kill/{tmp_path.name}", command=("env", "GLOO_SOCKET_IFNAME=lo", *launch.arguments))
    guard.wait_for(2)
    everyone = process.marked("RINGSIDE_RUN", f"kill/{tmp_path.name}")
    guard.born += everyone - set(guard.born)

    match victim:
        case "guard":
            guard.process.kill()
        case "launcher":
            process.send(min(everyone, key=lambda each: int(each.start_time)), signal.SIGKILL)
        case _:
            process.send(guard.born[0], signal.SIGKILL)

    assert guard.end() in (-signal.SIGKILL, 128 + signal.SIGKILL, 1)
    assert guard.left == []
