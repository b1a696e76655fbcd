"""Whole runs on hosts behind a real SSH server: how they go, and that nothing is left there whatever happens."""

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.bench import nodes, process
from app.bench.diagnosis.explain import explain, kinds
from app.bench.drivers.ssh import MARK as MARK_FILE
from app.bench.drivers.ssh import Driver
from app.bench.events import Done, HostReady, Problem, RankStarted, Row
from app.bench.launchers.model import Node
from app.bench.launchers.package import SPEC, WORKER, prepare
from app.bench.launchers.session import Session
from app.bench.launchers.ssh import SshSettings
from app.bench.process import ProcessId
from app.bench.result import RunResult
from app.bench.runner import Runner
from app.bench.spec import RunSpec
from app.bench.store import RunStore
from app.bench.wire import decode_all
from app.core.clock import utc_now
from app.core.db import Database, sqlite_url
from tests.bench.drivers.sshd import Server, program, sshd
from tests.bench.ranks import long_spec, small_spec

pytestmark = pytest.mark.gloo


def node(server: Server, **changes: Any) -> Node:
    return nodes.make("gpu", {"launcher": "ssh", **server.settings(**changes)})


def session(folder: Path, spec: RunSpec, there: Node, *, cleans: bool = True) -> Session:
    prepare(folder, spec, node=there)
    clean = there.clean(folder) if cleans else None
    return Session(there.commands(spec, folder), folder=folder, result=RunResult(spec=spec), is_here=False, clean=clean)


@contextmanager
def measuring(folder: Path, server: Server, *, ranks: int = 1, cleans: bool = True) -> Iterator[Session]:
    """A long run past its first row."""
    with session(folder, replace(long_spec(), ranks=ranks), node(server), cleans=cleans) as running:
        for event in running:
            if isinstance(event, Row):
                break
        assert running.result.rows, (running.result.problems, running.log)
        assert len(server.processes()) >= 2 + ranks  # the guard and torchrun too
        yield running


def guard(server: Server) -> ProcessId:
    """The guard's process there: the parent of the one that runs torchrun."""
    guards = [each for each in server.processes() if words(each)[2:3] == ["guard"] and "python" in words(each)[0]]
    assert len(guards) == 1, [words(each) for each in server.processes()]
    return guards[0]


def words(found: ProcessId) -> list[str]:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{found.pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    return []


def left_files(server: Server) -> list[str]:
    """What stands in the node's folder, files only."""
    return sorted(path.name for path in (server.home / "ringside").rglob("*") if path.is_file())


class TestWhole:
    def test_the_runner_sees_it_through(self, server: Server, tmp_path: Path) -> None:
        database = Database(sqlite_url(tmp_path / "ringside.sqlite3"))
        database.migrate()
        store = RunStore(database, home="here")
        there = node(server)
        run_id = store.enqueue(small_spec(), node="gpu", now=utc_now())

        Runner(
            store,
            data=tmp_path,
            nodes=lambda: {"gpu": there},
            clock=utc_now,
            idle_seconds=0.1,
            locks=tmp_path / "locks",
        ).work()

        run, rows = store.get(run_id), store.rows(run_id)
        database.dispose()
        assert (run.status, [problem for problem in run.problems if problem.fatal], run.log) == ("done", [], ())
        assert [row.operation for row in rows[::3]] == ["all_reduce", "all_gather", "reduce_scatter"]
        assert all(row.out_of_place.wrong == 0 for row in rows)
        assert run.environment is not None
        assert run.environment.python == ".".join(map(str, os.sys.version_info[:3]))  # type: ignore[attr-defined]
        server.wait_until_quiet()
        assert [name.partition("-")[0] for name in left_files(server)] == ["worker"]

    def test_two_hosts_meet_and_hide_their_names(self, server: Server, tmp_path: Path) -> None:
        with sshd(address="127.0.0.2") as other:
            server.trust(other)
            there = node(server, hosts=[server.host, other.host])
            spec = small_spec(hosts=2, sizes=(65536,), hide_host=True)
            with session(tmp_path, spec, there) as running:
                heard = list(running)
            other.wait_until_quiet()

        done = [event for event in heard if isinstance(event, Done)]
        ranks = {event.rank: event.host for event in heard if isinstance(event, RankStarted)}
        hosts = [event for event in heard if isinstance(event, HostReady)]
        assert (len(done), running.judge()[0]) == (1, "done"), running.log
        assert ranks == {0: "rank-0", 1: "rank-1"}
        assert [host.host for host in hosts] == ["node-0", "node-1"]
        said = "\n".join(map(str, [*heard, *running.log, there.commands(spec, tmp_path)]))
        assert not [name for name in (server.host, "127.0.0.2", socket.gethostname()) if f" {name}" in said]

    def test_a_taken_port_is_not_the_end(self, server: Server, capfd: pytest.CaptureFixture[str]) -> None:
        """Two hosts, so that there is a meeting point; its port is taken after the probe has found it free."""
        spec = small_spec(hosts=2, sizes=(65536,))
        with sshd() as other, socket.create_server(("127.0.0.1", 0)) as taken:
            server.trust(other)

            async def run() -> int:
                settings = SshSettings(**server.settings(hosts=[server.host, other.host]))
                driver = Driver(settings, settings.hosts, mark="taken", hides=False)
                async with AsyncExitStack() as stack:
                    await driver.connect(stack)
                    found = await driver.prepare(worker=worker(), spec=spec_bytes(spec))
                    try:
                        port = taken.getsockname()[1]
                        return await driver.serve(spec, [replace(found[0], free_port=port), *found[1:]])
                    finally:
                        await driver.end()

            code = asyncio.run(run())

        written = capfd.readouterr()
        events = [event for line in written.out.splitlines() for event in decode_all(line)]
        assert code == 0, written.err
        assert "is taken, trying another" in written.err
        assert [event for event in events if isinstance(event, Done)]

    def test_hostile_paths_and_a_login_that_prints_rubbish_change_nothing(self, tmp_path: Path) -> None:
        greeting = b'Welcome \xff\xfe\n{"ringside":1,"event":"Row"\n' + b"=" * 5000 + b"\n"
        with sshd(greeting=greeting) as server:
            folder = str(server.home / "ringside" / "$(touch owned) 'a' \"b\" ; touch owned")
            with session(tmp_path, small_spec(ranks=1, sizes=(65536,)), node(server, folder=folder)) as running:
                list(running)
            server.wait_until_quiet()
            owned, workers = list(server.home.rglob("owned")), list(Path(folder).glob("worker-*.pyz"))

        assert running.judge()[0] == "done", running.log
        assert (len(running.result.rows), owned, len(workers)) == (3, [], 1)


@pytest.mark.skipif(os.geteuid() != 0, reason="making network namespaces needs root")
def test_two_hosts_in_networks_of_their_own(tmp_path: Path) -> None:
    """The second host is reached only through the first, and both meet over a link that this machine has no part in."""
    with (
        namespaces() as (first, second),
        sshd(address="10.213.1.2", namespace=first) as server,
        sshd(address="10.213.2.2", namespace=second) as other,
    ):
        server.trust(other)
        hosts = [server.host, other.host]
        there = node(server, hosts=hosts, jump=[server.host], addresses=["10.213.2.1", "10.213.2.2"])
        with session(tmp_path, small_spec(hosts=2, sizes=(65536,)), there) as running:
            heard = list(running)
        server.wait_until_quiet()
        other.wait_until_quiet()

    interfaces = [event.interfaces for event in heard if isinstance(event, HostReady)]
    assert running.judge()[0] == "done", running.log
    assert [set(each.values()) - {"127.0.0.1"} for each in interfaces] == [
        {"10.213.1.2", "10.213.2.1"},
        {"10.213.2.2"},
    ]
    assert len(running.result.rows) == 3


@contextmanager
def namespaces() -> Iterator[tuple[str, str]]:
    """Two network namespaces in a row behind this one: 10.213.1.0/24 leads to the first, 10.213.2.0/24 on to the second."""
    token = secrets.token_hex(3)
    first, second = f"ringside-{token}-1", f"ringside-{token}-2"
    near, far = f"rs{token}a", f"rs{token}b"
    try:
        for name in (first, second):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", first)
        ip("-n", first, "link", "add", "inner", "type", "veth", "peer", "name", "outer", "netns", second)
        ip("address", "add", "10.213.1.1/24", "dev", near)
        ip("-n", first, "address", "add", "10.213.1.2/24", "dev", far)
        ip("-n", first, "address", "add", "10.213.2.1/24", "dev", "inner")
        ip("-n", second, "address", "add", "10.213.2.2/24", "dev", "outer")
        ip("link", "set", near, "up")
        ip("-n", first, "link", "set", far, "up")
        ip("-n", first, "link", "set", "inner", "up")
        ip("-n", second, "link", "set", "outer", "up")
        yield first, second
    finally:
        for name in (first, second):
            subprocess.run([program("ip", package="iproute2"), "netns", "delete", name], check=False)


def ip(*arguments: str) -> None:
    done = subprocess.run([program("ip", package="iproute2"), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr}"


class TestEnding:
    def test_a_cancelled_run_leaves_nothing(self, server: Server, tmp_path: Path) -> None:
        with measuring(tmp_path, server, ranks=2) as running:
            pass

        assert server.processes() == set()
        assert running.judge(is_cancelled=True)[0] == "cancelled"
        assert [name.partition("-")[0] for name in left_files(server)] == ["worker"]

    def test_a_killed_driver_takes_its_ranks_along(self, server: Server, tmp_path: Path) -> None:
        with measuring(tmp_path, server, cleans=False) as running:
            process.send(running.launcher, signal.SIGKILL)
            server.wait_until_quiet()
            rows = running.result.rows
        left = left_files(server)

        clean = node(server).clean(tmp_path)
        assert clean is not None
        done = subprocess.run(
            clean.arguments, env={**os.environ, **clean.environment}, capture_output=True, check=False, cwd=tmp_path
        )

        assert rows
        assert running.judge()[1][0].kind == "launcher-killed"
        assert (done.returncode, done.stdout) == (0, b""), done.stderr
        assert ("spec.json" in left, "spec.json" in left_files(server)) == (True, False)

    def test_a_reader_that_is_gone_ends_the_run(self, server: Server, tmp_path: Path) -> None:
        """As when `ringside bench` is killed: nobody is left to tell the driver."""
        there, spec = node(server), replace(long_spec(), ranks=1)
        prepare(tmp_path, spec, node=there)
        launch = there.commands(spec, tmp_path)
        with (tmp_path / "log").open("wb") as log:
            driver = subprocess.Popen(
                launch.arguments, env={**os.environ, **launch.environment}, stdout=subprocess.PIPE, stderr=log
            )
        assert driver.stdout is not None
        for line in driver.stdout:
            if b'"event":"Row"' in line:
                break
        driver.stdout.close()

        assert driver.wait(timeout=60) == 1, (tmp_path / "log").read_text()
        assert server.processes() == set()

    def test_cleaning_kills_what_the_guard_could_not(self, server: Server, tmp_path: Path) -> None:
        """Bug this would catch: a process that outlived its guard is never looked for. Here it is one we start ourselves."""
        prepare(tmp_path, small_spec(), node=node(server))
        (tmp_path / MARK_FILE).write_text("deadbeef")

        async def leave_one() -> None:
            settings = SshSettings(**server.settings())
            driver = Driver(settings, settings.hosts, mark="deadbeef", hides=False)
            async with AsyncExitStack() as stack:
                await driver.connect(stack)
                await driver.prepare(worker=worker(), spec=b"{}")
                stray = "trap '' TERM HUP; RINGSIDE_RUN=deadbeef setsid sleep 600 >/dev/null 2>&1 </dev/null &"
                await driver._hosts[0].remote.run(["sh", "-c", stray])

        asyncio.run(leave_one())
        assert len(server.processes()) >= 1
        clean = node(server).clean(tmp_path)
        assert clean is not None
        done = subprocess.run(
            clean.arguments, env={**os.environ, **clean.environment}, capture_output=True, check=False, cwd=tmp_path
        )

        assert done.returncode == 0, done.stderr
        server.wait_until_quiet()
        assert b"cleaned: 1 0" in done.stderr

    def test_cleaning_what_never_began_is_nothing(self, server: Server, tmp_path: Path) -> None:
        there = node(server)
        prepare(tmp_path, small_spec(), node=there)
        clean = there.clean(tmp_path)
        assert clean is not None

        done = subprocess.run(clean.arguments, env={**os.environ, **clean.environment}, check=False, cwd=tmp_path)

        assert done.returncode == 0
        assert "Accepted" not in server.log()

    def test_a_killed_guard_takes_its_ranks_along(self, server: Server, tmp_path: Path) -> None:
        with measuring(tmp_path, server) as running:
            process.send(guard(server), signal.SIGKILL)
            list(running)
            server.wait_until_quiet()

        status, problems = running.judge()
        assert (status, problems[0].kind) == ("crashed", "launcher-killed")
        assert running.result.rows

    def test_a_connection_that_breaks_keeps_the_rows_and_ends_the_ranks(self, server: Server, tmp_path: Path) -> None:
        with measuring(tmp_path, server) as running:
            server.cut()
            list(running)
            server.wait_until_quiet()

        status, problems = running.judge()
        assert (status, problems[0].kind) == ("crashed", "ssh-lost")
        assert "127.0.0.1" in problems[0].text
        assert running.result.rows

    def test_a_driver_that_stands_still_is_given_up_by_the_guard(self, server: Server, tmp_path: Path) -> None:
        with measuring(tmp_path, server) as running:
            process.send(running.launcher, signal.SIGSTOP)
            try:
                server.wait_until_quiet(seconds=120)
            finally:
                process.send(running.launcher, signal.SIGCONT)
            list(running)

        assert "driver-lost" in [problem.kind for problem in running.judge()[1]]

    def test_one_failing_host_ends_the_others(self, server: Server, tmp_path: Path) -> None:
        with sshd() as other:
            server.trust(other)
            there = node(server, hosts=[server.host, other.host])
            spec = replace(long_spec(), hosts=2)
            with session(tmp_path, spec, there) as running:
                for event in running:
                    if isinstance(event, Row):
                        other.cut()
                server.wait_until_quiet()
                other.wait_until_quiet()

        status, problems = running.judge()
        assert (status, problems[0].kind) == ("crashed", "ssh-lost")
        assert str(other.port) in problems[0].text
        assert running.result.rows


class TestRefusals:
    def failure(self, path: Path, server: Server, *, spec: RunSpec | None = None, **changes: Any) -> Problem:
        """The cause of a run that cannot start; nothing was started."""
        with session(path, spec or small_spec(), node(server, **changes)) as running:
            heard = list(running)
        status, problems = running.judge()
        assert status == "launch_failed"
        assert not [event for event in heard if isinstance(event, RankStarted)]
        assert server.processes() == set()
        assert problems[0].kind in kinds()
        explained = explain(problems[0], log=running.log)
        assert explained.remedy.zh
        return problems[0]

    def test_no_python(self, server: Server, tmp_path: Path) -> None:
        problem = self.failure(tmp_path, server, python="/opt/no/python3")

        assert (problem.kind, "/opt/no/python3" in problem.text) == ("no-python", True)

    def test_no_torch(self, tmp_path: Path) -> None:
        with sshd(has_torch=False) as server:
            assert self.failure(tmp_path, server).kind == "no-torch"

    def test_a_folder_that_may_not_be_written(self, server: Server, tmp_path: Path) -> None:
        assert self.failure(tmp_path, server, folder="/proc/ringside").kind == "ssh-folder"

    def test_an_interface_that_is_not_there(self, server: Server, tmp_path: Path) -> None:
        problem = self.failure(tmp_path, server, interface="eth99")

        assert (problem.kind, "eth99" in problem.text) == ("no-interface", True)

    def test_more_hosts_than_there_are(self, server: Server, tmp_path: Path) -> None:
        assert self.failure(tmp_path, server, spec=small_spec(hosts=2)).kind == "too-few-hosts"

    def test_an_unknown_host_key(self, server: Server, tmp_path: Path) -> None:
        (server.client / "known_hosts").write_text("")

        assert self.failure(tmp_path, server).kind == "ssh-host-key-unknown"

    def test_each_host_that_fails_is_told(self, server: Server, tmp_path: Path) -> None:
        with (
            sshd() as other,
            session(
                tmp_path, small_spec(hosts=2), node(server, hosts=[server.host, other.host, "nowhere.invalid"])
            ) as running,
        ):
            list(running)

        assert [problem.kind for problem in running.judge()[1]] == ["ssh-host-key-unknown"]


class TestProbe:
    def test_each_host_answers(self, server: Server, tmp_path: Path) -> None:
        code, events = self.ask(node(server), tmp_path)

        (ready,) = [event for event in events if isinstance(event, HostReady)]
        assert code == 0
        assert ready.torch is not None
        assert ready.interfaces["lo"] == "127.0.0.1"
        assert server.processes() == set()
        assert [name.partition("-")[0] for name in left_files(server)] == ["worker"]

    def test_what_is_wrong_is_told(self, server: Server, tmp_path: Path) -> None:
        code, events = self.ask(node(server, python="/opt/no/python3"), tmp_path)

        assert (code, [event.kind for event in events if isinstance(event, Problem)]) == (1, ["no-python"])

    def ask(self, there: Node, folder: Path) -> tuple[int, list[object]]:
        launch = there.probe()
        done = subprocess.run(
            launch.arguments, env={**os.environ, **launch.environment}, capture_output=True, check=False, cwd=folder
        )
        return done.returncode, [event for line in done.stdout.splitlines() for event in decode_all(line)]


def worker() -> bytes:
    """The zip as bytes."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), small_spec())
        return Path(folder, WORKER).read_bytes()


def spec_bytes(spec: RunSpec) -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), spec)
        return Path(folder, SPEC).read_bytes()
