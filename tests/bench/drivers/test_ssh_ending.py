"""How runs behind a real SSH server end when something is killed, cut or stopped: rows are kept and nothing is left there."""

import asyncio
import os
import signal
import subprocess
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from app.bench import process
from app.bench.drivers.ssh import MARK as MARK_FILE
from app.bench.drivers.ssh_fleet import Fleet
from app.bench.events import Row
from app.bench.launchers.package import prepare
from app.bench.launchers.ssh import SshSettings
from tests.bench.drivers.ssh_runs import call, guard, left_files, measuring, node, session, worker
from tests.bench.drivers.sshd import Server, sshd
from tests.bench.ranks import long_spec, small_spec

pytestmark = pytest.mark.gloo


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

        done = call(node(server).clean(tmp_path), tmp_path)

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
            fleet = Fleet(settings, settings.hosts, mark="deadbeef", hides=False)
            async with AsyncExitStack() as stack:
                await fleet.connect(stack)
                await fleet.prepare(worker=worker(), spec=b"{}")
                stray = "trap '' TERM HUP; RINGSIDE_RUN=deadbeef setsid sleep 600 >/dev/null 2>&1 </dev/null &"
                await fleet._hosts[0].remote.run(["sh", "-c", stray])

        asyncio.run(leave_one())
        assert len(server.processes()) >= 1
        done = call(node(server).clean(tmp_path), tmp_path)

        assert done.returncode == 0, done.stderr
        server.wait_until_quiet()
        assert b"cleaned: 1 0" in done.stderr

    def test_cleaning_what_never_began_is_nothing(self, server: Server, tmp_path: Path) -> None:
        there = node(server)
        prepare(tmp_path, small_spec(), node=there)

        done = call(there.clean(tmp_path), tmp_path)

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
