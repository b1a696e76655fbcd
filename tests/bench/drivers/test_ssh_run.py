"""Whole runs on hosts behind a real SSH server: one, two, two in networks of their own, and what is odd but no failure."""

import asyncio
import os
import platform
import secrets
import socket
import subprocess
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from app.bench.drivers.ssh_fleet import Fleet
from app.bench.events import Done, HostReady, RankStarted
from app.bench.launchers.ssh import SshSettings
from app.bench.runner import Runner
from app.bench.store import RunStore
from app.bench.wire import decode_all
from app.core.clock import utc_now
from app.core.db import Database, sqlite_url
from tests.bench.drivers.ssh_runs import left_files, node, session, spec_bytes, worker
from tests.bench.drivers.sshd import Server, program, sshd
from tests.bench.ranks import small_spec

pytestmark = pytest.mark.gloo


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
        assert run.environment.python == platform.python_version()
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
                fleet = Fleet(settings, settings.hosts, mark="taken", hides=False)
                async with AsyncExitStack() as stack:
                    await fleet.connect(stack)
                    found = await fleet.prepare(worker=worker(), spec=spec_bytes(spec))
                    try:
                        port = taken.getsockname()[1]
                        return await fleet.serve(spec, [replace(found[0], free_port=port), *found[1:]])
                    finally:
                        await fleet.end()

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
