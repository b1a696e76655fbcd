"""The contract between a benchmark worker and whoever runs it: JSON Lines on standard output.

A line is one event, at most `MAXIMUM_LINE` bytes, written by one `os.write`, so lines of several ranks never mix.
Anything else on the stream (a library's print, a launcher's banner) is log text, never an error: `decode_all` reads a
line whatever it holds. `app.bench.result.RunResult` gathers what came out. What to run is `app.bench.spec.RunSpec`; what a `Problem` means to a person stands in `app/bench/launchers/diagnosis.py`.
Stdlib only and Python 3.10, because this file ships to the node.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from app.bench.codec import Malformed, build, plain

SCHEMA = 1
MAXIMUM_LINE = 4096
"""Bytes of a line with its newline; Linux writes up to this much to a pipe in one piece (`PIPE_BUF`)."""

PhaseName = Literal["starting", "measuring", "drift", "gemm", "ending"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One half of a row. Times are microseconds per operation, rates decimal GB/s.

    `time_us` is the headline: in each batch the mean of the slowest rank, then the median over batches; the rates follow
    from it. `average_us` and `minimum_us` are the same over the mean and the fastest rank (nccl-tests prints the
    average). The percentiles and the spread are over single operations, slowest rank each.
    """

    time_us: float
    algbw_gb_per_s: float
    busbw_gb_per_s: float | None
    """None for one rank: nothing moved over a bus."""
    wrong: int | None
    """Wrong elements over all ranks in the validation pass; None when it was off."""
    average_us: float
    minimum_us: float
    slowest_rank: int
    p50_us: float
    p99_us: float
    cv_percent: float
    iterations: int
    """Operations in one batch."""
    batches_us: tuple[float, ...]
    """The slowest rank's mean of each batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One operation at one size. `label` warns of what the number is not, e.g. `all-reduce inside`."""

    operation: str
    size_bytes: int
    count: int
    dtype: str
    redop: str
    root: int
    ranks: int
    out_of_place: Measurement
    in_place: Measurement | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmRate:
    """The rate of an m x k by k x n product, per rank, all ranks at once."""

    dtype: str
    m: int
    n: int
    k: int
    tflop_per_s: float
    """The median over repeats, of the slowest rank."""
    maximum_tflop_per_s: float
    repeats: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Gemm:
    """Matrix multiplication on every rank at the same time; `best_dtype` has the highest median."""

    best_dtype: str
    tflop_per_s: float
    rates: tuple[GemmRate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Where the numbers come from. Host names are `masked` when the specification asks for it."""

    backend: str
    torch: str
    python: str
    platform: str
    cpu: str
    cores: int
    """Logical processors this run may use, on rank 0's host."""
    memory_bytes: int
    threads_per_rank: int
    timing: str
    """`blocking` (CPU clock around blocking calls) or `events` (GPU events around queued calls)."""
    hosts: tuple[str, ...]
    devices: tuple[str, ...]
    nccl: str | None = None
    cuda: str | None = None
    driver: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    """The environment variables that matter, by an allow-list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankStarted:
    """A rank lives, before it has met the others. `start_ticks` tells it from a later process with its pid."""

    rank: int
    pid: int
    start_ticks: int | None
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """All ranks have met."""

    world_size: int
    environment: Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """What begins now. A silence longer than `patience_seconds` means that it hangs."""

    name: PhaseName
    patience_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The row that begins now: `done` of `total` are finished; patience as in `Phase`."""

    operation: str
    size_bytes: int
    count: int
    done: int
    total: int
    eta_seconds: float | None
    patience_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """Sent between batches, at most once a second: rank 0 is not stuck."""

    seconds: float
    """Since the worker started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something went wrong, or (not `fatal`) makes the numbers worth less.

    `rank` is the rank at fault where that is known. `remedy` is a key of `app/bench/launchers/diagnosis.py`.
    """

    kind: str
    text: str
    rank: int | None = None
    remedy: str | None = None
    fatal: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The run is complete. `drift_percent`: the smallest size of the first operation, at the end against at the start."""

    rows: int
    seconds: float
    drift_percent: float | None = None


@dataclass(frozen=True, slots=True)
class LogText:
    """Anything on the stream that is no event."""

    text: str


Event = RankStarted | Hello | Phase | Progress | Row | Gemm | Heartbeat | Problem | Done

_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(Event)}
_MARK = '{"ringside":'
_DECODER = json.JSONDecoder()


def encode(event: Event) -> bytes:
    """`event` as one line with its newline, at most MAXIMUM_LINE bytes: the longest text is cut until it fits."""
    body = plain(event)
    while True:
        document = {"ringside": SCHEMA, "event": type(event).__name__, **body}
        line = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        data = line.encode("utf-8", "replace") + b"\n"
        if len(data) <= MAXIMUM_LINE:
            return data
        longest = max(_texts(body), key=len)
        if len(longest) <= 1:
            raise ValueError(f"{type(event).__name__} has too many values for one line")
        body = _replaced(body, longest, longest[: len(longest) // 2] + "…" if len(longest) > 8 else "…")


def emit(event: Event, *, descriptor: int) -> None:
    """Write `event` in one piece."""
    os.write(descriptor, encode(event))


def decode(line: bytes | str) -> Event | LogText:
    """What one line holds; anything but exactly one event of this schema is LogText."""
    text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    text = text.rstrip("\r\n")
    if text.startswith(_MARK):
        try:
            return _event(json.loads(text))
        except (ValueError, RecursionError):
            pass
    return LogText(text)


def decode_all(line: bytes | str) -> tuple[Event | LogText, ...]:
    """Everything one line holds in order: text that was glued before or after an event is kept apart from it."""
    text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    text = text.rstrip("\r\n")
    found: list[Event | LogText] = []
    kept = at = 0
    while (at := text.find(_MARK, at)) >= 0:
        try:
            raw, end = _DECODER.raw_decode(text, at)
            event = _event(raw)
        except (ValueError, RecursionError):
            at += len(_MARK)
            continue
        if text[kept:at].strip():
            found.append(LogText(text[kept:at]))
        found.append(event)
        kept = at = end
    if text[kept:].strip():
        found.append(LogText(text[kept:]))
    return tuple(found)


def _event(raw: Mapping[str, Any]) -> Event:
    if raw.get("ringside") != SCHEMA:
        raise Malformed(f"schema {raw.get('ringside')!r}, not {SCHEMA}")
    kind = _KINDS.get(str(raw.get("event")))
    if kind is None:
        raise Malformed(f"unknown event {raw.get('event')!r}")
    event: Event = build(kind, raw)
    return event


def _replaced(value: Any, old: str, new: str) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(item, old, new) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, old, new) for item in value]
    return new if value == old else value


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, (dict, list)):
        items = value.values() if isinstance(value, dict) else value
        return [text for item in items for text in _texts(item)]
    return [""]
