"""`ringside bench` as a person or a script meets it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from app.__main__ import cli
from app.bench import nodes, process
from app.bench.codec import plain
from app.bench.devices import Devices
from app.bench.events import Copy, Link, Overlap, Report
from app.bench.home import nodes_path
from app.bench.launchers.model import Node
from app.bench.result import RunResult
from app.bench.store import RunStore
from app.commands import bench, bench_report
from app.core.db import Database
from app.core.errors import AppError
from app.settings import Settings
from tests.bench import stub_node
from tests.bench.ranks import small_spec

MARK = "RINGSIDE_TEST_MARK"


@pytest.mark.gloo
def test_json_is_one_object_with_everything_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = tuple(4096 << place for place in range(5))

    code = bench.run(small_spec(sizes=sizes), tmp_path, as_json=True)

    output = capsys.readouterr()
    document = json.loads(output.out)
    assert code == 0
    assert output.out.count("\n") == 1
    assert set(document) >= {"environment", "rows", "fits", "gemm"}
    assert set(document["fits"]) == {"all_reduce", "all_gather", "reduce_scatter"}
    assert document["environment"]["backend"] == "gloo"
    assert document["gemm"]["tflop_per_s"] > 0
    assert len(document["rows"]) == 15
    for row in document["rows"]:
        names = {"operation", "size_bytes", "count", "dtype", "redop", "root", "ranks", "out_of_place", "in_place"}
        assert set(row) >= names
        assert set(row["out_of_place"]) >= {"time_us", "algbw_gb_per_s", "busbw_gb_per_s", "wrong"}
    assert "[1/15] all_reduce" in output.err


@pytest.mark.gloo
def test_a_run_is_kept_where_the_bench_page_finds_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RINGSIDE_DATA", str(tmp_path / "data"))

    code = bench.run(small_spec(gemm_seconds=0), tmp_path, as_json=True, keep=bench.keep_run)

    output = capsys.readouterr()
    document = json.loads(output.out)
    database = Database(Settings().database)
    store = RunStore(database, home="anywhere")
    kept = store.result(1)
    database.dispose()
    assert code == 0
    assert "kept as run 1" in output.err
    assert store.get(1).status == "done"
    assert [row.out_of_place.time_us for row in kept.rows] == [
        row["out_of_place"]["time_us"] for row in document["rows"]
    ]


@pytest.mark.gloo
def test_a_database_that_does_not_answer_costs_no_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RINGSIDE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("RINGSIDE_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")

    code = bench.run(small_spec(gemm_seconds=0), tmp_path, as_json=True, keep=bench.keep_run)

    output = capsys.readouterr()
    assert code == 0
    assert len(json.loads(output.out)["rows"]) == 9
    assert "was not kept" in output.err
    assert "ringside doctor" in output.err


@pytest.mark.gloo
def test_the_table_streams_to_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = bench.run(small_spec(gemm_seconds=0), tmp_path, as_json=False)

    lines = capsys.readouterr().out.splitlines()
    assert code == 0
    assert len([line for line in lines if line and not line.startswith("#")]) == 9
    assert [line for line in lines if "test starting" in line] == [
        f"# Collective test starting: {name}_perf" for name in ("all_reduce", "all_gather", "reduce_scatter")
    ]
    assert "# note: all-reduce inside" in lines


@pytest.mark.gloo
def test_an_interface_that_does_not_exist_is_named_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "eth99")

    code = bench.run(small_spec(), tmp_path, as_json=True)

    output = capsys.readouterr()
    assert code == 1
    assert json.loads(output.out)["rows"] == []
    assert "The network interface eth99 does not exist here. Set GLOO_SOCKET_IFNAME" in output.err


@pytest.mark.gloo
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_interrupting_prints_what_there_is_and_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    mark = f"{tmp_path}"
    with measuring(mark, "--json") as running:
        running.send_signal(number)
        output, _ = running.communicate(timeout=60)

    document: dict[str, Any] = json.loads(output)
    assert running.returncode == 130
    assert len(document["rows"]) >= 1
    assert not document["finished"]
    assert process.marked(MARK, mark) == set()


@pytest.mark.gloo
def test_killing_the_command_leaves_no_rank(tmp_path: Path) -> None:
    mark = f"{tmp_path}"
    with measuring(mark) as running:
        running.kill()
        running.communicate()

    deadline = time.monotonic() + 30
    while process.marked(MARK, mark) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert process.marked(MARK, mark) == set()


@contextmanager
def measuring(mark: str, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """The command, started and past its first row; its processes carry `mark`. None of them is left."""
    command = [sys.executable, "-m", "app", "bench", "--preset", "full", *options]
    environment = {**os.environ, MARK: mark, "RINGSIDE_DATA": f"{mark}/data"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if line.startswith("[2/"):
                break
        try:
            yield running
        finally:
            for stray in process.marked(MARK, mark) if running.poll() is None else ():
                process.send(stray, signal.SIGKILL)


@pytest.fixture
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node `away` of two hosts; its runs bring two rows at once."""
    monkeypatch.setattr(nodes, "known_launchers", lambda: {"stub": stub_node.launcher})
    monkeypatch.setenv("RINGSIDE_DATA", str(tmp_path / "data"))
    nodes.NodeFile(nodes_path(tmp_path / "data")).add(
        Node("away", stub_node.launcher, stub_node.StubSettings(hosts=["gpu1", "gpu2"]))
    )
    # The command takes Ctrl-C for the rest of its process, which here is the test's own.
    monkeypatch.setattr(signal, "signal", lambda _number, _handler: None)


@pytest.mark.usefixtures("away")
def test_every_option_reaches_the_run_on_its_node(tmp_path: Path) -> None:
    options = "--node away --ranks 4 --hosts 2 --operation reduce --operation all_reduce --dtype half --redop max"
    more = "--root 1 --min-size 1K --max-size 1M --extra links --env NCCL_ALGO=Ring --memory 2G --hide-host --json"

    done = CliRunner().invoke(cli, ["bench", *options.split(), *more.split()])

    assert done.exit_code == 0, done.output
    spec = json.loads(done.stdout)["specification"]
    assert (spec["ranks"], spec["hosts"], spec["operations"]) == (4, 2, ["all_reduce", "reduce"])
    assert (spec["dtype"], spec["redop"], spec["root"], spec["extras"]) == ("half", "max", 1, ["links"])
    assert (spec["sizes"][0], spec["sizes"][-1], spec["memory_bytes"]) == (1024, 1 << 20, 2 << 30)
    assert (spec["variables"], spec["hide_host"]) == ({"NCCL_ALGO": "Ring"}, True)
    assert "stub 4 ranks on 2 hosts" in done.stderr
    database = Database(Settings().database)
    kept = RunStore(database, home="anywhere").get(1)
    database.dispose()
    assert (kept.node, kept.command) == ("away", ("stub 4 ranks on 2 hosts",))


@pytest.mark.usefixtures("away")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--node moon", "There is no node 'moon'"),
        ("--node away --ranks 3", "--ranks: 3 ranks cannot be spread evenly over 2 hosts."),
        ("--node away --operation all_dance", "--operation: Choose at least one operation."),
        ("--node away --min-size tiny", "--min-size: Enter bytes such as 64K or 1G"),
        ("--node away --env LD_PRELOAD=x", "--env: LD_PRELOAD may not be set"),
        ("--node away --backend gloo --emulated", "--emulated: Only NCCL"),
    ],
)
def test_a_wrong_option_is_named_and_nothing_runs(tmp_path: Path, options: str, message: str) -> None:
    done = CliRunner().invoke(cli, ["bench", *options.split()])

    assert isinstance(done.exception, AppError)
    assert message in str(done.exception)
    assert not list(tmp_path.rglob("*.sqlite3"))


def test_a_run_that_this_machine_cannot_hold_is_refused_before_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1024 ranks with two buffers of 16 GiB each: more than any machine has."""
    monkeypatch.setenv("RINGSIDE_DATA", str(tmp_path / "data"))

    done = CliRunner().invoke(cli, ["bench", "--ranks", "1024", "--max-size", "16G"])

    assert done.exit_code == 1
    assert "memory" in done.stderr
    assert "torch.distributed.run" not in done.stderr


def test_findings_are_printed_and_exported(capsys: pytest.CaptureFixture[str]) -> None:
    overlap = Overlap(
        operation="all_reduce",
        size_bytes=1 << 20,
        dtype="float",
        ranks=2,
        communication_us=200.0,
        compute_us=300.0,
        both_us=350.0,
        hidden=0.75,
        communication_slowdown=1.2,
        compute_slowdown=1.1,
        repeats=9,
    )
    copy = Copy(kind="host_to_host", size_bytes=1 << 26, gb_per_s=12.5, pinned=False, repeats=7)
    link = Link(source=0, target=1, size_bytes=1 << 24, one_way_gb_per_s=3.25, both_ways_gb_per_s=5.5, latency_us=12.0)
    report = Report(title="sockets", host="here", lines=("2 sockets",))
    result = RunResult(spec=small_spec()).add_all((overlap, copy, link, report))

    bench_report.show(result, as_json=False)
    text = capsys.readouterr().out
    bench_report.show(result, as_json=True)
    document = json.loads(capsys.readouterr().out)

    for line in (
        "# overlap all_reduce 1048576 B: alone 200 us and GEMM 300 us, both 350 us, hidden 75 %",
        "# copy host_to_host 67108864 B pageable: 12.50 GB/s",
        "# link 0 -> 1: 3.250 GB/s one way, 5.500 GB/s both ways, 12.0 us",
        "#   2 sockets",
    ):
        assert line in text.splitlines()
    assert [document[name][0] for name in ("overlaps", "copies", "links", "reports")] == [
        plain(finding) for finding in (overlap, copy, link, report)
    ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_busy_machine_is_waited_for_until_the_wait_is_cancelled(tmp_path: Path, number: signal.Signals) -> None:
    devices = Devices({"local"}, folder=tmp_path / "locks")
    assert devices.take()
    environment = {**os.environ, "RINGSIDE_DATA": str(tmp_path / "data"), "RINGSIDE_LOCKS": str(tmp_path / "locks")}
    command = [sys.executable, "-m", "app", "bench", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as waiting:
        assert waiting.stderr is not None
        told = waiting.stderr.readline()
        waiting.send_signal(number)
        output, rest = waiting.communicate(timeout=120)
    devices.release()

    assert f"another run uses this node (pid {os.getpid()})" in told
    assert "nothing was measured" in rest
    assert (waiting.returncode, output) == (130, "")


def test_without_torch_the_remedy_is_said(tmp_path: Path) -> None:
    """A Python that has what the command needs, but no torch."""
    code = (
        "import importlib.util, sys\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'torch' else find(name, *rest)\n"
        "from app.__main__ import main\n"
        "sys.argv = ['ringside', 'bench']\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)

    assert done.returncode == 1
    assert "PyTorch is not installed" in done.stderr
    assert "pip install 'ringside[bench]'" in done.stderr
    assert done.stdout == ""
