"""The guard with real process trees: whatever ends first, nothing is left."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.bench import process
from app.bench.diagnosis.explain import kinds
from app.bench.launchers import local
from app.bench.launchers.package import prepare
from app.bench.wire import LogText, decode
from tests.bench.ranks import long_spec, small_spec
from tests.bench.worker.guarded import MIB, ROOT, SECONDS, Start


def test_the_launchers_output_and_exit_code_pass_through(guarded: Start) -> None:
    guard = guarded("--mark", "home/7", command=("sh", "-c", "echo $RINGSIDE_RUN; cat; exit 5"))

    assert guard.end() == 5
    assert guard.lines[0] == "home/7"
    assert guard.problems == []


def test_a_closed_input_ends_the_whole_family(guarded: Start) -> None:
    guard = guarded("--mark", "home/8")
    guard.wait_for(3)

    guard.hang_up()

    assert guard.end() == 128 + signal.SIGTERM
    assert guard.left == []
    assert process.marked("RINGSIDE_RUN", "home/8") == set()
    assert guard.problems == []


def test_a_silent_input_ends_the_family_and_says_so(guarded: Start) -> None:
    guard = guarded("--quiet-seconds", "3")
    guard.wait_for(3)

    assert guard.end() == 128 + signal.SIGTERM
    assert guard.left == []
    assert [(problem.kind, problem.text) for problem in guard.problems] == [("driver-lost", "3 s")]


def test_bytes_on_the_input_keep_the_run_alive(guarded: Start) -> None:
    guard = guarded("--quiet-seconds", "2", command=("sleep", "4"))
    while guard.process.poll() is None:
        guard.beat()
        time.sleep(0.1)

    assert guard.end() == 0
    assert guard.problems == []


def test_a_guard_without_input_does_not_look_at_it(guarded: Start) -> None:
    guard = guarded("--no-stdin", "--quiet-seconds", "0.1", command=("sh", "-c", "sleep 1; exit 4"))
    guard.hang_up()

    assert guard.end() == 4


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_guard_ends_the_family(guarded: Start, number: signal.Signals) -> None:
    guard = guarded()
    guard.wait_for(3)

    guard.process.send_signal(number)

    assert guard.end() == 128 + signal.SIGTERM
    assert guard.left == []


def test_a_launcher_that_was_killed_is_named_and_its_children_follow(guarded: Start) -> None:
    guard = guarded(family="die")

    assert guard.end() == 128 + signal.SIGKILL
    assert guard.left == []
    assert len(guard.born) == 3
    assert [problem.kind for problem in guard.problems] == ["launcher-killed"]
    assert "9 (SIGKILL)" in guard.problems[0].text


def test_what_a_launcher_leaves_behind_is_ended(guarded: Start) -> None:
    guard = guarded(family="leave")

    assert guard.end() == 3
    assert len(guard.born) == 3
    assert guard.left == []
    assert guard.problems == []


def test_a_killed_guard_takes_the_launcher_and_the_ranks_with_it(guarded: Start) -> None:
    guard = guarded(family="faithful")
    guard.wait_for(2)

    guard.process.kill()

    assert guard.left == []


def test_a_rank_that_starts_after_its_guard_has_died_ends_at_once() -> None:
    """Its launcher is dead too by then, so its parent is init, which says nothing."""
    code = "import time; from app.bench.worker.life import die_with_parent; die_with_parent(); time.sleep(600)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RINGSIDE_GUARD": "4194305-1"}

    done = subprocess.run([sys.executable, "-c", code], env=environment, timeout=SECONDS, check=False)

    assert done.returncode == 1


def test_a_neighbour_of_the_same_mark_is_left_alone(guarded: Start) -> None:
    """Two nodes of a batch system can be one machine."""
    one, other = guarded("--mark", "job"), guarded("--mark", "job")
    one.wait_for(3)
    other.wait_for(3)

    one.hang_up()
    one.end()

    assert one.left == []
    assert all(map(process.is_alive, other.born))


def test_orphans_that_have_ended_do_not_pile_up(guarded: Start) -> None:
    guard = guarded(family="many-orphans")

    assert guard.end() == 0
    assert "zombies: 0" in guard.lines


def test_a_second_guard_of_the_same_lock_is_refused_and_told_who_has_it(guarded: Start) -> None:
    first = guarded("--lock", "gpus")
    first.wait_for(3)
    second = guarded("--lock", "gpus")
    stranger = guarded("--lock", "cpu", command=("true",))

    assert second.end() == 1
    assert [(problem.kind, problem.text) for problem in second.problems] == [
        ("devices-busy", f"pid {first.process.pid} (gpus)")
    ]
    assert stranger.end() == 0


def test_the_lock_goes_with_its_holder(guarded: Start) -> None:
    first = guarded("--lock", "gpus")
    first.wait_for(3)
    first.process.kill()
    first.process.wait()

    assert guarded("--lock", "gpus", command=("true",)).end() == 0


def test_a_lock_that_cannot_be_made_refuses_too(guarded: Start, tmp_path: Path) -> None:
    in_the_way = tmp_path / f"ringside-{os.getuid()}"
    in_the_way.write_text("a file", encoding="ascii")

    guard = guarded("--lock", "gpus", command=("true",))

    assert guard.end() == 1
    assert [(problem.kind, problem.text) for problem in guard.problems] == [
        ("devices-busy", f"{in_the_way}: File exists")
    ]


def test_a_command_that_does_not_exist_is_told(guarded: Start) -> None:
    guard = guarded(command=("/nothing/here",))

    assert guard.end() == 127
    assert [(problem.kind, problem.text) for problem in guard.problems] == [
        ("launcher-failed", "/nothing/here: No such file or directory")
    ]


def test_a_file_that_is_no_program_is_told(guarded: Start, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("1 2 3", encoding="ascii")

    guard = guarded(command=(str(tmp_path / "data"),))

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
def test_options_that_make_no_sense_are_refused(worker_zip: Path, arguments: list[str], message: str) -> None:
    done = subprocess.run(
        [sys.executable, str(worker_zip), "guard", *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    assert done.returncode == 2
    assert message in done.stderr


def test_a_reader_that_is_gone_does_not_keep_the_guard_from_its_work(guarded: Start) -> None:
    guard = guarded(family="die")
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
def test_real_ranks_run_to_their_end_under_guard(guarded: Start, tmp_path: Path) -> None:
    spec = small_spec(operations=("all_reduce",), sizes=(1000,))
    prepare(tmp_path, spec)
    launch = local.commands(spec, tmp_path)

    guard = guarded("--memory", str(8 * 1024 * MIB), command=("env", "GLOO_SOCKET_IFNAME=lo", *launch.arguments))

    assert guard.end() == 0
    assert not [problem for problem in guard.problems if problem.fatal]
    assert [type(event).__name__ for event in map(decode, guard.lines) if not isinstance(event, LogText)][-1] == "Done"
    assert len(guard.born) == 2
    assert guard.left == []


@pytest.mark.gloo
@pytest.mark.parametrize("victim", ["guard", "launcher", "rank"])
def test_no_rank_outlives_a_kill_9_of_guard_launcher_or_rank(guarded: Start, tmp_path: Path, victim: str) -> None:
    spec = long_spec()
    prepare(tmp_path, spec)
    launch = local.commands(spec, tmp_path)
    guard = guarded("--mark", f"kill/{tmp_path.name}", command=("env", "GLOO_SOCKET_IFNAME=lo", *launch.arguments))
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
