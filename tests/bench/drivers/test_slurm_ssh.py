"""Slurm behind a login node: everything goes over a real SSH connection, which may be cut while the job goes on."""

import os
import pwd
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.bench import nodes, process
from app.bench.checkup import ask
from app.bench.home import home_id
from app.bench.launchers.model import Node
from app.bench.runner import Runner
from app.bench.runs import Run
from app.bench.store import RunStore
from app.core.clock import utc_now
from app.core.db import Database, sqlite_url
from tests.bench.drivers.slurm_cluster import Cluster, cluster
from tests.bench.drivers.sshd import free_port, keygen, program
from tests.bench.ranks import small_spec

pytestmark = pytest.mark.gloo


@dataclass
class LoginNode:
    """A login node that is this machine, for the user of the tests: its jobs need a user that Slurm knows."""

    root: Path
    port: int
    child: "subprocess.Popen[bytes]"

    def settings(self, found: Cluster) -> Node:
        user = pwd.getpwuid(os.geteuid()).pw_name
        return nodes.make(
            "cluster",
            found.settings(
                via=f"{user}@127.0.0.1:{self.port}",
                key_file=str(self.root / "id"),
                known_hosts=str(self.root / "known_hosts"),
                config="ignore",
            ),
        )

    def cut(self) -> None:
        """Drop every connection, as a network would."""
        leader = process.identify(self.child.pid)
        assert leader is not None
        children = [found for found in process.descendants(leader) if parent_of(found.pid) == leader.pid]
        for session in children:
            process.end(session, grace=0.0)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@contextmanager
def login_node(root: Path, *, conf: str) -> Iterator[LoginNode]:
    """A server whose sessions find Slurm: their PATH has it, and SLURM_CONF is set."""
    keygen(root / "host")
    keygen(root / "id")
    (root / "authorized").write_bytes((root / "id.pub").read_bytes())
    port = free_port()
    key = " ".join((root / "host.pub").read_text().split()[:2])
    (root / "known_hosts").write_text(f"[127.0.0.1]:{port} {key}\n")
    (root / "sshd_config").write_text(
        f"""ListenAddress 127.0.0.1
Port {port}
HostKey {root}/host
AuthorizedKeysFile {root}/authorized
PermitRootLogin prohibit-password
PidFile none
UsePAM no
StrictModes no
Subsystem sftp internal-sftp
SetEnv PATH={Path(sys.executable).parent}:/usr/bin:/bin SLURM_CONF={conf}
"""
    )
    command = [program("sshd", package="openssh-server"), "-D", "-e", "-f", str(root / "sshd_config")]
    if os.geteuid() == 0 and not Path("/run/sshd").is_dir():
        # The folder sshd retreats to; in a mount namespace, so that nothing of it is left on the machine.
        unshare = [program("unshare", package="util-linux"), "--mount", "--propagation", "private", "--"]
        prepare = 'mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec "$@"'
        command = [*unshare, "sh", "-c", prepare, "sh", *command]
    with (root / "sshd.log").open("wb") as log:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    try:
        yield LoginNode(root, port, child)
    finally:
        leader = process.identify(child.pid)
        if leader is not None:
            process.end(leader, grace=2)
        child.wait()


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with cluster() as found:
        yield found


@pytest.fixture
def login(running: Cluster, tmp_path: Path) -> Iterator[LoginNode]:
    with login_node(tmp_path, conf=running.conf) as found:
        running.wait_for(lambda: "listening" in (tmp_path / "sshd.log").read_text(), "sshd does not listen")
        yield found
    assert running.jobs() == {}
    running.wait_for(lambda: running.processes() == set(), "a process is left")
    assert list(running.folder.iterdir()) == []


def run(node: Node, data: Path, *, meanwhile: Callable[[Callable[[], Run]], None], running: Cluster) -> Run:
    """A run of this node through the runner, while `meanwhile` does what it likes with the way there."""
    database = Database(sqlite_url(data / "ringside.sqlite3"))
    database.migrate()
    store = RunStore(database, home=home_id(data))
    run_id = store.enqueue(small_spec(budget_seconds=0.3), node=node.name, now=utc_now())
    runner = Runner(
        store,
        data=data,
        nodes=lambda: {node.name: node},
        clock=utc_now,
        idle_seconds=0.05,
        locks=data.parent / "locks",
    )
    thread = threading.Thread(target=runner.work)
    thread.start()
    try:
        running.wait_for(lambda: store.get(run_id).rows >= 1 or not store.get(run_id).is_active, "no row", seconds=90)
        meanwhile(lambda: store.get(run_id))
    finally:
        thread.join(120)
        found = store.get(run_id)
        database.dispose()
    return found


def test_a_job_is_run_through_a_login_node(running: Cluster, login: LoginNode, tmp_path: Path) -> None:
    node = login.settings(running)

    found = run(node, tmp_path / "data", meanwhile=lambda _: None, running=running)

    assert (found.status, found.rows) == ("done", 9), (found.problems, found.log)
    assert found.command[0].startswith(f"ssh {node.settings.model_dump()['via']} sbatch ")


def test_a_job_outlives_the_connection_to_the_login_node(running: Cluster, login: LoginNode, tmp_path: Path) -> None:
    found = run(login.settings(running), tmp_path / "data", meanwhile=lambda _: login.cut(), running=running)

    assert (found.status, found.rows) == ("done", 9), (found.problems, found.log)


def test_a_login_node_that_is_not_trusted_is_not_used(running: Cluster, login: LoginNode) -> None:
    (login.root / "known_hosts").write_text("")

    found = ask(login.settings(running), clock=utc_now, seconds=60)

    assert [problem.kind for problem in found.problems] == ["ssh-host-key-unknown"]


def test_a_probe_goes_through_the_login_node(running: Cluster, login: LoginNode) -> None:
    found = ask(login.settings(running), clock=utc_now, seconds=60)

    assert found.is_ready, (found.problems, found.log)
