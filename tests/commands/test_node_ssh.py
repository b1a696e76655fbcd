"""A node over SSH from the command line, for real: attached, tested, measured on, and refused with a key it does not know."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.__main__ import cli
from tests.bench.drivers.sshd import Server, sshd

pytestmark = pytest.mark.gloo


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data folder and an empty home, without an agent."""
    (tmp_path / "home" / ".ssh").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RINGSIDE_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    # `bench` takes Ctrl-C for the rest of its process, which here is the test's own.
    monkeypatch.setattr("signal.signal", lambda _number, _handler: None)


def ringside(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def attach(server: Server, **changes: str) -> None:
    settings = server.settings(**changes) | {"python": server.python}
    options = [f"{name}={','.join(value) if isinstance(value, list) else value}" for name, value in settings.items()]
    done = ringside("node", "add", "gpu", "--launcher", "ssh", *(word for each in options for word in ("--set", each)))
    assert done.exit_code == 0, done.exception


def test_a_node_is_attached_tested_and_measured_on() -> None:
    with sshd() as server:
        attach(server)

        tested = ringside("node", "test", "gpu", "--seconds", "120", "--json")
        measured = ringside(
            *("bench", "--node", "gpu", "--operation", "all_reduce", "--max-size", "4K", "--no-extras", "--json")
        )

        server.wait_until_quiet()

    answer = json.loads(tested.stdout)
    assert tested.exit_code == 0, tested.output
    assert (answer["is_ready"], len(answer["checkup"]["hosts"])) == (True, 1)
    document = json.loads(measured.stdout)
    assert measured.exit_code == 0, measured.stderr
    assert [row["size_bytes"] for row in document["rows"]] == [1024, 4096]
    assert f"ssh -p {server.port} {server.user}@{server.address} " in measured.stderr
    assert "kept as run 1" in measured.stderr


def test_a_host_key_that_is_not_known_is_refused_with_what_to_do(tmp_path: Path) -> None:
    empty = tmp_path / "known_hosts"
    empty.write_text("")
    with sshd() as server:
        attach(server, known_hosts=str(empty))

        tested = ringside("node", "test", "gpu", "--seconds", "120")

    assert tested.exit_code == 1
    assert "SHA256:" in tested.output
    assert "not ready" in tested.output
    assert empty.read_text() == ""
