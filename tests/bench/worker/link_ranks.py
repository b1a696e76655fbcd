"""Three ranks of which two exchange: every rank prints what it holds afterwards, as one JSON line."""

import json
import os
import sys

import torch

from app.bench.worker.group import join
from app.bench.worker.links import Buffers, exchange

rank = int(os.environ["RANK"])
group = join(rank=rank, ranks=3, local_rank=rank, choice="gloo", timeout_seconds=60)
first, second = 0, 2
peer = {first: second, second: first}.get(rank, rank)
for name, directions in {
    "to": [(first, second)],
    "fro": [(second, first)],
    "both": [(first, second), (second, first)],
}.items():
    buffers = Buffers(torch.full((16,), 10 + rank, dtype=torch.uint8), torch.zeros(16, dtype=torch.uint8))
    if rank != 1:
        exchange(rank, peer, buffers.cut(8), directions, 0)
    group.barrier()
    line = json.dumps({"form": name, "rank": rank, "received": buffers.inward.tolist()})
    os.write(sys.stdout.fileno(), f"{line}\n".encode())
os._exit(0)  # threads of Gloo that still run while the interpreter goes down would abort the process
