"""The commands of the SSH launcher, word by word, and what its settings take."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.bench import nodes
from app.bench.launchers.driver import driver
from app.bench.launchers.model import Node
from app.bench.launchers.ssh import Place, SshSettings, host_commands, launcher
from app.bench.launchers.ssh_access import Target, parse_target
from app.bench.setting_errors import SettingProblem
from app.core.errors import InvalidInput
from tests.bench.ranks import small_spec

HOSTILE = ("; touch owned", "$(touch owned)", "`touch owned`", "a'b\"c", "~/a b", "|", "\\")


def node(**settings: Any) -> Node:
    return nodes.make("gpu", {"launcher": "ssh", "hosts": ["me@gpu1"], **settings})


def place(name: str, **changes: str) -> Place:
    found = {"python": "python3", "worker": "/home/me/w.pyz", "folder": "/home/me/runs/7"}
    return Place(address=name, **{**found, **changes})


def test_one_host_meets_on_itself() -> None:
    (words,) = host_commands(
        small_spec(ranks=4, memory_bytes=2**30),
        SshSettings(hosts=["me@gpu1"]),
        mark="m1",
        port=4000,
        places=[place("127.0.0.1", interface="lo")],
    )

    assert words == (
        *("python3", "/home/me/w.pyz", "guard", "--mark", "m1", "--lock", "ssh"),
        *("--memory", "1073741824", "--quiet-seconds", "30", "--"),
        *("env", "OMP_NUM_THREADS=1", "GLOO_SOCKET_IFNAME=lo"),
        *("python3", "-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1"),
        *("--nproc-per-node", "4", "/home/me/w.pyz", "/home/me/runs/7/spec.json"),
    )


def test_several_hosts_meet_at_the_first() -> None:
    first, second = host_commands(
        small_spec(ranks=4, hosts=2, variables={"NCCL_DEBUG": "WARN"}),
        SshSettings(hosts=["a", "b"], interface="eth1", environment={"NCCL_IB_DISABLE": "1"}),
        mark="m1",
        port=4000,
        places=[place("10.0.0.1"), place("10.0.0.2", python="/opt/py/bin/python3")],
    )

    variables = ("OMP_NUM_THREADS=1", "GLOO_SOCKET_IFNAME=eth1", "NCCL_SOCKET_IFNAME=eth1", "NCCL_IB_DISABLE=1")
    conf = "is_host={},join_timeout=60,read_timeout=60"
    assert first[12:] == (
        *("env", *variables, "NCCL_DEBUG=WARN", "python3", "-m", "torch.distributed.run"),
        *("--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", "10.0.0.1:4000", "--rdzv-id", "m1"),
        *("--rdzv-conf", conf.format(1), "--local-addr", "10.0.0.1"),
        *("--nproc-per-node", "2", "/home/me/w.pyz", "/home/me/runs/7/spec.json"),
    )
    assert second[0] == second[18] == "/opt/py/bin/python3"
    assert second[21:31] == (
        *("--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", "10.0.0.1:4000", "--rdzv-id", "m1"),
        *("--rdzv-conf", conf.format(0)),
    )


def test_an_ipv6_meeting_point_stands_in_brackets() -> None:
    words = host_commands(
        small_spec(ranks=2, hosts=2),
        SshSettings(hosts=["a", "b"]),
        mark="m",
        port=1,
        places=[place("fd00::1"), place("fd00::2")],
    )[1]

    assert words[words.index("--rdzv-endpoint") + 1] == "[fd00::1]:1"
    assert words[words.index("--local-addr") + 1] == "fd00::2"


def test_as_many_places_as_hosts_are_needed() -> None:
    with pytest.raises(ValueError, match="1 places for 2 hosts"):
        host_commands(
            small_spec(ranks=2, hosts=2), SshSettings(hosts=["a"]), mark="m", port=1, places=[place("127.0.0.1")]
        )


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_paths_reach_a_login_shell_as_plain_words(value: str, tmp_path: Path) -> None:
    """Bug this would catch: an argument that is not quoted. The string is what SSH hands to the shell."""
    found = place("127.0.0.1", worker=f"/{value}/w.pyz", folder=f"/{value}", python=f"/{value}/python")
    (words,) = host_commands(small_spec(), SshSettings(hosts=["a"]), mark="m", port=1, places=[found])
    show = shlex.join([sys.executable, "-c", "import json, sys; print(json.dumps(sys.argv[1:]))"])

    done = subprocess.run(
        ["sh", "-c", f"{show} {shlex.join(words)}"], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert json.loads(done.stdout) == list(words)
    assert list(tmp_path.iterdir()) == []


def test_the_driver_is_what_runs_here(tmp_path: Path) -> None:
    launch = node().commands(small_spec(), tmp_path)

    assert launch.arguments == (sys.executable, "-m", "app.bench.drivers.ssh", "run", str(tmp_path))
    assert node().clean(tmp_path) == driver("ssh", "clean", str(tmp_path))
    assert not launcher.is_here


def test_the_driver_is_found_from_any_folder(tmp_path: Path) -> None:
    launch = driver("ssh")
    done = subprocess.run(launch.arguments, env=launch.environment, cwd=tmp_path, capture_output=True, check=False)

    assert b"usage: python -m app.bench.drivers.ssh" in done.stderr


def test_people_see_what_starts_on_each_host() -> None:
    two = node(hosts=["me@gpu1:2222", "gpu2"], folder="~/my runs")

    lines = str(two.commands(small_spec(hosts=2), Path("/runs/7"))).splitlines()

    assert len(lines) == 2
    assert lines[0].startswith("ssh -p 2222 me@gpu1 'python3 ")
    assert shlex.split(shlex.split(lines[1])[2])[:3] == ["python3", "my runs/worker.pyz", "guard"]
    assert "--rdzv-endpoint gpu1:PORT" in lines[1]


def test_a_run_that_hides_its_hosts_shows_none() -> None:
    two = node(hosts=["me@gpu1:2222", "gpu2"])

    shown = str(two.commands(small_spec(hosts=2, hide_host=True), Path("/runs/7")))

    assert "ssh node-0" in shown
    assert "node-0:PORT" in shown
    assert not any(name in shown for name in ("gpu1", "gpu2", "me@"))


def test_a_host_is_one_device_however_it_is_written() -> None:
    assert node(hosts=["me@GPU1"]).devices == node(hosts=["gpu1:22"], user="me").devices == {"me@gpu1:22"}
    assert node(hosts=["me@gpu1", "me@gpu2:23"]).devices == {"me@gpu1:22", "me@gpu2:23"}


def test_the_probe_carries_the_settings_whole() -> None:
    settings = SshSettings(
        hosts=["me@gpu1"], jump=["me@bastion"], key_file="~/.ssh/key", environment={"NCCL_DEBUG": "INFO"}
    )

    arguments = launcher.probe(settings).arguments

    assert arguments[:-1] == (sys.executable, "-m", "app.bench.drivers.ssh", "probe")
    assert SshSettings.model_validate_json(arguments[-1]) == settings


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("gpu1", Target("gpu1")),
        ("me@gpu1.lab.example:2222", Target("gpu1.lab.example", "me", 2222)),
        ("[fe80::1%eth0]:22", Target("fe80::1%eth0", "", 22)),
        ("a.b+c-d@10.0.0.1", Target("10.0.0.1", "a.b+c-d")),
    ],
)
def test_addresses_are_read_and_written_alike(text: str, target: Target) -> None:
    assert parse_target(text) == target
    assert str(target) == text


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "-oProxyCommand=x",
            "me@",
            "@gpu1",
            "-me@gpu1",
            "me@me@gpu1",
            "gpu1:0",
            "gpu1:65536",
            "gpu1:x",
            "fe80::1",
        ),
        *("gpu1;x", "$(x)", "a b", "a\nb", "gpu1/x", "%h", "gpu1'", "é"),
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(SettingProblem):
        parse_target(text)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hosts", []),
        ("hosts", ["a", "a"]),
        ("hosts", ["a; b"]),
        ("jump", ["a b"]),
        ("user", "-l"),
        ("user", "a;b"),
        ("port", 65536),
        ("key_file", "relative/key"),
        ("key_file", "/a\nb"),
        ("known_hosts", "known_hosts"),
        ("config", "/etc/passwd"),
        ("python", "python3 -c evil"),
        ("python", "perl"),
        ("folder", "relative"),
        ("folder", "~other/x"),
        ("folder", "/a\0b"),
        ("interface", "eth0; x"),
        ("environment", {"LD_PRELOAD": "/x"}),
        ("password", "secret"),
    ],
)
def test_a_setting_that_may_not_be_is_named(name: str, value: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        node(**{name: value})

    (field,) = caught.value.fields
    assert field.split(".")[0] == name


def test_an_address_between_hosts_is_given_for_each_or_none() -> None:
    with pytest.raises(InvalidInput) as caught:
        node(hosts=["a", "b"], addresses=["10.0.0.1"])

    (text,) = caught.value.fields.values()
    assert "for each host" in text.en
    assert "每台一个" in text.zh


def test_every_setting_has_a_label() -> None:
    assert set(SshSettings.labels()) == set(SshSettings.model_fields)
