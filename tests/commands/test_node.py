"""`ringside node` as a person or a script meets it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.__main__ import cli
from app.bench import nodes
from app.core.errors import AppError
from tests.bench import stub_node


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    known = {**nodes.known_launchers(), "stub": stub_node.launcher}
    monkeypatch.setattr(nodes, "known_launchers", lambda: known)
    monkeypatch.setenv("RINGSIDE_DATA", str(tmp_path))
    return tmp_path


def ringside(*arguments: str, typed: str = "") -> Result:
    return CliRunner().invoke(cli, ["node", *arguments], input=typed)


def added(behaviour: str = "ready") -> None:
    done = ringside("add", "away", "--launcher", "stub", "--set", "hosts=gpu1", "--set", f"behaviour={behaviour}")
    assert done.exit_code == 0, done.output


def test_an_added_node_is_written_shown_and_listed(data: Path) -> None:
    done = ringside(
        "add", "away", "--launcher", "stub", "--set", "hosts=gpu1,gpu2", "--set", "hosts=gpu3", "--set", "port=2222"
    )

    assert done.exit_code == 0
    assert 'hosts = ["gpu1", "gpu2", "gpu3"]' in done.output
    assert "ringside node test away" in done.output
    assert "[away]" in (data / "nodes.toml").read_text()
    listed = ringside("list")
    assert "gpu1, gpu2, gpu3" in listed.output
    assert "not tested" in listed.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("away", "--launcher", "ferry"), "launcher: Choose one of"),
        (("away", "--launcher", "stub"), "hosts: This is needed."),
        (("away", "--launcher", "stub", "--set", "hosts"), "NAME=VALUE"),
        (("away", "--launcher", "stub", "--set", "hosts=a", "--set", "doors=3"), "no such setting"),
        (("Away!", "--launcher", "stub", "--set", "hosts=a"), "lower-case letters"),
        (("local", "--launcher", "stub", "--set", "hosts=a"), "already"),
    ],
)
def test_a_wrong_node_is_not_added_and_says_why(data: Path, arguments: tuple[str, ...], message: str) -> None:
    done = ringside("add", *arguments)

    assert isinstance(done.exception, AppError)
    assert message in str(done.exception)
    assert not (data / "nodes.toml").exists()


def test_a_node_that_is_ready_is_described(data: Path) -> None:
    added()

    done = ringside("test", "away")

    assert done.exit_code == 0, done.output
    for said in (
        "Python      3.10.12",
        "NVIDIA H100",
        "256\u2009GiB",
        "eth0 10.0.0.5",
        "gpu up 2 nodes idle",
        "ready (",
    ):
        assert said in done.output
    assert "ready, tested" in ringside("list").output
    assert (data / "nodes" / "away.json").exists()


def test_a_node_that_is_not_ready_exits_with_the_remedy() -> None:
    added("no-torch")

    done = ringside("test", "away")

    assert done.exit_code == 1
    assert "PyTorch is not installed where the ranks run." in done.output
    assert "pip install" in done.output


def test_the_answer_as_json() -> None:
    added()

    done = ringside("test", "away", "--json")

    document = json.loads(done.stdout)
    assert (document["is_ready"], document["launcher"]) == (True, "stub")
    assert document["checkup"]["hosts"][0]["gpus"] == ["NVIDIA H100 80GB HBM3"] * 2
    (local, away) = json.loads(ringside("list", "--json").stdout)["nodes"]
    assert (local["name"], away["name"], away["is_ready"]) == ("local", "away", True)


def test_removing_asks_first(data: Path) -> None:
    added()
    ringside("test", "away")

    assert ringside("remove", "away", typed="n\n").exit_code == 1
    assert "[away]" in (data / "nodes.toml").read_text()
    assert ringside("remove", "away", typed="y\n").exit_code == 0
    assert "[away]" not in (data / "nodes.toml").read_text()
    assert not (data / "nodes" / "away.json").exists()


def test_a_broken_section_is_listed_with_its_reason_and_can_be_removed(data: Path) -> None:
    (data / "nodes.toml").write_text('[away]\nlauncher = "stub"\nport = 0\n')

    listed = ringside("list")

    assert listed.exit_code == 1
    assert "BROKEN" in listed.output
    assert "hosts: This is needed." in listed.output
    assert ringside("remove", "away", "--yes").exit_code == 0
    assert ringside("list").exit_code == 0


def test_this_machine_cannot_be_removed() -> None:
    done = ringside("remove", "local", "--yes")

    assert isinstance(done.exception, AppError)
    assert "always" in str(done.exception)


def test_every_launcher_lists_its_settings() -> None:
    done = ringside("launchers")

    for slug, launcher in nodes.known_launchers().items():
        assert f"{slug}: " in done.output
        for name in launcher.settings.labels():
            assert f"  {name} " in done.output
