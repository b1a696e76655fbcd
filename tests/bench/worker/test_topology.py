"""What a host says of its wiring: a machine tree laid out in a folder, a stand-in for nvidia-smi, and real ranks."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.bench import wire
from app.bench.events import Report
from app.bench.result import RunResult
from app.bench.worker.host_report import cpu_lines, network_lines
from app.bench.worker.topology import TITLES, parts, tool_lines

TWO_SOCKETS = {
    **{
        f"sys/devices/system/cpu/cpu{cpu}/topology/{name}": value
        for cpu in range(4)
        for name, value in (("physical_package_id", str(cpu % 2)), ("core_id", "0"))
    },
    **{
        f"sys/devices/system/cpu/cpu{cpu}/cache/index{index}/{name}": value
        for cpu in range(4)
        for index, facts in (
            (0, {"level": "1", "type": "Data", "size": "48K", "shared_cpu_list": f"{cpu % 2},{cpu % 2 + 2}"}),
            (3, {"level": "3", "type": "Unified", "size": "98304K", "shared_cpu_list": f"{cpu % 2},{cpu % 2 + 2}"}),
        )
        for name, value in facts.items()
    },
    "sys/devices/system/node/node0/cpulist": "0,2",
    "sys/devices/system/node/node0/distance": "10 21",
    "sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:       16777216 kB\nNode 0 MemFree: 1 kB",
    "sys/devices/system/node/node1/cpulist": "1,3",
    "sys/devices/system/node/node1/distance": "21 10",
}
NETWORK = {
    "sys/class/net/eth0/operstate": "up",
    "sys/class/net/eth0/speed": "25000",
    "sys/class/net/eth0/mtu": "9000",
    "sys/class/net/eth0/device/numa_node": "1",
    "sys/class/net/eth1/operstate": "down",
    "sys/class/net/eth1/speed": "-1",
    "sys/class/net/lo/operstate": "unknown",
    "sys/class/net/veth12/operstate": "up",
    "sys/class/net/bond0/operstate": "up",
    "sys/class/net/bond0/speed": "2500",
    "sys/class/infiniband/mlx5_0/ports/1/link_layer": "InfiniBand",
    "sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE",
    "sys/class/infiniband/mlx5_0/ports/1/rate": "400 Gb/sec (4X NDR)",
}
SMI = """#!/bin/sh
[ "$1 $2" = "topo -m" ] || exit 3
printf '\\t\\033[4mGPU0\\tGPU1\\tCPU Affinity\\033[0m\\n'
printf 'GPU0\\t X \\tNV18\\t0-23\\n\\nGPU1\\tNV18\\t X \\t0-23\\n'
"""


def lay_out(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="ascii")
    return root


def test_processors_caches_and_numa_nodes_are_told(tmp_path: Path) -> None:
    assert cpu_lines(lay_out(tmp_path, TWO_SOCKETS)) == [
        "4 processors, 2 cores, 2 sockets",
        "2 x L1 data cache of 48 KiB",
        "2 x L3 unified cache of 98304 KiB",
        "NUMA node0: processors 0,2, 16.0 GiB, distances 10 21",
        "NUMA node1: processors 1,3, distances 21 10",
    ]


def test_interfaces_that_are_up_are_told_with_their_speed(tmp_path: Path) -> None:
    assert network_lines(lay_out(tmp_path, NETWORK)) == [
        "bond0: 2.5 Gbit/s",
        "eth0: 25 Gbit/s, MTU 9000, NUMA node 1",
        "lo: speed unknown",
        "mlx5_0 port 1: InfiniBand, 400 Gb/sec (4X NDR), ACTIVE",
    ]


def test_a_machine_that_tells_nothing_has_no_lines(tmp_path: Path) -> None:
    assert cpu_lines(tmp_path) == network_lines(tmp_path) == []


def test_the_table_of_nvidia_smi_keeps_its_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(SMI, encoding="ascii")
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    assert tool_lines("topo", "-m") == [
        "        GPU0    GPU1    CPU Affinity",
        "GPU0     X      NV18    0-23",
        "GPU1    NV18     X      0-23",
    ]
    assert tool_lines("topo", "-p2p", "r") == []


def test_no_nvidia_smi_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.fspath(tmp_path))

    assert tool_lines("topo", "-m") == []


@settings(deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=300), max_size=120))
def test_no_line_of_a_report_is_lost_or_cut(lines: list[str]) -> None:
    pieces = list(parts(lines))

    assert [line for piece in pieces for line in piece] == lines
    for piece in pieces:
        report = Report(title=TITLES[0], host="node-0", lines=piece)
        assert wire.decode(wire.encode(report)) == report


def test_an_endless_report_says_what_is_missing() -> None:
    told = [line for piece in parts([f"line {number}" for number in range(1000)]) for line in piece]

    assert len(told) == 301
    assert told[-1] == "... 700 more lines"


@pytest.mark.gloo
def test_one_rank_of_the_host_reports_and_the_host_is_masked(extras_run: RunResult) -> None:
    titles = [report.title for report in extras_run.reports]

    assert titles.count("cpu") == 1
    assert set(titles) <= {"cpu", "network"}
    assert {report.host for report in extras_run.reports} == {"node-0"}
    (cpu,) = [report for report in extras_run.reports if report.title == "cpu"]
    assert f"{os.cpu_count()} processors" in cpu.lines[0]
