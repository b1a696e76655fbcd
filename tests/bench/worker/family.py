"""A launcher for the guard's tests: `python family.py BEHAVIOUR`. It starts a family of processes that are hard to end.

One child leaves for a session of its own, one is an orphan that has also forgotten its environment; both ignore SIGTERM. Each says
`born PID`. Then the launcher does what BEHAVIOUR says.
"""

import mmap
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

CHILD = "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.write(1, b'born %d\\n' % os.getpid()); time.sleep(600)"
FAITHFUL = """
import os, time
from app.bench.worker.life import die_with_parent
die_with_parent()
os.write(1, b'born %d\\n' % os.getpid())
time.sleep(600)
"""
ORPHAN = (
    f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {CHILD!r}], start_new_session=True, env={{}})"
)
MIB = 1024**2


def main(behaviour: str) -> int:
    if behaviour in ("wait", "die", "leave"):
        subprocess.Popen([sys.executable, "-c", CHILD], start_new_session=True)
        subprocess.run([sys.executable, "-c", ORPHAN], check=True)
    if behaviour == "faithful":
        subprocess.Popen([sys.executable, "-c", FAITHFUL], start_new_session=True)
    os.write(1, b"born %d\n" % os.getpid())
    code = BEHAVIOURS[behaviour]()
    return 0 if code is None else code


def wait() -> None:
    time.sleep(600)


def die() -> None:
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)


def leave() -> int:
    time.sleep(0.5)
    return 3


def make_orphans() -> None:
    """Twenty that end by themselves, then look for those that nobody laid to rest."""
    for _ in range(20):
        subprocess.run(["sh", "-c", "sleep 0.05 &"], check=True)
    time.sleep(1.5)
    stats = [path.read_text().rpartition(")")[2].split()[:2] for path in Path("/proc").glob("[0-9]*/stat")]
    os.write(1, b"zombies: %d\n" % stats.count(["Z", str(os.getppid())]))


def eat() -> None:
    subprocess.run([sys.executable, "-c", f"import time; x = b'x' * {400 * MIB}; time.sleep(600)"], check=False)
    time.sleep(600)


def lose_child() -> int:
    done = subprocess.run([sys.executable, "-c", f"x = b'x' * {400 * MIB}"], check=False)
    os.write(1, b"the child ended with %d\n" % done.returncode)
    return 1


def share() -> None:
    """Two processes with the same 200 MiB, for long enough to be looked at."""
    memory = mmap.mmap(-1, 200 * MIB)
    _touch(memory)
    child = os.fork()
    _touch(memory)
    time.sleep(2.5)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _touch(memory: mmap.mmap) -> None:
    for place in range(0, len(memory), mmap.PAGESIZE):
        memory[place] = 1


def be_limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (300 * MIB, 300 * MIB))
    bytearray(400 * MIB)


BEHAVIOURS: dict[str, Callable[[], int | None]] = {
    "wait": wait,
    "faithful": wait,
    "die": die,
    "leave": leave,
    "many-orphans": make_orphans,
    "eat": eat,
    "lose-child": lose_child,
    "share": share,
    "limited": be_limited,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
