"""A worker with a defect: `torchrun ... bad_rank.py BEHAVIOUR spec.json`. The real worker runs; SIGUSR1 to a rank sets off the defect there.

Run by torchrun in a folder of its own, so `app` and `tests` come from PYTHONPATH. `exit-before` needs no signal: rank 1 leaves at once.
"""

import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from app.bench.worker.__main__ import main

OUT = os.dup(1)
"""The stream of events, which the worker takes away from everybody else."""


def raise_error() -> None:
    raise ValueError("the 7th value is not a number")


def leave() -> None:
    os._exit(0)


def spin() -> None:
    while True:
        pass


def hit_limit() -> None:
    """Ask for more address space than the system lets this process have."""
    import torch

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = used + 64 * 1024**2
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    torch.ones(256 * 1024**2)


def eat() -> None:
    """Take memory until somebody puts an end to it."""
    kept = []
    while True:
        kept.append(b"x" * 16 * 1024**2)
        time.sleep(0.01)


def print_rubbish() -> None:
    """What is no UTF-8, half an event, an event glued to text, a very long line."""
    os.write(
        OUT, b'\xff\xfe\x00 not text\n{"ringside":1,"event":"Row","size_bytes":\n{"ringside":1,"event":"Nonsense"}\n'
    )
    os.write(OUT, b"x" * 300_000 + b"\n")


def print_for_ever() -> None:
    while True:
        os.write(OUT, b"spam " * 1000 + b"\n")


DEFECTS: dict[str, Callable[[], None]] = {
    "none": lambda: None,
    "raise": raise_error,
    "leave": leave,
    "spin": spin,
    "hit-limit": hit_limit,
    "eat": eat,
    "rubbish": print_rubbish,
    "flood": print_for_ever,
}

if __name__ == "__main__":
    behaviour = sys.argv.pop(1)
    if behaviour == "exit-before":
        if os.environ["RANK"] == "1":
            os._exit(0)
    else:
        signal.signal(signal.SIGUSR1, lambda _number, _frame: DEFECTS[behaviour]())
    main()
