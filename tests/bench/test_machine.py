"""What a machine offers: this one for real, and control groups of both versions as trees of files."""

import json
import os
import resource
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from app.bench import cgroup, machine, process
from app.bench.cgroup import MemoryLimit
from app.bench.process import ProcessId
from tests.bench.worker.cgroups import small_group

ROOT = Path(__file__).parent.parent.parent
MIB = 1024**2
V1 = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n35 31 0:32 {root} /sys/fs/cgroup/{name} rw - cgroup cgroup rw,{name}\n"
V2 = "31 23 0:28 {root} /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"


def tree(root: Path, files: dict[str, str]) -> Path:
    """A system under `root` with these files."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")
    return root


def version_1(root: Path, files: dict[str, str], *, name: str = "memory", inside: str = "/", group: str) -> Path:
    mounts = V1.format(root=inside, name=name)
    files = {f"sys/fs/cgroup/{name}/{path}": text for path, text in files.items()}
    return tree(root, {"proc/self/cgroup": f"5:{name}:{group}\n0::/\n", "proc/self/mountinfo": mounts, **files})


def version_2(root: Path, files: dict[str, str], *, inside: str = "/", group: str) -> Path:
    files = {f"sys/fs/cgroup/{path}": text for path, text in files.items()}
    files["sys/fs/cgroup/cgroup.controllers"] = "cpuset cpu io memory pids\n"
    return tree(root, {"proc/self/cgroup": f"0::{group}\n", "proc/self/mountinfo": V2.format(root=inside), **files})


def test_the_tightest_level_of_version_2_limits_and_its_idle_cache_counts_as_room(tmp_path: Path) -> None:
    version_2(
        tmp_path,
        {
            "user.slice/memory.max": f"{1000 * MIB}\n",
            "user.slice/memory.current": f"{900 * MIB}\n",
            "user.slice/memory.stat": f"anon 5\ninactive_file {50 * MIB}\n",
            "user.slice/job/memory.max": f"{400 * MIB}\n",
            "user.slice/job/memory.current": "0\n",
        },
        group="/user.slice/job",
    )

    assert cgroup.memory_limit(tmp_path) == MemoryLimit("user.slice", 1000 * MIB, 150 * MIB)


def test_version_1_counts_the_cache_of_the_whole_subtree_and_no_limit_is_none(tmp_path: Path) -> None:
    version_1(
        tmp_path,
        {
            "memory.limit_in_bytes": "9223372036854771712\n",
            "memory.usage_in_bytes": "5\n",
            "docker/memory.limit_in_bytes": f"{300 * MIB}\n",
            "docker/memory.usage_in_bytes": f"{250 * MIB}\n",
            "docker/memory.stat": f"inactive_file 1\ntotal_inactive_file {100 * MIB}\n",
        },
        group="/docker",
    )

    assert cgroup.memory_limit(tmp_path) == MemoryLimit("docker", 300 * MIB, 150 * MIB)


def test_a_container_sees_its_group_as_the_root_of_the_mount(tmp_path: Path) -> None:
    files = {"memory.limit_in_bytes": "100\n", "memory.usage_in_bytes": "40\n"}
    version_1(tmp_path, files, inside="/docker/abc", group="/docker/abc")

    assert cgroup.memory_limit(tmp_path) == MemoryLimit("memory", 100, 60)


def test_a_group_outside_of_the_mount_is_asked_at_the_mounts_root(tmp_path: Path) -> None:
    version_2(tmp_path, {"memory.max": "100\n", "memory.current": "90\n"}, group="/../../other")

    assert cgroup.memory_limit(tmp_path) == MemoryLimit("cgroup", 100, 10)


@pytest.mark.parametrize("files", [{}, {"job/memory.max": "max\n", "job/memory.current": "7\n"}])
def test_no_limit_is_none(tmp_path: Path, files: dict[str, str]) -> None:
    version_2(tmp_path, files, group="/job")

    assert cgroup.memory_limit(tmp_path) is None
    assert cgroup.memory_limit(tmp_path / "nothing") is None


def test_available_memory_is_the_least_of_machine_and_group(tmp_path: Path) -> None:
    meminfo = {"proc/meminfo": "MemTotal:       2048 kB\nMemAvailable:   1024 kB\n"}
    version_2(tmp_path, {"job/memory.max": f"{MIB}\n", "job/memory.current": f"{MIB // 4}\n"}, group="/job")

    assert machine.available_bytes(tree(tmp_path, meminfo)) == MIB * 3 // 4
    assert machine.available_bytes(tree(tmp_path / "bare", meminfo)) == MIB
    assert machine.available_bytes(tmp_path / "nothing") == machine.physical_bytes()


def test_kills_are_counted_in_both_versions(tmp_path: Path) -> None:
    one = version_1(
        tmp_path / "1", {"a/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"}, group="/a"
    )
    two = version_2(tmp_path / "2", {"a/memory.events": "low 0\noom 9\noom_kill 4\noom_group_kill 0\n"}, group="/a/b")

    assert cgroup.oom_kills(one) == 3
    assert cgroup.oom_kills(two) == 4
    assert cgroup.oom_kills(tmp_path) is None


def test_a_processor_quota_is_the_tightest_of_the_levels(tmp_path: Path) -> None:
    one = version_1(
        tmp_path / "1", {"a/cpu.cfs_quota_us": "-1\n", "a/cpu.cfs_period_us": "100000\n"}, name="cpu", group="/a"
    )
    two = version_2(tmp_path / "2", {"a/cpu.max": "350000 100000\n", "a/b/cpu.max": "max 100000\n"}, group="/a/b")
    less = version_2(tmp_path / "3", {"a/cpu.max": "50000 100000\n"}, group="/a")

    assert cgroup.processors(one) is None
    assert cgroup.processors(two) == 3.5
    assert machine.cores(less) == 1


def test_a_real_group_is_found_from_inside() -> None:
    code = (
        "from app.bench import cgroup; limit = cgroup.memory_limit(); print(limit.group, limit.limit, limit.room > 0)"
    )
    with small_group(limit_bytes=200 * MIB) as group:
        join = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group)]
        done = subprocess.run([*join, sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.split() == [group.name, str(200 * MIB), "True"]


def test_affinity_limits_the_processors() -> None:
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); from app.bench import machine; print(machine.cores())"

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout == "1\n"


def test_pinnable_memory_is_the_processs_limit() -> None:
    code = "from app.bench import machine; print(machine.memlock_bytes())"
    command = ["sh", "-c", 'ulimit -l 64 && exec "$@"', "sh", sys.executable, "-c", code]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout == "65536\n"


def test_no_limit_of_pinnable_memory_is_none() -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)

    assert machine.memlock_bytes() == (None if soft == resource.RLIM_INFINITY else soft)


def test_interfaces_that_are_up_have_their_address() -> None:
    """In a network of its own: one with IPv4, one with IPv6, one that is down, one that reaches its link only."""
    unshare, ip = shutil.which("unshare"), shutil.which("ip", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    assert unshare, "this test needs util-linux"
    assert ip, "this test needs iproute2"
    if subprocess.run([unshare, "--net", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no network namespace can be made here")
    code = "import json; from app.bench import machine; print(json.dumps(machine.interfaces()))"
    script = (
        'set -e; "$0" link set lo up; "$0" link add four type veth peer name six; "$0" link add off type veth peer name near;'
        '"$0" addr add 10.9.8.7/24 dev four; "$0" addr add fd00::17/64 dev six nodad; "$0" addr add 10.9.9.9/24 dev off;'
        '"$0" link set four up; "$0" link set six up; "$0" link set near up; "$0" addr add fe80::5/64 dev near nodad;'
        'exec "$@"'
    )

    done = subprocess.run(
        [unshare, "--net", "sh", "-c", script, ip, sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"lo": "127.0.0.1", "four": "10.9.8.7", "six": "fd00::17"}


def test_a_free_port_can_be_listened_on() -> None:
    with socket.create_server(("", machine.free_port())) as server:
        assert server.getsockname()[1] > 1024


def test_room_in_shared_memory_is_that_of_its_folder(tmp_path: Path) -> None:
    room = machine.shm_bytes(tmp_path)

    assert room is not None
    assert room > 0
    assert machine.shm_bytes(tmp_path / "nothing") is None


def test_the_disk_of_a_folder_that_is_not_there_yet_is_its_parents(tmp_path: Path) -> None:
    assert machine.disk_bytes(tmp_path / "not" / "yet") > 0


def test_gpus_of_the_driver_are_named(tmp_path: Path) -> None:
    text = "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 17\n"
    tree(tmp_path, {f"proc/driver/nvidia/gpus/0000:{bus}:00.0/information": text for bus in ("18", "2a")})

    assert machine.driver_gpus(tmp_path) == ("NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3")
    assert machine.driver_gpus(tmp_path / "nothing") == ()


def test_shared_pages_are_divided_among_those_that_share_them() -> None:
    me = process.identify(os.getpid())
    assert me is not None

    assert 0 < machine.proportional_bytes([me]) <= process.resident_bytes([me]) * 1.1
    assert machine.proportional_bytes([ProcessId(4194305, "1")]) == 0


def test_a_size_is_written_for_people() -> None:
    assert (machine.binary(1536 * MIB), machine.binary(640 * MIB)) == ("1.5 GiB", "640.0 MiB")


def test_ready_says_all_that_is_known_without_torch(tmp_path: Path) -> None:
    ready = machine.ready(tmp_path)

    assert (ready.host, ready.torch) == (socket.gethostname(), None)
    assert 0 < ready.memory_bytes <= machine.physical_bytes()
    assert 1 <= ready.cores <= (os.cpu_count() or 1)
    assert ready.interfaces["lo"] == "127.0.0.1"
