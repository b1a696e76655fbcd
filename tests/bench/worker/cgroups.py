"""A control group with little memory, made for a test, where this machine lets us make one."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MOUNTS = (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup"))
"""Version 1, version 2."""


@contextmanager
def small_group(*, limit_bytes: int) -> Iterator[Path]:
    """The folder of the group. Skips the test where control groups cannot be made."""
    group = _make()
    if group is None:
        pytest.skip("no memory control group can be made here: /sys/fs/cgroup is missing, read-only or not ours")
    try:
        for name in ("memory.limit_in_bytes", "memory.max"):
            if (group / name).exists():
                (group / name).write_text(str(limit_bytes), encoding="ascii")
        for name in ("memory.memsw.limit_in_bytes", "memory.swap.max"):
            if (group / name).exists():
                (group / name).write_text(str(limit_bytes if "memsw" in name else 0), encoding="ascii")
        yield group
    finally:
        for _ in range(100):
            try:
                group.rmdir()
                break
            except OSError:  # the last process is still leaving
                time.sleep(0.05)


def _make() -> Path | None:
    for mount in MOUNTS:
        group = mount / f"ringside-test-{os.getpid()}-{time.monotonic_ns()}"
        try:
            group.mkdir()
        except OSError:
            continue
        if (group / "memory.limit_in_bytes").exists() or (group / "memory.max").exists():
            return group
        group.rmdir()
    return None
