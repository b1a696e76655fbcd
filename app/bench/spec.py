"""What a benchmark run shall measure: `RunSpec`, validated, in and out of JSON.

Stdlib only and Python 3.10, because it ships to the node beside `app/bench/wire.py`. Every value that a form, a command
line or a file supplies passes through here before anything is started. Presets stand in `app/bench/catalog.py`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from app.bench.codec import build, plain

Backend = Literal["gloo", "nccl"]
BackendChoice = Literal["auto", "gloo", "nccl"]
Dtype = Literal["float", "bfloat16", "half"]
"""Element types by the names nccl-tests prints: float is fp32, half is fp16."""
Operation = Literal["all_reduce", "all_gather", "reduce_scatter"]

ELEMENT_BYTES: Mapping[str, int] = {"float": 4, "bfloat16": 2, "half": 2}
OPERATIONS: tuple[str, ...] = get_args(Operation)
MINIMUM_SIZE, MAXIMUM_SIZE = 64, 16 * 1024**3
MAXIMUM_SIZES = 200
MAXIMUM_RANKS = 1024


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
    `budget_seconds` bounds the timed batches of one half of one row, `warm_up_seconds` its warm-up,
    `timeout_seconds` one collective.
    """

    operations: tuple[Operation, ...]
    sizes: tuple[int, ...]
    ranks: int
    dtype: Dtype = "float"
    preset: str = "custom"
    backend: BackendChoice = "auto"
    seed: int = 0
    budget_seconds: float = 1.0
    warm_up_seconds: float = 2.0
    batches: int = 10
    gemm_seconds: float = 2.0
    timeout_seconds: float = 60.0
    check: bool = True
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
        _require("dtype", self.dtype in get_args(Dtype), f"choose from {', '.join(get_args(Dtype))}")
        _require("preset", 1 <= len(self.preset) <= 40, "between 1 and 40 characters")
        _require("backend", self.backend in get_args(BackendChoice), "choose auto, gloo or nccl")
        _within("seed", self.seed, 0, 2**31 - 1)
        _within("budget_seconds", self.budget_seconds, 0.001, 600)
        _within("warm_up_seconds", self.warm_up_seconds, 0, 60)
        _within("batches", self.batches, 1, 50)
        _within("gemm_seconds", self.gemm_seconds, 0, 600)
        _within("timeout_seconds", self.timeout_seconds, 1, 3600)

    def to_json(self) -> dict[str, Any]:
        """The specification as a JSON object."""
        return dict(plain(self))

    @classmethod
    def from_json(cls, raw: object) -> "RunSpec":
        """The specification a JSON object holds. Raises ValueError (Malformed or BadSpec)."""
        return build(cls, raw)


def _require(field: str, holds: bool, message: str) -> None:  # noqa: FBT001 - it is the condition itself
    if not holds:
        raise BadSpec(field, message)


def _within(field: str, value: float, low: float, high: float) -> None:
    is_number = not isinstance(value, bool) and math.isfinite(value)
    _require(field, is_number and low <= value <= high, f"must be between {low:g} and {high:g}")
