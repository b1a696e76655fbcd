"""Element sizes, operation names and bus factors as the logs spell and use them.

The factors repeat `app/hardware/collective.py`, which lies above this package; a test keeps the two equal. Source: nccl-tests
`doc/PERFORMANCE.md`.
"""

import re
from collections.abc import Mapping

ELEMENT_BYTES: Mapping[str, int] = {
    "int8": 1, "char": 1, "uint8": 1, "f8e4m3": 1, "f8e5m2": 1, "fp8_e4m3": 1, "fp8_e5m2": 1,
    "half": 2, "float16": 2, "fp16": 2, "bfloat16": 2, "bf16": 2, "int16": 2, "uint16": 2,
    "int32": 4, "int": 4, "uint32": 4, "float": 4, "float32": 4, "fp32": 4,
    "int64": 8, "uint64": 8, "double": 8, "float64": 8, "fp64": 8,
}  # fmt: skip
"""Type names that nccl-tests and its forks have printed, with bytes per element."""

REDOPS = frozenset({"sum", "prod", "min", "max", "avg", "mulsum", "premulsum", "none"})

_PROGRAMS: Mapping[str, str] = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reducescatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "alltoallv": "all_to_all_v",
    "broadcast": "broadcast",
    "bcast": "broadcast",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
    "sendrecv": "send_recv",
    "hypercube": "hypercube",
    "pingpong": "ping_pong",
}
_PROGRAM = re.compile(r"\b([a-z]+(?:_[a-z]+)*?)_perf(?:_\w+)?\b", re.IGNORECASE)


def operation_name(text: str) -> str | None:
    """The operation in a program or experiment name: `all_reduce_perf_mpi`, `AllReduce`, `Reduce_scatter`; else None."""
    found = _PROGRAM.search(text)
    word = (found.group(1) if found else text.strip().rsplit("/", 1)[-1]).lower()
    return _PROGRAMS.get(re.sub(r"[^a-z]", "", word))


def program_in(line: str) -> str | None:
    """The operation of an nccl-tests program called anywhere in a line of shell, else None."""
    for found in _PROGRAM.finditer(line):
        if name := _PROGRAMS.get(found.group(1).lower().replace("_", "")):
            return name
    return None


def bus_factor(operation: str, ranks: int) -> float | None:
    """Bus bandwidth over algorithm bandwidth; None for operations whose factor depends on more than the rank count."""
    n = ranks
    if operation == "all_reduce":
        return 2 * (n - 1) / n
    if operation in {"all_gather", "reduce_scatter", "all_to_all", "all_to_all_v", "gather", "scatter"}:
        return (n - 1) / n
    if operation in {"broadcast", "reduce", "send_recv", "ping_pong", "hypercube"}:
        return float(min(n - 1, 1))
    return None


def ranks_between(operation: str, low: float, high: float) -> tuple[float, float] | None:
    """The rank counts whose bus factor lies in [low, high] (high may be infinite); None where the factor says nothing.

    >>> ranks_between("all_reduce", 1.75, 1.75)
    (8.0, 8.0)
    """
    full = {"all_reduce": 2.0}.get(operation)
    if operation in {"all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"}:
        full = 1.0
    if full is None or high < full / 2 or low >= full:
        return None
    return full / (full - max(low, 0.0)), full / (full - high) if high < full else float("inf")
