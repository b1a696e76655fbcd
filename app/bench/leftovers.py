"""What processes that were killed leave on this machine besides processes: temporary files and shared memory.

torchrun makes a folder for temporary files and removes it only when it ends in good order, so a run gets a place of its own for
them, inside its folder. NCCL and PyTorch hold shared memory in /dev/shm under random names that tell nothing of their owner
(NVIDIA/nccl issue 1518): after some crashes it is full. Only such files are removed as a rank of this run was seen to have
mapped, that belong to our user, and that no process we can see still has mapped or open.
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from app.bench.process import PROC, ProcessId

SHARED = Path("/dev/shm")  # noqa: S108 - where Linux keeps POSIX shared memory
NAMES = ("nccl-", "torch_")
_TEMPORARY = "tmp"


class Leftovers:
    """Those of one run whose files lie in `folder` and whose ranks are processes of this machine."""

    def __init__(self, folder: Path) -> None:
        self._temporary = folder / _TEMPORARY
        self._mapped: set[Path] = set()

    def prepare(self) -> Mapping[str, str]:
        """Make the place for temporary files; what the launcher needs in its environment to use it."""
        self._temporary.mkdir(parents=True, exist_ok=True)
        return {"TMPDIR": str(self._temporary)}

    def look(self, ranks: Iterable[ProcessId]) -> None:
        """Note the shared memory that `ranks` have mapped; costs next to nothing where there is none of those names."""
        new = {path for path in _shared() if path not in self._mapped}
        if new:
            for rank in ranks:
                self._mapped |= new & _mapped(PROC / str(rank.pid))

    def clear(self) -> None:
        """Remove what is left, now that no process of the run lives."""
        shutil.rmtree(self._temporary, ignore_errors=True)
        left = self._mapped & set(_shared())
        if left:
            for entry in PROC.glob("[0-9]*"):
                left -= _mapped(entry) | _opened(entry)
        for path in left:
            path.unlink(missing_ok=True)


def _shared() -> Iterator[Path]:
    """Files of our user in /dev/shm that NCCL or PyTorch may have made."""
    for name in NAMES:
        for path in SHARED.glob(f"{name}*"):
            try:
                if path.lstat().st_uid == os.getuid():
                    yield path
            except FileNotFoundError:
                continue


def _mapped(entry: Path) -> set[Path]:
    """Files that the process of this /proc entry has mapped; none where it may not be asked."""
    try:
        lines = (entry / "maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return set()
    return {Path(fields[5]) for fields in (line.split(maxsplit=5) for line in lines) if len(fields) == 6}


def _opened(entry: Path) -> set[Path]:
    """Files that the process of this /proc entry has open."""
    found = set()
    for descriptor in (entry / "fd").glob("*"):
        try:
            found.add(descriptor.readlink())
        except OSError:
            continue
    return found
