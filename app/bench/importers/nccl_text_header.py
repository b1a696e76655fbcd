"""What nccl-tests and RCCL-tests print around a table: parameters, devices, footer. Each function reads one line."""

import re

from app.bench.importers.model import Device

_PARAMETERS = re.compile(
    r"nThread\s+\d+\s+nGpus\s+\d+\s+minBytes\s+(?P<min>\d{1,18})\s+maxBytes\s+(?P<max>\d{1,18})(?P<rest>.*)"
)
_STEP = re.compile(r"step:\s*(\d{1,18})\s*\((factor|bytes)\)")
_KEY = re.compile(r"([A-Za-z][\w ]*?):\s*(\d+)(?!\s*\()")
_RANK = re.compile(
    r"#?\s*Rank\s+(?P<rank>\d{1,7})\s+(?:Group\s+(?P<group>\d{1,7})\s+)?(?:Pid\s+\d+\s+)?"
    r"(?:on\s+(?P<host>\S+(?:\s\S+)*?)\s+|uses\s+)device\s+(?P<device>\d{1,5})\s+\[(?P<bus>[^\]]*)\]\s*(?P<name>.*)"
)
_REDUCING = re.compile(r"Reducing maxBytes to (\d{1,18})")
_VERSION = re.compile(r"#\s*nccl-tests version (?P<version>\S+).*?nccl-headers=\d+ nccl-library=(?P<library>\d+)")
_RCCL = re.compile(r"rccl-tests: Version (?P<version>\S+)|^#?\s*RCCL version\b|^HIP version\b")
_NCCL = re.compile(r"\bNCCL version (\S+)")
_BOUNDS = re.compile(r"#?\s*Out of bounds values\s*:\s*(\d{1,12})\b")
_AVERAGE = re.compile(r"#?\s*Avg bus bandwidth\s*:\s*([\d.]+(?:[eE][+-]?\d{1,2})?)\b")
_STARTING = re.compile(r"#\s*Collective test starting:\s*(\S+)")
_CONCLUDED = re.compile(r"#\s*Collective test concluded:\s*(\S+)")
_RINGSIDE = re.compile(r"# ringside: (.+)")
_ELLIPSIS = re.compile(
    r"^\W*(?:\.{2,}|…|\[\.{2,}\]|(?:lines? )?(?:snip(?:ped)?|truncated|omitted|removed)\b.*)\W*$", re.IGNORECASE
)
_MAXIMUM_ELLIPSIS = 120
_REMOVED_RANKS = re.compile(r"rank lines .*removed|^#?\s*\.{3}\s*$")
_PROMPT = re.compile(r"^\s*(?:\[[\w.-]+@[\w.-]+[^\]]*\][#$]|[\w.-]+@[\w.-]+:\S*[#$]|[$#]\s)\s*\S")


def parameters(line: str) -> dict[str, str] | None:
    """The parameters of a run from the line that begins it, None if the line is another."""
    if "nThread" not in line:
        return None
    match = _PARAMETERS.search(line)
    if not match:
        return None
    found = {"minimum_bytes": match["min"], "maximum_bytes": match["max"]}
    if step := _STEP.search(match["rest"]):
        found["step_factor" if step[2] == "factor" else "step_bytes"] = step[1]
    found |= {key.strip().replace(" ", "_"): value for key, value in _KEY.findall(match["rest"])}
    return found


def device(line: str) -> Device | None:
    """The device of a rank line, None if the line is another."""
    if "Rank" not in line:
        return None
    match = _RANK.match(line.strip())
    if not match:
        return None
    return Device(
        rank=int(match["rank"]),
        group=int(match["group"] or 0),
        host=match["host"],
        index=int(match["device"]),
        bus=match["bus"],
        name=match["name"].strip(),
    )


def reduced_maximum(line: str) -> str | None:
    """The maximum size that memory allowed, where the program says it lowered it."""
    if "Reducing" not in line:
        return None
    match = _REDUCING.search(line)
    return match[1] if match else None


def versions(line: str) -> dict[str, str]:
    """Versions that a line names: of the tests, of the library."""
    if "ersion" not in line:
        return {}
    if match := _VERSION.search(line):
        return {"tests_version": match["version"], "nccl_library": match["library"]}
    if match := _RCCL.search(line):
        return {"rccl": match["version"] or line.partition(":")[2].strip() or "RCCL"}
    if match := _NCCL.search(line):
        return {"nccl_version": match[1]}
    return {}


def out_of_bounds(line: str) -> int | None:
    """The count of wrong values in a footer."""
    if "Out of bounds" not in line:
        return None
    match = _BOUNDS.match(line.strip())
    return int(match[1]) if match else None


def average(line: str) -> float | None:
    """The average bus bandwidth in a footer, GB/s."""
    if "Avg bus" not in line:
        return None
    match = _AVERAGE.match(line.strip())
    try:
        return float(match[1]) if match else None
    except ValueError:
        return None


def starting(line: str) -> str | None:
    """The program that announces itself."""
    if "Collective test" not in line:
        return None
    match = _STARTING.search(line)
    return match[1] if match else None


def concluded(line: str) -> str | None:
    """The program that says it has ended."""
    if "Collective test" not in line:
        return None
    match = _CONCLUDED.search(line)
    return match[1] if match else None


def ringside(line: str) -> str | None:
    """What Ringside's own export says of its run."""
    if "ringside" not in line:
        return None
    match = _RINGSIDE.match(line.strip())
    return match[1] if match else None


def is_elision(line: str) -> bool:
    """True for dots and the like that stand for lines somebody took out."""
    return len(line) <= _MAXIMUM_ELLIPSIS and _ELLIPSIS.match(line) is not None


def hides_ranks(line: str) -> bool:
    """True for a line that stands for rank lines somebody took out."""
    return _REMOVED_RANKS.search(line) is not None


def is_prompt(line: str) -> bool:
    """True for a command typed at a shell, which ends whatever ran before."""
    return _PROMPT.match(line) is not None
