"""`ringside demo`: what the study pages tell, shown on this machine. `demo slow-network` shows when overlap pays off.

It measures the same collectives twice, between hosts in network namespaces that are joined by a slow network and by one without a limit,
each alone, beside a matrix product, and the product alone. The comparison goes to standard output, everything else to standard
error. Both runs are kept like those of `ringside bench`.
"""

import contextlib
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from datetime import datetime

    from app.bench.events import Overlap
    from app.bench.launchers.model import Node
    from app.bench.result import RunResult
    from app.bench.runs import Status
    from app.bench.spec import RunSpec

command = typer.Typer(help="See on this machine what the study pages tell.", no_args_is_help=True)

SLOW, FAST = "slow-network", "fast-network"
_MESSAGE_SECONDS = 0.08
"""About how long a message of the slow network is under way: longer than what starting one costs."""
_SMALLEST, _LARGEST = 256 * 1024, 16 * 1024 * 1024
_UNKNOWN = "-"


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two networks, and what was measured on it."""

    title: str
    result: "RunResult"

    def overlap(self, operation: str) -> "Overlap | None":
        """Of the operation's largest size."""
        found = [each for each in self.result.overlaps if each.operation == operation]
        return max(found, key=lambda each: each.size_bytes, default=None)

    def bandwidth(self, operation: str) -> float | None:
        """The bus bandwidth of its largest size in GB/s."""
        found = [row for row in self.result.rows if row.operation == operation]
        return max(found, key=lambda row: row.size_bytes).out_of_place.busbw_gb_per_s if found else None


@command.callback()
def _always_sub_commands() -> None:
    """See on this machine what the study pages tell."""


@command.command("slow-network")
def slow_network(
    *,
    rate_mbit: Annotated[int, typer.Option(help="Rate of the slow network in Mbit/s.", min=1, max=10_000)] = 400,
    delay_ms: Annotated[int, typer.Option(help="Its delay one way; needs netem in the kernel.", min=0, max=1000)] = 0,
    seconds: Annotated[float, typer.Option(help="For the overlap, on each network.", min=1, max=300)] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    keep: Annotated[bool, typer.Option(help="Keep both runs, for the Bench page and as hardware.")] = True,
) -> None:
    """Measure how much of a collective hides behind a matrix product, on a slow network and on a fast one."""
    from app.bench.namespaces import NetworkFailed, way_in
    from app.bench.nodes import make
    from app.commands import bench

    try:
        way_in()
    except NetworkFailed as error:
        raise _unavailable(error) from error
    nodes = [
        make(SLOW, {"launcher": "namespaces", "rate_mbit": rate_mbit, "delay_ms": delay_ms}),
        make(FAST, {"launcher": "namespaces", "rate_mbit": 0}),
    ]
    spec = specification(rate_mbit, seconds=seconds)
    titles = [f"{rate_mbit} Mbit/s" + (f", {delay_ms} ms" if delay_ms else ""), "no limit"]
    sides: list[Side] = []
    code = 0
    for node, title in zip(nodes, titles, strict=True):
        bench.heed_interrupts()
        with bench.devices_of(node):
            code, result = _measure(spec, node, keep=keep)
        sides += [Side(title, result)] if result else []
        if code:
            break
    lines = [json.dumps(document(sides), allow_nan=False)] if as_json else table(sides)
    sys.stdout.writelines(f"{line}\n" for line in lines)
    raise typer.Exit(code)


def specification(rate_mbit: int, *, seconds: float) -> "RunSpec":
    """What is measured on either network: one size, which the slow one needs about 80 ms for, so that both are compared at it.

    By hand: 400 Mbit/s carry 4 MB in 80 ms, and the nearest power of two is 4 MiB.
    """
    from app.bench.spec import RunSpec

    wanted = rate_mbit * 1e6 / 8 * _MESSAGE_SECONDS
    size = _SMALLEST
    while size < _LARGEST and size * 2**0.5 < wanted:
        size *= 2
    return RunSpec(
        operations=("all_reduce", "all_gather"),
        sizes=(size,),
        ranks=2,
        hosts=2,
        backend="gloo",
        batches=5,
        warm_up_seconds=0.5,
        gemm_seconds=0.5,
        extras=("overlap",),
        extra_seconds=seconds,
    )


def table(sides: Sequence[Side]) -> list[str]:
    """The comparison as text: a block per operation, a column per network."""
    from app.core.units import binary_bytes

    lines: list[str] = []
    for operation in _operations(sides):
        laps = [side.overlap(operation) for side in sides]
        sizes = {binary_bytes(lap.size_bytes) for lap in laps if lap}
        lines += ["", _line(f"{operation} {', '.join(sorted(sizes))}", [side.title for side in sides])]
        rates = [side.bandwidth(operation) for side in sides]
        lines.append(_line("bus bandwidth", [_UNKNOWN if rate is None else f"{rate:.3f} GB/s" for rate in rates]))
        lines.append(_line("t_c  collective alone", [_ms(lap.communication_us if lap else None) for lap in laps]))
        lines.append(_line("t_g  GEMM alone", [_ms(lap.compute_us if lap else None) for lap in laps]))
        lines.append(_line("t_b  both at once", [_ms(lap.both_us if lap else None) for lap in laps]))
        lines.append(_line("hidden of the shorter", [_percent(lap.hidden if lap else None) for lap in laps]))
        lines.append(_line("overlap saves", [_percent(saving(lap) if lap else None) for lap in laps]))
    note = (
        "Medians of the slowest rank. All hosts share this machine's cores: what a busy core waits for does not hide."
    )
    return [*lines[1:], "", note] if lines else []


def document(sides: Sequence[Side]) -> dict[str, Any]:
    """The comparison and both runs as a JSON object."""
    from app.bench.formats import json_export

    names = (SLOW, FAST)
    comparison = [
        {
            "network": name,
            "operation": operation,
            "size_bytes": lap.size_bytes,
            "busbw_gb_per_s": side.bandwidth(operation),
            "communication_us": lap.communication_us,
            "compute_us": lap.compute_us,
            "both_us": lap.both_us,
            "hidden": lap.hidden,
            "saving": round(saving(lap), 4),
        }
        for operation in _operations(sides)
        for name, side in zip(names, sides, strict=False)
        if (lap := side.overlap(operation)) is not None
    ]
    runs = {name: json_export.document(side.result, fits={}) for name, side in zip(names, sides, strict=False)}
    return {"comparison": comparison, "runs": runs}


def saving(lap: "Overlap") -> float:
    """The part of a step that overlap saves: 1 - t_b / (t_c + t_g). By hand, 10 ms and 8 ms that take 12 ms together: a third."""
    return 1 - lap.both_us / (lap.communication_us + lap.compute_us)


def _measure(spec: "RunSpec", node: "Node", *, keep: bool) -> tuple[int, "RunResult | None"]:
    """The exit code and what was measured; the tables of the run go to standard error."""
    from app.commands import bench

    found: list[RunResult] = []

    def take(
        result: "RunResult",
        status: "Status",
        *,
        node: str,
        command: Sequence[str],
        began: "datetime",
        log: Sequence[str],
    ) -> None:
        found.append(result)
        if keep:
            bench.keep_run(result, status, node=node, command=command, began=began, log=log)

    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory(prefix="ringside-") as folder:
        code = bench.run(spec, Path(folder), as_json=False, node=node, keep=take)
    return code, found[0] if found else None


def _unavailable(error: Exception) -> Exception:
    from app.bench.diagnosis.explain import explain
    from app.bench.namespaces import NetworkFailed
    from app.core.errors import Unavailable

    assert isinstance(error, NetworkFailed)
    explanation = explain(error.problem)
    return Unavailable(explanation.message, remedy=explanation.remedy)


def _operations(sides: Sequence[Side]) -> list[str]:
    return list(dict.fromkeys(row.operation for side in sides for row in side.result.rows))


def _line(title: str, columns: Sequence[str]) -> str:
    return f"{title:<28}" + "".join(f"{column:>18}" for column in columns)


def _ms(microseconds: float | None) -> str:
    return _UNKNOWN if microseconds is None else f"{microseconds / 1000:.1f} ms"


def _percent(part: float | None) -> str:
    return _UNKNOWN if part is None else f"{part * 100:.0f} %"
