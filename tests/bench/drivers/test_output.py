"""What a driver writes: whole lines, and no names where none are wanted."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.bench import wire
from app.bench.drivers.output import MAXIMUM_PIECE, Lines, Output
from app.bench.events import HostReady, Problem


@pytest.fixture
def file(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    path = tmp_path / "out"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    yield path, descriptor
    os.close(descriptor)


def test_lines_are_passed_on_when_they_are_whole(file: tuple[Path, int]) -> None:
    path, descriptor = file
    lines = Lines(descriptor, prefix="gpu1: ")

    lines.take(b"one\ntw")
    first = path.read_bytes()
    lines.take(b"o\n\nthree")
    lines.close()
    lines.close()

    assert first == b"gpu1: one\n"
    assert path.read_bytes() == b"gpu1: one\ngpu1: two\ngpu1: \ngpu1: three\n"


def test_a_line_without_end_does_not_grow_for_ever(file: tuple[Path, int]) -> None:
    path, descriptor = file
    lines = Lines(descriptor)

    lines.take(b"x" * MAXIMUM_PIECE)
    before = path.read_bytes()
    lines.take(b"x")

    assert before == b""
    assert path.read_bytes() == b"x" * (MAXIMUM_PIECE + 1) + b"\n"


def test_names_are_hidden_in_events_and_log_as_words(capfd: pytest.CaptureFixture[str]) -> None:
    output = Output({"gpu1": "node-0", "me@gpu1:22": "node-0", "10.0.0.1": "node-0"})

    output.send(Problem(kind="ssh-denied", text="me@gpu1:22 (~/.ssh/gpu1-key, gpu11, 10.0.0.11); ssh gpu1 true"))
    output.send(ready("gpu1"))
    output.log("gpu1: no\nreached 10.0.0.1")

    written = capfd.readouterr()
    problem, host = map(wire.decode, written.out.splitlines())
    assert problem == Problem(kind="ssh-denied", text="node-0 (~/.ssh/gpu1-key, gpu11, 10.0.0.11); ssh node-0 true")
    assert isinstance(host, HostReady)
    assert (host.host, host.interfaces) == ("node-0", {"eth0": "-"})
    assert written.err == "node-0: no\nreached node-0\n"


def test_nothing_is_hidden_unless_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    Output().send(ready("gpu1"))

    assert wire.decode(capfd.readouterr().out) == ready("gpu1")


def ready(host: str) -> HostReady:
    return HostReady(
        host=host,
        python="3.11.7",
        torch="2.13.0",
        nccl=None,
        cuda=None,
        gpus=(),
        cores=2,
        memory_bytes=1,
        shm_bytes=None,
        disk_bytes=1,
        interfaces={"eth0": "10.0.0.1"},
        free_port=4000,
    )
