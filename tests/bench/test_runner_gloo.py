"""The runner with real ranks: torchrun, Gloo, two processes on this machine."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.bench import process
from app.bench.diagnosis.explain import explain
from app.bench.home import home_id, lock_path
from app.bench.lock import is_held
from app.bench.runner import summon
from app.bench.runs import Run, process_of
from app.bench.spec import RunSpec
from app.bench.store import RunStore
from app.bench.supervise import MARK
from app.core.clock import utc_now
from app.core.db import Database, sqlite_url

pytestmark = pytest.mark.gloo

ROOT = Path(__file__).parent.parent.parent
SHORT = RunSpec(
    operations=("all_reduce", "all_gather"),
    sizes=(1024, 16384, 262144),
    ranks=2,
    budget_seconds=0.02,
    warm_up_seconds=0.02,
    batches=3,
    gemm_seconds=0.2,
)
LONG = RunSpec(operations=("all_reduce",), sizes=(1024, 2048, 4096), ranks=2, budget_seconds=20, batches=50)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def store(data: Path) -> Iterator[RunStore]:
    database = Database(sqlite_url(data / "ringside.sqlite3"))
    database.migrate()
    store = RunStore(database, home=home_id(data))
    yield store
    for run in store.newest():
        store.request_stop(run.id, now=utc_now())
    if store.has_waiting():
        start_runner(data)
    wait_for(lambda: not store.has_waiting())
    wait_for(lambda: not is_held(lock_path(data)))
    database.dispose()


def wait_for(happened: Callable[[], bool], *, seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"it did not happen in {seconds} s"
        time.sleep(0.05)


def start_runner(data: Path) -> bool:
    return summon(data=data, database_url=sqlite_url(data / "ringside.sqlite3"), idle_seconds=0.2)


def begin(store: RunStore, data: Path, spec: RunSpec) -> int:
    run_id = store.enqueue(spec, node="local", now=utc_now())
    assert start_runner(data)
    return run_id


def measuring(store: RunStore, run_id: int) -> Run:
    """The run once its ranks have met and measure."""
    wait_for(lambda: store.get(run_id).environment is not None and len(store.get(run_id).started) == 2)
    wait_for(lambda: (found := store.get(run_id).progress) is not None and found.total > 0)
    return store.get(run_id)


def ended(store: RunStore, run_id: int, data: Path) -> Run:
    """The run once it is over; nothing of it lives any more."""
    wait_for(lambda: not store.get(run_id).is_active)
    run = store.get(run_id)
    assert not any(map(process.is_alive, map(process_of, run.started)))
    assert process.marked(MARK, f"{home_id(data)}/{run_id}") == set()
    return run


def test_a_short_run_measures_every_size_and_the_runner_leaves_when_idle(store: RunStore, data: Path) -> None:
    run_id = begin(store, data, SHORT)

    run = ended(store, run_id, data)

    assert (run.status, run.problems and run.problems[0].fatal) in (("done", False), ("done", ()))
    assert [(row.operation, row.size_bytes) for row in store.rows(run_id)] == [
        (operation, size) for operation in SHORT.operations for size in SHORT.sizes
    ]
    assert run.environment is not None
    assert run.environment.backend == "gloo"
    assert run.gemm is not None
    wait_for(lambda: not is_held(lock_path(data)))


def test_a_stopped_run_leaves_no_process(store: RunStore, data: Path) -> None:
    run_id = begin(store, data, LONG)
    measuring(store, run_id)

    store.request_stop(run_id, now=utc_now())

    assert ended(store, run_id, data).status == "cancelled"


def test_a_killed_rank_is_named(store: RunStore, data: Path) -> None:
    run_id = begin(store, data, LONG)
    started = measuring(store, run_id).started
    victim = next(each for each in started if each.rank == 1)

    os.kill(victim.pid, signal.SIGKILL)

    run = ended(store, run_id, data)
    assert run.status == "crashed"
    assert run.problems[0].rank == 1
    assert "ank 1" in explain(run.problems[0], log=run.log).message.en
    assert run.log


def test_a_killed_launcher_takes_its_ranks_along(store: RunStore, data: Path) -> None:
    run_id = begin(store, data, LONG)
    leader = measuring(store, run_id).leader
    assert leader is not None

    process.send(leader, signal.SIGKILL)

    run = ended(store, run_id, data)
    assert (run.status, run.problems[0].kind) == ("crashed", "launcher-killed")


def test_an_interface_that_does_not_exist_is_named(
    store: RunStore, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "eth99")
    run_id = begin(store, data, SHORT)

    run = ended(store, run_id, data)

    assert run.status == "init_failed"
    assert "eth99" in explain(run.problems[0], log=run.log).message.en


def test_a_killed_runner_loses_no_row_and_the_next_one_takes_over(store: RunStore, data: Path) -> None:
    run_id = begin(store, data, LONG)
    leader = measuring(store, run_id).leader
    assert leader is not None
    (parent,) = {each for each in runners(data) if each.pid == parent_of(leader.pid)}

    process.send(parent, signal.SIGKILL)
    wait_for(lambda: not is_held(lock_path(data)))
    assert process.is_alive(leader)
    assert start_runner(data)

    assert store.get(run_id).status == "running"
    store.request_stop(run_id, now=utc_now())
    assert ended(store, run_id, data).status == "cancelled"
    assert not process.is_alive(leader)


@contextmanager
def server(data: Path, port: int) -> Iterator["subprocess.Popen[bytes]"]:
    environment = {
        **os.environ,
        "RINGSIDE_DATA": str(data),
        "RINGSIDE_HOST": "127.0.0.1",
        "RINGSIDE_PORT": str(port),
        "RINGSIDE_RUNNER_IDLE_SECONDS": "0.2",
    }
    with (data / "server.log").open("ab") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "app", "serve"], cwd=ROOT, env=environment, stdout=log, stderr=log
        )
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def test_a_run_goes_on_when_the_web_server_is_killed_and_its_page_is_there_after_the_restart(
    store: RunStore, data: Path
) -> None:
    import httpx2 as httpx

    def is_up() -> bool:
        try:
            return httpx.get(f"{url}/healthz").status_code == 200
        except httpx.TransportError:
            return False

    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with server(data, port) as child:
        wait_for(is_up)
        choice = {"preset": "quick", "ranks": "2", "operation": "all_reduce"}
        answer = httpx.post(f"{url}/bench/runs", data=choice)
        run_id = int(answer.headers["Location"].rpartition("/")[2])
        before = measuring(store, run_id)
        child.kill()
        child.wait()
    leader = before.leader
    assert leader is not None
    assert process.is_alive(leader)
    wait_for(lambda: store.get(run_id).rows > before.rows)

    with server(data, port):
        wait_for(is_up)
        page = httpx.get(f"{url}/bench/runs/{run_id}").text
        run = ended(store, run_id, data)

    assert f"Run {run_id}" in page
    assert (run.status, run.rows) == ("done", 9)


def runners(data: Path) -> set[process.ProcessId]:
    return process.marked("RINGSIDE_DATA", str(data))


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
