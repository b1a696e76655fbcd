"""Hosts behind a real SSH server that cannot do a run: what is told, and that nothing was started; and what a probe answers."""

from pathlib import Path
from typing import Any

from app.bench.diagnosis.explain import explain, kinds
from app.bench.events import HostReady, Problem, RankStarted
from app.bench.launchers.model import Node
from app.bench.spec import RunSpec
from app.bench.wire import decode_all
from tests.bench.drivers.ssh_runs import call, left_files, node, session
from tests.bench.drivers.sshd import Server, sshd
from tests.bench.ranks import small_spec


class TestRefusals:
    def failure(self, path: Path, server: Server, *, spec: RunSpec | None = None, **changes: Any) -> Problem:
        """The cause of a run that cannot start; nothing was started."""
        with session(path, spec or small_spec(), node(server, **changes)) as running:
            heard = list(running)
        status, problems = running.judge()
        assert status == "launch_failed"
        assert not [event for event in heard if isinstance(event, RankStarted)]
        assert server.processes() == set()
        assert problems[0].kind in kinds()
        explained = explain(problems[0], log=running.log)
        assert explained.remedy.zh
        return problems[0]

    def test_no_python(self, server: Server, tmp_path: Path) -> None:
        problem = self.failure(tmp_path, server, python="/opt/no/python3")

        assert (problem.kind, "/opt/no/python3" in problem.text) == ("no-python", True)

    def test_no_torch(self, tmp_path: Path) -> None:
        with sshd(has_torch=False) as server:
            assert self.failure(tmp_path, server).kind == "no-torch"

    def test_a_folder_that_may_not_be_written(self, server: Server, tmp_path: Path) -> None:
        assert self.failure(tmp_path, server, folder="/proc/ringside").kind == "ssh-folder"

    def test_an_interface_that_is_not_there(self, server: Server, tmp_path: Path) -> None:
        problem = self.failure(tmp_path, server, interface="eth99")

        assert (problem.kind, "eth99" in problem.text) == ("no-interface", True)

    def test_more_hosts_than_there_are(self, server: Server, tmp_path: Path) -> None:
        assert self.failure(tmp_path, server, spec=small_spec(hosts=2)).kind == "too-few-hosts"

    def test_an_unknown_host_key(self, server: Server, tmp_path: Path) -> None:
        (server.client / "known_hosts").write_text("")

        assert self.failure(tmp_path, server).kind == "ssh-host-key-unknown"

    def test_each_host_that_fails_is_told(self, server: Server, tmp_path: Path) -> None:
        with (
            sshd() as other,
            session(
                tmp_path, small_spec(hosts=2), node(server, hosts=[server.host, other.host, "nowhere.invalid"])
            ) as running,
        ):
            list(running)

        assert [problem.kind for problem in running.judge()[1]] == ["ssh-host-key-unknown"]


class TestProbe:
    def test_each_host_answers(self, server: Server, tmp_path: Path) -> None:
        code, events = self.ask(node(server), tmp_path)

        (ready,) = [event for event in events if isinstance(event, HostReady)]
        assert code == 0
        assert ready.torch is not None
        assert ready.interfaces["lo"] == "127.0.0.1"
        assert server.processes() == set()
        assert [name.partition("-")[0] for name in left_files(server)] == ["worker"]

    def test_what_is_wrong_is_told(self, server: Server, tmp_path: Path) -> None:
        code, events = self.ask(node(server, python="/opt/no/python3"), tmp_path)

        assert (code, [event.kind for event in events if isinstance(event, Problem)]) == (1, ["no-python"])

    def ask(self, there: Node, folder: Path) -> tuple[int, list[object]]:
        done = call(there.probe(), folder)
        return done.returncode, [event for line in done.stdout.splitlines() for event in decode_all(line)]
