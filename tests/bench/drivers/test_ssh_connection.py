"""Connections to a real SSH server: commands, files, host keys, the way there."""

import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from app.bench.drivers import ssh_options
from app.bench.drivers.ssh_connection import Remote
from app.bench.drivers.ssh_problems import SshFailed
from app.bench.drivers.transport import Machine
from app.bench.events import Problem
from tests.bench.drivers.ssh_logins import at, refusal, whoami
from tests.bench.drivers.sshd import Server, free_port, keygen, program, sshd

HOSTILE = (
    "",
    " ",
    "a b",
    "'",
    '"',
    "$(touch owned)",
    "`touch owned`",
    "; touch owned",
    "\\",
    "*",
    "~",
    "-n",
    "\t\n",
    "é中",
)


def test_a_command_runs_as_the_user_who_may_log_in(server: Server) -> None:
    async def both(remote: Remote) -> tuple[str, str]:
        machine: Machine = remote
        return (await machine.run(["id", "-u"])).out.strip(), remote.address

    uid, address = at(server, both)

    assert uid == str((server.root / "home").stat().st_uid)
    assert (uid == "0") == (os.geteuid() == 0 and server.user == "root")
    assert address == "127.0.0.1"


def test_arguments_arrive_as_they_are(server: Server) -> None:
    program = "import sys; sys.stdout.write(repr(sys.argv[1:]))"

    answer = at(server, lambda remote: remote.run(["python3", "-c", program, *HOSTILE]))

    assert (answer.code, answer.out) == (0, repr(list(HOSTILE)))
    assert list(server.home.glob("owned")) == []


def test_exit_code_and_both_streams_come_back(server: Server) -> None:
    answer = at(server, lambda remote: remote.run(["sh", "-c", "echo out; echo err >&2; exit 7"]))

    assert (answer.code, answer.out, answer.err) == (7, "out\n", "err\n")


def test_a_command_that_takes_too_long_is_given_up(server: Server) -> None:
    with pytest.raises(TimeoutError):
        at(server, lambda remote: remote.run(["sleep", "600"], seconds=0.2))

    server.wait_until_quiet()


def test_files_are_written_for_this_user_alone_and_read_in_pieces(server: Server) -> None:
    path = f"{server.home}/$(touch owned)/a b/file"

    async def write_and_read(remote: Remote) -> tuple[bytes, bytes, bytes, int | None]:
        await remote.put(path, b"first")
        await remote.put(path, bytes(range(256)) * 1000)
        read = remote.read
        return (
            await read(path, offset=100_000, limit=3),
            await read(path, offset=300_000, limit=3),
            await read(f"{path}.none", offset=0, limit=3),
            await remote.size(path),
        )

    found = at(server, write_and_read)

    assert found == (bytes([160, 161, 162]), b"", b"", 256_000)
    assert oct(Path(path).stat().st_mode)[-3:] == "600"
    assert oct(Path(path).parent.stat().st_mode)[-3:] == "700"
    assert [entry.name for entry in Path(path).parent.iterdir()] == ["file"]


def test_a_folder_that_cannot_be_written_is_named(server: Server) -> None:
    with pytest.raises(SshFailed) as caught:
        at(server, lambda remote: remote.put("/proc/nothing/file", b"x"))

    assert caught.value.problem.kind == "ssh-folder"
    assert "/proc/nothing" in caught.value.problem.text


def test_a_server_without_sftp_is_named() -> None:
    with sshd(has_sftp=False) as server, pytest.raises(SshFailed) as caught:
        at(server, lambda remote: remote.home())

    assert caught.value.problem.kind == "ssh-no-sftp"


def test_a_connection_that_breaks_is_a_problem(server: Server) -> None:
    async def cut(remote: Remote) -> None:
        await remote.home()
        server.cut()
        await remote.run(["true"])

    with pytest.raises(SshFailed) as caught:
        at(server, cut)

    assert caught.value.problem.kind == "ssh-lost"


class TestHostKeys:
    def test_an_unknown_one_is_refused_before_anything_is_sent(self, server: Server) -> None:
        (server.client / "known_hosts").write_text("")

        problem = refusal(server)

        keys = program("ssh-keygen", package="openssh-client")
        shown = subprocess.run([keys, "-lf", f"{server.root}/server/host_key.pub"], capture_output=True, check=True)
        assert problem.kind == "ssh-host-key-unknown"
        assert shown.stdout.decode().split()[1] in problem.text
        assert f"ssh -p {server.port} -o UserKnownHostsFile={server.client}/known_hosts" in problem.text
        assert (server.client / "known_hosts").read_text() == ""
        assert "Accepted" not in server.log()

    def test_a_missing_file_trusts_nobody(self, server: Server, home: Path) -> None:
        shutil.copy(server.client / "known_hosts", home / ".ssh" / "known_hosts")

        assert refusal(server, known_hosts="/nowhere/known_hosts").kind == "ssh-host-key-unknown"

    def test_a_changed_one_is_refused(self, server: Server, tmp_path: Path) -> None:
        keygen(tmp_path / "other")
        other = " ".join((tmp_path / "other.pub").read_text().split()[:2])
        (server.client / "known_hosts").write_text(f"[127.0.0.1]:{server.port} {other}\n")

        problem = refusal(server)

        assert problem.kind == "ssh-host-key-changed"
        assert f"ssh-keygen -f {server.client}/known_hosts -R '[127.0.0.1]:{server.port}'" in problem.text
        assert "Accepted" not in server.log()

    def test_a_revoked_one_is_refused(self, server: Server) -> None:
        known = (server.client / "known_hosts").read_text()
        (server.client / "known_hosts").write_text(f"{known}@revoked {known}")

        assert refusal(server).kind == "ssh-host-key-changed"

    def test_hashed_names_are_found(self, server: Server) -> None:
        keys = program("ssh-keygen", package="openssh-client")
        subprocess.run([keys, "-q", "-H", "-f", f"{server.client}/known_hosts"], capture_output=True, check=True)

        assert "127.0.0.1" not in (server.client / "known_hosts").read_text()
        assert at(server, whoami) == server.user

    def test_a_file_that_cannot_be_read_as_one_is_named(self, server: Server) -> None:
        (server.client / "known_hosts").write_text("only-a-name\n")

        assert "known_hosts" in refusal(server).text

    def test_the_file_of_the_user_is_the_default(self, server: Server, home: Path) -> None:
        shutil.copy(server.client / "known_hosts", home / ".ssh" / "known_hosts")

        assert at(server, whoami, known_hosts="") == server.user


class TestReaching:
    def test_a_port_nobody_listens_on(self, server: Server) -> None:
        problem = refusal(server, host=f"node@127.0.0.1:{free_port()}")

        assert (problem.kind, "refused" in problem.text) == ("ssh-unreachable", True)

    def test_a_name_nobody_knows(self, server: Server) -> None:
        assert refusal(server, host="nowhere.invalid").kind == "ssh-no-such-host"

    def test_something_else_that_listens_there(self, server: Server) -> None:
        with socket.create_server(("127.0.0.1", 0)) as mute:
            mute.listen()

            problem = self.within(0.5, lambda: refusal(server, host=f"127.0.0.1:{mute.getsockname()[1]}"))

        assert problem.kind == "ssh-unreachable"

    def within(self, seconds: float, action: Callable[[], Problem]) -> Problem:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ssh_options, "CONNECT_SECONDS", seconds)
            return action()

    def test_a_jump_host_leads_there(self, server: Server) -> None:
        with sshd(address="127.0.0.2") as bastion:
            server.trust(bastion)

            async def who(remote: Remote) -> tuple[str, str]:
                return (await whoami(remote)), (await remote.run(["sh", "-c", "echo $SSH_CONNECTION"])).out

            user, connection = at(server, who, jump=[bastion.host])

            assert user == server.user
            assert str(server.port) in connection
            assert "Accepted publickey" in bastion.log()

    def test_a_jump_host_that_fails_is_named(self, server: Server) -> None:
        with sshd() as bastion:
            problem = refusal(server, jump=[bastion.host])

        assert problem.kind == "ssh-host-key-unknown"
        assert problem.text.startswith(f"jump {bastion.host}")

    def test_what_is_behind_a_jump_host_is_told_from_it(self, server: Server) -> None:
        with sshd() as bastion:
            server.trust(bastion)

            problem = refusal(server, host=f"node@127.0.0.1:{free_port()}", jump=[bastion.host])

        assert problem.kind == "ssh-unreachable"
        assert not problem.text.startswith("jump")
