"""Whether the kernel killed something for want of memory while a run went on here, by the count of our control group.

Ranks of this machine are in the runner's own group unless somebody moved them, so a container's limit and a batch
system's show here. Without control groups nothing counts, and a kill is only a signal 9.
"""

from app.bench import cgroup, machine


class OomWatch:
    """Made when the run starts."""

    def __init__(self) -> None:
        self._before = cgroup.oom_kills()

    @property
    def limit(self) -> str:
        """The memory limit the kernel went by, when it has killed since; else empty."""
        now = cgroup.oom_kills()
        if self._before is None or now is None or now <= self._before:
            return ""
        limit = cgroup.memory_limit()
        if limit is None:
            return machine.binary(machine.physical_bytes())
        return f"{machine.binary(limit.limit)} (cgroup {limit.group})"
