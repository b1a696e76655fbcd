"""What `ringside bench` prints: the streaming table, the findings below it, progress, and how it ended."""

import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.bench.events import Event, Row
    from app.bench.result import RunResult
    from app.bench.wire import LogText

_CLEAR = "\r\x1b[K"


class Table:
    """The streaming table: a title at each new operation, a footer below each."""

    def __init__(self) -> None:
        self._rows: list[Row] = []

    def take(self, event: "Event | LogText", *, result: "RunResult") -> None:
        """Print what `event` adds."""
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


def progress(event: "Event | LogText") -> None:
    """Say on standard error where the run is."""
    from app.bench.events import Job, Phase, Progress
    from app.core.units import binary_bytes, duration

    if isinstance(event, Progress):
        left = f", {duration(round(event.eta_seconds))} left" if event.eta_seconds is not None else ""
        text = f"[{event.done + 1}/{event.total}] {event.operation} {binary_bytes(event.size_bytes)}{left}"
    elif isinstance(event, Phase):
        text = f"{event.name} ..."
    elif isinstance(event, Job):
        text = f"{event.system} job {event.id}: {event.state}{f' ({event.reason})' if event.reason else ''}"
    else:
        return
    if sys.stderr.isatty():
        print(f"{_CLEAR}{text}", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)


def clear_line() -> None:
    """Take the line of progress off a terminal."""
    if sys.stderr.isatty():
        print(end=_CLEAR, file=sys.stderr)


def show(result: "RunResult", *, as_json: bool) -> None:
    """Print what came out: everything as JSON, or what stands below the tables."""
    import json

    from app.bench.formats import json_export
    from app.hardware.fit import fit_rows

    if as_json:
        fits = {name: fit.to_json() for name, fit in fit_rows(result.rows).items()}
        print(json.dumps(json_export.document(result, fits=fits), allow_nan=False))
        return
    _show_gemm(result)
    _show_fits(result)
    _show_findings(result)


def exit_code(result: "RunResult") -> int:
    """0 for a run that is complete and right."""
    is_good = result.finished and not result.has_wrong_values and not any(each.fatal for each in result.problems)
    return 0 if is_good else 1


def tell(result: "RunResult", *, log: Sequence[str], is_cancelled: bool) -> None:
    """Say on standard error how it ended."""
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
    elif fatal or not result.finished:
        print(f"{len(result.rows)} rows measured. Last lines of the log:", file=sys.stderr)
        print("\n".join(f"  {line}" for line in list(log)[-15:]), file=sys.stderr)
    elif result.has_wrong_values:
        print("error: wrong values were received; do not trust these numbers.", file=sys.stderr)


def _show_gemm(result: "RunResult") -> None:
    for rate in result.gemm.rates if result.gemm else ():
        shape = f"{rate.m} x {rate.k} x {rate.n}"
        clock = "" if rate.clock_mhz is None else f", {rate.clock_mhz} MHz"
        held = f", held back: {', '.join(rate.throttled)}" if rate.throttled else ""
        print(f"# GEMM {rate.dtype:>8} {shape:>18} : {rate.tflop_per_s:.3f} TFLOP/s per rank{clock}{held}")


def _show_fits(result: "RunResult") -> None:
    from app.hardware.fit import fit_rows

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


def _show_findings(result: "RunResult") -> None:
    for call in result.latencies:
        print(
            f"# latency {call.operation} {call.size_bytes} B: p50 {call.p50_us:.1f} us, p99 {call.p99_us:.1f} us,"
            f" min {call.minimum_us:.1f} us, cv {call.cv_percent:.0f} %"
        )
    for lap in result.overlaps:
        print(
            f"# overlap {lap.operation} {lap.size_bytes} B: alone {lap.communication_us:.0f} us and GEMM"
            f" {lap.compute_us:.0f} us, both {lap.both_us:.0f} us, hidden {lap.hidden * 100:.0f} %"
        )
    for copy in result.copies:
        memory = "pinned" if copy.pinned else "pageable"
        print(f"# copy {copy.kind} {copy.size_bytes} B {memory}: {copy.gb_per_s:.2f} GB/s")
    for link in result.links:
        print(
            f"# link {link.source} -> {link.target}: {link.one_way_gb_per_s:.3f} GB/s one way,"
            f" {link.both_ways_gb_per_s:.3f} GB/s both ways, {link.latency_us:.1f} us"
        )
    for report in result.reports:
        print(f"# {report.title} ({report.host})")
        print("\n".join(f"#   {line}" for line in report.lines))
