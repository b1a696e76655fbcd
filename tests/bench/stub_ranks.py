"""A launcher's command for the runner's tests: a program that speaks the wire and then behaves as it is told.

`python stub_ranks.py BEHAVIOUR`; it starts "ranks" of its own (sleeping processes in sessions of their own, as torchrun's are).
"""

import os
import signal
import subprocess
import sys
import time

from app.bench.events import Done, Environment, Hello, Phase, Problem, Progress, RankStarted
from app.bench.process import start_ticks
from app.bench.wire import emit
from tests.hardware.rows import gemm, row

SLEEPER = (
    "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
)


def environment() -> Environment:
    return Environment(
        backend="gloo",
        torch="2.13.0",
        python="3.11.7",
        platform="Linux",
        cpu="a CPU",
        cores=2,
        memory_bytes=1 << 30,
        threads_per_rank=1,
        timing="blocking",
        hosts=("here",),
        devices=("cpu", "cpu"),
    )


def start_rank(rank: int) -> "subprocess.Popen[bytes]":
    sleeper = subprocess.Popen([sys.executable, "-c", SLEEPER], start_new_session=True, stdout=subprocess.PIPE)
    assert sleeper.stdout is not None
    sleeper.stdout.readline()
    emit(RankStarted(rank=rank, pid=sleeper.pid, start_ticks=start_ticks(sleeper.pid), host="here"), descriptor=1)
    return sleeper


def progress(*, size_bytes: int, done: int, patience_seconds: float) -> Progress:
    return Progress(
        operation="all_reduce",
        size_bytes=size_bytes,
        count=size_bytes // 4,
        done=done,
        total=2,
        eta_seconds=1.0,
        patience_seconds=patience_seconds,
    )


def main(behaviour: str) -> int:
    has_ranks = behaviour in ("hang", "run-on", "die", "kill-myself", "raise")
    ranks = [start_rank(0), start_rank(1)] if has_ranks else []
    emit(Phase(name="starting", patience_seconds=0.5 if behaviour == "silent-start" else 60), descriptor=1)
    if behaviour == "silent-start":
        time.sleep(600)
    emit(Hello(world_size=2, environment=environment()), descriptor=1)
    emit(progress(size_bytes=1024, done=0, patience_seconds=60), descriptor=1)
    emit(row(1024, 10.0, wrong=2 if behaviour == "wrong" else 0), descriptor=1)
    code = misbehave(behaviour, ranks)
    if code == 0:
        emit(row(2048, 12.0), descriptor=1)
        emit(gemm(), descriptor=1)
        emit(Done(rows=2, seconds=1.0, drift_percent=0.5), descriptor=1)
    return code


def misbehave(behaviour: str, ranks: "list[subprocess.Popen[bytes]]") -> int:
    match behaviour:
        case "garbage":
            os.write(1, b'\xff\xfe not text\n{"ringside": 1, "event": "Row"\n' + b"x" * 200_000 + b"\nno newline")
        case "flood":
            for _ in range(10_000):
                os.write(1, b"spam " * 1000 + b"\n")
            time.sleep(600)
        case "hang":
            emit(progress(size_bytes=2048, done=1, patience_seconds=0.5), descriptor=1)
            time.sleep(600)
        case "run-on":
            time.sleep(600)
        case "die":
            emit(Problem(kind="connection-lost", text="rank 0: Connection reset by peer"), descriptor=1)
            ranks[1].kill()
            ranks[1].wait()
            sys.stderr.write(f"failed (exitcode: -9) local_rank: 1 (pid: {ranks[1].pid}) of binary: python\n")
            return 1
        case "kill-myself":
            os.kill(os.getpid(), signal.SIGKILL)
        case "raise":
            emit(Problem(kind="connection-lost", text="rank 0: Connection closed by peer"), descriptor=1)
            emit(Problem(kind="exception", rank=1, text="ValueError: no"), descriptor=1)
            return 1
        case _:
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
