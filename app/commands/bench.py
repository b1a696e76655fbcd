"""`ringside bench`: a benchmark of this machine or of a node, in the foreground.

Without `--json` the table streams to standard output in the layout of nccl-tests; with it, one JSON object comes at the end.
Progress and messages go to standard error. Rows that were measured are printed whatever happens. The run is kept beside
those of the Bench page, where it can be compared and drive calculators and timelines; `--no-keep` leaves no trace.
"""

import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, NoReturn, Protocol

import typer

from app.core.clock import utc_now

if TYPE_CHECKING:
    from datetime import datetime

    from app.bench.launchers.model import Node
    from app.bench.plan import Plan
    from app.bench.result import RunResult
    from app.bench.runs import Status
    from app.bench.spec import RunSpec


class Keep(Protocol):
    """Puts an ended run where it can be found again."""

    def __call__(
        self,
        result: "RunResult",
        status: "Status",
        *,
        node: str,
        command: Sequence[str],
        began: "datetime",
        log: Sequence[str],
    ) -> None: ...


CANCELLED = 130
_LOCK_SECONDS = 0.5


class PresetName(StrEnum):
    """How long to measure."""

    quick = "quick"
    standard = "standard"
    full = "full"


class BackendName(StrEnum):
    """What carries the bytes."""

    auto = "auto"
    gloo = "gloo"
    nccl = "nccl"


Texts = list[str] | None


def command(
    *,
    node: Annotated[str, typer.Option(help="Where to run; `ringside node list` shows the nodes.")] = "local",
    ranks: Annotated[int, typer.Option(help="Ranks to start; on GPUs at most one per GPU.", min=1, max=1024)] = 2,
    hosts: Annotated[int | None, typer.Option(help="How many of the node's hosts; all by default.", min=1)] = None,
    preset: Annotated[
        PresetName, typer.Option(help="How long to measure; quick takes about half a minute.")
    ] = PresetName.quick,
    operation: Annotated[Texts, typer.Option(help="What to measure, e.g. all_reduce; repeat it for more.")] = None,
    backend: Annotated[BackendName, typer.Option(help="auto takes NCCL where GPUs are.")] = BackendName.auto,
    dtype: Annotated[str, typer.Option(help="Element type, e.g. float, bfloat16, half, int8, f8e4m3.")] = "float",
    redop: Annotated[str, typer.Option(help="Reduction: sum, prod, min, max or avg.")] = "sum",
    root: Annotated[int, typer.Option(help="Root of broadcast, reduce, gather and scatter.", min=0)] = 0,
    min_size: Annotated[str, typer.Option(help="Smallest message: 8, 64K, 1G; the preset's by default.")] = "",
    max_size: Annotated[str, typer.Option(help="Largest message.")] = "",
    extra: Annotated[Texts, typer.Option(help="latency, overlap, copies, links or topology; repeat it.")] = None,
    extras: Annotated[bool, typer.Option(help="Whether to measure any extras at all.")] = True,
    env: Annotated[Texts, typer.Option(metavar="NAME=VALUE", help="A variable for the ranks, e.g. NCCL_ALGO.")] = None,
    memory: Annotated[str, typer.Option(help="End the run when its ranks hold more on a host, e.g. 8G.")] = "",
    emulated: Annotated[bool, typer.Option(help="Let ranks share a GPU (NCCL): a demonstration.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    hide_host: Annotated[bool, typer.Option(help="Mask host names in the output.")] = False,
    keep: Annotated[bool, typer.Option(help="Keep the run, for the Bench page and as hardware.")] = True,
) -> None:
    """Measure collectives and GEMM on this machine or a node."""
    import tempfile

    from app.bench.choices import Choices

    choices = Choices(
        node=node,
        preset=preset.value,
        ranks=str(ranks),
        hosts="" if hosts is None else str(hosts),
        operation=operation,
        backend=backend.value,
        dtype=dtype,
        redop=redop,
        root=str(root),
        min_size=min_size,
        max_size=max_size,
        extras="" if extras else "chosen",
        extra=extra if extras else None,
        env="\n".join(env or ()),
        memory=memory,
        emulated=str(emulated),
        hide_host=str(hide_host),
    )
    planned = _planned(choices)
    assert planned.node is not None
    assert planned.spec is not None
    heed_interrupts()
    with devices_of(planned.node), tempfile.TemporaryDirectory(prefix="ringside-") as folder:
        code = run(planned.spec, Path(folder), node=planned.node, as_json=as_json, keep=keep_run if keep else None)
    raise typer.Exit(code)


def run(spec: "RunSpec", folder: Path, *, as_json: bool, node: "Node | None" = None, keep: "Keep | None" = None) -> int:
    """Measure `spec` on `node` (this machine by default) with the worker in `folder`, print the outcome, hand it to `keep`.

    Gives the exit code.
    """
    from dataclasses import replace

    from app.bench.launchers import local
    from app.bench.launchers.package import prepare
    from app.bench.launchers.session import Session
    from app.bench.result import RunResult
    from app.commands import bench_report

    node = node or local.node
    began = utc_now()
    prepare(folder, spec, node=node)
    launch = node.commands(spec, folder)
    print(f"{launch}", file=sys.stderr)
    is_cancelled = False
    table = None if as_json else bench_report.Table()
    session = Session(
        launch,
        folder=folder,
        result=RunResult(spec=spec),
        is_here=node.launcher.is_here,
        clean=node.clean(folder),
    )
    with session:
        try:
            for event in session:
                bench_report.progress(event)
                if table:
                    table.take(event, result=session.result)
        except KeyboardInterrupt:
            is_cancelled = True
        # A second signal must not cut short the ending of the ranks.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
    bench_report.clear_line()
    if table:
        table.close()
    status, problems = session.judge(is_cancelled=is_cancelled)
    result = replace(session.result, problems=problems)
    bench_report.show(result, as_json=as_json)
    code = CANCELLED if is_cancelled else bench_report.exit_code(result)
    bench_report.tell(result, log=session.log, is_cancelled=is_cancelled)
    if keep and result.rows:
        keep(result, status, node=node.name, command=launch.command, began=began, log=session.log)
    return code


def _planned(choices: object) -> "Plan":
    """Where and what to measure. Raises InvalidInput with a message per option."""
    import importlib.util

    from app.bench.choices import Choices
    from app.bench.diagnosis.explain import kinds
    from app.bench.home import nodes_path
    from app.bench.nodes import NodeFile
    from app.bench.plan import plan
    from app.core.errors import InvalidInput
    from app.settings import Settings

    assert isinstance(choices, Choices)
    node = NodeFile(nodes_path(Settings().data)).get(choices.node)
    if node.launcher.is_here and importlib.util.find_spec("torch") is None:
        _stop(f"PyTorch is not installed. {kinds()['no-torch'].remedy.en}")
    planned = plan(choices, {node.name: node})
    if planned.problems:
        raise InvalidInput({f"--{name.replace('_', '-')}": text for name, text in planned.problems.items()})
    _require_room(planned)
    return planned


def _require_room(planned: "Plan") -> None:
    """Stop when this machine could not hold the run; the drivers of other nodes ask there."""
    from app.bench import machine, preflight
    from app.bench.diagnosis.explain import explain
    from app.settings import Settings

    node, spec = planned.node, planned.spec
    if node is None or spec is None or not node.launcher.is_here:
        return
    here = machine.ready(Settings().data)
    for problem in preflight.fits(spec, here, interface=node.settings.interface):
        if problem.fatal:
            explanation = explain(problem)
            _stop(f"{explanation.message.en} {explanation.remedy.en}")


@contextmanager
def devices_of(node: "Node") -> Iterator[None]:
    """Inside, nobody else of this user measures on the node's devices. Waits for them; Ctrl-C ends the waiting."""
    from app.bench.devices import Devices
    from app.settings import Settings

    devices, told = Devices(node.devices, folder=Settings().locks), ""
    try:
        while not devices.take():
            if devices.holder != told:
                told = devices.holder
                print(f"waiting: another run uses this node ({told}); Ctrl-C ends the waiting", file=sys.stderr)
            time.sleep(_LOCK_SECONDS)
    except KeyboardInterrupt:
        print("cancelled while waiting; nothing was measured", file=sys.stderr)
        raise typer.Exit(CANCELLED) from None
    try:
        yield
    finally:
        devices.release()


def keep_run(
    result: "RunResult",
    status: "Status",
    *,
    node: str,
    command: Sequence[str],
    began: "datetime",
    log: Sequence[str],
) -> None:
    """Store the run and say where it is. A database that does not answer costs nothing that was printed."""
    from app.bench.home import home_id
    from app.bench.store import RunStore
    from app.core.db import Database
    from app.settings import Settings

    settings = Settings()
    try:
        database = Database(settings.database)
        database.migrate()
        store = RunStore(database, home=home_id(settings.data))
        run_id = store.record(result, status, node=node, command=command, began=began, ended=utc_now(), log=log)
        database.dispose()
    except Exception as error:  # noqa: BLE001 - whatever the reason, the numbers are on the screen already
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        print(f"note: the run was not kept ({reason}). See: ringside doctor", file=sys.stderr)
        return
    print(f"kept as run {run_id}: /bench/runs/{run_id}, hardware profile run-{run_id}", file=sys.stderr)


def heed_interrupts() -> None:
    """From now on Ctrl-C and SIGTERM raise KeyboardInterrupt; `run` turns both off once it ends what it started."""
    # Both explicitly: a shell starts background jobs with SIGINT ignored.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise KeyboardInterrupt


def _stop(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    raise typer.Exit(1)
