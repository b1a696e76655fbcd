"""Ranks that die, hang, leave, print rubbish or want too much memory."""

import signal
from dataclasses import replace

import pytest

from app.bench import process
from tests.bench.failures.scene import QUICK, Scene, torchrun, wait_for
from tests.bench.ranks import long_spec, small_spec

pytestmark = pytest.mark.gloo


def test_a_rank_that_is_killed_is_named_and_costs_no_row(scene: Scene) -> None:
    found = scene.run(torchrun("none"), meanwhile=scene.signal(signal.SIGKILL))

    assert (found.run.status, found.run.problems[0].rank) == ("crashed", 1)
    assert found.says("Rank 1", remedy="Rows so far are kept")
    assert found.run.rows >= 1


def test_a_rank_that_is_killed_before_it_could_report_is_named_all_the_same(scene: Scene) -> None:
    """torchrun's own list of failures says which one it was."""

    def kill_early(run_id: int) -> None:
        def ranks() -> list[process.ProcessId]:
            leader = scene.store.get(run_id).leader
            return sorted(process.descendants(leader), key=lambda each: each.pid) if leader else []

        wait_for(lambda: len(ranks()) >= 2, what="both ranks")
        process.send(ranks()[1], signal.SIGKILL)

    found = scene.run(torchrun("none"), meanwhile=kill_early)

    assert found.run.problems[0].rank is not None
    assert found.kind in ("rank-killed", "rank-lost")


@pytest.mark.parametrize("defect", ["stopped", "spin"])
def test_a_rank_that_hangs_ends_the_run_after_the_time_limit_of_a_collective(scene: Scene, defect: str) -> None:
    number = signal.SIGSTOP if defect == "stopped" else signal.SIGUSR1

    found = scene.run(
        torchrun("spin"),
        replace(long_spec(), timeout_seconds=3),
        meanwhile=scene.signal(number),
    )

    assert (found.run.status, found.kind) == ("timeout", "timeout")
    assert found.says("did not finish in its time limit", remedy="A rank hangs or is stopped")
    assert found.run.rows >= 1


def test_an_exception_in_one_rank_is_told_in_its_own_words(scene: Scene) -> None:
    found = scene.run(torchrun("raise"), meanwhile=scene.set_off())

    assert (found.run.status, found.kind, found.run.problems[0].rank) == ("crashed", "exception", 1)
    assert found.says("Rank 1 stopped with an error: ValueError: the 7th value is not a number", remedy="log")
    assert found.run.rows >= 1


def test_a_rank_that_leaves_early_is_blamed_and_not_the_one_that_stayed(scene: Scene) -> None:
    """torchrun names the survivor, because the other one ended with 0."""
    found = scene.run(torchrun("leave"), meanwhile=scene.set_off())

    assert (found.run.status, found.kind, found.run.problems[0].rank) == ("crashed", "rank-lost", 1)
    assert found.says("Rank 1 died", remedy="Rows so far are kept")
    assert found.run.rows >= 1


def test_a_rank_that_never_comes_is_missed(scene: Scene) -> None:
    found = scene.run(torchrun("exit-before"), small_spec(timeout_seconds=3))

    assert (found.run.status, found.kind, found.run.rows) == ("init_failed", "ranks-missing", 0)
    assert found.says("The ranks did not find each other (missing: rank 1)", remedy="firewall")


def test_memory_that_the_system_refuses_is_told(scene: Scene) -> None:
    found = scene.run(torchrun("hit-limit"), meanwhile=scene.set_off())

    assert (found.run.status, found.run.problems[0].rank) == ("crashed", 1)
    assert found.says("could not get the memory", remedy="raise the memory limit")


def test_more_memory_than_the_runs_own_cap_ends_it(scene: Scene) -> None:
    cap = 2 * 1024**3

    found = scene.run(torchrun("eat"), replace(long_spec(), memory_bytes=cap), meanwhile=scene.set_off())

    assert (found.run.status, found.kind) == ("crashed", "memory-cap")
    assert found.says("more memory than the run's cap", remedy="raise the cap")
    assert found.run.rows >= 1


def test_rubbish_between_the_events_changes_nothing(scene: Scene) -> None:
    spec = small_spec(sizes=tuple(1024 << place for place in range(8)), budget_seconds=0.2)

    found = scene.run(torchrun("rubbish"), spec, meanwhile=scene.set_off(rank=0))

    assert found.run.status == "done"
    assert found.run.rows == len(spec.sizes) * len(spec.operations)


def test_a_rank_that_prints_for_ever_is_ended_before_the_disk_is_full(scene: Scene) -> None:
    limits = replace(QUICK, output_bytes=4_000_000)

    found = scene.run(torchrun("flood"), meanwhile=scene.set_off(), limits=limits)

    assert (found.run.status, found.kind) == ("crashed", "flood")
    assert found.says("printed more than its limit", remedy="NCCL_DEBUG")
    assert found.run.rows >= 1
    assert max(map(len, found.run.log), default=0) <= 500
