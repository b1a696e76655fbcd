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

from app.bench import process
from app.bench.store import RunStore
from app.commands import bench
from app.core.db import Database
from app.settings import Settings
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

    code = bench.run(small_spec(gemm_seconds=0), tmp_path, as_json=True, keep=bench._keep)

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

    code = bench.run(small_spec(gemm_seconds=0), tmp_path, as_json=True, keep=bench._keep)

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
