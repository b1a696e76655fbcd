"""What a worker, a driver or a probe may say: one frozen dataclass per kind of event.

`app/bench/wire.py` puts them on a line and reads them back; `app.bench.result.RunResult` gathers what came out. What a
`Problem` means to a person stands in `app/bench/diagnosis/`. Stdlib only and Python 3.10, because this file ships to the node.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

PhaseName = Literal[
    "connecting",
    "waiting",
    "starting",
    "measuring",
    "drift",
    "latency",
    "gemm",
    "overlap",
    "copies",
    "links",
    "topology",
    "ending",
]


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
class Latency:
    """Single calls of an operation at one size, each begun by all ranks together on an idle link; microseconds.

    A call counts as long as its slowest rank took. A `Row` times calls in a row instead, so its times are shorter.
    """

    operation: str
    size_bytes: int
    dtype: str
    ranks: int
    p50_us: float
    p99_us: float
    minimum_us: float
    cv_percent: float
    calls: int


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
    clock_mhz: int | None = None
    """The GPU's clock right after the last repeat, on rank 0."""
    throttled: tuple[str, ...] = ()
    """Why the GPU held its clock back meanwhile, on any rank, in NVML's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gemm:
    """Matrix multiplication on every rank at the same time; `best_dtype` has the highest median."""

    best_dtype: str
    tflop_per_s: float
    rates: tuple[GemmRate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """A collective and a GEMM of about the same length: alone, and both at once. Slowest rank, medians, microseconds.

    `hidden` is (t_c + t_g - t_b) / min(t_c, t_g): 1 when the shorter hides whole, 0 when both take turns, below 0 when
    they get in each other's way. It is stored unclipped.
    """

    operation: str
    size_bytes: int
    dtype: str
    ranks: int
    communication_us: float
    compute_us: float
    both_us: float
    hidden: float
    communication_slowdown: float | None
    """How much longer the collective took beside the GEMM than alone; None where it cannot be told."""
    compute_slowdown: float | None
    repeats: int
    label: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """The rate of a copy on every rank at once: the median over repeats of the slowest rank."""

    kind: Literal["host_to_host", "host_to_device", "device_to_host", "device_to_device"]
    size_bytes: int
    gb_per_s: float
    pinned: bool
    repeats: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """What two ranks get between them while the others rest.

    `one_way` is the bandwidth of one direction, `both_ways` the sum of both at once; the latency is half a ping-pong of
    8 bytes, the median.
    """

    source: int
    target: int
    size_bytes: int
    one_way_gb_per_s: float
    both_ways_gb_per_s: float
    latency_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a machine says of itself, as text lines: `nvidia-smi topo -m`, NVML, lines of NCCL_DEBUG. Masked as hosts are."""

    title: str
    host: str
    lines: tuple[str, ...]


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
    emulated: bool = False
    """Several ranks share one GPU: a demonstration, not a measurement."""
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
class HostReady:
    """What a host offers, seen before any rank starts: the answer of `worker.pyz probe`."""

    host: str
    python: str
    torch: str | None  # None when PyTorch cannot be imported there
    nccl: str | None
    cuda: str | None
    gpus: tuple[str, ...]
    cores: int
    memory_bytes: int
    """What a process may use: the least of the machine's free memory and its cgroup's limit."""
    shm_bytes: int | None
    disk_bytes: int
    interfaces: Mapping[str, str]  # addresses by interface, those that are up
    free_port: int
    memlock_bytes: int | None = None
    """How much memory a process may pin; None where there is no limit, or none is known."""
    gpu_free_bytes: tuple[int, ...] = ()  # of each of `gpus`; empty where it was not asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Where a batch system has the run; `state` and `reason` are its own words."""

    system: str
    id: str
    state: str
    reason: str | None = None


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
    """Sent between batches, at most once a second: rank 0 is not stuck, `seconds` after it started."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something went wrong, or (not `fatal`) makes the numbers worth less. `rank` is the one at fault, where known."""

    kind: str
    text: str
    rank: int | None = None
    fatal: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The run is complete. `drift_percent`: the smallest size of the first operation, at the end against at the start."""

    rows: int
    seconds: float
    drift_percent: float | None = None


Finding = Latency | Overlap | Copy | Link | Report
"""What a run brings besides rows and the GEMM rate."""
KINDS_OF_FINDING: Mapping[str, type[Any]] = {kind.__name__: kind for kind in get_args(Finding)}
Event = RankStarted | HostReady | Job | Hello | Phase | Progress | Row | Gemm | Finding | Heartbeat | Problem | Done
