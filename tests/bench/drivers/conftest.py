"""A server for each test that wants one, and a home folder for whoever logs in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.drivers.sshd import Server, sshd


@pytest.fixture
def server() -> Iterator[Server]:
    with sshd() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty `~/.ssh` and no agent."""
    folder = tmp_path / "home"
    (folder / ".ssh").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return folder
