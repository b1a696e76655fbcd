"""`ringside demo slow-network` as a person meets it, for real: two runs, their comparison, and how it ends when it must."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from app.__main__ import cli
from app.bench import process
from app.bench.events import Measurement, Overlap, Row
from app.bench.result import RunResult
from app.bench.store import RunStore
from app.commands import demo
from app.core.db import Database
from app.core.units import binary_bytes
from app.settings import Settings
from tests.bench.drivers.sshd import program
from tests.bench.networks import require_namespaces

MARK = "DEMO_TEST_MARK"
_WAIT_SECONDS = 180.0


@pytest.fixture
def allowed() -> None:
    require_namespaces()


@pytest.mark.parametrize(
    ("rate_mbit", "size_bytes"), [(1, 256 << 10), (100, 1 << 20), (400, 4 << 20), (1000, 8 << 20), (10_000, 16 << 20)]
)
def test_the_message_fits_the_network(rate_mbit: int, size_bytes: int) -> None:
    spec = demo.specification(rate_mbit, seconds=5)

    assert (spec.sizes, spec.ranks, spec.hosts, spec.extras) == ((size_bytes,), 2, 2, ("overlap",))


def test_the_table_has_a_column_per_network_and_says_what_is_unknown() -> None:
    """10 ms and 8 ms that take 12 ms together: 6 of 8 ms are hidden, and a third of the step is saved."""
    spec = demo.specification(400, seconds=5)
    slow = (
        RunResult(spec=spec).add(row(0.048)).add(lap(communication_us=10e3, compute_us=8e3, both_us=12e3, hidden=0.75))
    )
    fast = RunResult(spec=spec).add(row(1.25))

    lines = demo.table([demo.Side("400 Mbit/s", slow), demo.Side("no limit", fast)])

    cells = [line.split("  ") for line in lines[:7]]
    assert [[cell.strip() for cell in line if cell.strip()] for line in cells] == [
        [f"all_reduce {binary_bytes(4 << 20)}", "400 Mbit/s", "no limit"],
        ["bus bandwidth", "0.048 GB/s", "1.250 GB/s"],
        ["t_c", "collective alone", "10.0 ms", "-"],
        ["t_g", "GEMM alone", "8.0 ms", "-"],
        ["t_b", "both at once", "12.0 ms", "-"],
        ["hidden of the shorter", "75 %", "-"],
        ["overlap saves", "33 %", "-"],
    ]
    assert demo.table([]) == []


@pytest.mark.gloo
@pytest.mark.usefixtures("allowed")
def test_both_networks_are_measured_compared_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGSIDE_DATA", str(tmp_path / "data"))
    # The command takes Ctrl-C for the rest of its process, which here is the test's own.
    monkeypatch.setattr("signal.signal", lambda _number, _handler: None)

    done = CliRunner().invoke(cli, ["demo", "slow-network", "--rate-mbit", "100", "--seconds", "8", "--json"])

    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    found = {(each["network"], each["operation"]): each for each in document["comparison"]}
    assert set(found) == {
        (network, name) for network in (demo.SLOW, demo.FAST) for name in ("all_reduce", "all_gather")
    }
    assert {each["size_bytes"] for each in found.values()} == {1 << 20}
    slow, fast = found[demo.SLOW, "all_reduce"], found[demo.FAST, "all_reduce"]
    assert slow["busbw_gb_per_s"] < 1.1 * 0.0125 < fast["busbw_gb_per_s"]
    assert slow["hidden"] > 0.2, found
    assert slow["saving"] == round(1 - slow["both_us"] / (slow["communication_us"] + slow["compute_us"]), 4)
    assert [document["runs"][name]["environment"]["hosts"] for name in (demo.SLOW, demo.FAST)] == [
        ["host-0", "host-1"]
    ] * 2
    assert "kept as run 2" in done.stderr
    database = Database(Settings().database)
    store = RunStore(database, home="anywhere")
    kept = [(store.get(number).node, store.get(number).status) for number in (1, 2)]
    database.dispose()
    assert kept == [(demo.SLOW, "done"), (demo.FAST, "done")]


@pytest.mark.gloo
@pytest.mark.usefixtures("allowed")
def test_ctrl_c_ends_it_and_leaves_no_process(tmp_path: Path) -> None:
    mark = secrets.token_hex(8)
    errors = tmp_path / "errors"
    with errors.open("wb") as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "app", "demo", "slow-network", "--no-keep"],
            env={**os.environ, MARK: mark, "RINGSIDE_DATA": str(tmp_path / "data")},
            stdout=subprocess.PIPE,
            stderr=output,
        )
    try:
        wait_for(errors, "measuring ...", child)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=_WAIT_SECONDS)
    finally:
        child.kill()

    assert child.returncode == 130, errors.read_text()
    assert "cancelled" in errors.read_text()
    assert b"no limit" not in out  # the second network was not begun
    assert not process.marked(MARK, mark)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can forbid itself to make namespaces")
def test_where_it_is_not_allowed_one_message_says_what_to_do(tmp_path: Path) -> None:
    forbid = 'echo 0 > /proc/sys/user/max_user_namespaces; echo 0 > /proc/sys/user/max_net_namespaces; exec "$@"'
    unshare = program("unshare", package="util-linux")

    done = subprocess.run(
        [
            *(unshare, "--user", "--map-root-user", "--", "sh", "-c", forbid, "sh"),
            *(sys.executable, "-m", "app", "demo", "slow-network"),
        ],
        env={**os.environ, "RINGSIDE_DATA": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("ringside: This machine does not allow us to make a network namespace")
    assert "--cap-add NET_ADMIN" in done.stderr
    assert not (tmp_path / "data").exists()


def wait_for(file: Path, words: str, child: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    while words not in file.read_text():
        assert child.poll() is None, file.read_text()
        assert time.monotonic() < deadline, file.read_text()
        time.sleep(0.1)


def row(busbw_gb_per_s: float) -> Row:
    half = Measurement(
        time_us=1.0,
        algbw_gb_per_s=busbw_gb_per_s,
        busbw_gb_per_s=busbw_gb_per_s,
        wrong=0,
        average_us=1.0,
        minimum_us=1.0,
        slowest_rank=0,
        p50_us=1.0,
        p99_us=1.0,
        cv_percent=0.0,
        iterations=1,
        batches_us=(1.0,),
    )
    return Row(
        operation="all_reduce",
        size_bytes=4 << 20,
        count=1 << 20,
        dtype="float",
        redop="sum",
        root=-1,
        ranks=2,
        out_of_place=half,
    )


def lap(**times: Any) -> Overlap:
    return Overlap(
        **{
            "operation": "all_reduce",
            "size_bytes": 4 << 20,
            "dtype": "float",
            "ranks": 2,
            "communication_slowdown": None,
            "compute_slowdown": None,
            "repeats": 5,
            **times,
        }
    )
