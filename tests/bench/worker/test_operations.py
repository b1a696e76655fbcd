"""All ten operations by real ranks over Gloo: rows, what is left out, single calls, and ranks that die or hang in them."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.bench.diagnosis.explain import explain
from app.bench.events import Heartbeat, Measurement, Problem, Row
from app.bench.launchers.session import Session
from app.bench.result import RunResult
from app.bench.spec import OPERATIONS, RunSpec
from app.bench.worker.collectives import collectives
from app.bench.worker.latency import LARGEST_BYTES, MINIMUM_CALLS
from tests.bench.ranks import left_after, small_spec, start

pytestmark = pytest.mark.gloo


def test_every_operation_runs_with_three_ranks_and_another_root(everything: RunResult) -> None:
    rows = {(row.operation, row.size_bytes): row for row in everything.rows}

    assert everything.finished
    assert {name for name, _ in rows} == set(OPERATIONS)
    for row in everything.rows:
        assert (row.dtype, row.ranks) == ("bfloat16", 3)
        assert row.root == (2 if row.operation in ("broadcast", "reduce", "gather", "scatter") else -1)
        assert row.redop == ("max" if "reduce" in row.operation else "none")
        assert {half.wrong for half in halves(row)} == {0}
        assert row.out_of_place.minimum_us > 1  # the rank that sits out of a ping-pong does nothing in less
        factor = collectives()[row.operation].bus_factor(3)
        assert row.out_of_place.busbw_gb_per_s == pytest.approx(row.out_of_place.algbw_gb_per_s * float(factor))
    assert {name for name, _ in rows if rows[name, _].in_place} == {"all_gather", "reduce_scatter", "gather", "scatter"}


def test_small_and_equal_sizes_are_left_out_and_said(everything: RunResult) -> None:
    sizes = {name: [row.size_bytes for row in everything.rows if row.operation == name] for name in OPERATIONS}
    whole, parts = [8, 1000, 1006, 100_000], [960, 99_984]
    notes = [problem for problem in everything.problems if problem.kind == "size-skipped"]

    for name in OPERATIONS:
        is_in_parts = name in ("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter")
        assert sizes[name] == (parts if is_in_parts else whole)
    assert len(notes) == 5
    assert all("1 sizes" in note.text and not note.fatal for note in notes)


def test_single_calls_of_small_sizes_are_timed(everything: RunResult) -> None:
    small = [(row.operation, row.size_bytes) for row in everything.rows if row.size_bytes <= LARGEST_BYTES]

    assert [(found.operation, found.size_bytes) for found in everything.latencies] == small
    for found in everything.latencies:
        assert (found.dtype, found.ranks) == ("bfloat16", 3)
        assert found.calls >= MINIMUM_CALLS
        assert 0 < found.minimum_us <= found.p50_us <= found.p99_us
    assert RunResult.from_json(everything.to_json()) == everything


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """All operations by three ranks, with a root and a reduction that are not the defaults."""
    spec = small_spec(
        operations=OPERATIONS,
        sizes=(8, 1000, 1007, 100_001),
        ranks=3,
        dtype="bfloat16",
        root=2,
        redop="max",
        budget_seconds=0.001,
        gemm_seconds=0,
        extras=("latency",),
        extra_seconds=0.01,
    )
    return finished(spec, tmp_path_factory.mktemp("everything"))


def test_one_rank_measures_every_operation_but_has_no_bus(tmp_path: Path) -> None:
    result = finished(
        small_spec(ranks=1, operations=OPERATIONS, sizes=(4096,), gemm_seconds=0, hide_host=True), tmp_path
    )

    assert result.finished
    assert [row.operation for row in result.rows] == list(OPERATIONS)
    for row in result.rows:
        assert {(half.busbw_gb_per_s, half.wrong) for half in halves(row)} == {(None, 0)}
    assert result.environment is not None
    assert result.environment.hosts == ("node-0",)
    assert result.started[0].host == "rank-0"


def test_what_the_backend_cannot_do_is_left_out_and_the_rest_runs(tmp_path: Path) -> None:
    spec = small_spec(operations=("all_reduce", "broadcast", "ping_pong"), dtype="f8e4m3", gemm_seconds=0)
    result = finished(spec, tmp_path)
    notes = [problem for problem in result.problems if problem.kind == "not-supported"]

    assert result.finished
    assert {row.operation for row in result.rows} == {"ping_pong"}
    assert {row.out_of_place.wrong for row in result.rows} == {0}
    assert [note.text for note in notes] == [
        "all_reduce with f8e4m3 on gloo: Invalid scalar type",
        "broadcast with f8e4m3 on gloo: Invalid scalar type",
    ]
    assert not any(note.fatal for note in notes)
    assert "left out" in explain(notes[0]).message.en


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"dtype": "f8e5m2", "redop": "min"}, "all_reduce with f8e5m2 (min) on gloo"), ({"sizes": (8,)}, "below one")],
)
def test_a_run_with_nothing_to_measure_says_why(changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    operation = "all_gather" if "sizes" in changes else "all_reduce"
    with start(small_spec(operations=(operation,), gemm_seconds=0, **changes), tmp_path) as session:
        list(session)

    cause = session.judge()[1][0]
    assert cause.kind == "nothing-to-measure"
    assert reason in cause.text
    assert "can be measured here" in explain(cause).message.en
    assert not session.result.finished


def test_every_type_and_reduction_is_exact_and_a_defect_is_caught(tmp_path: Path) -> None:
    script = Path(__file__).with_name("broken_ranks.py")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.fspath(Path.cwd())}
    done = subprocess.run(
        [*command, "--nproc-per-node=3", script, "1"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    counted = next((json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")), None)
    assert counted, done.stderr
    assert {name.split()[0] for name in counted} == set(OPERATIONS)
    assert len(counted) == 224
    assert {name: counts for name, counts in counted.items() if counts != [0, 2]} == {}


@pytest.mark.parametrize(
    "operation", ["all_to_all", "broadcast", "reduce", "gather", "scatter", "send_recv", "ping_pong"]
)
def test_a_rank_killed_in_an_operation_ends_the_run_and_is_named(operation: str, tmp_path: Path) -> None:
    with start(endless(operation), tmp_path) as session:
        signal_rank_1(session, signal.SIGKILL)
        list(session)

    cause = session.judge()[1][0]
    assert (cause.kind, cause.rank) in {("rank-killed", 1), ("rank-lost", 1)}
    assert left_after([(started.pid, started.start_ticks) for started in session.result.started], seconds=0) == []


@pytest.mark.parametrize("operation", ["all_to_all", "ping_pong"])
def test_a_rank_that_hangs_in_an_operation_is_noticed_in_its_time_limit(operation: str, tmp_path: Path) -> None:
    with start(endless(operation), tmp_path) as session:
        signal_rank_1(session, signal.SIGSTOP)
        # torchrun itself would wait another half minute for the stopped rank.
        problem = next((event for event in session if isinstance(event, Problem)), None)

    assert problem is not None
    assert (problem.kind, problem.fatal) == ("timeout", True)
    assert left_after([(started.pid, started.start_ticks) for started in session.result.started], seconds=0) == []


def endless(operation: str) -> RunSpec:
    """One operation for so long that it is surely interrupted."""
    return small_spec(
        operations=(operation,), sizes=(4096,), budget_seconds=60.0, batches=50, gemm_seconds=0, timeout_seconds=5
    )


def signal_rank_1(session: Session, number: signal.Signals) -> None:
    """Send a signal to rank 1 as soon as the ranks have measured for a second."""
    beat = next((event for event in session if isinstance(event, Heartbeat)), None)
    assert beat, session.judge()
    (victim,) = [started for started in session.result.started if started.rank == 1]
    os.kill(victim.pid, number)


def finished(spec: RunSpec, folder: Path) -> RunResult:
    """What a whole run of this machine's launcher brings."""
    with start(spec, folder) as session:
        list(session)
    assert [problem for problem in session.result.problems if problem.fatal] == []
    return session.result


def halves(row: Row) -> list[Measurement]:
    return [half for half in (row.out_of_place, row.in_place) if half is not None]
