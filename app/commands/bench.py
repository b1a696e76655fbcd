"""`ringside bench`: a benchmark of this machine, in the foreground.

Without `--json` the table streams to standard output in the layout of nccl-tests; with it, one JSON object comes at the end.
Progress and messages go to standard error. Rows that were measured are printed whatever happens. The run is kept beside
those of the Bench page, where it can be compared and drive calculators and timelines; `--no-keep` leaves no trace.
"""

import math
import signal
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, NoReturn, Protocol

import typer

from app.core.clock import utc_now

if TYPE_CHECKING:
    from datetime import datetime

    from app.bench.events import Event, Row
    from app.bench.result import RunResult
    from app.bench.runs import Status
    from app.bench.spec import RunSpec
    from app.bench.wire import LogText


class Keep(Protocol):
    """Puts an ended run where it can be found again."""

    def __call__(
        self, result: "RunResult", status: "Status", *, command: Sequence[str], began: "datetime", log: Sequence[str]
    ) -> None: ...


_CLEAR = "\r\x1b[K"


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


def command(
    *,
    ranks: Annotated[int, typer.Option(help="Ranks to start; on GPUs at most one per GPU.", min=1, max=1024)] = 2,
    preset: Annotated[PresetName, typer.Option(help="quick: 25 s, standard: 70 s, full: 200 s.")] = PresetName.quick,
    backend: Annotated[BackendName, typer.Option(help="auto takes NCCL where GPUs are.")] = BackendName.auto,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    hide_host: Annotated[bool, typer.Option(help="Mask host names in the output.")] = False,
    keep: Annotated[bool, typer.Option(help="Keep the run, for the Bench page and as hardware.")] = True,
) -> None:
    """Measure all-reduce, all-gather, reduce-scatter and GEMM on this machine."""
    import importlib.util
    import tempfile

    from app.bench.catalog import preset_spec
    from app.bench.diagnosis.explain import kinds

    if importlib.util.find_spec("torch") is None:
        missing = kinds()["no-torch"]
        _stop(f"PyTorch is not installed. {missing.remedy.en}")
    # Both explicitly: a shell starts background jobs with SIGINT ignored.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    spec = preset_spec(preset.value, ranks=ranks, backend=backend.value, hide_host=hide_host)
    with tempfile.TemporaryDirectory(prefix="ringside-") as folder:
        raise typer.Exit(run(spec, Path(folder), as_json=as_json, keep=_keep if keep else None))


def run(spec: "RunSpec", folder: Path, *, as_json: bool, keep: "Keep | None" = None) -> int:
    """Measure `spec` with the worker in `folder`, print the outcome, hand it to `keep`, give the exit code."""
    from dataclasses import replace

    from app.bench.launchers.local import node
    from app.bench.launchers.package import prepare
    from app.bench.launchers.session import Session
    from app.bench.result import RunResult

    began = utc_now()
    prepare(folder, spec)
    launch = node.commands(spec, folder)
    print(f"{launch}", file=sys.stderr)
    is_cancelled = False
    table = None if as_json else _Table()
    with Session(launch, folder=folder, result=RunResult(spec=spec)) as session:
        try:
            for event in session:
                _progress(event)
                if table:
                    table.take(event, result=session.result)
        except KeyboardInterrupt:
            is_cancelled = True
        # A second signal must not cut short the ending of the ranks.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
    if sys.stderr.isatty():
        print(end=_CLEAR, file=sys.stderr)
    if table:
        table.close()
    status, problems = session.judge(is_cancelled=is_cancelled)
    result = replace(session.result, problems=problems)
    code = _report(result, log=session.log, as_json=as_json, is_cancelled=is_cancelled)
    if keep and result.rows:
        keep(result, status, command=launch.command, began=began, log=session.log)
    return code


def _keep(
    result: "RunResult", status: "Status", *, command: Sequence[str], began: "datetime", log: Sequence[str]
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
        run_id = store.record(result, status, node="local", command=command, began=began, ended=utc_now(), log=log)
        database.dispose()
    except Exception as error:  # noqa: BLE001 - whatever the reason, the numbers are on the screen already
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        print(f"note: the run was not kept ({reason}). See: ringside doctor", file=sys.stderr)
        return
    print(f"kept as run {run_id}: /bench/runs/{run_id}, hardware profile run-{run_id}", file=sys.stderr)


def _report(result: "RunResult", *, log: Sequence[str], as_json: bool, is_cancelled: bool) -> int:
    """Print what came out; the exit code."""
    import json

    from app.bench.formats import json_export
    from app.hardware.fit import fit_rows

    fits = {name: fit.to_json() for name, fit in fit_rows(result.rows).items()}
    if as_json:
        print(json.dumps(json_export.document(result, fits=fits), allow_nan=False))
    else:
        _summarize(result)
    return _tell(result, log=log, is_cancelled=is_cancelled)


def _summarize(result: "RunResult") -> None:
    """GEMM rates and fits below the tables."""
    from app.hardware.fit import fit_rows

    if result.gemm:
        for rate in result.gemm.rates:
            shape = f"{rate.m} x {rate.k} x {rate.n}"
            print(f"# GEMM {rate.dtype:>8} {shape:>18} : {rate.tflop_per_s:.3f} TFLOP/s per rank")
    for name, fit in fit_rows(result.rows).items():
        if fit.refused:
            print(f"# fit {name}: {fit.refused.en}")
            continue
        for piece in fit.pieces:
            reach = f"{piece.low_bytes:.0f}..{piece.high_bytes:.0f} B"
            # Where the time does not grow with the size, there is no rate to tell.
            slope = f"beta {piece.beta / 1e9:.3f} GB/s" if math.isfinite(piece.beta) else "flat"
            rates = f"alpha {piece.alpha * 1e6:.1f} us, {slope}"
            print(f"# fit {name} {reach}: {rates}, residual {(fit.residual or 0) * 100:.1f} %")


def _tell(result: "RunResult", *, log: Sequence[str], is_cancelled: bool) -> int:
    """Say on standard error how it ended; the exit code."""
    from app.bench.diagnosis.explain import explain

    fatal = [problem for problem in result.problems if problem.fatal]
    for problem in result.problems:
        if problem.fatal and problem is not fatal[0]:
            continue  # what the others saw of the first failure
        explanation = explain(problem, log=log)
        kind = "error" if problem.fatal else "note"
        print(f"{kind}: {explanation.message.en} {explanation.remedy.en}", file=sys.stderr)
    if is_cancelled:
        print(f"cancelled; {len(result.rows)} rows measured", file=sys.stderr)
        return 130
    if fatal or not result.finished:
        print(f"{len(result.rows)} rows measured. Last lines of the log:", file=sys.stderr)
        print("\n".join(f"  {line}" for line in list(log)[-15:]), file=sys.stderr)
        return 1
    if result.has_wrong_values:
        print("error: wrong values were received; do not trust these numbers.", file=sys.stderr)
        return 1
    return 0


class _Table:
    """The streaming table: a title at each new operation, a footer below each."""

    def __init__(self) -> None:
        self._rows: list[Row] = []

    def take(self, event: "Event | LogText", *, result: "RunResult") -> None:
        from app.bench.events import Hello, Row
        from app.bench.formats import nccl_text

        if isinstance(event, Hello):
            print("\n".join(nccl_text.preamble(result)), flush=True)
        elif isinstance(event, Row):
            if self._rows and self._rows[-1].operation != event.operation:
                self.close()
            if not self._rows:
                print("\n".join(nccl_text.heading(event.operation, label=event.label)))
            self._rows.append(event)
            print(nccl_text.row_line(event), flush=True)

    def close(self) -> None:
        """The footer of the table that is open."""
        from app.bench.formats import nccl_text

        if self._rows:
            print("\n".join(nccl_text.footer(self._rows[0].operation, self._rows)), flush=True)
            self._rows = []


def _progress(event: "Event | LogText") -> None:
    from app.bench.events import Phase, Progress
    from app.core.units import binary_bytes, duration

    if isinstance(event, Progress):
        left = f", {duration(round(event.eta_seconds))} left" if event.eta_seconds is not None else ""
        text = f"[{event.done + 1}/{event.total}] {event.operation} {binary_bytes(event.size_bytes)}{left}"
    elif isinstance(event, Phase):
        text = f"{event.name} ..."
    else:
        return
    if sys.stderr.isatty():
        print(f"{_CLEAR}{text}", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)


def _interrupt(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise KeyboardInterrupt


def _stop(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    raise typer.Exit(1)
