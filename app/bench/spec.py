"""What a benchmark run shall measure: `RunSpec`, validated, in and out of JSON.

Stdlib only and Python 3.10, because it ships to the node beside `app/bench/wire.py`. Every value that a form, a command
line or a file supplies passes through here before anything is started. Presets stand in `app/bench/catalog.py`.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from app.bench.codec import build, plain

Backend = Literal["gloo", "nccl"]
BackendChoice = Literal["auto", "gloo", "nccl"]
Dtype = Literal["float", "bfloat16", "half", "double", "int8", "uint8", "int32", "int64", "f8e4m3", "f8e5m2"]
"""Element types by the names nccl-tests prints: float is fp32, half is fp16, f8e4m3 an eight-bit float."""
Operation = Literal[
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
    "send_recv",
    "ping_pong",
]
Redop = Literal["sum", "prod", "min", "max", "avg"]
Extra = Literal["latency", "overlap", "copies", "links", "topology"]
"""What a run may measure besides rows and GEMM: single-call latency, compute beside communication, copies within a
device, bandwidth of each pair of ranks, and what the machine says of its wiring."""

ELEMENT_BYTES: Mapping[str, int] = {
    "float": 4,
    "bfloat16": 2,
    "half": 2,
    "double": 8,
    "int8": 1,
    "uint8": 1,
    "int32": 4,
    "int64": 8,
    "f8e4m3": 1,
    "f8e5m2": 1,
}
FLOATING: tuple[Dtype, ...] = ("float", "bfloat16", "half", "double", "f8e4m3", "f8e5m2")
OPERATIONS: tuple[str, ...] = get_args(Operation)
EXTRAS: tuple[str, ...] = get_args(Extra)
MINIMUM_SIZE, MAXIMUM_SIZE = 8, 16 * 1024**3
MAXIMUM_SIZES = 200
MAXIMUM_RANKS = 1024
MAXIMUM_HOSTS = 128
MAXIMUM_VARIABLES = 50
ALLOWED_VARIABLES = ("NCCL_", "TORCH_NCCL_", "GLOO_", "UCX_", "FI_", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES")
"""Environment variables a run may set on its ranks begin like this; nothing else reaches a node."""
FORBIDDEN_VARIABLES = (
    "NCCL_CONF_FILE",
    "NCCL_DEBUG_FILE",
    "NCCL_ENV_PLUGIN",
    "NCCL_GRAPH_DUMP_FILE",
    "NCCL_NET_PLUGIN",
    "NCCL_PROFILER_PLUGIN",
    "NCCL_TOPO_DUMP_FILE",
    "NCCL_TUNER_PLUGIN",
)
"""These load a file into the process that runs the ranks, or write one."""
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_VALUE = re.compile(r"[\w .,:;=^/@+%-]{0,200}", re.ASCII)


class BadSpec(ValueError):
    """A value of a `RunSpec` is not allowed; `field` names it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """What a run measures. Raises BadSpec (a ValueError) on a value out of bounds.

    `sizes` are bytes of the whole buffer as nccl-tests counts it, before rounding to whole elements per rank.
    `budget_seconds` bounds the timed batches of one half of one row, `warm_up_seconds` its warm-up, `extra_seconds` each
    of `extras`, `timeout_seconds` one collective. `ranks` are spread evenly over `hosts`. `root` and `redop` are for the
    operations that have them. `emulated` lets ranks share a GPU: a demonstration, whose numbers feed nothing.
    `variables` are set in the environment of the ranks. `memory_bytes` caps what all ranks of one host hold, 0 for none.
    """

    operations: tuple[Operation, ...]
    sizes: tuple[int, ...]
    ranks: int
    hosts: int = 1
    dtype: Dtype = "float"
    redop: Redop = "sum"
    root: int = 0
    preset: str = "custom"
    backend: BackendChoice = "auto"
    seed: int = 0
    budget_seconds: float = 1.0
    warm_up_seconds: float = 2.0
    batches: int = 10
    gemm_seconds: float = 2.0
    extras: tuple[Extra, ...] = ()
    extra_seconds: float = 2.0
    timeout_seconds: float = 60.0
    memory_bytes: int = 0
    variables: Mapping[str, str] = field(default_factory=dict)
    check: bool = True
    emulated: bool = False
    hide_host: bool = False

    def __post_init__(self) -> None:
        _require("operations", bool(self.operations), "choose at least one")
        _require("operations", set(self.operations) <= set(OPERATIONS), f"choose from {', '.join(OPERATIONS)}")
        _require("operations", len(set(self.operations)) == len(self.operations), "each only once")
        _require("sizes", 1 <= len(self.sizes) <= MAXIMUM_SIZES, f"between 1 and {MAXIMUM_SIZES} sizes")
        for size in self.sizes:
            _within("sizes", size, MINIMUM_SIZE, MAXIMUM_SIZE)
        _require("sizes", all(a < b for a, b in zip(self.sizes, self.sizes[1:], strict=False)), "must ascend")
        _within("ranks", self.ranks, 1, MAXIMUM_RANKS)
        _within("hosts", self.hosts, 1, MAXIMUM_HOSTS)
        _require("hosts", self.ranks % self.hosts == 0, f"{self.ranks} ranks cannot be spread evenly over {self.hosts}")
        _within("root", self.root, 0, self.ranks - 1)
        _require("redop", self.redop in get_args(Redop), f"choose from {', '.join(get_args(Redop))}")
        _require("redop", self.redop != "avg" or self.dtype in FLOATING, "avg needs a floating-point type")
        _require("dtype", self.dtype in get_args(Dtype), f"choose from {', '.join(get_args(Dtype))}")
        _require("preset", 1 <= len(self.preset) <= 40, "between 1 and 40 characters")
        _require("backend", self.backend in get_args(BackendChoice), "choose auto, gloo or nccl")
        _within("seed", self.seed, 0, 2**31 - 1)
        _within("budget_seconds", self.budget_seconds, 0.001, 600)
        _within("warm_up_seconds", self.warm_up_seconds, 0, 60)
        _within("batches", self.batches, 1, 50)
        _within("gemm_seconds", self.gemm_seconds, 0, 600)
        _require("extras", set(self.extras) <= set(EXTRAS), f"choose from {', '.join(EXTRAS)}")
        _within("extra_seconds", self.extra_seconds, 0, 600)
        _within("memory_bytes", self.memory_bytes, 0, 2**50)
        require_variables(self.variables)
        _within("timeout_seconds", self.timeout_seconds, 1, 3600)

    def to_json(self) -> dict[str, Any]:
        """The specification as a JSON object."""
        return dict(plain(self))

    @classmethod
    def from_json(cls, raw: object) -> "RunSpec":
        """The specification a JSON object holds. Raises ValueError (Malformed or BadSpec)."""
        return build(cls, raw)


def _require(name: str, holds: bool, message: str) -> None:  # noqa: FBT001 - it is the condition itself
    if not holds:
        raise BadSpec(name, message)


def require_variables(variables: Mapping[str, str]) -> None:
    """Raises BadSpec for a variable that may not be set on ranks."""
    _require("variables", len(variables) <= MAXIMUM_VARIABLES, f"at most {MAXIMUM_VARIABLES}")
    for name, value in variables.items():
        shown = name[:64]
        _require("variables", _VARIABLE.fullmatch(name) is not None, f"{shown!r} is no name of a variable")
        _require(
            "variables",
            name.startswith(ALLOWED_VARIABLES),
            f"{shown} does not begin with {', '.join(ALLOWED_VARIABLES)}",
        )
        _require("variables", name not in FORBIDDEN_VARIABLES, f"{shown} would load or write a file")
        _require(
            "variables", _VALUE.fullmatch(value) is not None, f"the value of {shown} has characters that none needs"
        )


def _within(name: str, value: float, low: float, high: float) -> None:
    is_number = not isinstance(value, bool) and math.isfinite(value)
    _require(name, is_number and low <= value <= high, f"must be between {low:g} and {high:g}")
