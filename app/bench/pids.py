"""Telling one process from a later one with the same number. Stdlib only: it ships to the node with the worker."""

from pathlib import Path


def start_ticks(pid: int) -> int | None:
    """When process `pid` started, in clock ticks since boot; None when there is no such living process.

    Field 22 of /proc/<pid>/stat (proc(5)); with the pid it names one process for ever. A zombie does not live.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])
