"""The ranks of a run: how they meet, what they know of each other, how they agree on a number.

Measured operations use the default group on the backend asked for. Everything else (barriers, gathering of times,
agreeing when warm-up is over) goes over `control`, a Gloo group on the CPU, so that a GPU run's bookkeeping never touches
the links it measures. No pickle and no NumPy: a node may have neither.
"""

import json
import os
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist

from app.bench.process import start_ticks
from app.bench.spec import Backend, BackendChoice
from app.bench.worker import nccl_log, sharing
from app.bench.worker.life import Failure, within

_PEER_BYTES = 512
_LOST_SECONDS = 2.0
_DESTROY_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Peer:
    """What one rank told the others about itself."""

    host: str
    pid: int
    start_ticks: int | None
    device: str


@dataclass(frozen=True, slots=True)
class Group:
    """This rank among its peers."""

    rank: int
    ranks: int
    backend: Backend
    device: torch.device
    control: dist.ProcessGroup | None
    peers: tuple[Peer, ...]
    nccl_log: int | None = None
    """The file NCCL speaks into, where it was asked to."""

    @property
    def local_ranks(self) -> int:
        """The number of ranks on this rank's host."""
        return sum(peer.host == self.peers[self.rank].host for peer in self.peers)

    def barrier(self) -> None:
        """Returns when every rank has come here."""
        dist.all_reduce(torch.zeros(1), group=self.control)

    def maximum(self, value: float) -> float:
        """The largest `value` over the ranks: what they all act upon."""
        tensor = torch.tensor([value], dtype=torch.float64)
        dist.all_reduce(tensor, op=dist.ReduceOp.MAX, group=self.control)
        return float(tensor.item())

    def total(self, value: int) -> int:
        """The sum of `value` over the ranks."""
        tensor = torch.tensor([value], dtype=torch.int64)
        dist.all_reduce(tensor, group=self.control)
        return int(tensor.item())

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        """The `values` of each rank, by rank; equally many everywhere."""
        mine = torch.tensor(values, dtype=torch.float64)
        theirs = [torch.empty_like(mine) for _ in range(self.ranks)]
        dist.all_gather(theirs, mine, group=self.control)
        return [tensor.tolist() for tensor in theirs]

    def gather_text(self, text: str) -> list[str]:
        """The `text` of each rank, by rank."""
        data = text.encode("utf-8", "replace")
        longest = int(self.maximum(len(data)))
        mine = torch.tensor([*len(data).to_bytes(8, "big"), *data.ljust(longest)], dtype=torch.uint8)
        theirs = [torch.empty_like(mine) for _ in range(self.ranks)]
        dist.all_gather(theirs, mine, group=self.control)
        found = [bytes(tensor.tolist()) for tensor in theirs]
        return [card[8 : 8 + int.from_bytes(card[:8], "big")].decode("utf-8", "replace") for card in found]

    def lost(self) -> int | None:
        """A rank of this host whose process is gone. A dying process takes a moment, so this waits up to two seconds."""
        host = self.peers[self.rank].host
        deadline = time.monotonic() + _LOST_SECONDS
        while time.monotonic() < deadline:
            for rank, peer in enumerate(self.peers):
                if peer.host == host and peer.start_ticks is not None and start_ticks(peer.pid) != peer.start_ticks:
                    return rank
            time.sleep(0.005)
        return None

    def leave(self) -> None:
        """Take the group apart; a backend that cannot finish is left behind."""
        within(_DESTROY_SECONDS, dist.destroy_process_group)


def join(
    *,
    rank: int,
    ranks: int,
    local_rank: int,
    choice: BackendChoice,
    timeout_seconds: float,
    emulated: bool = False,
    listens: bool = False,
) -> Group:
    """Meet the other ranks; `listens` keeps what NCCL says of it. Raises Failure when the backend cannot work here."""
    backend = _backend(choice, emulated=emulated)
    heard = None
    if backend == "nccl":
        device = _gpu(rank=rank, local_rank=local_rank, emulated=emulated)
        torch.cuda.set_device(device)
        heard = nccl_log.listen() if listens and local_rank == 0 else None
    else:
        device = torch.device("cpu")
        torch.set_num_threads(1)
    # `device_id` is not passed: it made init hang at random in torch 2.6 and 2.7.0 (pytorch issue 153960).
    dist.init_process_group(backend, timeout=timedelta(seconds=timeout_seconds))
    control = dist.new_group(backend="gloo") if backend == "nccl" else None
    name = torch.cuda.get_device_name(device) if backend == "nccl" else "cpu"
    mine = Peer(host=socket.gethostname(), pid=os.getpid(), start_ticks=start_ticks(os.getpid()), device=name)
    return Group(rank, ranks, backend, device, control, _introduce(mine, ranks=ranks, control=control), heard)


def _backend(choice: BackendChoice, *, emulated: bool) -> Backend:
    if choice == "gloo":
        return "gloo"
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if choice == "auto":
        enough = gpus >= (1 if emulated else _local_ranks())
        return "nccl" if enough and dist.is_nccl_available() else "gloo"
    if not gpus:
        raise Failure("no-gpu", "no GPU is visible to this process")
    if not dist.is_nccl_available():
        raise Failure("no-gpu", "this build of torch has no NCCL")
    return "nccl"


def _gpu(*, rank: int, local_rank: int, emulated: bool) -> torch.device:
    """This rank's GPU, with NCCL told that it may be shared."""
    gpus, local_ranks = torch.cuda.device_count(), _local_ranks()
    index = sharing.place(local_rank=local_rank, local_ranks=local_ranks, gpus=gpus, emulated=emulated)
    needed = sharing.variables(nccl=torch.cuda.nccl.version(), rank=rank, local_ranks=local_ranks, gpus=gpus)
    for name, value in needed.items():
        os.environ.setdefault(name, value)
    return torch.device("cuda", index)


def _local_ranks() -> int:
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def _introduce(mine: Peer, *, ranks: int, control: dist.ProcessGroup | None) -> tuple[Peer, ...]:
    data = json.dumps([mine.host[:200], mine.pid, mine.start_ticks, mine.device[:100]]).encode()
    padded = torch.tensor(list(data.ljust(_PEER_BYTES)), dtype=torch.uint8)
    cards = [torch.empty_like(padded) for _ in range(ranks)]
    dist.all_gather(cards, padded, group=control)
    return tuple(Peer(*json.loads(bytes(card.tolist()))) for card in cards)
