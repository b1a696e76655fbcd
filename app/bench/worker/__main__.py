"""One rank: `torchrun ... worker.pyz spec.json`, or `python -m app.bench.worker spec.json`.

Guards its own life, tells who it is, then hands over to `run`. Whatever goes wrong becomes a `Problem` on the stream. The end is
always `os._exit`: threads of a backend that still run while the interpreter goes down abort the process and hide its exit code.
"""

import json
import os
import socket
import sys
from pathlib import Path

from app.bench.events import RankStarted
from app.bench.process import start_ticks
from app.bench.spec import RunSpec
from app.bench.worker.life import Failure, Line, die_with_parent, fail


def main() -> None:
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
    sys.stderr.flush()
    os._exit(0)


def _check_torch() -> None:
    try:
        import torch.distributed as dist  # noqa: PLC0415 - its absence is an answer
    except ImportError as error:
        raise Failure("no-torch", f"PyTorch cannot be imported: {error}") from error
    if not dist.is_available():
        raise Failure("no-torch", "this build of PyTorch has no torch.distributed")


if __name__ == "__main__":
    main()
