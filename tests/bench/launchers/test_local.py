"""The command of the local launcher, and the zip it runs."""

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from app.bench import launchers
from app.bench.launchers import local
from app.bench.launchers.model import Launch, Launcher
from app.bench.launchers.package import SPEC, WORKER, build, prepare
from app.core.registry import discover
from tests.bench.ranks import small_spec


def test_every_launcher_is_found_by_its_file() -> None:
    assert discover(launchers, "launcher", Launcher)["local"] is local.launcher


def test_local_command_word_by_word() -> None:
    launch = local.torchrun(small_spec(ranks=4), Path("/runs/7"), python="/venv/bin/python", loopback="lo")

    assert launch == Launch(
        arguments=(
            "/venv/bin/python",
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--local-addr",
            "127.0.0.1",
            "--nproc-per-node",
            "4",
            "/runs/7/worker.pyz",
            "/runs/7/spec.json",
        ),
        environment={"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
    )


def test_nccl_and_machines_without_loopback_get_no_interface() -> None:
    nccl = local.torchrun(small_spec(backend="nccl"), Path("/runs/7"), python="python", loopback="lo")
    bare = local.torchrun(small_spec(), Path("/runs/7"), python="python", loopback=None)

    assert nccl.environment == bare.environment == {"OMP_NUM_THREADS": "1"}


def test_an_interface_the_user_chose_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "eth7")

    assert "GLOO_SOCKET_IFNAME" not in local.commands(small_spec(), Path("/runs/7")).environment


def test_a_command_shown_to_people_can_be_pasted_into_a_shell() -> None:
    launch = local.torchrun(small_spec(), Path("/my runs/$(x)"), python="python", loopback="lo")

    assert str(launch) == (
        "OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo python -m torch.distributed.run --standalone --local-addr 127.0.0.1"
        " --nproc-per-node 2 '/my runs/$(x)/worker.pyz' '/my runs/$(x)/spec.json'"
    )


def test_two_builds_are_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "one.pyz", tmp_path / "two.pyz"

    build(first)
    build(second)

    assert hashlib.sha256(first.read_bytes()).digest() == hashlib.sha256(second.read_bytes()).digest()


def test_the_zip_holds_the_worker_and_the_wire_and_nothing_else(tmp_path: Path) -> None:
    prepare(tmp_path / "deep" / "folder", small_spec())

    with zipfile.ZipFile(tmp_path / "deep" / "folder" / WORKER) as archive:
        names = set(archive.namelist())

    others = {name for name in names if not name.startswith("app/bench/worker/")}
    assert others == {
        "__main__.py",
        "app/__init__.py",
        "app/bench/__init__.py",
        "app/bench/cgroup.py",
        "app/bench/codec.py",
        "app/bench/events.py",
        "app/bench/machine.py",
        "app/bench/process.py",
        "app/bench/spec.py",
        "app/bench/wire.py",
    }
    assert "app/bench/worker/collectives/all_reduce.py" in names
    assert (tmp_path / "deep" / "folder" / SPEC).exists()


def test_the_worker_says_when_torch_is_missing(tmp_path: Path) -> None:
    prepare(tmp_path, small_spec(ranks=1))
    (tmp_path / "torch.py").write_text("raise ImportError(\"No module named 'torch'\")\n")
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.fspath(tmp_path)}

    done = subprocess.run(
        [sys.executable, WORKER, SPEC], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert '"kind":"no-torch"' in done.stdout
