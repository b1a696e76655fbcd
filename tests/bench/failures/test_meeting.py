"""Ranks that cannot meet, or cannot even be started."""

import os
import signal
import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.bench.launchers import local
from app.bench.launchers.local import LocalSettings
from app.bench.launchers.model import Node
from tests.bench.failures.scene import ROOT, Scene, command, torchrun
from tests.bench.ranks import small_spec

pytestmark = pytest.mark.gloo


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody else listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_port_that_is_taken_is_told(scene: Scene, taken: int) -> None:
    found = scene.run(torchrun("none", options=("--master-addr=127.0.0.1", f"--master-port={taken}")), small_spec())

    assert found.run.status == "launch_failed"
    assert found.says("The port on which the ranks meet is taken", remedy="end it")


def test_a_host_that_never_comes_is_told(scene: Scene) -> None:
    """One of two hosts; torchrun waits as long as it is told to."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    options = ("--nnodes=2", "--node-rank=0", "--master-addr=127.0.0.1", f"--master-port={port}")

    found = scene.run(torchrun("none", options=(*options, "--rdzv-conf=timeout=4")), small_spec())

    assert found.run.status == "launch_failed"
    assert found.says("Not all ranks came to the meeting point", remedy="every node can reach the first")


def test_fewer_ranks_than_were_asked_for_are_told(scene: Scene) -> None:
    found = scene.run(torchrun("none", ranks=1), small_spec())

    assert (found.run.status, found.kind) == ("init_failed", "world-size")
    assert found.says("Not as many ranks were started", remedy="ranks per node")


def test_an_interface_of_the_run_that_does_not_exist_is_told(scene: Scene) -> None:
    node = Node("local", local.launcher, LocalSettings())

    found = scene.run(node, small_spec(variables={"GLOO_SOCKET_IFNAME": "eth99"}))

    assert found.run.status == "init_failed"
    assert found.says("interface eth99 does not exist", remedy="ip -brief address")


def test_an_interface_of_the_node_that_does_not_exist_is_told_before_anything_starts(scene: Scene) -> None:
    node = Node("local", local.launcher, LocalSettings(interface="eth99"))

    found = scene.run(node, small_spec())

    assert (found.run.status, found.kind, found.run.command) == ("launch_failed", "no-interface", ())
    assert found.says("eth99", remedy="Choose one of those listed")


def test_a_python_without_torch_is_told(scene: Scene) -> None:
    python = getattr(sys, "_base_executable", sys.executable)

    found = scene.run(command(python, "-I", "-S", "-m", "torch.distributed.run", "--standalone"), small_spec())

    assert found.run.status == "launch_failed"
    assert found.says("PyTorch is not installed", remedy="pip install")


def test_ranks_without_torch_are_told(scene: Scene) -> None:
    """The launcher has it, the ranks' interpreter does not: what happens behind a wrong virtual environment."""
    python = getattr(sys, "_base_executable", sys.executable)
    node = command("env", f"PYTHONPATH={os.fspath(ROOT)}", python, "-S", "-m", "app.bench.worker", "spec.json")

    found = scene.run(node, small_spec())

    assert (found.kind, found.run.rows) == ("no-torch", 0)
    assert found.says("PyTorch is not installed", remedy="pip install")


def test_a_launcher_that_is_killed_leaves_no_rank(scene: Scene) -> None:
    def kill(run_id: int) -> None:
        scene.rank(run_id)
        leader = scene.store.get(run_id).leader
        assert leader is not None
        os.kill(leader.pid, signal.SIGKILL)

    found = scene.run(torchrun("none"), meanwhile=kill)

    assert (found.run.status, found.kind) == ("crashed", "launcher-killed")
    assert found.says("launcher of the ranks was killed", remedy="No rank was left behind")
    assert found.run.rows >= 1


def test_a_launcher_that_is_not_there_is_told(scene: Scene, tmp_path: Path) -> None:
    found = scene.run(command(str(tmp_path / "torchrun")), small_spec())

    assert (found.run.status, found.kind) == ("launch_failed", "launcher-failed")
    assert found.says("could not be started", remedy="log")


def test_nccl_without_a_gpu_is_told(scene: Scene) -> None:
    found = scene.run(torchrun("none"), replace(small_spec(), backend="nccl", variables={"CUDA_VISIBLE_DEVICES": "-1"}))

    assert (found.run.status, found.kind) == ("init_failed", "no-gpu")
    assert found.says("NCCL needs a GPU", remedy="Gloo")
