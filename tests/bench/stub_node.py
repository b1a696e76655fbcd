"""A node for tests: a launcher whose probe answers as it is told, and whose runs are those of `stub_ranks.py`.

`python stub_node.py BEHAVIOUR`. No machine is asked.
"""

import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from app.bench.events import HostReady, Problem, Report
from app.bench.launchers.model import Label, Launch, Launcher, Node, NodeSettings
from app.bench.spec import RunSpec
from app.bench.wire import emit
from app.core.i18n import Text

Behaviour = Literal["ready", "no-torch", "denied", "hang", "crash", "flood", "quiet"]


def _label(title: str) -> Label:
    return Label(Text(title, "标题"), Text("A sentence of help.", "一句说明。"))


class StubSettings(NodeSettings):
    """A setting of every kind."""

    hosts: Annotated[list[str], Field(min_length=1), _label("Hosts")]
    behaviour: Annotated[Behaviour, _label("Behaviour")] = "ready"
    port: Annotated[int, Field(ge=1, le=65535), _label("Port")] = 22
    has_agent: Annotated[bool, _label("Agent")] = True


def commands(spec: RunSpec, folder: Path, settings: StubSettings) -> Launch:
    """A run of two rows, without ranks."""
    del folder, settings
    ranks = Path(__file__).parent / "stub_ranks.py"
    root = str(Path(__file__).parent.parent.parent)
    shown = f"stub {spec.ranks} ranks on {spec.hosts} hosts"
    return Launch((sys.executable, str(ranks), "finish"), environment={"PYTHONPATH": root}, shown=shown)


def probe(settings: StubSettings) -> Launch:
    return Launch((sys.executable, "-m", "tests.bench.stub_node", settings.behaviour))


launcher = Launcher(
    slug="stub",
    title=Text("Stub", "替身"),
    note=Text("For tests.", "仅供测试。"),
    settings=StubSettings,
    commands=commands,
    devices=lambda settings: frozenset(settings.hosts),
    is_here=False,
    probe=probe,
)


def node(behaviour: Behaviour = "ready", *, name: str = "away") -> Node:
    return Node(name, launcher, StubSettings(hosts=["gpu1"], behaviour=behaviour))


def host(*, torch: str | None = "2.13.0") -> HostReady:
    return HostReady(
        host="gpu1",
        python="3.10.12",
        torch=torch,
        nccl="2.27.5",
        cuda="12.8",
        gpus=("NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"),
        cores=64,
        memory_bytes=1 << 38,
        shm_bytes=1 << 33,
        disk_bytes=1 << 40,
        interfaces={"eth0": "10.0.0.5"},
        free_port=29400,
    )


def main(behaviour: str) -> int:
    match behaviour:
        case "ready":
            sys.stdout.write("a banner of the login shell\n")
            sys.stdout.flush()
            emit(host(), descriptor=1)
            emit(Report(title="sinfo", host="gpu1", lines=("gpu up 2 nodes idle",)), descriptor=1)
        case "no-torch":
            # The real probe notes it, and leaves it to its reader whether that is fatal.
            emit(Problem(kind="no-torch", text="PyTorch cannot be imported", fatal=False), descriptor=1)
            emit(host(torch=None), descriptor=1)
        case "denied":
            emit(Problem(kind="exception", rank=0, text="<b>denied</b>"), descriptor=1)
            return 1
        case "hang":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
            sys.stdout.write(f"child {child.pid}\n")
            sys.stdout.flush()
            time.sleep(600)
        case "crash":
            sys.stderr.write("cannot open the door\n")
            return 3
        case "flood":
            while True:
                sys.stdout.write("x" * 4000)
        case _:
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
