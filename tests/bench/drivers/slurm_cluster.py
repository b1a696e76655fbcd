"""A real Slurm cluster of two nodes on this machine, for tests: munged, slurmctld and two slurmd in a folder of their own.

Nothing is installed or configured on the machine, and another Slurm on it is left alone: all of it lies in one temporary folder, on
free ports, and is found by `SLURM_CONF`. The nodes are called n1 and n2, have four processors each whatever the machine has, and run what they
are given as whoever runs the tests.
"""

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.bench import process
from app.bench.process import ProcessId
from tests.bench.drivers.sshd import free_port, program

START_SECONDS = 30.0
PACKAGES = {"munged": "munge", "sshd": "openssh-server"}


@dataclass
class Cluster:
    """The running cluster; `folder` is shared by its "nodes"."""

    root: Path
    daemons: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    @property
    def conf(self) -> str:
        """What `SLURM_CONF` has to be."""
        return str(self.root / "slurm.conf")

    @property
    def folder(self) -> Path:
        """Where runs put their files."""
        return self.root / "shared"

    def settings(self, **changes: Any) -> dict[str, Any]:
        """A section of `nodes.toml`."""
        return {
            "launcher": "slurm",
            "python": sys.executable,
            "folder": str(self.folder),
            "interface": "lo",
            "time_limit_minutes": 5,
            **changes,
        }

    def ask(self, *command: str) -> str:
        """What one of Slurm's programs answers."""
        found = program(command[0], package="slurm-wlm")
        done = subprocess.run(
            [found, *command[1:]],
            env={**os.environ, "SLURM_CONF": self.conf},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stderr} {self.log()}"
        return done.stdout

    def jobs(self) -> dict[str, str]:
        """The state of every job that is not over, by its number."""
        lines = self.ask("squeue", "--noheader", "--format=%A %T").splitlines()
        return {line.split()[0]: line.split()[1] for line in lines}

    def processes(self) -> set[ProcessId]:
        """All that runs in a job, or speaks for one."""
        return process.marked("SLURM_CONF", self.conf)

    def start(self, name: str, *arguments: str) -> None:
        """Start a daemon in the foreground."""
        command = [program(name.partition("-")[0], package=PACKAGES.get(name, "slurm-wlm")), *arguments]
        environment = {key: value for key, value in os.environ.items() if key != "SLURM_CONF"}
        with (self.root / f"{name}.out").open("ab") as out:
            self.daemons[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment, start_new_session=True
            )

    def stop(self, name: str) -> None:
        """End a daemon."""
        daemon = self.daemons.pop(name)
        daemon.terminate()
        try:
            daemon.wait(10)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()

    def start_controller(self) -> None:
        """Start slurmctld, the first time or again, and wait until it answers and both nodes are there."""
        self.start("slurmctld", "-D", "-f", self.conf)
        self.wait_for(self._is_up, "the nodes did not come up")

    def set_nodes(self, state: str) -> None:
        """Drain or resume both nodes."""
        reason = ["Reason=a test"] if state == "drain" else []
        self.ask("scontrol", "update", "NodeName=n[1-2]", f"State={state}", *reason)

    def log(self) -> str:
        """What the daemons wrote, for a failing test."""
        return "\n".join(path.read_text(errors="replace")[-2000:] for path in sorted(self.root.glob("*.out")))

    def wait_for(self, happened: Callable[[], bool], message: str, *, seconds: float = START_SECONDS) -> None:
        """Wait until it happened."""
        deadline = time.monotonic() + seconds
        while not happened():
            assert time.monotonic() < deadline, f"{message}: {self.log()}"
            time.sleep(0.1)

    def _is_up(self) -> bool:
        done = subprocess.run(
            [program("sinfo", package="slurm-wlm"), "--noheader", "--format=%T"],
            env={**os.environ, "SLURM_CONF": self.conf},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.split() == ["idle"]


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A cluster that is up; everything of it is gone afterwards."""
    root = Path(tempfile.mkdtemp(prefix="ringside-slurm-"))  # short: a socket's path must be
    root.chmod(0o755)
    found = Cluster(root)
    try:
        _start(found)
        yield found
    finally:
        for stray in found.processes():
            process.end(stray, grace=0.5)
        for name in reversed(list(found.daemons)):
            found.stop(name)
        shutil.rmtree(root, ignore_errors=True)


def _start(found: Cluster) -> None:
    root = found.root
    for name in ("munge", "state", "spool-n1", "spool-n2", "shared"):
        (root / name).mkdir(mode=0o755)
    key, sock = root / "munge" / "key", root / "munge" / "socket"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o600)
    files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    options = [f"--{name}={root}/munge/{path}" for name, path in files.items()]
    found.start("munged", "--foreground", "--force", *options)
    found.wait_for(sock.exists, "munged did not start")
    (root / "slurm.conf").write_text(_configuration(root, sock))
    for node in ("n1", "n2"):
        found.start(f"slurmd-{node}", "-D", "-f", found.conf, "-N", node)
    found.start_controller()


def _configuration(root: Path, sock: Path) -> str:
    user = pwd.getpwuid(os.geteuid()).pw_name
    host = socket.gethostname().partition(".")[0]
    control, *ports = (free_port() for _ in range(3))
    nodes = "\n".join(
        f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 Feature={feature}"
        for name, port, feature in zip(("n1", "n2"), ports, ("fast", "slow"), strict=True)
    )
    return f"""ClusterName=ringside
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={sock}
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool-%n
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd-%n.pid
SlurmctldLogFile={root}/slurmctld.out
SlurmdLogFile={root}/slurmd-%n.out
PlugStackConfig=/dev/null
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SlurmdParameters=config_overrides
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
OverTimeLimit=0
KillWait=10
MessageTimeout=5
{nodes}
PartitionName=debug Nodes=n[1-2] Default=YES MaxTime=60 State=UP
"""
