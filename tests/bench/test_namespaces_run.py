"""Whole runs on hosts in network namespaces: how slow they are, and what is left when one is ended, killed or refused."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.bench import process
from app.bench.diagnosis.explain import explain
from app.bench.drivers.namespaces import MARK, MARK_FILE
from app.bench.events import Hello, Row
from app.bench.launchers.model import Launch
from app.bench.launchers.package import prepare
from app.bench.launchers.session import Session
from app.bench.process import ProcessId
from app.bench.result import RunResult
from app.bench.runner import Runner
from app.bench.spec import RunSpec
from app.bench.store import RunStore
from app.core.clock import utc_now
from app.core.db import Database, sqlite_url
from tests.bench.drivers.sshd import program
from tests.bench.networks import network_namespaces, node, own_namespace, require_namespaces, words
from tests.bench.ranks import long_spec, small_spec

pytestmark = [pytest.mark.gloo, pytest.mark.usefixtures("allowed")]

_LESS = ("--inh-caps=-sys_admin,-net_admin", "--bounding-set=-sys_admin,-net_admin")
"""Without these capabilities root is as powerless here as any user."""


@pytest.fixture
def allowed() -> None:
    require_namespaces()


def test_a_slow_network_is_slow_and_hides_behind_the_product(tmp_path: Path) -> None:
    """Through the runner, as from the Bench page: 100 Mbit/s are 12.5 MB/s, of which TCP leaves 95 %."""
    database = Database(sqlite_url(tmp_path / "ringside.sqlite3"))
    database.migrate()
    store = RunStore(database, home="here")
    spec = small_spec(
        operations=("all_reduce",),
        sizes=(262144, 1 << 20),
        hosts=2,
        extras=("links", "overlap"),
        extra_seconds=4.0,
    )
    run_id = store.enqueue(spec, node="slow", now=utc_now())

    Runner(
        store,
        data=tmp_path,
        nodes=lambda: {"slow": node()},
        clock=utc_now,
        idle_seconds=0.1,
        locks=tmp_path / "locks",
    ).work()

    run, result = store.get(run_id), store.result(run_id)
    database.dispose()
    assert (run.status, [problem for problem in run.problems if problem.fatal]) == ("done", []), run.log
    assert run.environment is not None
    assert run.environment.hosts == ("host-0", "host-1")
    rates = [row.out_of_place.busbw_gb_per_s or 0 for row in result.rows]
    rates += [link.one_way_gb_per_s for link in result.links]
    assert len(rates) == 4
    assert all(0.5 < rate / 0.0125 < 1.1 for rate in rates), rates
    lap = max(result.overlaps, key=lambda each: each.size_bytes)
    shorter = min(lap.communication_us, lap.compute_us)
    assert lap.both_us < lap.communication_us + lap.compute_us - 0.2 * shorter, lap


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take rights away from itself")
def test_a_user_namespace_does_as_well_as_root(tmp_path: Path) -> None:
    spec = small_spec(operations=("all_reduce",), sizes=(65536,), hosts=2, gemm_seconds=0)

    with session(tmp_path, spec, is_root=False) as running:
        heard = list(running)

    assert running.judge()[0] == "done", running.log
    assert [event.environment.hosts for event in heard if isinstance(event, Hello)] == [("host-0", "host-1")]
    assert len(running.result.rows) == 1


def test_a_host_that_is_lost_is_told_and_rows_are_kept(tmp_path: Path) -> None:
    with measuring(tmp_path) as running:
        launchers = [each for each in of_run(tmp_path) if "torch.distributed.run" in words(each)]
        hosts = {own_namespace(each.pid): each for each in launchers if words(each)[0] != "env"}
        assert len(hosts) == 2, [words(each) for each in launchers]
        os.kill(next(iter(hosts.values())).pid, signal.SIGKILL)
        list(running)

    status, found = running.judge()
    assert status == "crashed"
    assert found[0].kind == "launcher-killed", found
    assert "rows so far are kept" in explain(found[0]).remedy.en
    assert running.result.rows
    assert not of_run(tmp_path)


def test_leaving_in_the_middle_leaves_no_process_and_no_namespace(tmp_path: Path) -> None:
    with measuring(tmp_path) as running:
        used = networks_of(running, tmp_path)
        assert len(used) == 3  # two hosts, and the switch between them

    assert running.judge(is_cancelled=True)[0] == "cancelled"
    assert not of_run(tmp_path)
    assert not used & network_namespaces()


def test_a_killed_driver_leaves_nothing_either(tmp_path: Path) -> None:
    with measuring(tmp_path, cleans=False) as running:
        used = networks_of(running, tmp_path)
        os.kill(running.launcher.pid, signal.SIGKILL)
        list(running)
        cleaned = call(node().clean(tmp_path), tmp_path)

    assert cleaned.returncode == 0, cleaned.stderr
    assert running.result.rows
    assert not of_run(tmp_path)
    assert not used & network_namespaces()


def test_more_hosts_than_the_node_has_are_refused(tmp_path: Path) -> None:
    with session(tmp_path, small_spec(ranks=3, hosts=3)) as running:
        list(running)

    status, found = running.judge()
    assert (status, [problem.kind for problem in found]) == ("launch_failed", ["too-few-hosts"])
    assert explain(found[0]).message.en.endswith("3 > 2.")


# ---------------------------------------------------------------------------------------------------------------------


def session(folder: Path, spec: RunSpec, *, is_root: bool = True, cleans: bool = True) -> Session:
    there = node()
    prepare(folder, spec, node=there)
    launch = there.commands(spec, folder)
    if not is_root:
        launch = Launch((program("setpriv", package="util-linux"), *_LESS, *launch.arguments), launch.environment)
    clean = there.clean(folder) if cleans else None
    return Session(launch, folder=folder, result=RunResult(spec=spec), is_here=False, clean=clean)


@contextmanager
def measuring(folder: Path, *, cleans: bool = True) -> Iterator[Session]:
    """A long run past its first row."""
    spec = long_spec()
    with session(
        folder, RunSpec(**{**{name: getattr(spec, name) for name in spec.__slots__}, "hosts": 2}), cleans=cleans
    ) as running:
        for event in running:
            if isinstance(event, Row):
                break
        assert running.result.rows, (running.result.problems, running.log)
        yield running


def call(launch: Launch | None, folder: Path) -> "subprocess.CompletedProcess[bytes]":
    assert launch is not None
    environment = {**os.environ, **launch.environment}
    return subprocess.run(launch.arguments, env=environment, capture_output=True, check=False, cwd=folder)


def of_run(folder: Path) -> set[ProcessId]:
    """The processes of the run in `folder`, but for its driver."""
    return process.marked(MARK, (folder / MARK_FILE).read_text(encoding="ascii"))


def networks_of(running: Session, folder: Path) -> set[str]:
    """The networks that the run has and this test has not."""
    everyone = {running.launcher, *of_run(folder)}
    return {own_namespace(each.pid) for each in everyone} - {own_namespace(), ""}
