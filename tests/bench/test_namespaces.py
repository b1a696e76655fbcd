"""Hosts in network namespaces of this machine, for real: what joins them, what limits them, and that nothing of them is left.

They are made as root or, where that is not allowed, as root of a user namespace; the tests need one of the two.
"""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.bench import namespaces, nodes, process
from app.bench.choices import Choices
from app.bench.diagnosis.explain import explain, kinds
from app.bench.drivers.namespaces import MARK, MARK_FILE
from app.bench.events import Hello, HostReady, Problem, Row
from app.bench.launchers.model import Launch, Node
from app.bench.launchers.namespaces import NamespaceSettings, guard_commands
from app.bench.launchers.package import prepare
from app.bench.launchers.session import Session
from app.bench.namespaces import Cables
from app.bench.plan import maximum_hosts, plan
from app.bench.process import ProcessId
from app.bench.result import RunResult
from app.bench.runner import Runner
from app.bench.spec import RunSpec
from app.bench.store import RunStore
from app.bench.wire import decode_all
from app.core.clock import utc_now
from app.core.db import Database, sqlite_url
from app.core.errors import InvalidInput
from tests.bench.drivers.sshd import program
from tests.bench.ranks import long_spec, small_spec

_LESS = ("--inh-caps=-sys_admin,-net_admin", "--bounding-set=-sys_admin,-net_admin")
"""Without these capabilities root is as powerless here as any user."""


class TestCommands:
    def test_a_cable_is_limited_at_both_ends(self) -> None:
        there = ("nsenter", "--net=/proc/7/ns/net", "--uts=/proc/7/ns/uts", "--")
        limit = ("tbf", "rate", "400mbit", "burst", "65536", "limit", "16777216")

        commands = namespaces.host_commands(1, pid=7, cables=Cables(rate_mbit=400))

        assert commands == (
            ("ip", "link", "add", "port1", "type", "veth", "peer", "name", "eth0", "netns", "7"),
            ("ip", "link", "set", "port1", "master", "switch", "up"),
            (*there, "ip", "link", "set", "lo", "up"),
            (*there, "ip", "address", "add", "10.214.0.2/24", "dev", "eth0"),
            (*there, "ip", "link", "set", "eth0", "up"),
            (*there, "tc", "qdisc", "add", "dev", "eth0", "root", "handle", "2:", *limit),
            ("tc", "qdisc", "add", "dev", "port1", "root", "handle", "2:", *limit),
        )

    def test_a_delay_stands_before_the_limit_and_only_on_the_way_out(self) -> None:
        commands = namespaces.host_commands(0, pid=7, cables=Cables(rate_mbit=10, delay_ms=5))

        queues = [" ".join(command).partition("qdisc add ")[2] for command in commands if "qdisc" in command]
        assert queues == [
            "dev eth0 root handle 1: netem delay 5ms limit 100000",
            "dev eth0 parent 1:1 handle 2: tbf rate 10mbit burst 65536 limit 16777216",
            "dev port0 root handle 2: tbf rate 10mbit burst 65536 limit 16777216",
        ]

    def test_without_a_limit_there_is_no_queue(self) -> None:
        commands = namespaces.host_commands(0, pid=7, cables=Cables())

        assert not [command for command in commands if "tc" in command]

    def test_each_host_starts_its_share_of_the_ranks(self) -> None:
        spec = small_spec(ranks=4, hosts=2, memory_bytes=2**30, variables={"GLOO_SOCKET_IFNAME": "lo"})

        first, second = guard_commands(spec, NamespaceSettings(), mark="home/1", python="python3", folder="/run")

        assert second == (
            *("python3", "/run/worker.pyz", "guard", "--mark", "home/1", "--memory", "1073741824"),
            *("--quiet-seconds", "0", "--"),
            *("env", "GLOO_SOCKET_IFNAME=lo", "CUDA_VISIBLE_DEVICES=", "OMP_NUM_THREADS=1"),
            *("python3", "-m", "torch.distributed.run", "--nnodes", "2", "--rdzv-backend", "c10d"),
            *("--rdzv-endpoint", "10.214.0.1:29400", "--rdzv-id", "ringside"),
            *("--rdzv-conf", "is_host=0,join_timeout=60,read_timeout=60", "--local-addr", "10.214.0.2"),
            *("--nproc-per-node", "2", "/run/worker.pyz", "/run/spec.json"),
        )
        assert "is_host=1,join_timeout=60,read_timeout=60" in first

    def test_people_see_what_they_could_type(self, tmp_path: Path) -> None:
        shown = str(node().commands(small_spec(hosts=2), tmp_path))

        assert shown.splitlines()[0] == "unshare --net"
        assert "tc qdisc add dev port1 root handle 2: tbf rate 100mbit burst 65536 limit 16777216" in shown

    def test_a_run_takes_all_its_hosts_unless_told_otherwise(self) -> None:
        there = node(hosts=3)

        planned = plan(Choices(node="slow", ranks="6"), {"slow": there})

        assert planned.spec is not None, planned.problems
        assert (maximum_hosts(there), planned.spec.hosts) == (3, 3)

    @pytest.mark.parametrize("wrong", [{"hosts": 1}, {"hosts": 9}, {"rate_mbit": -1}, {"delay_ms": "; reboot"}])
    def test_settings_out_of_bounds_are_refused(self, wrong: dict[str, object]) -> None:
        with pytest.raises(InvalidInput):
            node(**wrong)


class TestAllowed:
    def test_root_needs_no_user_namespace_and_others_do(self) -> None:
        found = namespaces.way_in()

        assert ("--user" not in found) == (os.geteuid() == 0), found

    def test_a_missing_program_is_named_with_its_package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(namespaces.PROGRAMS, "no-such-program", "no-such-package")

        with pytest.raises(namespaces.NetworkFailed) as raised:
            namespaces.way_in()

        problem = raised.value.problem
        assert (problem.kind, problem.text) == ("namespaces-no-program", "no-such-program (no-such-package)")
        assert problem.text in explain(problem).message.en

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can take the right to make namespaces away")
    def test_a_machine_that_forbids_it_says_what_to_do(self) -> None:
        """The limit of a user namespace of our own forbids what is asked for in it."""
        answer = ask({}, forbids=True)

        assert answer.returncode == 1
        (problem,) = problems(answer)
        assert problem.kind == "namespaces-refused"
        assert "--cap-add NET_ADMIN" in explain(problem).remedy.en
        assert "root" in kinds()[problem.kind].remedy.zh

    def test_a_delay_that_the_kernel_cannot_make_is_refused_and_another_is_made(self) -> None:
        """Kernels of small virtual machines often lack netem; both kinds of machine are right here."""
        way = namespaces.located(namespaces.way_in())
        queue = ["tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]
        has_netem = subprocess.run([*way, *namespaces.located(queue)], capture_output=True, check=False).returncode == 0

        answer = ask({"delay_ms": 5})

        assert [problem.kind for problem in problems(answer)] == ([] if has_netem else ["namespaces-no-delay"])
        assert len([event for event in said(answer) if isinstance(event, HostReady)]) == (2 if has_netem else 0)


@pytest.mark.gloo
class TestProbe:
    def test_every_host_answers_from_a_network_of_its_own(self) -> None:
        before = network_namespaces()

        answer = ask({"hosts": 3})

        hosts = [event for event in said(answer) if isinstance(event, HostReady)]
        assert answer.returncode == 0, answer.stderr
        assert {host.host: host.interfaces for host in hosts} == {
            f"host-{number}": {"lo": "127.0.0.1", "eth0": f"10.214.0.{number + 1}"} for number in range(3)
        }
        assert all(host.torch for host in hosts)
        assert str(own_namespace()) in before


@pytest.mark.gloo
class TestRuns:
    def test_a_slow_network_is_slow_and_hides_behind_the_product(self, tmp_path: Path) -> None:
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
    def test_a_user_namespace_does_as_well_as_root(self, tmp_path: Path) -> None:
        spec = small_spec(operations=("all_reduce",), sizes=(65536,), hosts=2, gemm_seconds=0)

        with session(tmp_path, spec, is_root=False) as running:
            heard = list(running)

        assert running.judge()[0] == "done", running.log
        assert [event.environment.hosts for event in heard if isinstance(event, Hello)] == [("host-0", "host-1")]
        assert len(running.result.rows) == 1

    def test_a_host_that_is_lost_is_told_and_rows_are_kept(self, tmp_path: Path) -> None:
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

    def test_leaving_in_the_middle_leaves_no_process_and_no_namespace(self, tmp_path: Path) -> None:
        with measuring(tmp_path) as running:
            used = networks_of(running, tmp_path)
            assert len(used) == 3  # two hosts, and the switch between them

        assert running.judge(is_cancelled=True)[0] == "cancelled"
        assert not of_run(tmp_path)
        assert not used & network_namespaces()

    def test_a_killed_driver_leaves_nothing_either(self, tmp_path: Path) -> None:
        with measuring(tmp_path, cleans=False) as running:
            used = networks_of(running, tmp_path)
            os.kill(running.launcher.pid, signal.SIGKILL)
            list(running)
            cleaned = call(node().clean(tmp_path), tmp_path)

        assert cleaned.returncode == 0, cleaned.stderr
        assert running.result.rows
        assert not of_run(tmp_path)
        assert not used & network_namespaces()

    def test_more_hosts_than_the_node_has_are_refused(self, tmp_path: Path) -> None:
        with session(tmp_path, small_spec(ranks=3, hosts=3)) as running:
            list(running)

        status, found = running.judge()
        assert (status, [problem.kind for problem in found]) == ("launch_failed", ["too-few-hosts"])
        assert explain(found[0]).message.en.endswith("3 > 2.")


# ---------------------------------------------------------------------------------------------------------------------


def node(**settings: Any) -> Node:
    return nodes.make("slow", {"launcher": "namespaces", "rate_mbit": 100, **settings})


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


def ask(settings: dict[str, Any], *, forbids: bool = False) -> "subprocess.CompletedProcess[bytes]":
    """The node's probe to its end; `forbids` where no namespace may be made."""
    launch = node(**settings).probe()
    before: list[str] = []
    if forbids:
        unshare, shell = program("unshare", package="util-linux"), program("sh", package="dash")
        forbid = 'echo 0 > /proc/sys/user/max_user_namespaces; echo 0 > /proc/sys/user/max_net_namespaces; exec "$@"'
        before = [unshare, "--user", "--map-root-user", "--", shell, "-c", forbid, "sh"]
    return subprocess.run(
        [*before, *launch.arguments], env={**os.environ, **launch.environment}, capture_output=True, check=False
    )


def said(answer: "subprocess.CompletedProcess[bytes]") -> list[object]:
    return [event for line in answer.stdout.splitlines() for event in decode_all(line)]


def problems(answer: "subprocess.CompletedProcess[bytes]") -> list[Problem]:
    return [event for event in said(answer) if isinstance(event, Problem)]


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


def words(found: ProcessId) -> list[str]:
    try:
        return Path(f"/proc/{found.pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return []


def own_namespace(pid: int | str = "self") -> str:
    """Which network a process is in; empty when it is gone."""
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return ""


def network_namespaces() -> set[str]:
    """Every network that a process is in. One without a process, and no name, does not exist."""
    return {own_namespace(entry.name) for entry in Path("/proc").glob("[0-9]*")}
