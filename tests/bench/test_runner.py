"""The runner against a program that speaks the wire and misbehaves; real ranks are in `test_runner_gloo.py`."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.bench import process
from app.bench.home import home_id, lock_path, run_folder
from app.bench.launchers import local
from app.bench.launchers.model import Launch, Node
from app.bench.lock import Lock, is_held
from app.bench.runner import Runner
from app.bench.runs import Run, process_of
from app.bench.store import RunStore
from app.bench.supervise import MARK, Limits, Supervisor
from app.core.clock import utc_now
from app.core.db import Database, sqlite_url
from app.core.schema.bench import bench_run
from tests.conftest import NOON
from tests.hardware.rows import row, spec

ROOT = Path(__file__).parent.parent.parent
STUB = Path(__file__).parent / "stub_ranks.py"
SHORT = Limits(margin_seconds=0.2, grace_seconds=0.3)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def database(data: Path) -> Iterator[Database]:
    database = Database(sqlite_url(data / "ringside.sqlite3"))
    database.migrate()
    yield database
    database.dispose()


@pytest.fixture
def store(data: Path, database: Database) -> RunStore:
    return RunStore(database, home=home_id(data))


def stub(behaviour: str) -> Node:
    """This machine, where a run is the stub instead of torchrun."""
    return node_of(Launch(arguments=(sys.executable, str(STUB), behaviour), environment={"PYTHONPATH": str(ROOT)}))


def node_of(launch: Launch) -> Node:
    return replace(local.node, launcher=replace(local.launcher, commands=lambda _spec, _folder, _settings: launch))


def run_to_the_end(store: RunStore, data: Path, behaviour: str, *, limits: Limits = SHORT) -> Run:
    run_id = store.enqueue(spec(), node="local", now=NOON)
    make_runner(store, data, behaviour, limits=limits).work()
    assert process.marked(MARK, f"{home_id(data)}/{run_id}") == set()
    return store.get(run_id)


def make_runner(store: RunStore, data: Path, behaviour: str, *, limits: Limits = SHORT) -> Runner:
    return runner_of(store, data, stub(behaviour), limits=limits)


def runner_of(store: RunStore, data: Path, node: Node, *, limits: Limits = SHORT) -> Runner:
    locks = data.parent / "locks"
    return Runner(
        store, data=data, nodes=lambda: {"local": node}, clock=utc_now, idle_seconds=0.05, locks=locks, limits=limits
    )


def wait_for(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in 30 s"
        time.sleep(0.02)


def test_a_run_that_ends_well_is_stored_whole(store: RunStore, data: Path) -> None:
    run = run_to_the_end(store, data, "finish")

    assert (run.status, run.finished, run.drift_percent, run.rows) == ("done", True, 0.5, 2)
    assert run.environment is not None
    assert run.gemm is not None
    assert run.command[1] == str(STUB)
    assert not is_held(lock_path(data))


def test_wrong_values_make_the_run_unusable(store: RunStore, data: Path) -> None:
    run = run_to_the_end(store, data, "wrong")

    assert run.status == "wrong"
    assert not run.is_usable


def test_rubbish_between_the_events_is_passed_over(store: RunStore, data: Path) -> None:
    run = run_to_the_end(store, data, "garbage")

    assert (run.status, run.rows) == ("done", 2)


def test_a_killed_rank_is_named_and_the_rows_before_it_are_kept(store: RunStore, data: Path) -> None:
    run = run_to_the_end(store, data, "die")

    assert run.status == "crashed"
    assert (run.problems[0].kind, run.problems[0].rank) == ("rank-killed", 1)
    assert store.rows(run.id) == (row(1024, 10.0),)
    assert any("exitcode" in line for line in run.log)


def test_a_ranks_own_exception_comes_before_its_peers_complaints(store: RunStore, data: Path) -> None:
    run = run_to_the_end(store, data, "raise")

    assert run.status == "crashed"
    assert [(problem.kind, problem.rank) for problem in run.problems] == [("exception", 1), ("connection-lost", None)]


def test_silence_in_a_row_ends_the_run_and_keeps_what_was_measured(store: RunStore, data: Path) -> None:
    run = run_to_the_end(store, data, "hang")

    assert (run.status, run.rows) == ("timeout", 1)
    assert run.problems[0].kind == "silent"
    assert "2048" in run.problems[0].text


def test_silence_before_the_ranks_have_met_names_those_that_are_missing(store: RunStore, data: Path) -> None:
    run = run_to_the_end(store, data, "silent-start")

    assert run.status == "init_failed"
    assert "0, 1" in run.problems[0].text


def test_a_killed_launcher_is_recognised_and_its_ranks_are_ended(store: RunStore, data: Path) -> None:
    run = run_to_the_end(store, data, "kill-myself")

    assert run.status == "crashed"
    assert run.problems[0].kind == "launcher-killed"
    assert not any(map(process.is_alive, map(process_of, run.started)))


def test_endless_output_is_stopped(store: RunStore, data: Path) -> None:
    run = run_to_the_end(store, data, "flood", limits=replace(SHORT, output_bytes=1_000_000))

    assert (run.status, run.problems[0].kind) == ("crashed", "flood")
    assert max(map(len, run.log)) <= 500


def test_the_time_limit_keeps_a_partial_result(store: RunStore, data: Path) -> None:
    run = run_to_the_end(store, data, "run-on", limits=replace(SHORT, seconds=2.0))

    assert (run.status, run.problems[0].kind, run.rows) == ("partial", "too-long", 1)


def test_a_full_disk_is_told_before_anything_is_started(store: RunStore, data: Path) -> None:
    run = run_to_the_end(store, data, "finish", limits=replace(SHORT, free_disk_bytes=1 << 60))

    assert (run.status, run.problems[0].kind, run.command) == ("launch_failed", "disk-full", ())


def test_a_run_that_cannot_fit_is_told_before_anything_is_started(store: RunStore, data: Path) -> None:
    run_id = store.enqueue(replace(spec(ranks=1024), sizes=(16 * 1024**3,)), node="local", now=NOON)

    make_runner(store, data, "finish").work()

    run = store.get(run_id)
    assert (run.status, run.command, run.rows) == ("launch_failed", (), 0)
    assert [problem.kind for problem in run.problems] == ["too-little-memory"]


def test_a_command_that_cannot_be_started_is_told(store: RunStore, data: Path) -> None:
    run_id = store.enqueue(spec(), node="local", now=NOON)

    runner_of(store, data, node_of(Launch((str(data / "nothing-here"),)))).work()

    run = store.get(run_id)
    assert (run.status, run.problems[0].kind) == ("launch_failed", "launcher-failed")


def test_a_stopped_run_ends_every_process_even_those_that_ignore_sigterm(store: RunStore, data: Path) -> None:
    run_id = store.enqueue(spec(), node="local", now=NOON)
    runner = threading.Thread(target=make_runner(store, data, "run-on").work)
    runner.start()
    wait_for(lambda: store.get(run_id).rows == 1)
    workers = list(map(process_of, store.get(run_id).started))
    assert len(workers) == 2
    assert all(map(process.is_alive, workers))

    store.request_stop(run_id, now=NOON)
    runner.join(30)

    run = store.get(run_id)
    assert (run.status, run.rows) == ("cancelled", 1)
    assert not any(map(process.is_alive, workers))
    assert process.marked(MARK, f"{home_id(data)}/{run_id}") == set()


def abandon(store: RunStore, data: Path, behaviour: str) -> tuple[int, Supervisor]:
    """A run whose runner vanished right after it had started the launcher."""
    run_id = store.enqueue(spec(), node="local", now=NOON)
    run = store.claim(run_id, now=NOON)
    assert run is not None
    supervisor = Supervisor(
        run,
        node=stub(behaviour),
        store=store,
        folder=run_folder(data, run_id),
        mark=f"{home_id(data)}/{run_id}",
        clock=utc_now,
    )
    supervisor.start()
    return run_id, supervisor


def test_a_run_that_outlived_its_runner_is_taken_over_with_all_its_rows(store: RunStore, data: Path) -> None:
    run_id, supervisor = abandon(store, data, "run-on")
    wait_for(lambda: (run_folder(data, run_id) / "events.log").read_bytes().count(b'"Row"') == 1)

    runner = threading.Thread(target=make_runner(store, data, "finish").work)
    runner.start()
    wait_for(lambda: store.get(run_id).rows == 1)
    assert store.get(run_id).status == "running"
    store.request_stop(run_id, now=NOON)
    runner.join(30)

    assert supervisor._child is not None
    assert supervisor._child.wait(5) != 0
    assert store.get(run_id).status == "cancelled"
    assert process.marked(MARK, f"{home_id(data)}/{run_id}") == set()


def test_a_run_that_ended_while_no_runner_watched_is_closed_by_what_it_wrote(store: RunStore, data: Path) -> None:
    run_id, supervisor = abandon(store, data, "finish")
    assert supervisor._child is not None
    supervisor._child.wait(30)

    make_runner(store, data, "finish").work()

    run = store.get(run_id)
    assert (run.status, run.rows, run.finished) == ("done", 2, True)


def test_a_run_that_never_started_is_closed(store: RunStore, data: Path) -> None:
    """The runner died before it could start the launcher, or so it looks."""
    run_id = store.enqueue(spec(), node="local", now=NOON)
    assert store.claim(run_id, now=NOON) is not None

    make_runner(store, data, "finish").work()

    run = store.get(run_id)
    assert (run.status, run.problems[0].kind) == ("launch_failed", "runner-lost")


def test_a_launcher_whose_pid_was_never_stored_is_found_by_its_mark(
    store: RunStore, data: Path, database: Database
) -> None:
    run_id, supervisor = abandon(store, data, "run-on")
    with database.write() as connection:
        connection.execute(bench_run.update().values(leader=None, started_ranks=[]))
    store.request_stop(run_id, now=NOON)

    make_runner(store, data, "finish").work()

    assert supervisor._child is not None
    assert supervisor._child.wait(5) != 0
    assert store.get(run_id).status == "cancelled"
    assert process.marked(MARK, f"{home_id(data)}/{run_id}") == set()


def test_a_second_runner_leaves_the_folder_to_the_first(store: RunStore, data: Path) -> None:
    me = process.identify(1) or process.ProcessId(1, "0")
    first = Lock(lock_path(data))
    assert first.acquire(me)

    assert not make_runner(store, data, "finish").work()

    first.release()
    assert make_runner(store, data, "finish").work()


def test_runs_are_worked_one_after_the_other(store: RunStore, data: Path) -> None:
    ids = [store.enqueue(spec(), node="local", now=NOON) for _ in range(3)]

    make_runner(store, data, "finish").work()

    runs = [store.get(run_id) for run_id in ids]
    assert [run.status for run in runs] == ["done"] * 3
    ends, starts = [run.ended_at for run in runs], [run.started_at for run in runs]
    assert all(
        end is not None and start is not None and end <= start for end, start in zip(ends, starts[1:], strict=False)
    )
