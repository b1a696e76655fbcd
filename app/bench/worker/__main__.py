"""What the worker's zip does: `torchrun ... worker.pyz spec.json` is one rank, `worker.pyz probe` and `worker.pyz guard` serve a node.

`python -m app.bench.worker` does the same. A rank guards its own life, tells who it is, then hands over to `run`. Whatever goes wrong becomes a `Problem` on the stream. The end is
always `os._exit`: threads of a backend that still run while the interpreter goes down abort the process and hide its exit code.
"""

import json
import os
import socket
import sys
from pathlib import Path
from typing import NoReturn

from app.bench.events import RankStarted
from app.bench.process import start_ticks
from app.bench.spec import RunSpec
from app.bench.worker import guard, probe, slurm_node
from app.bench.worker.life import Failure, Line, die_with_parent, fail


def main() -> None:
    """Do what the first argument says; a file makes it a rank."""
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    if command == "guard":
        _leave(guard.main(sys.argv[2:]))
    if command == "probe":
        _leave(probe.main(sys.argv[2:]))
    if command == "slurm-node":
        _leave(slurm_node.main(sys.argv[2:]))
    if not command:
        sys.stderr.write("usage: worker.pyz SPEC.JSON | probe | guard [options] -- COMMAND [ARGUMENT ...]\n")
        _leave(2)
    _be_rank()


def _leave(code: int) -> NoReturn:
    sys.stderr.flush()
    os._exit(code)


def _be_rank() -> None:
    """Run the rank that the environment of torchrun describes."""
    die_with_parent()
    line = Line()
    rank = int(os.environ.get("RANK", "0"))
    try:
        spec = RunSpec.from_json(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
        host = f"rank-{rank}" if spec.hide_host else socket.gethostname()
        line.send(RankStarted(rank=rank, pid=os.getpid(), start_ticks=start_ticks(os.getpid()), host=host))
        _check_torch()
    except BaseException as error:  # noqa: BLE001 - the last line of a rank: everything is reported
        fail(line, error=error, rank=rank)
    from app.bench.worker.run import run  # noqa: PLC0415 - imports torch, which takes a second

    run(spec, line=line)
    _leave(0)


def _check_torch() -> None:
    try:
        import torch.distributed as dist  # noqa: PLC0415 - its absence is an answer
    except ImportError as error:
        raise Failure("no-torch", f"PyTorch cannot be imported: {error}") from error
    if not dist.is_available():
        raise Failure("no-torch", "this build of PyTorch has no torch.distributed")


if __name__ == "__main__":
    main()
