"""What Slurm is given, word by word, and which settings are refused."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from app.bench import nodes
from app.bench.launchers import slurm
from app.bench.launchers.slurm_script import (
    PORT_TAKEN,
    batch_script,
    options,
    probe_arguments,
    sbatch_arguments,
    srun_arguments,
)
from app.bench.launchers.slurm_settings import SlurmSettings
from app.core.errors import InvalidInput
from tests.bench.ranks import small_spec

RUN = "/shared/run-1"
FULL = SlurmSettings(
    bin_folder="/opt/slurm/bin",
    partition="gpu",
    account="lab",
    qos="high",
    constraint="h100&ib",
    nodelist="gpu[1-2]",
    gpus_per_node=8,
    cpus_per_task=64,
    memory="200G",
    time_limit_minutes=30,
    python="/venv/bin/python",
    interface="ib0",
    environment={"NCCL_DEBUG": "WARN"},
    extra=["--exclusive", "--reservation=monday"],
)


def test_a_job_on_one_node_word_by_word() -> None:
    spec, settings = small_spec(), SlurmSettings()

    assert sbatch_arguments(spec, settings, folder=RUN) == (
        "sbatch",
        "--parsable",
        "--job-name=ringside-run-1",
        "--nodes=1",
        "--ntasks-per-node=1",
        "--cpus-per-task=2",
        "--time=15",
        "--no-requeue",
        "--export=ALL",
        "--chdir=/shared/run-1",
        "--output=/shared/run-1/batch.log",
        "--open-mode=append",
        "/shared/run-1/job.sh",
    )
    assert batch_script(spec, settings, folder=RUN, mark="home/7") == (
        "#!/bin/sh\n"
        "#SBATCH --job-name=ringside-run-1\n"
        "#SBATCH --nodes=1\n"
        "#SBATCH --ntasks-per-node=1\n"
        "#SBATCH --cpus-per-task=2\n"
        "#SBATCH --time=15\n"
        "#SBATCH --no-requeue\n"
        "#SBATCH --export=ALL\n"
        "#SBATCH --chdir=/shared/run-1\n"
        "#SBATCH --output=/shared/run-1/batch.log\n"
        "#SBATCH --open-mode=append\n"
        "exec srun --nodes=1 --ntasks=1 --ntasks-per-node=1 --cpus-per-task=2 --kill-on-bad-exit=1 --mpi=none"
        " --input=none --export=ALL --open-mode=append --output=/shared/run-1/events-%t.log"
        " --error=/shared/run-1/log-%t.log env OMP_NUM_THREADS=1 python3 /shared/run-1/worker.pyz slurm-node"
        " --nodes 1 --ranks-per-node 2 --mark home/7 /shared/run-1/spec.json\n"
    )


def test_everything_a_node_can_ask_for() -> None:
    spec = small_spec(ranks=16, hosts=2, memory_bytes=1 << 30, variables={"NCCL_ALGO": "Ring"})

    assert options(spec, FULL, folder=RUN)[10:] == (
        "--partition=gpu",
        "--account=lab",
        "--qos=high",
        "--constraint=h100&ib",
        "--nodelist=gpu[1-2]",
        "--gres=gpu:8",
        "--mem=200G",
        "--exclusive",
        "--reservation=monday",
    )
    assert srun_arguments(spec, FULL, folder=RUN, mark="m") == (
        "/opt/slurm/bin/srun",
        "--nodes=2",
        "--ntasks=2",
        "--ntasks-per-node=1",
        "--cpus-per-task=64",
        "--kill-on-bad-exit=1",
        "--mpi=none",
        "--input=none",
        "--export=ALL",
        "--open-mode=append",
        "--output=/shared/run-1/events-%t.log",
        "--error=/shared/run-1/log-%t.log",
        "env",
        "OMP_NUM_THREADS=1",
        "GLOO_SOCKET_IFNAME=ib0",
        "NCCL_SOCKET_IFNAME=ib0",
        "NCCL_DEBUG=WARN",
        "NCCL_ALGO=Ring",
        "/venv/bin/python",
        "/shared/run-1/worker.pyz",
        "slurm-node",
        "--nodes",
        "2",
        "--ranks-per-node",
        "8",
        "--mark",
        "m",
        "--memory",
        "1073741824",
        "--scontrol",
        "/opt/slurm/bin/scontrol",
        "/shared/run-1/spec.json",
    )


def test_the_script_asks_for_the_same_as_the_command_line_and_quotes_it() -> None:
    spec = small_spec(hosts=2)

    script = batch_script(spec, FULL, folder=RUN, mark="m").splitlines()

    asked = [line.removeprefix("#SBATCH ") for line in script if line.startswith("#SBATCH ")]
    assert [each.strip("'") for each in asked] == list(sbatch_arguments(spec, FULL, folder=RUN)[2:-1])
    assert "'--constraint=h100&ib'" in asked


def test_a_probe_asks_for_one_node_now() -> None:
    assert probe_arguments(SlurmSettings(partition="gpu", gpus_per_node=4), folder="/shared/probe-1") == (
        "srun",
        "--job-name=ringside-probe-1",
        "--nodes=1",
        "--ntasks=1",
        "--time=2",
        "--immediate=10",
        "--mpi=none",
        "--input=none",
        "--export=ALL",
        "--chdir=/shared/probe-1",
        "--partition=gpu",
        "--gres=gpu:4",
        "python3",
        "/shared/probe-1/worker.pyz",
        "probe",
    )


def test_people_see_what_is_submitted_and_what_the_job_runs() -> None:
    launch = slurm.commands(small_spec(), Path("/data/runs/7"), SlurmSettings(via="me@login"))

    submit, step = str(launch).splitlines()
    assert submit.startswith("ssh me@login sbatch --parsable --job-name=ringside-RUN ")
    assert submit.endswith(" '~/.cache/ringside/RUN/job.sh'")
    assert step.startswith("srun --nodes=1 ")
    assert launch.arguments[1:] == ("-m", "app.bench.drivers.slurm", "run", "/data/runs/7")


def test_a_batch_system_guards_its_own_devices() -> None:
    node = nodes.make("cluster", {"launcher": "slurm"})

    assert node.devices == frozenset()
    assert not node.launcher.is_here


@pytest.mark.parametrize(
    "values",
    [
        {"partition": "gpu; rm -rf /"},
        {"partition": "--wrap=evil"},
        {"account": "a b"},
        {"constraint": "$(id)"},
        {"constraint": "a\n#SBATCH --wrap"},
        {"nodelist": "-x"},
        {"memory": "lots"},
        {"memory": "0"},
        {"python": "python3 -c 1"},
        {"python": "-c"},
        {"python": "~other/bin/python"},
        {"folder": "relative"},
        {"folder": "~other/x"},
        {"folder": "/shared/../etc"},
        {"folder": "/shared/%j"},
        {"folder": "/shared/a b"},
        {"bin_folder": "bin"},
        {"via": "me@login -oProxyCommand=evil"},
        {"via": "-oProxyCommand=evil"},
        {"time_limit_minutes": 0},
        {"gpus_per_node": -1},
        {"extra": ["--wrap=evil"]},
        {"extra": ["--output=/etc/passwd"]},
        {"extra": ["exclusive"]},
        {"extra": ["--exclude=$(id)"]},
        {"extra": ["--exclude="]},
    ],
    ids=str,
)
def test_a_value_that_could_be_more_than_it_seems_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        nodes.make("cluster", {"launcher": "slurm", **values})

    assert list(caught.value.fields) == list(values)


@pytest.mark.parametrize(
    "values",
    [
        {"folder": "~"},
        {"python": "~/venv/bin/python3.12"},
        {"folder": "/shared/me/"},
        {"via": "me@[fe80::1]:22"},
        {"constraint": "[rack1|rack2]"},
        {"extra": ["--exclude=n[1-3],n7", "--nice=100"]},
    ],
    ids=str,
)
def test_a_value_that_is_in_order_is_taken(values: dict[str, Any]) -> None:
    settings = nodes.make("cluster", {"launcher": "slurm", **values}).settings

    assert {name: getattr(settings, name) for name in values} == values


STUB = """#!/bin/sh
echo "$RINGSIDE_PORT" >> {log}
[ "$(wc -l < {log})" -ge {good} ] || touch {taken}
exit 7
"""


@pytest.mark.parametrize(("good", "tries", "code"), [(1, 1, 7), (3, 3, 7), (9, 3, 1)])
def test_another_port_is_tried_while_the_last_was_taken(tmp_path: Path, good: int, tries: int, code: int) -> None:
    """The script is real, srun is not: it makes the file that says that the port was taken."""
    log = tmp_path / "ports"
    stub = tmp_path / "srun"
    stub.write_text(STUB.format(log=log, good=good, taken=tmp_path / PORT_TAKEN))
    chooser = tmp_path / "python"
    chooser.write_text('#!/bin/sh\n[ "$2 $3" = "slurm-node --free-port" ] && echo 40001\n')
    stub.chmod(0o755)
    chooser.chmod(0o755)
    settings = SlurmSettings(bin_folder=str(tmp_path), python=str(chooser))
    script = batch_script(small_spec(hosts=2), settings, folder=str(tmp_path), mark="m")

    done = subprocess.run(["sh", "-c", script], env=os.environ, capture_output=True, text=True, check=False)

    assert log.read_text().split() == ["40001"] * tries
    assert done.returncode == code
    assert ("EADDRINUSE" in done.stderr) == (code == 1)
