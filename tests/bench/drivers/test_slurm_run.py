"""Runs on a real two-node Slurm cluster, through the runner: what a run's page says of them, and that no process is left."""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.bench import nodes, process
from app.bench.diagnosis.explain import explain
from app.bench.drivers.slurm_record import Record
from app.bench.home import home_id, run_folder
from app.bench.launchers.model import Node
from app.bench.runner import Runner
from app.bench.runs import Run
from app.bench.spec import RunSpec
from app.bench.store import RunStore
from app.bench.supervise import Limits, Supervisor
from app.core.clock import utc_now
from app.core.db import Database, sqlite_url
from tests.bench.drivers.slurm_cluster import Cluster, cluster
from tests.bench.ranks import small_spec

pytestmark = pytest.mark.gloo

LONG = small_spec(operations=("all_reduce",), sizes=tuple(1024 << place for place in range(12)), budget_seconds=2.0)


@pytest.fixture(scope="session")
def running() -> Iterator[Cluster]:
    with cluster() as found:
        yield found


@pytest.fixture
def slurm(running: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """The cluster, found by what this test starts; afterwards nothing of any run is left."""
    monkeypatch.setenv("SLURM_CONF", running.conf)
    yield running
    assert running.jobs() == {}
    running.wait_for(lambda: running.processes() == set(), "a process of a run is left")
    assert list(running.folder.iterdir()) == []


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def store(data: Path) -> Iterator[RunStore]:
    database = Database(sqlite_url(data / "ringside.sqlite3"))
    database.migrate()
    yield RunStore(database, home=home_id(data))
    database.dispose()


class Runs:
    """The runs of one test on one node, worked by a runner in a thread."""

    def __init__(self, store: RunStore, data: Path, node: Node) -> None:
        self.store = store
        self._data = data
        self._node = node
        self._threads: list[threading.Thread] = []

    def begin(self, spec: RunSpec) -> int:
        run_id = self.store.enqueue(spec, node=self._node.name, now=utc_now())
        self.work()
        return run_id

    def work(self) -> None:
        runner = Runner(
            self.store,
            data=self._data,
            nodes=lambda: {self._node.name: self._node},
            clock=utc_now,
            idle_seconds=0.05,
            locks=self._data.parent / "locks",
            limits=Limits(),
        )
        self._threads.append(threading.Thread(target=runner.work))
        self._threads[-1].start()

    def supervisor(self, run: Run) -> Supervisor:
        return Supervisor(
            run,
            node=self._node,
            store=self.store,
            folder=self.folder(run.id),
            mark=f"{home_id(self._data)}/{run.id}",
            clock=utc_now,
        )

    def folder(self, run_id: int) -> Path:
        return run_folder(self._data, run_id)

    def job(self, run_id: int) -> str:
        record = Record.read(self.folder(run_id))
        assert record is not None
        assert record.job is not None
        return record.job

    def wait_for(self, run_id: int, happened: Callable[[Run], bool]) -> Run:
        """The run once it `happened`; a run that ends before that fails the test with what it said."""
        wait_for(lambda: happened(run := self.store.get(run_id)) or not run.is_active, self.said(run_id))
        run = self.store.get(run_id)
        assert happened(run), f"{run.status}: {self.said(run_id)()}"
        return run

    def ended(self, run_id: int) -> Run:
        run = self.wait_for(run_id, lambda run: not run.is_active)
        for thread in self._threads:
            thread.join(60)
        return run

    def said(self, run_id: int) -> Callable[[], str]:
        files = ("events.log", "launcher.log")
        return lambda: "\n".join(
            path.read_text(errors="replace")[-3000:] for name in files if (path := self.folder(run_id) / name).exists()
        )


def wait_for(happened: Callable[[], bool], said: Callable[[], str], *, seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"it did not happen in {seconds} s: {said()}"
        time.sleep(0.05)


@pytest.fixture
def make(slurm: Cluster, store: RunStore, data: Path) -> Iterator[Callable[..., Runs]]:
    made: list[Runs] = []

    def runs(**changes: Any) -> Runs:
        made.append(Runs(store, data, nodes.make("cluster", slurm.settings(**changes))))
        return made[-1]

    yield runs
    for run in store.newest():
        store.request_stop(run.id, now=utc_now())
        made[-1].ended(run.id)


def measuring(run: Run) -> bool:
    return run.rows >= 1 and len(run.started) == 2


@pytest.mark.parametrize("hosts", [1, 2])
def test_a_job_measures_every_size_and_leaves_nothing(make: Callable[..., Runs], hosts: int) -> None:
    runs = make()
    spec = small_spec(hosts=hosts)
    run_id = runs.begin(spec)

    run = runs.ended(run_id)

    assert run.status == "done", runs.said(run_id)()
    assert [row.operation for row in runs.store.rows(run_id)] == [each for each in spec.operations for _ in spec.sizes]
    assert {each.rank for each in run.started} == {0, 1}
    assert run.environment is not None
    assert run.environment.backend == "gloo"
    assert run.command[0].startswith("sbatch --parsable ")
    assert run.progress is not None
    assert run.progress.job is not None
    assert (run.progress.job.system, run.progress.job.state) == ("slurm", "COMPLETED")


@pytest.mark.parametrize("spec", [small_spec(), small_spec(hide_host=True)], ids=["shown", "hidden"])
def test_a_waiting_job_says_why_and_a_stop_takes_it_back(
    make: Callable[..., Runs], slurm: Cluster, spec: RunSpec
) -> None:
    runs = make()
    slurm.set_nodes("drain")
    try:
        run_id = runs.begin(spec)
        run = runs.wait_for(run_id, lambda run: bool(run.progress and run.progress.job and run.progress.job.reason))
        assert run.progress is not None
        assert run.progress.phase == "waiting"
        assert run.progress.job is not None
        assert run.progress.job.state == "PENDING"
        assert any(words in str(run.progress.job.reason) for words in ("ReqNodeNotAvail", "DOWN"))
        assert not (spec.hide_host and "n[1-2]" in str(run.progress.job.reason))
        assert slurm.jobs() == {run.progress.job.id: "PENDING"}

        runs.store.request_stop(run_id, now=utc_now())

        assert runs.ended(run_id).status == "cancelled"
        assert slurm.jobs() == {}
    finally:
        slurm.set_nodes("resume")


def test_a_job_that_asks_for_more_nodes_than_there_are_waits(make: Callable[..., Runs], slurm: Cluster) -> None:
    runs = make()
    run_id = runs.begin(small_spec(ranks=3, hosts=3))
    run = runs.wait_for(run_id, lambda run: bool(run.progress and run.progress.job and run.progress.job.reason))
    assert run.progress is not None
    assert run.progress.job is not None
    assert run.progress.job.state == "PENDING"
    assert str(run.progress.job.reason).startswith("Partition")

    runs.store.request_stop(run_id, now=utc_now())

    assert runs.ended(run_id).status == "cancelled"


def test_a_running_job_is_taken_back_with_its_ranks(make: Callable[..., Runs]) -> None:
    runs = make()
    run_id = runs.begin(LONG)
    runs.wait_for(run_id, measuring)

    runs.store.request_stop(run_id, now=utc_now())

    run = runs.ended(run_id)
    assert run.status == "cancelled"
    assert run.rows >= 1
    assert not any(problem.fatal for problem in run.problems)


def test_the_time_limit_keeps_the_rows(make: Callable[..., Runs], slurm: Cluster) -> None:
    runs = make()
    run_id = runs.begin(LONG)
    runs.wait_for(run_id, measuring)

    slurm.ask("scontrol", "update", f"JobId={runs.job(run_id)}", "EndTime=now+1")

    run = runs.ended(run_id)
    assert run.problems[0].kind == "slurm-timeout"
    assert "5 min" in explain(run.problems[0], log=run.log).message.en
    assert run.rows >= 1


def test_somebody_elses_scancel_is_named(make: Callable[..., Runs], slurm: Cluster) -> None:
    runs = make()
    run_id = runs.begin(LONG)
    runs.wait_for(run_id, measuring)

    slurm.ask("scancel", runs.job(run_id))

    run = runs.ended(run_id)
    assert run.problems[0].kind == "slurm-cancelled"
    assert run.rows >= 1


def test_a_job_that_slurm_does_not_take_says_why_in_slurms_words(make: Callable[..., Runs]) -> None:
    runs = make(partition="nope")

    run = runs.ended(runs.begin(small_spec()))

    assert (run.status, run.problems[0].kind) == ("launch_failed", "slurm-rejected")
    assert "nvalid partition" in run.problems[0].text


def test_a_host_without_slurm_says_so(make: Callable[..., Runs]) -> None:
    runs = make(bin_folder="/nothing/here")

    run = runs.ended(runs.begin(small_spec()))

    assert (run.status, run.problems[0].kind) == ("launch_failed", "slurm-missing")


def test_a_folder_that_cannot_be_made_is_named(make: Callable[..., Runs]) -> None:
    runs = make(folder="/proc/ringside")

    run = runs.ended(runs.begin(small_spec()))

    assert (run.status, run.problems[0].kind) == ("launch_failed", "slurm-no-folder")


def test_a_folder_that_the_compute_nodes_do_not_share_is_suspected(make: Callable[..., Runs], slurm: Cluster) -> None:
    """On one machine every folder is shared, so it is taken away before the job starts."""
    runs = make()
    slurm.set_nodes("drain")
    run_id = runs.begin(small_spec())
    runs.wait_for(run_id, lambda run: bool(run.progress and run.progress.job))
    record = Record.read(runs.folder(run_id))
    assert record is not None
    for path in (*Path(record.folder).iterdir(), Path(record.folder)):
        path.rmdir() if path.is_dir() else path.unlink()

    slurm.set_nodes("resume")

    run = runs.ended(run_id)
    assert (run.status, run.problems[0].kind) == ("launch_failed", "slurm-no-output")


def test_an_interface_that_the_nodes_do_not_have_is_named_before_ranks_hang(make: Callable[..., Runs]) -> None:
    runs = make(interface="eth99")

    run = runs.ended(runs.begin(small_spec(hosts=2)))

    assert run.problems[0].kind == "no-interface"
    assert "eth99" in run.problems[0].text


def test_a_run_that_hides_its_hosts_shows_none(make: Callable[..., Runs]) -> None:
    runs = make()
    run_id = runs.begin(small_spec(hide_host=True, operations=("all_reduce",), sizes=(1024,)))

    assert runs.ended(run_id).status == "done", runs.said(run_id)()
    said = (runs.folder(run_id) / "events.log").read_text()
    assert '"event":"HostReady"' in said
    assert f'"host":"{socket.gethostname()}"' not in said
    assert "127.0.0.1" not in said


def test_python_without_torch_is_told(make: Callable[..., Runs]) -> None:
    runs = make(python=str(Path(sys.base_prefix, "bin", "python3")))

    run = runs.ended(runs.begin(small_spec()))

    assert run.status == "launch_failed"
    assert "PyTorch is not installed" in explain(run.problems[0], log=run.log).message.en


def test_a_killed_rank_is_named_on_the_node_where_it_died(make: Callable[..., Runs]) -> None:
    runs = make()
    run_id = runs.begin(LONG)
    run = runs.wait_for(run_id, measuring)
    victim = next(each for each in run.started if each.rank == 1)

    os.kill(victim.pid, signal.SIGKILL)

    run = runs.ended(run_id)
    assert run.status == "crashed"
    assert run.problems[0].rank == 1, run.problems
    assert run.rows >= 1


def test_a_killed_driver_leaves_no_job(make: Callable[..., Runs], slurm: Cluster) -> None:
    runs = make()
    run_id = runs.begin(LONG)
    leader = runs.wait_for(run_id, measuring).leader
    assert leader is not None

    process.send(leader, signal.SIGKILL)

    run = runs.ended(run_id)
    assert run.problems[0].kind == "launcher-killed"
    assert run.rows >= 1
    assert slurm.jobs() == {}


def test_a_run_that_outlived_its_runner_is_taken_over(make: Callable[..., Runs]) -> None:
    runs = make()
    run_id = runs.store.enqueue(small_spec(), node="cluster", now=utc_now())
    run = runs.store.claim(run_id, now=utc_now())
    assert run is not None
    former = runs.supervisor(run)
    former.start()

    runs.work()

    run = runs.ended(run_id)
    assert former._child is not None
    assert former._child.wait(10) == 0
    assert (run.status, run.rows) == ("done", 9)


def test_a_run_goes_on_while_the_controller_is_down(make: Callable[..., Runs], slurm: Cluster) -> None:
    runs = make()
    run_id = runs.begin(replace(LONG, sizes=LONG.sizes[:5]))
    before = runs.wait_for(run_id, measuring).rows

    slurm.stop("slurmctld")
    try:
        runs.wait_for(run_id, lambda run: run.rows > before)
    finally:
        slurm.start("slurmctld", "-D", "-f", slurm.conf)

    assert runs.ended(run_id).status == "done", runs.said(run_id)()
