"""The guard and memory: its own cap, limits of the system, and the kernel's kills, for real."""

import signal
import subprocess
import sys

from tests.bench.worker.cgroups import small_group
from tests.bench.worker.guarded import FAMILY, MIB, Start


def test_more_memory_than_the_cap_ends_the_run(guarded: Start) -> None:
    guard = guarded("--memory", str(200 * MIB), family="eat")

    assert guard.end() == 128 + signal.SIGTERM
    assert guard.left == []
    assert [(problem.kind, problem.text) for problem in guard.problems] == [("memory-cap", "> 200.0 MiB")]


def test_memory_that_two_processes_share_counts_once(guarded: Start) -> None:
    guard = guarded("--memory", str(320 * MIB), family="share")

    assert guard.end() == 0
    assert guard.problems == []


def test_a_limit_of_the_system_is_the_launchers_own_affair(guarded: Start) -> None:
    guard = guarded(family="limited")

    assert guard.end() == 1
    assert guard.problems == []
    assert guard.process.stderr is not None
    assert b"MemoryError" in guard.process.stderr.read()


def test_the_kernels_kill_for_want_of_memory_is_told_with_the_limit(guarded: Start) -> None:
    with small_group(limit_bytes=200 * MIB) as group:
        guard = guarded(family="lose-child", group=group)
        code = guard.end()

    assert "the child ended with -9" in guard.lines
    assert code == 1
    assert [problem.kind for problem in guard.problems] == ["oom-killed"]
    assert guard.problems[0].text == f"200.0 MiB (cgroup {group.name})"


def test_a_launcher_that_waits_for_a_child_the_kernel_killed_is_ended(guarded: Start) -> None:
    with small_group(limit_bytes=200 * MIB) as group:
        guard = guarded(family="eat", group=group)
        code = guard.end()

    assert code == 128 + signal.SIGTERM
    assert [problem.kind for problem in guard.problems] == ["oom-killed"]


def test_a_kill_among_strangers_of_the_same_group_is_passed_over(guarded: Start) -> None:
    with small_group(limit_bytes=200 * MIB) as group:
        guard = guarded(command=("sleep", "8"), group=group)
        join = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group)]
        hog = subprocess.run([*join, sys.executable, str(FAMILY), "lose-child"], capture_output=True, check=False)

        assert b"ended with -9" in hog.stdout
        assert guard.end() == 0
    assert guard.problems == []
