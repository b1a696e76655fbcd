"""What one node of a Slurm job does before its ranks start; whole jobs are in `test_slurm_run.py`."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.bench.launchers.package import WORKER, build
from app.bench.launchers.slurm_script import PORT_TAKEN
from app.bench.worker import slurm_node

SCONTROL = """#!/bin/sh
case "$*" in
    "show hostnames n[1-2]") printf 'n1\\nn2\\n' ;;
    "--oneliner show node n1") echo "NodeName=n1 Arch=x86_64 NodeAddr=10.0.0.1 NodeHostName=n1" ;;
    "--oneliner show node n2") echo "NodeName=n2 NodeAddr=10.0.0.2" ;;
    *) echo "slurm_load_node error: Unable to contact slurm controller" >&2; exit 1 ;;
esac
"""
TORCHRUN = "import json, sys; print('torchrun', json.dumps(sys.argv[1:]))"


@pytest.fixture
def scontrol(tmp_path: Path) -> str:
    path = tmp_path / "scontrol"
    path.write_text(SCONTROL)
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def port() -> Iterator[tuple[int, socket.socket]]:
    with socket.create_server(("", 0)) as server:
        yield server.getsockname()[1], server


def start(
    folder: Path, *arguments: str, node: str = "n2", place: int = 1, port: int = 40001
) -> "subprocess.CompletedProcess[str]":
    """The worker's zip with a stand-in for torch, whose torchrun says how it was called."""
    build(folder / WORKER)
    stand_in = folder / "torch" / "distributed"
    stand_in.mkdir(parents=True)
    (folder / "torch" / "__init__.py").touch()
    (stand_in / "__init__.py").write_text("def is_available(): return False\n")
    (stand_in / "run.py").write_text(TORCHRUN)
    return subprocess.run(
        [sys.executable, WORKER, "slurm-node", *arguments],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(folder),
            "SLURM_JOB_ID": "12",
            "SLURM_JOB_NODELIST": "n[1-2]",
            "SLURM_NODEID": str(place),
            "SLURMD_NODENAME": node,
            "RINGSIDE_PORT": str(port),
        },
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_node_meets_the_first_one_at_slurms_address_and_gives_its_own(tmp_path: Path, scontrol: str) -> None:
    options = ("--nodes", "2", "--ranks-per-node", "4", "--mark", "home/7", "--scontrol", scontrol)

    done = start(tmp_path, *options, "spec.json")

    (line,) = [line for line in done.stdout.splitlines() if line.startswith("torchrun ")]
    assert line.removeprefix("torchrun ") == (
        '["--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", "10.0.0.1:40001", "--rdzv-id", "12", '
        '"--rdzv-conf", "is_host=0,read_timeout=60,join_timeout=120", "--local-addr", "10.0.0.2", '
        '"--nproc-per-node", "4", "worker.pyz", "spec.json"]'
    )
    assert '"event":"HostReady"' in done.stdout


def test_the_first_node_is_the_host() -> None:
    words = slurm_node.meeting(nodes=2, head="fd00::1", own="fd00::1", port=40001, job="12", is_head=True)

    assert words[words.index("--rdzv-endpoint") + 1] == "[fd00::1]:40001"
    assert words[words.index("--rdzv-conf") + 1].startswith("is_host=1,")


def test_a_port_that_was_taken_is_left_as_a_file_for_the_script(
    tmp_path: Path, scontrol: str, port: tuple[int, socket.socket]
) -> None:
    done = start(tmp_path, "--nodes", "2", "--scontrol", scontrol, node="n1", place=0, port=port[0])

    assert done.returncode == 1
    assert (tmp_path / PORT_TAKEN).exists()
    assert "torchrun" not in done.stdout


def test_a_node_that_is_not_the_first_does_not_look_at_the_port(
    tmp_path: Path, scontrol: str, port: tuple[int, socket.socket]
) -> None:
    done = start(tmp_path, "--nodes", "2", "--scontrol", scontrol, port=port[0])

    assert "torchrun" in done.stdout
    assert not (tmp_path / PORT_TAKEN).exists()


def test_no_node_falls_back_to_itself_when_slurm_does_not_answer(tmp_path: Path, scontrol: str) -> None:
    done = start(tmp_path, "--nodes", "2", "--scontrol", scontrol, node="n9")

    assert done.returncode == 1
    assert "torchrun" not in done.stdout
    assert "Unable to contact slurm controller" in done.stderr


def test_a_scontrol_that_is_missing_is_named(tmp_path: Path) -> None:
    done = start(tmp_path, "--nodes", "2", "--scontrol", "/nothing/scontrol")

    assert done.returncode == 1
    assert "/nothing/scontrol" in done.stderr


def test_a_free_port_is_printed(tmp_path: Path) -> None:
    done = start(tmp_path, "--free-port")

    assert 1024 <= int(done.stdout) < 65536


def test_both_sides_name_the_file_alike() -> None:
    assert slurm_node.PORT_TAKEN == PORT_TAKEN
