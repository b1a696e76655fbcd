"""Real ranks over Gloo: what they measure, how they fail and that none is left."""

import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from app.bench import wire
from app.bench.events import Heartbeat, Measurement, Problem, Row
from app.bench.launchers.package import WORKER, prepare
from app.bench.launchers.session import Session
from app.bench.result import RunResult
from app.bench.spec import RunSpec
from tests.bench.ranks import left_after, long_spec, site_packages, small_spec, start

pytestmark = pytest.mark.gloo

FACTORS = {"all_reduce": Fraction(1), "all_gather": Fraction(1, 2), "reduce_scatter": Fraction(1, 2)}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunResult, list[str]]:
    """A complete run by plain torchrun, in a folder that holds the worker alone and with no way to import this app."""
    folder = tmp_path_factory.mktemp("node")
    spec = small_spec()
    prepare(folder, spec)
    python = getattr(sys, "_base_executable", sys.executable)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": site_packages(), "OMP_NUM_THREADS": "1"}
    away = subprocess.run(
        [python, "-c", "import app"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert "No module named 'app'" in away.stderr
    arguments = ["-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1", "--nproc-per-node=2"]
    done = subprocess.run(
        [python, *arguments, WORKER, "spec.json"], cwd=folder, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    result = RunResult(spec=spec)
    noise: list[str] = []
    for line in done.stdout.splitlines():
        for event in wire.decode_all(line):
            result = result.add(event)
            if isinstance(event, wire.LogText):
                noise.append(event.text)
    return result, noise


def test_the_worker_needs_only_itself_and_torch(alone: tuple[RunResult, list[str]]) -> None:
    result, noise = alone

    assert result.finished
    assert noise == []
    assert {started.rank for started in result.started} == {0, 1}
    assert [problem for problem in result.problems if problem.fatal] == []


def test_every_operation_and_size_gives_a_consistent_row(alone: tuple[RunResult, list[str]]) -> None:
    result, _ = alone

    assert [(row.operation, row.size_bytes) for row in result.rows] == [
        ("all_reduce", 1000),
        ("all_reduce", 65536),
        ("all_reduce", 1048576),
        ("all_gather", 992),
        ("all_gather", 65536),
        ("all_gather", 1048576),
        ("reduce_scatter", 992),
        ("reduce_scatter", 65536),
        ("reduce_scatter", 1048576),
    ]
    for row in result.rows:
        assert (row.dtype, row.ranks, row.root) == ("float", 2, -1)
        assert row.count == row.size_bytes // 4 // (1 if row.operation == "all_reduce" else 2)
        assert row.label == ("all-reduce inside" if row.operation == "reduce_scatter" else None)
        assert (row.in_place is None) == (row.operation == "all_reduce")
        for half in halves(row):
            assert half.wrong == 0
            assert half.algbw_gb_per_s == pytest.approx(row.size_bytes / half.time_us / 1e3, rel=1e-9)
            assert half.busbw_gb_per_s == pytest.approx(half.algbw_gb_per_s * float(FACTORS[row.operation]), rel=1e-9)
            assert 0 < half.minimum_us <= half.average_us + 1e-3 <= half.time_us + 2e-3
            assert half.slowest_rank in (0, 1)
            assert len(half.batches_us) == 3


def test_environment_and_gemm_are_reported(alone: tuple[RunResult, list[str]]) -> None:
    result, _ = alone

    assert result.environment is not None
    assert (result.environment.backend, result.environment.timing) == ("gloo", "blocking")
    assert result.environment.threads_per_rank == 1
    assert result.gemm is not None
    assert {rate.dtype for rate in result.gemm.rates} == {"float", "bfloat16"}
    best = max(result.gemm.rates, key=lambda rate: rate.tflop_per_s)
    assert (result.gemm.best_dtype, result.gemm.tflop_per_s) == (best.dtype, best.tflop_per_s)
    assert result.drift_percent is not None


def test_a_killed_rank_is_named_and_rows_are_kept(tmp_path: Path) -> None:
    with start(long_spec(), tmp_path) as session:
        for event in session:
            if isinstance(event, Row):
                (victim,) = [started for started in session.result.started if started.rank == 1]
                os.kill(victim.pid, signal.SIGKILL)
                break
        list(session)

    cause = session.judge()[1][0]
    assert (cause.kind, cause.rank) in {("rank-killed", 1), ("rank-lost", 1)}
    assert len(session.result.rows) >= 1
    assert not session.result.finished
    assert left_after([(started.pid, started.start_ticks) for started in session.result.started], seconds=0) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda number: number.name)
def test_no_rank_outlives_torchrun(tmp_path: Path, number: signal.Signals) -> None:
    with start(long_spec(), tmp_path) as session:
        for event in session:
            if isinstance(event, Row):
                break
        ranks = [(started.pid, started.start_ticks) for started in session.result.started]
        os.kill(session.launcher.pid, number)

        left = left_after(ranks)

    assert len(ranks) == 2
    assert left == []


def test_a_rank_that_raises_is_reported_with_its_error(tmp_path: Path) -> None:
    with start(small_spec(backend="nccl"), tmp_path) as session:
        list(session)

    cause = session.judge()[1][0]
    assert cause.kind == "no-gpu"
    assert session.result.rows == ()


def test_a_wrong_number_of_ranks_is_reported(tmp_path: Path) -> None:
    spec = small_spec(ranks=2)
    prepare(tmp_path, spec)
    environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    done = subprocess.run(
        [sys.executable, WORKER, "spec.json"], cwd=tmp_path, env=environment, capture_output=True, check=False
    )

    (problem,) = [event for event in map(wire.decode, done.stdout.splitlines()) if isinstance(event, Problem)]
    assert done.returncode == 1
    assert problem.kind == "world-size"


def endless(operation: str) -> RunSpec:
    """One operation for so long that it is surely interrupted."""
    return small_spec(
        operations=(operation,), sizes=(4096,), budget_seconds=60.0, batches=50, gemm_seconds=0, timeout_seconds=2
    )


def signal_rank_1(session: Session, number: signal.Signals) -> None:
    """Send a signal to rank 1 as soon as the ranks have measured for a second."""
    next(event for event in session if isinstance(event, Heartbeat))
    (victim,) = [started for started in session.result.started if started.rank == 1]
    os.kill(victim.pid, number)


def halves(row: Row) -> list[Measurement]:
    return [half for half in (row.out_of_place, row.in_place) if half is not None]
