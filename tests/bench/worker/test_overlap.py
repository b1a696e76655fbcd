"""Compute beside communication: real ranks, and what can be seen of a work that says little."""

import math
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from app.bench.events import Phase
from app.bench.result import RunResult
from app.bench.worker.overlap import SHARED_CORES, STARTERS
from app.bench.worker.sides import CpuSides
from tests.bench.ranks import left_after, small_spec, start


@pytest.mark.gloo
def test_each_operation_that_training_overlaps_is_measured_at_two_sizes(extras_run: RunResult) -> None:
    by_operation = {name: [event for event in extras_run.overlaps if event.operation == name] for name in STARTERS}

    assert len(extras_run.overlaps) == sum(map(len, by_operation.values()))
    for events in by_operation.values():
        sizes = [event.size_bytes for event in events]
        assert 1 <= len(sizes) <= 2
        assert len(sizes) == 1 or sizes[1] * 16 <= sizes[0]
        for event in events:
            assert (event.ranks, event.dtype, event.label) == (3, "float", SHARED_CORES)
            assert event.repeats >= 5


@pytest.mark.gloo
def test_hidden_follows_from_the_three_times(extras_run: RunResult) -> None:
    for event in extras_run.overlaps:
        saved = event.communication_us + event.compute_us - event.both_us

        assert event.hidden == pytest.approx(saved / min(event.communication_us, event.compute_us), abs=1e-3)
        assert event.compute_slowdown is not None
        assert event.compute_slowdown * event.compute_us <= event.both_us * 1.01
        if event.communication_slowdown is not None:
            assert event.communication_slowdown * event.communication_us <= event.both_us * 1.01


@pytest.mark.gloo
def test_sides_of_unequal_length_are_said(extras_run: RunResult) -> None:
    unequal = [
        event for event in extras_run.overlaps if not 0.499 <= event.compute_us / event.communication_us <= 2.002
    ]
    notes = [problem for problem in extras_run.problems if problem.kind == "overlap-unbalanced"]

    assert len(notes) >= len(unequal)
    for event in unequal:
        assert any(f"{event.operation} at {event.size_bytes} bytes" in note.text for note in notes)


@pytest.mark.gloo
def test_what_cannot_overlap_is_said_and_the_run_goes_on(tmp_path: Path) -> None:
    spec = small_spec(ranks=1, operations=("all_reduce",), sizes=(1024,), gemm_seconds=0, extras=("overlap", "links"))
    with start(spec, tmp_path) as session:
        list(session)

    assert session.result.finished
    notes = [problem.text for problem in session.result.problems if problem.kind == "extra-skipped"]
    assert [text.partition(":")[0] for text in notes] == ["links", "overlap"]
    assert (session.result.overlaps, session.result.links) == ((), ())


@pytest.mark.gloo
def test_a_rank_killed_meanwhile_is_named_and_what_was_measured_is_kept(tmp_path: Path) -> None:
    spec = small_spec(operations=("all_reduce",), sizes=(4096, 1 << 20), extras=("overlap",), extra_seconds=60)
    with start(spec, tmp_path) as session:
        for event in session:
            if isinstance(event, Phase) and event.name == "overlap":
                (victim,) = [started for started in session.result.started if started.rank == 1]
                os.kill(victim.pid, signal.SIGKILL)
        ranks = [(started.pid, started.start_ticks) for started in session.result.started]

    cause = session.judge()[1][0]
    assert (cause.kind, cause.rank) in {("rank-killed", 1), ("rank-lost", 1)}
    assert len(session.result.rows) == 2
    assert session.result.gemm is not None
    assert left_after(ranks, seconds=0) == []


class Work:
    """A collective under way that ends with `wait`, or was over before anybody asked."""

    def __init__(self, *, is_over: bool) -> None:
        self.is_over = is_over
        self.waited = 0

    def get_future(self) -> Any:
        raise RuntimeError("not implemented")

    def is_completed(self) -> bool:
        return self.is_over

    def wait(self) -> None:
        self.waited += 1


@pytest.mark.parametrize("is_over", [True, False])
def test_the_end_of_a_collective_is_known_only_if_it_outlasts_the_product(*, is_over: bool) -> None:
    work = Work(is_over=is_over)

    taken = CpuSides().run(lambda: work, 1, lambda: None, 3)

    assert math.isnan(taken.communication) == is_over
    assert taken.compute <= taken.both
    assert work.waited == 1


def test_a_collective_alone_lasts_until_its_wait_returns() -> None:
    taken = CpuSides().run(lambda: Work(is_over=True), 1, lambda: None, 0)

    assert taken.communication == taken.both


def test_products_alone_start_no_collective() -> None:
    done: list[int] = []

    taken = CpuSides().run(lambda: pytest.fail("started"), 0, lambda: done.append(1), 4)

    assert len(done) == 4
    assert taken.compute == taken.both
