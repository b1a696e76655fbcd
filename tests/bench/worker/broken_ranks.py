"""Run by torchrun in a test: validates each collective as it is, then with a defect, and prints what was counted."""

import dataclasses
import json
import os
import sys

import torch

from app.bench.worker.collectives import collectives
from app.bench.worker.group import join
from app.bench.worker.sweep import validate

SIZE = 1 << 16


def main() -> None:
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    group = join(rank=rank, ranks=ranks, local_rank=rank, choice="gloo", timeout_seconds=60)
    counted: dict[str, list[int]] = {}
    for name, collective in collectives().items():
        layout = collective.lay_out(SIZE, ranks, 4)

        def broken(send: torch.Tensor, receive: torch.Tensor, *, run=collective.run) -> None:  # type: ignore[no-untyped-def]
            run(send, receive)
            if rank == 1:
                receive[5] += 1

        for version in (collective, dataclasses.replace(collective, run=broken)):
            receive = torch.zeros(layout.receive)
            send = receive if collective.in_place is None else torch.zeros(layout.send)
            wrong = validate(version, send, receive, group=group, seed=1)
            counted.setdefault(name, []).append(wrong)
    if rank == 0:
        sys.stdout.write(json.dumps(counted) + "\n")
        sys.stdout.flush()
    group.barrier()
    os._exit(0)


main()
