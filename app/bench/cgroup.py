"""What the control groups of this process allow it: memory, processors, and how many processes the kernel killed there.

Both hierarchies are read, version 1 (a tree per controller) and version 2 (one tree), from where mountinfo says that they are
mounted: a container sees its own group as the root of the mount. A limit anywhere between the group and the root holds, so all
levels are asked. Stdlib only and Python 3.10, because it ships to the node. Sources: cgroups(7), the kernel's
admin-guide/cgroup-v1/memory.rst and admin-guide/cgroup-v2.rst.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path("/")
_NO_LIMIT = 2**60
"""Version 1 writes a number near 2**63 where there is no limit."""


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """The tightest memory limit over this process, in bytes; `room` is what is left below it."""

    group: str
    limit: int
    room: int


def memory_limit(root: Path = ROOT) -> MemoryLimit | None:
    """The limit with the least room; None where nothing limits. Cache that the kernel would give up counts as room."""
    found: list[MemoryLimit] = []
    for folder in _levels(root, "memory"):
        limit = _number(folder, "memory.max", "memory.limit_in_bytes")
        used = _number(folder, "memory.current", "memory.usage_in_bytes")
        if limit is None or used is None or limit >= _NO_LIMIT:
            continue
        counts = _counts(folder / "memory.stat")
        cache = counts.get("total_inactive_file", counts.get("inactive_file", 0))
        found.append(MemoryLimit(folder.name or "/", limit, max(0, limit - max(0, used - cache))))
    return min(found, key=lambda level: level.room, default=None)


def processors(root: Path = ROOT) -> float | None:
    """Processors' worth of time the tightest quota allows; None where there is none."""
    quotas: list[float] = []
    for folder in _levels(root, "cpu"):
        words = _text(folder / "cpu.max").split()
        if not words:
            words = [_text(folder / "cpu.cfs_quota_us").strip(), _text(folder / "cpu.cfs_period_us").strip()]
        if len(words) == 2 and all(word.isdigit() for word in words) and int(words[1]):
            quotas.append(int(words[0]) / int(words[1]))
    return min(quotas, default=None)


def oom_kills(root: Path = ROOT) -> int | None:
    """How many processes of this group the kernel has killed because memory ran out; None where it does not count."""
    for folder in _levels(root, "memory"):
        counts = _counts(folder / "memory.events") or _counts(folder / "memory.oom_control")
        if "oom_kill" in counts:
            return counts["oom_kill"]
    return None


def _levels(root: Path, controller: str) -> Iterator[Path]:
    """The folders of this process's group, from the group itself up to the mount, of the tree that has `controller`."""
    mounts = list(_mounts(root))
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        is_unified = not controllers
        if not is_unified and controller not in controllers.split(","):
            continue
        for mount, inside, kind, options in mounts:
            if kind != ("cgroup2" if is_unified else "cgroup") or not (is_unified or controller in options):
                continue
            top = root / mount.lstrip("/")
            folder = top / _relative(group, inside)
            if is_unified and not _has(folder, controller):
                continue
            while folder != top:
                if folder.is_dir():
                    yield folder
                folder = folder.parent
            yield top
            return


def _has(folder: Path, controller: str) -> bool:
    """Whether a version 2 group's tree has `controller`: with both versions mounted it usually lies in version 1."""
    return any(controller in _text(level / "cgroup.controllers").split() for level in (folder, *folder.parents))


def _relative(group: str, inside: str) -> PurePosixPath:
    """Where `group` lies below a mount that shows the tree from `inside` on."""
    path = PurePosixPath(group)
    # A group outside of what the mount shows is written with "..": only the mount's own root can be asked then.
    if ".." in path.parts:
        return PurePosixPath()
    return path.relative_to(inside) if path.is_relative_to(inside) else PurePosixPath()


def _mounts(root: Path) -> Iterator[tuple[str, str, str, list[str]]]:
    """(mount point, root of the tree shown there, type, controllers) of each control group mount: proc(5), mountinfo."""
    for line in _text(root / "proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) >= 5 and len(kind) >= 3 and kind[0] in ("cgroup", "cgroup2"):
            yield fields[4], fields[3], kind[0], kind[2].split(",")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _number(folder: Path, *names: str) -> int | None:
    """The number in the first of the files that holds one: version 2's name and version 1's."""
    texts = (_text(folder / name).strip() for name in names)
    return next((int(text) for text in texts if text.isdigit()), None)


def _counts(path: Path) -> dict[str, int]:
    """A file of lines `name number`."""
    pairs = (line.split() for line in _text(path).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
