"""What NCCL says while it starts: asked for before it does, kept in memory, read afterwards.

`NCCL_DEBUG_FILE` points to a file without a name, so nothing is left behind whatever happens to the rank, and no line
gets between the events. `summary` keeps the lines that tell how ranks reach each other and counts the channels.
"""

import ipaddress
import os
import re
from collections import Counter
from collections.abc import Mapping

_KEPT = (
    "NCCL version",
    "Bootstrap",
    "NET/",
    "Using network",
    "coll channels",
    "NVLS",
    "Connected all",
    "Connected NVLS",
    "Init COMPLETE",
    "nNodes",
    "NCCL_",
    "WARN",
)
_DROPPED = ("plugin symbol", "Could not find:")
_CHANNEL = re.compile(r"Channel \d+(?:/\d+)? : (?P<path>.+)")
_PREFIX = re.compile(r"^.*?NCCL (?=INFO |WARN )(?:INFO )?")
_WITH_COLONS = re.compile(r"[0-9A-Fa-f]*:[0-9A-Fa-f:.]*[0-9A-Fa-f:]")
_DOTTED = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])")
_HARDWARE = re.compile(r"(?<![\w:])[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5,}(?![\w:])")
_HIDDEN = "<address>"
_MAXIMUM_BYTES = 8 * 1024**2


def listen() -> int | None:
    """Ask NCCL to speak, before it starts; the file to read later, None where the system has no nameless files."""
    if not hasattr(os, "memfd_create"):
        return None
    descriptor = os.memfd_create("nccl")
    os.environ["NCCL_DEBUG"] = "INFO"
    os.environ["NCCL_DEBUG_FILE"] = f"/proc/self/fd/{descriptor}"
    return descriptor


def heard(descriptor: int) -> str:
    """What NCCL wrote so far."""
    return os.pread(descriptor, _MAXIMUM_BYTES, 0).decode("utf-8", "replace")


def summary(text: str, *, names: Mapping[str, str]) -> list[str]:
    """The lines worth keeping, each once and masked, with channels counted by the path they take."""
    kept: dict[str, None] = {}
    channels: Counter[str] = Counter()
    for line in text.splitlines():
        said = _PREFIX.sub("", line.strip())
        channel = _CHANNEL.search(said)
        if channel is not None:
            channels[channel["path"]] += 1
        elif any(words in said for words in _KEPT) and not any(words in said for words in _DROPPED):
            kept[said] = None
    counted = [f"{path} ({count} channels)" for path, count in channels.items()]
    return [mask(line, names=names) for line in [*kept, *counted]]


def mask(line: str, *, names: Mapping[str, str]) -> str:
    """`line` without addresses, and with hosts by the `names` given to them."""
    line = _DOTTED.sub(_HIDDEN, _WITH_COLONS.sub(_hide, _HARDWARE.sub(_HIDDEN, line)))
    for host, name in sorted(names.items(), key=lambda pair: -len(pair[0])):
        line = re.sub(rf"(?<![\w.-]){re.escape(host)}(?![\w-])", name, line)
    return line


def _hide(match: re.Match[str]) -> str:
    """An address hidden, behind the name of an interface and a colon too: `eth0:192.0.2.1`."""
    text = match[0]
    head, _, rest = text.partition(":")
    follows_a_name = match.start() > 0 and (
        match.string[match.start() - 1].isalnum() or match.string[match.start() - 1] == "_"
    )
    if follows_a_name and _is_address(rest):
        return f"{head}:{_HIDDEN}"
    return _HIDDEN if _is_address(text) else text


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
