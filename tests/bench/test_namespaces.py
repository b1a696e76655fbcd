"""Hosts in network namespaces of this machine, for real: what joins them, what limits them, and that nothing of them is left.

They are made as root or, where that is not allowed, as root of a user namespace; the tests need one of the two.
"""

import os
import secrets
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.bench import namespaces, process
from app.bench.choices import Choices
from app.bench.diagnosis.explain import explain, kinds
from app.bench.drivers.namespaces import MARK
from app.bench.events import HostReady, Problem
from app.bench.launchers.namespaces import NamespaceSettings, guard_commands
from app.bench.namespaces import Cables
from app.bench.plan import maximum_hosts, plan
from app.bench.wire import decode_all
from app.core.errors import InvalidInput
from tests.bench.drivers.sshd import program
from tests.bench.networks import network_namespaces, node, own_namespace, require_namespaces, words
from tests.bench.ranks import small_spec


@pytest.fixture
def allowed() -> None:
    require_namespaces()


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


@pytest.mark.usefixtures("allowed")
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
@pytest.mark.usefixtures("allowed")
class TestProbe:
    def test_every_host_answers_from_a_network_of_its_own(self) -> None:
        answer = ask({"hosts": 3})

        hosts = [event for event in said(answer) if isinstance(event, HostReady)]
        assert answer.returncode == 0, answer.stderr
        assert {host.host: host.interfaces for host in hosts} == {
            f"host-{number}": {"lo": "127.0.0.1", "eth0": f"10.214.0.{number + 1}"} for number in range(3)
        }
        assert all(host.torch for host in hosts)

    def test_killed_it_leaves_nothing(self) -> None:
        """Nobody cleans up after a test of a node, and its hosts are busy importing PyTorch for seconds."""
        launch, mark = node().probe(), secrets.token_hex(8)
        with subprocess.Popen(
            launch.arguments, env={**os.environ, **launch.environment, MARK: mark}, stdout=subprocess.PIPE
        ) as child:
            wait_until(lambda: len([each for each in process.marked(MARK, mark) if "probe" in words(each)]) == 3)
            used = {own_namespace(each.pid) for each in process.marked(MARK, mark)} - {own_namespace(), ""}

            child.kill()

            wait_until(lambda: not process.marked(MARK, mark))
        assert len(used) == 3  # two hosts, and the switch between them
        assert not used & network_namespaces()


# ---------------------------------------------------------------------------------------------------------------------


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


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)
