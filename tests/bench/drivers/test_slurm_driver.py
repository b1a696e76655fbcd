"""The driver by itself: probing, cleaning up, a Slurm that is out of reach, and a signal at the worst moment."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.bench import nodes
from app.bench.checkup import ask
from app.bench.diagnosis.explain import kinds
from app.bench.drivers import slurm as driver
from app.bench.drivers.output import Output as Voice
from app.bench.drivers.slurm_job import JobRun
from app.bench.drivers.slurm_login import Login, Unreachable
from app.bench.drivers.slurm_output import Output
from app.bench.drivers.slurm_queue import UNKNOWN, Queue, Refused, Standing
from app.bench.drivers.slurm_record import RECORD, Record
from app.bench.drivers.slurm_watch import Pace, Watch
from app.bench.events import Event, HostReady, Job, Phase, Problem
from app.bench.launchers.package import prepare
from app.bench.launchers.slurm_script import batch_script, sbatch_arguments
from app.bench.launchers.slurm_settings import SlurmSettings
from app.bench.wire import encode
from app.core.clock import utc_now
from tests.bench.drivers.slurm_cluster import Cluster, cluster
from tests.bench.ranks import small_spec


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with cluster() as found:
        yield found


@pytest.fixture
def slurm(running: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setenv("SLURM_CONF", running.conf)
    yield running
    assert running.jobs() == {}
    running.wait_for(lambda: running.processes() == set(), "a process is left")


def make_settings(**values: Any) -> SlurmSettings:
    settings = nodes.make("cluster", {"launcher": "slurm", **values}).settings
    assert isinstance(settings, SlurmSettings)
    return settings


@pytest.mark.gloo
def test_a_probe_lists_partitions_and_looks_at_a_free_node(slurm: Cluster) -> None:
    node = nodes.make("cluster", slurm.settings())

    found = ask(node, clock=utc_now, seconds=60)

    assert found.is_ready, (found.problems, found.log)
    (host,) = found.hosts
    assert host.torch is not None
    assert list(slurm.folder.iterdir()) == []


def test_a_probe_says_when_no_node_is_free(slurm: Cluster) -> None:
    slurm.set_nodes("drain")
    try:
        found = ask(nodes.make("cluster", slurm.settings()), clock=utc_now, seconds=60)
    finally:
        slurm.set_nodes("resume")

    assert [problem.kind for problem in found.problems] == ["slurm-busy"]


def test_a_probe_where_slurm_is_not(slurm: Cluster) -> None:
    found = ask(nodes.make("cluster", slurm.settings(bin_folder="/nothing/here")), clock=utc_now, seconds=60)

    assert [problem.kind for problem in found.problems] == ["slurm-missing"]


def test_a_probe_of_a_partition_that_is_not_there(slurm: Cluster) -> None:
    found = ask(nodes.make("cluster", slurm.settings(partition="nope")), clock=utc_now, seconds=60)

    assert [problem.kind for problem in found.problems] == ["slurm-rejected"]
    assert "nvalid partition" in found.problems[0].text


def test_slurm_takes_the_script_by_itself(slurm: Cluster, tmp_path: Path) -> None:
    """What the command line asks for stands in the script too, in quotes that sbatch understands."""
    settings = make_settings(**slurm.settings(constraint="[fast|slow]", nodelist="n[1-2]", extra=["--nice=5"]))
    script = tmp_path / "job.sh"
    script.write_text(batch_script(small_spec(hosts=2), settings, folder=str(tmp_path), mark="m"))
    job = slurm.ask("sbatch", "--parsable", "--hold", str(script)).strip()

    asked = slurm.ask("scontrol", "--oneliner", "show", "job", job)
    slurm.ask("scancel", job)

    for words in ("Features=[fast|slow]", "ReqNodeList=n[1-2]", "NumNodes=2", f"JobName=ringside-{tmp_path.name}"):
        assert words in asked


def test_a_job_whose_number_was_never_learnt_is_found_by_its_name(slurm: Cluster, tmp_path: Path) -> None:
    settings = slurm.settings()
    there = slurm.folder / "run-lost"
    there.mkdir()
    folder = tmp_path / "run"
    prepare(folder, small_spec(), node=nodes.make("cluster", settings))
    Record(name="ringside-run-lost", folder=str(there)).write(folder)
    slurm.ask("sbatch", "--job-name=ringside-run-lost", "--output=/dev/null", "--wrap=exec sleep 300")
    other = slurm.ask("sbatch", "--parsable", "--output=/dev/null", "--job-name=other", "--wrap=exec sleep 300").strip()

    assert asyncio.run(driver.clean(folder)) == 0

    assert list(slurm.jobs()) == [other]
    assert not there.exists()
    record = Record.read(folder)
    assert record is not None
    assert record.is_over
    slurm.ask("scancel", other)
    slurm.wait_for(lambda: slurm.jobs() == {}, "the other job does not end")


def test_there_is_nothing_to_clean_where_no_driver_came_so_far(tmp_path: Path) -> None:
    assert asyncio.run(driver.clean(tmp_path)) == 0


def test_a_controller_that_is_gone_for_long_ends_the_run_and_names_the_job(slurm: Cluster, tmp_path: Path) -> None:
    said: list[Event] = []
    settings = make_settings(**slurm.settings())
    spec = small_spec(ranks=3, hosts=3)  # for which there are too few nodes, so it waits

    async def see_through() -> int:
        prepare(tmp_path, spec)
        async with Login(settings) as login:
            folder = str(slurm.folder / "run-silent")
            record = Record(name="ringside-run-silent", folder=folder)
            pace = Pace(quick_seconds=0.2, silent_seconds=2, cancel_seconds=1)
            run = JobRun(spec, settings, folder=tmp_path, login=login, record=record, mark="m", say=tell, pace=pace)
            return await run.run()

    def tell(event: Event) -> None:
        said.append(event)
        if isinstance(event, Job) and "slurmctld" in slurm.daemons:
            slurm.stop("slurmctld")

    try:
        assert asyncio.run(see_through()) == 1
    finally:
        slurm.start("slurmctld", "-D", "-f", slurm.conf)
    record = Record.read(tmp_path)
    assert record is not None
    assert not record.is_over
    problems = [event for event in said if isinstance(event, Problem)]
    assert [problem.kind for problem in problems] == ["slurm-silent", "slurm-not-cancelled"]
    assert f"scancel {record.job}" in problems[1].text

    prepare(tmp_path, spec, node=nodes.make("cluster", slurm.settings()))
    assert asyncio.run(driver.clean(tmp_path)) == 0


# --- without a cluster: the commands are stubs that answer what a test wants -------------------------------------------


def stubs(folder: Path, **programs: str) -> SlurmSettings:
    """Programs of Slurm that are shell scripts; each call is noted in `calls`."""
    folder.mkdir(exist_ok=True)
    for name, body in programs.items():
        path = folder / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >> {folder}/calls\n{body}\n')
        path.chmod(0o755)
    return make_settings(bin_folder=str(folder), folder=str(folder / "shared"))


def calls(folder: Path, name: str) -> list[str]:
    text = (folder / "calls").read_text() if (folder / "calls").exists() else ""
    return [line for line in text.splitlines() if line.startswith(f"{name} ")]


def look(settings: SlurmSettings) -> Standing:
    async def run() -> Standing:
        async with Login(settings) as login:
            return await Queue(login, settings).look("7")

    return asyncio.run(run())


FORGOTTEN = 'echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1'


@pytest.mark.parametrize(
    ("squeue", "sacct", "expected"),
    [
        ('echo "RUNNING|None"', "exit 1", Standing("RUNNING")),
        ('echo "PENDING|Resources"', "exit 1", Standing("PENDING", "Resources")),
        (FORGOTTEN, 'echo "CANCELLED by 1000|None"', Standing("CANCELLED", "by 1000")),
        (FORGOTTEN, 'echo "TIMEOUT|None"', Standing("TIMEOUT")),
        (FORGOTTEN, 'echo "Slurm accounting storage is disabled" >&2; exit 1', Standing(UNKNOWN)),
        (FORGOTTEN, "true", Standing(UNKNOWN)),
        ("true", "exit 127", Standing(UNKNOWN)),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_job_is_looked_up_in_the_queue_then_in_the_accounts(
    tmp_path: Path, squeue: str, sacct: str, expected: Standing
) -> None:
    assert look(stubs(tmp_path / "bin", squeue=squeue, sacct=sacct)) == expected


def test_a_queue_that_does_not_answer_is_out_of_reach(tmp_path: Path) -> None:
    words = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
    with pytest.raises(Unreachable, match="Unable to contact"):
        look(stubs(tmp_path / "bin", squeue=f'echo "{words}" >&2; exit 1'))


@pytest.mark.parametrize(
    ("sbatch", "expected"),
    [("echo 12", "12"), ("echo '12;cluster'", "12"), ("echo 'Welcome to Foo'; echo 12", "12")],
)
def test_the_number_of_a_job_is_read(tmp_path: Path, sbatch: str, expected: str) -> None:
    assert submit(stubs(tmp_path / "bin", sbatch=sbatch)) == expected


def test_an_sbatch_that_prints_no_number_is_a_refusal(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="come back tomorrow"):
        submit(stubs(tmp_path / "bin", sbatch="echo 'come back tomorrow'"))


def submit(settings: SlurmSettings) -> str:
    async def run() -> str:
        async with Login(settings) as login:
            arguments: Sequence[str] = sbatch_arguments(small_spec(), settings, folder="/shared/run-1")
            return await Queue(login, settings).submit(arguments)

    return asyncio.run(run())


def test_a_signal_while_the_job_is_handed_in_takes_it_back(tmp_path: Path) -> None:
    """sbatch is under way and nobody knows the number yet: the driver waits for it, then cancels."""
    bin_folder = tmp_path / "bin"
    noting = f'for last; do :; done; cp "$last" {bin_folder}/script; env > {bin_folder}/environment'
    settings = stubs(bin_folder, sbatch=f"{noting}; sleep 1; echo 77", scancel="true", squeue='echo "CANCELLED|None"')
    folder = tmp_path / "run"
    prepare(folder, small_spec(), node=nodes.make("c", {"launcher": "slurm", **settings.model_dump(mode="json")}))
    child = subprocess.Popen(
        [sys.executable, "-m", "app.bench.drivers.slurm", "run", str(folder)],
        stdout=subprocess.PIPE,
        env={**os.environ, "RINGSIDE_RUN": "home/7", "RINGSIDE_DATABASE_URL": "postgresql://me:secret@db/x"},
    )
    deadline = time.monotonic() + 30
    while not calls(bin_folder, "sbatch"):
        assert time.monotonic() < deadline, "sbatch was not called"
        time.sleep(0.02)

    child.send_signal(signal.SIGTERM)
    time.sleep(0.3)  # the second one comes while the driver waits for sbatch
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=30)

    assert child.returncode == 128 + signal.SIGTERM
    assert calls(bin_folder, "scancel") == ["scancel 77"]
    assert json.loads((folder / RECORD).read_text())["is_over"]
    assert b'"Problem"' not in out
    assert list((bin_folder / "shared").iterdir()) == []
    assert "--mark home/7" in (bin_folder / "script").read_text()
    assert "RINGSIDE_" not in (bin_folder / "environment").read_text()


def test_a_job_that_slurm_forgot_is_asked_for_twice(tmp_path: Path) -> None:
    settings = stubs(tmp_path / "bin", squeue=FORGOTTEN, sacct="exit 1")

    async def run() -> list[bool]:
        async with Login(settings) as login:
            watch = Watch(Queue(login, settings), "7", pace=Pace())
            found = []
            for _ in range(2):
                await watch.look()
                found.append(watch.is_over)
            assert watch.standing == Standing(UNKNOWN)
            return found

    assert asyncio.run(run()) == [False, True]


def test_a_cluster_that_never_finishes_to_tidy_up_is_not_waited_for(tmp_path: Path) -> None:
    settings = stubs(tmp_path / "bin", squeue='echo "COMPLETING|None"')

    async def run() -> bool:
        async with Login(settings) as login:
            watch = Watch(Queue(login, settings), "7", pace=Pace(ending_seconds=0.0))
            await watch.look()
            await watch.look()
            return watch.is_over

    assert asyncio.run(run())


def test_output_is_passed_on_as_whole_lines_with_the_node_before_what_is_no_event(tmp_path: Path) -> None:
    written: list[tuple[int, bytes]] = []
    event = b'{"ringside":1,"event":"Heartbeat","seconds":1.0}\n'

    async def run() -> None:
        async with Login(make_settings()) as login:
            output = Output(login, folder=str(tmp_path), hosts=2, write=lambda *call: written.append(call))
            assert output.is_empty
            (tmp_path / "events-1.log").write_bytes(event + event[:10])
            (tmp_path / "log-1.log").write_bytes(b"torchrun \xff says\nhalf a l")
            assert await output.take()
            assert output.has_ranks
            assert written == [(1, event), (2, b"[1] torchrun \xff says\n")]
            written.clear()
            with (tmp_path / "events-1.log").open("ab") as file:
                file.write(event[10:])
            assert await output.take()
            assert not await output.take()
            assert written == [(1, event)]
            written.clear()
            await output.take(at_end=True)
            assert written == [(2, b"[1] half a l\n")]

    asyncio.run(run())


def test_names_of_nodes_are_hidden_as_soon_as_they_are_known(tmp_path: Path) -> None:
    written: list[tuple[int, bytes]] = []
    ready = encode(
        HostReady(
            host="gpu7.example",
            python="3.11.7",
            torch=None,
            nccl=None,
            cuda=None,
            gpus=(),
            cores=2,
            memory_bytes=1,
            shm_bytes=None,
            disk_bytes=1,
            interfaces={"eth0": "10.0.0.7"},
            free_port=1,
        )
    )

    async def run() -> None:
        async with Login(make_settings()) as login:
            output = Output(
                login, folder=str(tmp_path), hosts=1, mask=Voice(), write=lambda *call: written.append(call)
            )
            (tmp_path / "events-0.log").write_bytes(ready)
            await output.take()
            (tmp_path / "batch.log").write_bytes(b"slurmstepd: *** JOB 7 ON gpu7 CANCELLED ***\n")
            await output.take()
            assert output.ready[0].host == "gpu7.example"

    asyncio.run(run())

    said = b"".join(line for _, line in written)
    assert b"gpu7" not in said
    assert b"10.0.0.7" not in said
    assert b"JOB 7 ON node-0 CANCELLED" in said


def test_every_problem_of_the_driver_is_explained() -> None:
    folder = Path(driver.__file__).parent
    text = "".join(path.read_text() for path in folder.glob("slurm*.py"))
    told = {word for word in text.split('"') if word.startswith("slurm-") and word.replace("-", "").isalpha()}

    assert len(told) >= 12
    assert told <= set(kinds())


@pytest.mark.parametrize("arguments", [[], ["run"], ["fly", "x"]], ids=str)
def test_a_wrong_call_says_how_it_is_meant(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert driver.main(arguments) == 2
    assert "usage:" in capsys.readouterr().err


def test_a_home_folder_is_the_one_over_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    async def run() -> list[str]:
        async with Login(make_settings()) as login:
            return [await login.resolve(folder) for folder in ("~", "~/.cache/x/", "/shared/me/", "python3")]

    assert asyncio.run(run()) == [os.fspath(tmp_path), f"{tmp_path}/.cache/x", "/shared/me", "python3"]


def test_phases_follow_the_states_of_a_job(tmp_path: Path) -> None:
    """A job that is stopped by an administrator waits again, and its time does not count."""
    said: list[Event] = []
    states = ["PENDING|Resources", "RUNNING|None", "SUSPENDED|None", "RUNNING|None", "COMPLETING|None", "FAILED|None"]
    folder = tmp_path / "bin"
    answer = f'n=$(grep -c ^squeue {folder}/calls); sed -n "${{n}}p" {folder}/states'
    settings = stubs(folder, sbatch="echo 7", squeue=answer)
    (folder / "states").write_text("\n".join(states) + "\n")

    async def run() -> int:
        prepare(tmp_path / "run", small_spec())
        async with Login(settings) as login:
            record = Record(name="ringside-x", folder=str(folder / "shared" / "x"))
            return await JobRun(
                small_spec(),
                settings,
                folder=tmp_path / "run",
                login=login,
                record=record,
                mark="m",
                say=said.append,
                pace=Pace(quick_seconds=0.01),
            ).run()

    assert asyncio.run(run()) == 1

    told = [
        event.name if isinstance(event, Phase) else event.kind for event in said if isinstance(event, Phase | Problem)
    ]
    assert told == ["waiting", "starting", "waiting", "starting", "ending", "slurm-no-output"]
    assert [event.state for event in said if isinstance(event, Job)] == [
        "PENDING",
        *(state.partition("|")[0] for state in states),
    ]
