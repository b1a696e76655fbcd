"""Run by torchrun in a test: validates every collective as it is, then with a defect, and prints what was counted.

Counts stand by operation, element type, reduction and form; each is `[as it is, with a defect]`.
"""

import dataclasses
import json
import os
import sys
from collections.abc import Iterator

import torch

from app.bench.spec import ELEMENT_BYTES, FLOATING
from app.bench.worker.buffers import TORCH_TYPES
from app.bench.worker.calls import validate
from app.bench.worker.collectives import collectives, patterns
from app.bench.worker.collectives.model import Collective, Ready, Role
from app.bench.worker.group import join

SIZE = 30_000  # no power of two


def main() -> None:
    rank, ranks, root = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), int(sys.argv[1])
    group = join(rank=rank, ranks=ranks, local_rank=rank, choice="gloo", timeout_seconds=60)
    counted: dict[str, list[int]] = {}
    for collective, dtype, redop, form in cases():
        layout = collective.lay_out(SIZE, ranks, ELEMENT_BYTES[dtype])
        role = Role(rank=rank, ranks=ranks, root=root, redop=redop, seed=1)
        if form == "in place":
            assert collective.in_place is not None
            whole = torch.zeros(max(layout.send, layout.receive), dtype=TORCH_TYPES[dtype])
            send, receive = collective.in_place(whole, rank, ranks)
        else:
            receive = torch.zeros(layout.receive, dtype=TORCH_TYPES[dtype])
            send = receive if collective.has_one_buffer else torch.zeros(layout.send, dtype=TORCH_TYPES[dtype])
        counted[f"{collective.name} {dtype} {redop} {form}"] = [
            validate(version, send, receive, group=group, role=role)
            for version in (collective, dataclasses.replace(collective, bind=broken(collective)))
        ]
    if rank == 0:
        sys.stdout.write(json.dumps(counted) + "\n")
        sys.stdout.flush()
    group.barrier()
    os._exit(0)


def cases() -> Iterator[tuple[Collective, str, str, str]]:
    for collective in collectives().values():
        for dtype in ELEMENT_BYTES:
            if dtype.startswith("f8"):
                continue  # Gloo has none
            redops = ("sum", "prod", "min", "max", "avg") if collective.reduces else ("sum",)
            for redop in redops:
                if redop != "avg" or dtype in FLOATING:
                    yield collective, dtype, redop, "apart"
                    if collective.in_place is not None:
                        yield collective, dtype, redop, "in place"


def broken(collective: Collective):  # type: ignore[no-untyped-def]
    def bind(send: torch.Tensor, receive: torch.Tensor, role: Role) -> Ready:
        right = collective.bind(send, receive, role)

        def call() -> None:
            right()
            if role.is_root:
                patterns.spoil(receive[5:6])
                patterns.spoil(receive[-1:])

        return call

    return bind


main()
