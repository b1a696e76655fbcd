"""What each host says of its own wiring: processors, network, GPUs, and what NCCL made of them.

One rank of each host looks; rank 0 sends the reports, in parts that fit a line of the stream. Addresses never leave the
host, and host names inside a line become `node-0`, `node-1`. A machine without GPUs, tools or permissions reports less.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import torch

from app.bench.events import Event, Report
from app.bench.spec import RunSpec
from app.bench.worker import gpu, nccl_log
from app.bench.worker.group import Group
from app.bench.worker.host_report import cpu_lines, network_lines

TITLES = ("cpu", "network", "nvidia-smi topo -m", "nvidia-smi topo -p2p r", "nvml", "nccl")
"""What a report is about; `app/bench/catalog.py` names them for people."""
_PART_BYTES = 3000
"""Text of one report, which travels in a line of at most 4096 bytes."""
_MAXIMUM_LINES = 300
_TOOL_SECONDS = 20
_CONTROL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0b-\x1f]")


def topology(group: Group, spec: RunSpec, *, send: Callable[[Event], None], beat: Callable[[], None]) -> None:
    """Send the Reports of every host."""
    names = host_names(group)
    hosts = [peer.host for peer in group.peers]
    is_first = hosts.index(hosts[group.rank]) == group.rank
    mine = _found(group, names) if is_first else {}
    beat()
    for host, told in zip(hosts, group.gather_text(json.dumps(mine)), strict=True):
        shown = names[host] if spec.hide_host else host
        for title, lines in json.loads(told).items():
            for part in parts(lines):
                send(Report(title=title, host=shown, lines=part))


def host_names(group: Group) -> Mapping[str, str]:
    """`node-0`, `node-1`, ... for the hosts, in the order of their ranks; short forms of their names too."""
    names: dict[str, str] = {}
    for place, host in enumerate(dict.fromkeys(peer.host for peer in group.peers)):
        names[host] = f"node-{place}"
        names.setdefault(host.partition(".")[0], f"node-{place}")
    return names


def parts(lines: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """`lines` in pieces whose text fits one event; what a reader could not take in is cut and said."""
    if len(lines) > _MAXIMUM_LINES:
        lines = [*lines[:_MAXIMUM_LINES], f"... {len(lines) - _MAXIMUM_LINES} more lines"]
    part: list[str] = []
    room = _PART_BYTES
    for line in lines:
        needed = len(json.dumps(line, ensure_ascii=False).encode("utf-8", "replace")) + 1
        if part and needed > room:
            yield tuple(part)
            part, room = [], _PART_BYTES
        part.append(line)
        room -= needed
    if part:
        yield tuple(part)


def _found(group: Group, names: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, Sequence[str]] = {"cpu": cpu_lines(Path("/")), "network": network_lines(Path("/"))}
    if group.device.type == "cuda":
        found["nvidia-smi topo -m"] = tool_lines("topo", "-m")
        found["nvidia-smi topo -p2p r"] = tool_lines("topo", "-p2p", "r")
        found["nvml"] = _gpu_lines()
    if group.nccl_log is not None:
        found["nccl"] = nccl_log.summary(nccl_log.heard(group.nccl_log), names=names)
    return {title: [nccl_log.mask(line, names=names) for line in lines] for title, lines in found.items() if lines}


def tool_lines(*arguments: str) -> list[str]:
    """What `nvidia-smi` prints; nothing where it is missing or fails."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    try:
        done = subprocess.run([tool, *arguments], capture_output=True, timeout=_TOOL_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    text = _CONTROL.sub("", done.stdout.decode("utf-8", "replace"))
    return [line.expandtabs().rstrip() for line in text.splitlines() if line.strip()]


def _gpu_lines() -> list[str]:
    """A block of lines for each GPU this rank may use, and one line for each pair."""
    known = [(index, gpu.device(torch.device("cuda", index))) for index in range(torch.cuda.device_count())]
    seen = [(index, device) for index, device in known if device is not None]
    lines = [f"GPU {index}: {fact}" for index, device in seen for fact in device.facts()]
    for place, (index, device) in enumerate(seen):
        for other_index, other in seen[place + 1 :]:
            path = device.path_to(other)
            lines += [f"GPU {index} to GPU {other_index}: {path}"] if path else []
    return lines
