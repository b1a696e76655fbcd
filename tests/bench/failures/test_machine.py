"""What the machine under a run can lack: memory, disk, free devices; and what a crash leaves on it."""

import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.bench import process
from app.bench.leftovers import SHARED
from app.bench.lock import is_held
from app.bench.nodes import NodeFile, make
from app.core.clock import utc_now
from tests.bench.failures.conftest import installation
from tests.bench.failures.scene import BAD_RANK, QUICK, ROOT, SECONDS, Scene, command, torchrun, wait_for
from tests.bench.ranks import long_spec, small_spec
from tests.bench.worker.cgroups import small_group

MIB = 1024**2


@pytest.mark.gloo
def test_the_kernels_kill_for_want_of_memory_is_told_with_the_limit(scene: Scene) -> None:
    run_id = scene.store.enqueue(long_spec(), node="local", now=utc_now())
    with small_group(limit_bytes=1536 * MIB) as group:
        join = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group)]
        arguments = [sys.executable, "-m", "tests.bench.failures.limited", str(scene.data), str(scene.locks), "eat"]
        with subprocess.Popen([*join, *arguments], cwd=ROOT) as runner:
            process.send(scene.rank(run_id), signal.SIGUSR1)
            wait_for(lambda: runner.poll() is not None, what="the end of the runner")

    found = scene.outcome(run_id)
    assert (found.run.status, found.kind, found.run.problems[0].rank) == ("crashed", "oom-killed", 1)
    assert found.says(f"1.5 GiB (cgroup {group.name})", remedy="Lower the maximum size")
    assert found.run.rows >= 1


@pytest.mark.gloo
def test_a_launcher_that_is_killed_after_its_runner_is_not_told_as_unwatched(scene: Scene) -> None:
    """The runner that takes the run over sees it end, but the exit code was for its parent."""
    run_id = scene.store.enqueue(long_spec(), node="local", now=utc_now())
    arguments = [sys.executable, "-m", "tests.bench.failures.limited", str(scene.data), str(scene.locks), "none"]
    with subprocess.Popen(arguments, cwd=ROOT) as first:
        scene.rank(run_id)
        first.kill()
    second = threading.Thread(target=scene.runner(torchrun("none")).work, daemon=True)
    second.start()
    wait_for(lambda: is_held(scene.data / "runner.lock"), what="the second runner")
    rows = scene.store.get(run_id).rows
    wait_for(lambda: scene.store.get(run_id).rows > rows, what="a row under the second runner")
    leader = scene.store.get(run_id).leader
    assert leader is not None

    process.send(leader, signal.SIGKILL)
    second.join(SECONDS)

    found = scene.outcome(run_id)
    assert (found.run.status, found.kind) == ("crashed", "launcher-lost")
    assert found.says("ended without a word", remedy="rows so far are kept")
    assert found.run.rows > rows


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A data folder on a disk of 24 MiB of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "ringside-test", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
    try:
        yield folder / "data"
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(disk: Path, *, leave_bytes: int) -> None:
    """Write to the disk until only so much is left."""
    with (disk / "fill").open("wb") as file:
        free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        while free > leave_bytes:
            try:
                file.write(b"x" * min(MIB, free - leave_bytes))
                file.flush()
            except OSError:
                return
            free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize


@pytest.mark.gloo
@pytest.mark.parametrize("leave_bytes", [2 * MIB, 0], ids=["nearly", "to the last byte"])
def test_a_disk_that_fills_up_ends_the_run_and_costs_no_row(small_disk: Path, tmp_path: Path, leave_bytes: int) -> None:
    limits = replace(QUICK, free_disk_bytes=MIB, least_disk_bytes=4 * MIB)
    with installation(small_disk, locks=tmp_path / "locks") as scene:

        def meanwhile(run_id: int) -> None:
            scene.rank(run_id)
            fill(small_disk, leave_bytes=leave_bytes)

        found = scene.run(torchrun("none"), meanwhile=meanwhile, limits=limits)

        assert (found.run.status, found.kind) == ("partial", "disk-full")
        assert found.says("The disk is full", remedy="Free some space")
        assert found.run.rows == (small_disk / "runs" / "1" / "events.log").read_bytes().count(b'"event":"Row"')
        assert found.run.rows >= 1


def test_a_disk_that_is_full_before_the_run_is_told(small_disk: Path, tmp_path: Path) -> None:
    with installation(small_disk, locks=tmp_path / "locks") as scene:
        found = scene.run(command("true"), small_spec())

        assert (found.run.status, found.kind, found.run.command) == ("launch_failed", "disk-full", ())
        assert found.says("The disk is full", remedy="Free some space")


STUB = Path(__file__).parent.parent / "stub_ranks.py"


def test_a_run_waits_for_the_devices_of_another_installation_and_says_who_has_them(
    scene: Scene, tmp_path: Path
) -> None:
    with installation(tmp_path / "other", locks=scene.locks) as other:
        first = scene.store.enqueue(long_spec(), node="local", now=utc_now())
        second = other.store.enqueue(small_spec(), node="local", now=utc_now())
        runners = [
            threading.Thread(target=scene.runner(command(sys.executable, str(STUB), "run-on")).work, daemon=True),
            threading.Thread(target=other.runner(command(sys.executable, str(STUB), "finish")).work, daemon=True),
        ]
        runners[0].start()
        wait_for(lambda: scene.store.get(first).rows == 1, what="a row of the first run")
        runners[1].start()
        wait_for(lambda: (found := other.store.get(second).progress) is not None and bool(found.note), what="a note")
        told = other.store.get(second)
        scene.store.request_stop(first, now=utc_now())
        for runner in runners:
            runner.join(60)

        assert told.progress is not None
        assert (told.status, told.progress.phase, told.progress.note) == ("queued", "waiting", f"pid {os.getpid()}")
        assert scene.outcome(first).run.status == "cancelled"
        assert other.outcome(second).run.status == "done"
        assert not is_held(scene.locks / "local.lock")


def test_a_node_that_was_removed_while_a_run_waited_for_it_is_told(scene: Scene) -> None:
    nodes = NodeFile(scene.data / "nodes.toml")
    nodes.add(make("gpu", {"launcher": "ssh", "hosts": ["me@gpu1.invalid"]}))
    run_id = scene.store.enqueue(small_spec(), node="gpu", now=utc_now())
    nodes.remove("gpu")

    scene.runner(None).work()

    found = scene.outcome(run_id)
    assert (found.run.status, found.kind, found.run.command) == ("launch_failed", "no-such-node", ())
    assert found.says("There is no node gpu any more", remedy="ringside node list")


@pytest.mark.skipif(not SHARED.is_dir(), reason="this system has no /dev/shm")
def test_shared_memory_and_temporary_files_of_killed_ranks_are_removed_and_nobody_elses(scene: Scene) -> None:
    own, strange, shared = (SHARED / f"nccl-test{secrets.token_hex(4)}" for _ in range(3))
    strange.write_bytes(b"x" * 4096)
    try:
        holder = [sys.executable, str(BAD_RANK.parent / "shm_rank.py")]
        with subprocess.Popen([*holder, "hold", str(shared)], stdout=subprocess.PIPE) as neighbour:
            assert neighbour.stdout is not None
            neighbour.stdout.readline()

            def kill(run_id: int) -> None:
                wait_for(lambda: len(scene.store.get(run_id).started) == 1, what="the rank")
                (started,) = scene.store.get(run_id).started
                wait_for(lambda: own.exists() and any(scene.data.rglob("left-*")), what="its files")
                # The runner looks twice a second at what is mapped.
                threading.Event().wait(2)
                os.kill(started.pid, signal.SIGKILL)

            found = scene.run(command(*holder, "rank", str(own), str(shared)), meanwhile=kill)
            left = [path.exists() for path in (own, strange, shared)]
            neighbour.kill()

        assert found.run.status == "init_failed"
        assert left == [False, True, True]
        assert list(scene.data.rglob("left-*")) == []
    finally:
        for path in (own, strange, shared):
            path.unlink(missing_ok=True)
