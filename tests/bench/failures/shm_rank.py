"""Processes with shared memory: `shm_rank.py rank|hold FILE ...` maps the files, makes those that are missing, and waits.

`rank` also says on the wire that it is one, and makes a temporary file.
"""

import mmap
import os
import sys
import tempfile
import time
from pathlib import Path

from app.bench.events import Phase, RankStarted
from app.bench.process import start_ticks
from app.bench.wire import emit

if __name__ == "__main__":
    kept = []
    for name in sys.argv[2:]:
        with Path(name).open("a+b") as file:
            file.truncate(4096)
            kept.append(mmap.mmap(file.fileno(), 4096))
    if sys.argv[1] == "rank":
        tempfile.mkstemp(prefix="left-")
        emit(RankStarted(rank=0, pid=os.getpid(), start_ticks=start_ticks(os.getpid()), host="here"), descriptor=1)
        emit(Phase(name="measuring", patience_seconds=600), descriptor=1)
    else:
        os.write(1, b"mapped\n")
    time.sleep(600)
