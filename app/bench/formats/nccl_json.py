"""A run as JSON in the layout of nccl-tests' `-J`, version 3: one document per operation, as each program writes its own file.

Keys and types are those of `src/util.cu` in nccl-tests 2.19.6: booleans are the strings "true" and "false", `root` is a string of six
characters, `nwrong` is a float or null, a number that is none is "nan". Three things deviate, all of them beside what a reader of
version 3 looks for: an in-place half that was not measured is null, as nccl-tests writes a missing out-of-place half; a check that was
off says "unchecked" where nccl-tests claims "true"; and a key `ringside` says how the numbers were made.

The report per iteration (`-I`) holds our batches: an iteration of nccl-tests with `-m` is what we call a batch, several operations
timed together, and `times_us` is their mean on the slowest rank. So its percentiles are those of batches, not of single operations.
"""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from app.bench.events import Measurement, Row
from app.bench.formats.nccl_text import WARM_UP, average_busbw, places, program, step_factor, wrong_values
from app.bench.result import RunResult

VERSION = 3


def document(result: RunResult, *, began: datetime | None = None, ended: datetime | None = None) -> str:
    """The documents of all operations as JSON Lines; each line for itself is a file of nccl-tests."""
    found = documents(result, began=began, ended=ended)
    return "".join(json.dumps(entry, allow_nan=False) + "\n" for entry in found.values())


def documents(
    result: RunResult, *, began: datetime | None = None, ended: datetime | None = None
) -> dict[str, dict[str, Any]]:
    """A document by operation, in the order they were measured; a run without a row has one without results.

    `began` and `ended` are written in UTC; a time that is not known is an empty text. As in nccl-tests a document without
    `end_time` is one whose program did not come to its end.
    """
    operations = list(dict.fromkeys(row.operation for row in result.rows)) or [result.spec.operations[0]]
    return {
        operation: _document(
            result,
            operation,
            began=began,
            ended=ended,
            complete=result.finished or operation != operations[-1],
        )
        for operation in operations
    }


def _document(
    result: RunResult, operation: str, *, began: datetime | None, ended: datetime | None, complete: bool
) -> dict[str, Any]:
    rows = [row for row in result.rows if row.operation == operation]
    environment = result.environment
    variables = environment.variables if environment else {}
    return {
        "version": VERSION,
        "start_time": _time(began),
        "args": [program(operation)],
        "env": [f"{name}={value}" for name, value in sorted(variables.items())],
        "nccl_version": _nccl_version(environment.nccl if environment else None),
        "config": _config(result, rows),
        "results": [_row(row) for row in rows],
        **_footer(rows),
        "errors": [problem.text for problem in result.problems],
        **({"end_time": _time(ended)} if complete else {}),
        "ringside": _method(result, rows),
    }


def _config(result: RunResult, rows: Sequence[Row]) -> dict[str, Any]:
    spec, environment = result.spec, result.environment
    return {
        "nthreads": 1,
        "ngpus": 1,
        "minimum_bytes": spec.sizes[0],
        "maximum_bytes": spec.sizes[-1],
        "step_factor": step_factor(spec.sizes),
        "warmup_iters": WARM_UP,
        "iterations": spec.batches,
        "aggregated_iterations": 1,
        "validation": int(spec.check),
        "graph": 0,
        "blocking_collectives": _bool(environment is not None and environment.timing == "blocking"),
        "per_iter_timing": _bool(any(row.out_of_place.batches_us for row in rows)),
        "per_iter_skip": 0,
        "parallel_init": _bool(False),  # noqa: FBT003 - the value is what is written
        "devices": [
            {
                "rank": place.rank,
                "group": 0,
                "pid": place.pid,
                "hostname": place.host,
                "device": place.device,
                "device_hex": place.bus,
                "device_info": place.name,
            }
            for place in places(result)
        ],
    }


def _row(row: Row) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "size": row.size_bytes,
        "count": row.count,
        "type": row.dtype,
        "redop": row.redop,
        "root": f"{row.root:6d}",
    }
    for place, half in (("out_of_place", row.out_of_place), ("in_place", row.in_place)):
        entry[place] = None if half is None else _half(half)
        if half is not None and half.batches_us:
            entry[f"{place}_per_iter"] = _per_iteration(half)
    return {**entry, "actual_iterations": len(row.out_of_place.batches_us), "experiment_name": ""}


def _half(half: Measurement) -> dict[str, Any]:
    return {
        "time": half.time_us,
        "alg_bw": half.algbw_gb_per_s,
        # The bus factor of one rank is zero, and that is what nccl-tests writes.
        "bus_bw": 0.0 if half.busbw_gb_per_s is None else half.busbw_gb_per_s,
        "nwrong": None if half.wrong is None else float(half.wrong),
    }


def _per_iteration(half: Measurement) -> dict[str, Any]:
    times = sorted(half.batches_us)
    mean, deviation = statistics.fmean(times), statistics.pstdev(times)
    return {
        "skipped_iterations": 0,
        "min_us": times[0],
        "max_us": times[-1],
        "avg_us": mean,
        "p50_us": times[len(times) // 2],
        "p95_us": _percentile(times, 95),
        "p99_us": _percentile(times, 99),
        "stdev_us": deviation,
        "cv_pct": 100 * deviation / mean if mean > 0 else 0.0,
        "times_us": list(half.batches_us),
        "operations_per_iteration": half.iterations,
    }


def _percentile(ascending: Sequence[float], percent: int) -> float:
    """The nearest rank, as nccl-tests takes it: no value is made up between two."""
    return ascending[(len(ascending) * percent + 99) // 100 - 1]


def _footer(rows: Sequence[Row]) -> dict[str, Any]:
    wrong, average = wrong_values(rows), average_busbw(rows)
    if average is None and rows:
        average = 0.0
    return {
        "out_of_bounds": {"count": wrong or 0, "okay": "unchecked" if wrong is None else _bool(wrong == 0)},
        "average_bus_bandwidth": {"bandwidth": "nan" if average is None else average, "okay": "unchecked"},
    }


def _method(result: RunResult, rows: Sequence[Row]) -> dict[str, Any]:
    """What a reader of ours needs to know and nccl-tests has no key for."""
    environment = result.environment
    known = asdict(environment) if environment else {}
    return {
        "time": "mean of the slowest rank, median over batches",
        **{name: known.get(name) for name in ("backend", "torch", "timing", "emulated")},
        "ranks": result.spec.ranks,
        "label": next((row.label for row in rows if row.label), None),
        "finished": result.finished,
    }


def _nccl_version(text: str | None) -> int:
    """`2.27.7` as NCCL_VERSION_CODE, 22707; 0 without NCCL, which is what nccl-tests holds before it has asked."""
    numbers = [int(part) for part in (text or "").split(".")[:3] if part.isdecimal()]
    if len(numbers) < 3:
        return 0
    major, minor, patch = numbers
    # NCCL gave the minor version two digits from 2.9 on.
    return major * (1000 if (major, minor) <= (2, 8) else 10000) + minor * 100 + patch


def _time(moment: datetime | None) -> str:
    return "" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def _bool(value: bool) -> str:  # noqa: FBT001 - it is the value that is written
    return "true" if value else "false"
