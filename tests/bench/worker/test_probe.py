"""What a host answers when it is asked what it offers, with PyTorch, without it, and with one that is broken."""

import ast
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from app.bench.diagnosis.explain import explain
from app.bench.events import Event, HostReady, Problem
from app.bench.launchers import local
from app.bench.launchers.package import WORKER, build
from app.bench.wire import LogText, decode

ROOT = Path(__file__).parent.parent.parent.parent
FAKE = """
class _Version:
    cuda = "12.6"

class _Distributed:
    is_available = staticmethod(lambda: {distributed})
    is_nccl_available = staticmethod(lambda: True)

class _Nccl:
    version = staticmethod(lambda: (2, 27, 5))

class _Tensor:
    def sum(self): return self
    def item(self): return 8.0

def _ones(count, *, device):
    if device[1] == 1:
        raise RuntimeError("CUDA error: no kernel image is available for execution on the device\\nmore")
    return _Tensor()

class _Cuda:
    nccl = _Nccl
    device_count = staticmethod(lambda: 3)
    is_available = staticmethod(lambda: True)
    mem_get_info = staticmethod(lambda device: (79 - device[1], 80))
    get_device_name = staticmethod(lambda device: "NVIDIA H100 80GB HBM3")

import sys, types
print("a library that prints")
__version__, version, cuda, ones = "2.13.0+cu126", _Version, _Cuda, _ones
device = lambda kind, place: (kind, place)
distributed = _Distributed
sys.modules["torch.distributed"] = _Distributed
"""
"""As much of PyTorch as the probe asks, with three GPUs of which the middle one cannot compute."""


def probe(folder: Path, *, torch: str | None = None, options: tuple[str, ...] = ()) -> list[Event]:
    """What the zip in `folder` prints; `torch` is the source of a module that stands in for PyTorch."""
    build(folder / WORKER)
    environment = dict(os.environ)
    if torch is not None:
        (folder / "torch.py").write_text(torch, encoding="utf-8")
        environment["PYTHONPATH"] = os.fspath(folder)
    done = subprocess.run(
        [sys.executable, WORKER, "probe", *options], cwd=folder, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    events: list[Event] = []
    for line in done.stdout.splitlines():
        event = decode(line)
        assert not isinstance(event, LogText), "nothing but events on the stream"
        events.append(event)
    return events


def test_a_host_with_pytorch_says_what_it_has_on_one_line(tmp_path: Path) -> None:
    import torch

    (ready,) = probe(tmp_path, options=("--folder", str(tmp_path / "not-yet")))

    assert isinstance(ready, HostReady)
    assert ready.torch == torch.__version__
    assert ready.python == ".".join(map(str, sys.version_info[:3]))
    assert ready.disk_bytes > 0
    assert ready.free_port > 0


@pytest.mark.parametrize(
    ("torch", "text"),
    [
        ("raise ModuleNotFoundError(\"No module named 'torch'\")", "ModuleNotFoundError: No module named 'torch'"),
        ("raise OSError('libcudart.so.12: cannot open shared object file')", "OSError: libcudart.so.12: cannot open"),
        (FAKE.format(distributed=False), "this build has no torch.distributed"),
    ],
)
def test_a_host_without_a_working_pytorch_says_why(tmp_path: Path, torch: str, text: str) -> None:
    ready, problem = probe(tmp_path, torch=torch)

    assert isinstance(ready, HostReady)
    assert ready.torch is None
    assert isinstance(problem, Problem)
    assert (problem.kind, problem.fatal) == ("no-torch", False)
    assert problem.text.startswith(text)


def test_a_gpu_that_cannot_compute_is_left_out_and_named(tmp_path: Path) -> None:
    ready, problem = probe(tmp_path, torch=FAKE.format(distributed=True))

    assert isinstance(ready, HostReady)
    assert (ready.torch, ready.nccl, ready.cuda) == ("2.13.0+cu126", "2.27.5", "12.6")
    assert ready.gpus == ("NVIDIA H100 80GB HBM3",) * 2
    assert ready.gpu_free_bytes == (79, 77)
    assert isinstance(problem, Problem)
    assert (problem.kind, problem.fatal) == ("gpu-unusable", False)
    assert problem.text == "GPU 1: RuntimeError: CUDA error: no kernel image is available for execution on the device"
    assert "PyTorch cannot use it" in explain(problem).message.en


def test_this_machine_is_probed_without_a_zip() -> None:
    launch = local.node.probe()

    done = subprocess.run(launch.arguments, cwd=ROOT, capture_output=True, check=True)

    assert isinstance(decode(done.stdout), HostReady)


def test_an_old_python_says_so_in_words_the_driver_reads(tmp_path: Path) -> None:
    build(tmp_path / WORKER)
    code = "import runpy, sys; sys.version_info = (3, 9, 18); runpy.run_path(sys.argv[1], run_name='__main__')"

    done = subprocess.run([sys.executable, "-c", code, WORKER, "probe"], cwd=tmp_path, capture_output=True, check=False)

    assert done.returncode == 1
    problem = decode(done.stdout)
    assert problem == Problem(kind="old-python", text="Python 3.9.18")
    assert "too old: Python 3.9.18" in explain(problem).message.en


def test_the_first_lines_of_the_zip_are_understood_by_an_old_python(tmp_path: Path) -> None:
    build(tmp_path / WORKER)
    with zipfile.ZipFile(tmp_path / WORKER) as archive:
        source = archive.read("__main__.py").decode("ascii")

    ast.parse(source, feature_version=(3, 6))


def test_what_ships_to_a_node_is_understood_by_python_3_10(tmp_path: Path) -> None:
    build(tmp_path / WORKER)
    with zipfile.ZipFile(tmp_path / WORKER) as archive:
        for name in archive.namelist():
            ast.parse(archive.read(name).decode("utf-8"), filename=name, feature_version=(3, 10))


@pytest.mark.parametrize("arguments", [[], ["probe", "--nonsense"]])
def test_a_call_that_makes_no_sense_shows_how_it_is_meant(tmp_path: Path, arguments: list[str]) -> None:
    build(tmp_path / WORKER)

    done = subprocess.run(
        [sys.executable, WORKER, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert done.stdout == ""
    assert "usage: worker.pyz" in done.stderr
