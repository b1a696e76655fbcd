"""Who gets into a real SSH server with which key, and what the user's own SSH configuration may do."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.bench.drivers.ssh_logins import agent, at, refusal, whoami
from tests.bench.drivers.sshd import Server, keygen, program, sshd


class TestLogin:
    def test_a_key_that_may_not_log_in_is_named_and_never_shown(self, server: Server, tmp_path: Path) -> None:
        keygen(tmp_path / "other")

        problem = refusal(server, key_file=str(tmp_path / "other"))

        assert problem.kind == "ssh-denied"
        assert str(tmp_path / "other") in problem.text
        assert (tmp_path / "other").read_text().splitlines()[1] not in problem.text

    @pytest.mark.usefixtures("home")
    def test_no_key_at_all_is_denied(self, server: Server) -> None:
        assert refusal(server, key_file="").kind == "ssh-denied"

    def test_the_usual_files_are_tried(self, server: Server, home: Path) -> None:
        shutil.copy(server.client / "id_ed25519", home / ".ssh" / "id_ed25519")

        assert at(server, whoami, key_file="") == server.user

    @pytest.mark.parametrize("content", [None, b"", b"\xff\x00 no key", b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"])
    def test_a_file_that_holds_no_key_is_named(self, server: Server, tmp_path: Path, content: bytes | None) -> None:
        path = tmp_path / "broken"
        if content is not None:
            path.write_bytes(content)

        problem = refusal(server, key_file=str(path))

        assert (problem.kind, str(path) in problem.text) == ("ssh-key-unreadable", True)

    @pytest.mark.usefixtures("home")
    def test_a_locked_key_needs_an_agent(self, server: Server, tmp_path: Path) -> None:
        keygen(tmp_path / "locked", passphrase="five words nobody will guess")

        assert refusal(server, key_file=str(tmp_path / "locked")).kind == "ssh-key-locked"

    def test_a_locked_default_key_is_told_from_a_denied_one(self, server: Server, home: Path) -> None:
        keygen(home / ".ssh" / "id_ed25519", passphrase="five words nobody will guess")

        assert refusal(server, key_file="").kind == "ssh-key-locked"

    def test_an_agent_logs_in(self, server: Server, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with agent(home, server.client / "id_ed25519") as socket_path:
            monkeypatch.setenv("SSH_AUTH_SOCK", socket_path)

            assert at(server, whoami, key_file="") == server.user

    def test_an_agent_opens_a_locked_key(self, server: Server, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with agent(home, server.client / "id_ed25519") as socket_path:
            keys = program("ssh-keygen", package="openssh-client")
            lock = [keys, "-q", "-p", "-P", "", "-N", "a passphrase", "-f", str(server.client / "id_ed25519")]
            subprocess.run(lock, check=True, capture_output=True)
            monkeypatch.setenv("SSH_AUTH_SOCK", socket_path)

            assert at(server, whoami) == server.user

    def test_an_agent_without_a_fitting_key_is_denied(
        self, server: Server, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        keygen(tmp_path / "other")
        with agent(home, tmp_path / "other") as socket_path:
            monkeypatch.setenv("SSH_AUTH_SOCK", socket_path)

            problem = refusal(server, key_file="")

        assert (problem.kind, "ssh-agent" in problem.text) == ("ssh-denied", True)


class TestConfiguration:
    def write(self, server: Server, home: Path, extra: str = "") -> None:
        (home / ".ssh" / "config").write_text(
            f"Host gpu\n HostName 127.0.0.1\n Port {server.port}\n User {server.user}\n"
            f" IdentityFile {server.client}/id_ed25519\n UserKnownHostsFile {server.client}/known_hosts\n{extra}"
        )

    def plain(self, **changes: Any) -> dict[str, Any]:
        return {"host": "gpu", "key_file": "", "known_hosts": "", "config": "no-commands", **changes}

    def test_names_ports_users_and_keys_are_taken_from_it(self, server: Server, home: Path) -> None:
        self.write(server, home)

        assert at(server, whoami, **self.plain()) == server.user

    def test_it_can_be_ignored(self, server: Server, home: Path) -> None:
        self.write(server, home)

        assert refusal(server, **self.plain(config="ignore")).kind in ("ssh-no-such-host", "ssh-unreachable")

    def test_its_jump_hosts_are_followed(self, server: Server, home: Path) -> None:
        with sshd() as bastion:
            server.trust(bastion)
            hop = f"Host bastion\n HostName 127.0.0.1\n Port {bastion.port}\n User {bastion.user}\n"
            keys = f" IdentityFile {server.client}/id_ed25519\n UserKnownHostsFile {server.client}/known_hosts\n"
            self.write(server, home, f" ProxyJump bastion\n{hop}{keys}")

            assert at(server, whoami, **self.plain()) == server.user
            assert "Accepted publickey" in bastion.log()

    @pytest.mark.parametrize("off", ["none", "/dev/null"])
    def test_it_cannot_turn_the_host_key_check_off(self, server: Server, home: Path, off: str) -> None:
        self.write(server, home)
        config = home / ".ssh" / "config"
        told = config.read_text().replace(f"{server.client}/known_hosts", off)
        config.write_text(f"{told} StrictHostKeyChecking no\n")

        assert refusal(server, **self.plain()).kind == "ssh-host-key-unknown"

    @pytest.mark.parametrize("command", [" ProxyCommand touch {}\n", 'Match exec "touch {}"\n', "Include more\n"])
    def test_commands_in_it_are_not_run(self, server: Server, home: Path, command: str) -> None:
        (home / ".ssh" / "more").write_text(f'match host gpu EXEC "touch {home}/ran"\n')
        self.write(server, home, command.format(f"{home}/ran"))

        assert refusal(server, **self.plain()).kind == "ssh-config-command"
        assert not (home / "ran").exists()

    def test_commands_in_it_are_run_where_the_node_says_so(self, server: Server, home: Path) -> None:
        self.write(server, home, f'Match exec "touch {home}/ran"\n')

        assert at(server, whoami, **self.plain(config="full")) == server.user
        assert (home / "ran").exists()

    def test_a_mistake_in_it_is_named(self, server: Server, home: Path) -> None:
        self.write(server, home, " Port many\n")
        (home / ".ssh" / "config").write_text("Host gpu\n Port many\n")

        problem = refusal(server, **self.plain())

        assert (problem.kind, "ort" in problem.text) == ("ssh-config", True)
