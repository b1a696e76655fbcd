from datetime import timedelta

import pytest

from app.bench.events import Environment, Problem, RankStarted
from app.bench.process import ProcessId
from app.bench.runs import Progress
from app.bench.store import RunStore
from app.core.db import Database
from app.core.errors import Conflict, NotFound
from tests.conftest import NOON
from tests.hardware.rows import gemm, row, spec


@pytest.fixture
def store(database: Database) -> RunStore:
    return RunStore(database, home="here")


def enqueue(store: RunStore) -> int:
    return store.enqueue(spec(), node="local", now=NOON)


def running(store: RunStore) -> int:
    run_id = enqueue(store)
    assert store.claim(run_id, now=NOON) is not None
    return run_id


def environment() -> Environment:
    return Environment(
        backend="gloo",
        torch="2.13.0",
        python="3.11.7",
        platform="Linux",
        cpu="a CPU",
        cores=2,
        memory_bytes=1 << 30,
        threads_per_rank=1,
        timing="blocking",
        hosts=("here",),
        devices=("cpu", "cpu"),
    )


def test_waiting_runs_come_oldest_first_and_are_claimed_once(store: RunStore) -> None:
    first, second = enqueue(store), enqueue(store)

    assert [run.id for run in store.waiting()] == [first, second]
    claimed = [store.claim(run_id, now=NOON) for run_id in (first, second, second)]

    assert [run and run.id for run in claimed] == [first, second, None]
    assert store.waiting() == []
    assert [run.id for run in store.running()] == [first, second]


def test_another_home_on_the_same_database_sees_a_run_but_never_claims_it(store: RunStore, database: Database) -> None:
    run_id = enqueue(store)
    elsewhere = RunStore(database, home="elsewhere")

    assert elsewhere.waiting() == []
    assert not elsewhere.has_waiting()
    assert elsewhere.get(run_id).status == "queued"


def test_everything_reported_comes_back_as_it_was(store: RunStore) -> None:
    run_id = running(store)
    rows = (row(1024, 10.0), row(2048, 12.5, operation="reduce_scatter", label="all-reduce inside"))
    progress = Progress(heard_at=NOON, phase="measuring", operation="all_reduce", size_bytes=2048, done=1, total=2)
    problem = Problem(kind="noisy", text="drift", rank=1, fatal=False)
    leader = ProcessId(10, "77")
    started = tuple(RankStarted(rank=rank, pid=11 + rank, start_ticks=78, host="here") for rank in range(2))

    store.started(run_id, command=["torchrun", "worker.pyz"], leader=leader)
    store.set_started(run_id, started)
    store.set_environment(run_id, environment())
    store.set_progress(run_id, progress)
    for position, each in enumerate(rows):
        store.append_row(run_id, position, each)
    store.set_gemm(run_id, gemm())
    store.finish(run_id, "done", now=NOON, problems=[problem], log=["a", "b"], drift_percent=1.5, finished=True)

    run = store.get(run_id)
    assert (run.status, run.leader, run.started, run.command) == (
        "done",
        leader,
        started,
        ("torchrun", "worker.pyz"),
    )
    assert (run.progress, run.environment, run.gemm, run.problems) == (progress, environment(), gemm(), (problem,))
    assert (run.log, run.drift_percent, run.finished, run.rows) == (("a", "b"), 1.5, True, 2)
    assert store.result(run_id).rows == rows


def test_a_row_read_twice_from_the_log_is_kept_once(store: RunStore) -> None:
    """After a restart the runner reads the run's log again from its beginning."""
    run_id = running(store)
    store.append_row(run_id, 0, row(1024, 10.0))

    store.append_row(run_id, 0, row(1024, 99.0))

    assert store.rows(run_id) == (row(1024, 10.0),)


def test_text_with_a_nul_byte_is_kept_without_it(store: RunStore) -> None:
    run_id = running(store)

    store.finish(run_id, "crashed", now=NOON, problems=[Problem(kind="x", text="a\x00b")], log=["c\x00d"])

    run = store.get(run_id)
    assert run.problems[0].text == "a\ufffdb"
    assert run.log == ("c\ufffdd",)


def test_stopping_a_waiting_run_cancels_it_at_once(store: RunStore) -> None:
    run_id = enqueue(store)

    run = store.request_stop(run_id, now=NOON)

    assert (run.status, run.ended_at) == ("cancelled", NOON)
    assert store.claim(run_id, now=NOON) is None


def test_stopping_a_running_run_leaves_the_ending_to_the_runner(store: RunStore) -> None:
    run_id = running(store)
    assert not store.is_stop_requested(run_id)

    run = store.request_stop(run_id, now=NOON)

    assert run.status == "running"
    assert store.is_stop_requested(run_id)


def test_stopping_an_ended_run_changes_nothing(store: RunStore) -> None:
    run_id = running(store)
    store.finish(run_id, "done", now=NOON)

    run = store.request_stop(run_id, now=NOON + timedelta(hours=1))

    assert (run.status, run.ended_at, run.stop_requested) == ("done", NOON, False)


def test_an_active_run_cannot_be_deleted(store: RunStore) -> None:
    run_id = running(store)

    with pytest.raises(Conflict, match="Cancel it first"):
        store.delete(run_id)

    assert store.get(run_id).status == "running"


def test_a_deleted_run_is_gone_with_its_rows_and_its_id_is_not_used_again(store: RunStore) -> None:
    run_id = running(store)
    store.append_row(run_id, 0, row(1024, 10.0))
    store.finish(run_id, "done", now=NOON)

    store.delete(run_id)

    with pytest.raises(NotFound):
        store.get(run_id)
    assert store.rows(run_id) == ()
    assert enqueue(store) > run_id


def test_only_runs_that_ended_well_with_rows_are_offered_as_hardware(store: RunStore) -> None:
    made = {}
    for status in ("done", "partial", "wrong", "crashed", "cancelled"):
        made[status] = running(store)
        store.append_row(made[status], 0, row(1024, 10.0))
        store.finish(made[status], status, now=NOON)
    store.finish(running(store), "done", now=NOON)

    assert store.usable_ids() == [made["partial"], made["done"]]


def test_the_newest_run_comes_first(store: RunStore) -> None:
    first, second = enqueue(store), enqueue(store)

    assert [run.id for run in store.newest()] == [second, first]
    assert [run.id for run in store.newest(limit=1)] == [second]
