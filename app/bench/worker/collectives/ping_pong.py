"""Ping-pong: ranks 0 and 1, 2 and 3, ... send one message there and one back; the time is half the round trip.

Nothing else is on the way meanwhile, so a small message shows the latency of a link and a large one its rate in one
direction: bus factor 1. All pairs play at once. A last rank without a partner sits out; one rank alone copies to itself.
"""

import torch
import torch.distributed as dist

from app.bench.worker.collectives import patterns
from app.bench.worker.collectives.model import Collective, Ready, Role, unity, whole


def bind(send: torch.Tensor, receive: torch.Tensor, role: Role) -> Ready:
    """One round trip: the even rank serves, the odd one answers."""
    partner = _partner(role)

    def serve() -> None:
        dist.send(send, partner)
        dist.recv(receive, partner)

    def answer() -> None:
        dist.recv(receive, partner)
        dist.send(send, partner)

    def copy() -> None:
        receive.copy_(send)
        receive.copy_(send)

    if role.ranks == 1:
        return copy
    if partner == role.ranks:
        return _nothing
    return answer if role.rank % 2 else serve


def wrong(buffer: torch.Tensor, role: Role) -> int:
    """Elements that are not what the partner sent."""
    partner = _partner(role)
    if partner == role.ranks > 1:
        return 0
    return patterns.not_from(buffer, partner % role.ranks, role)


def _partner(role: Role) -> int:
    return role.rank ^ 1


def _nothing() -> None:
    pass


collective = Collective(
    name="ping_pong",
    lay_out=whole,
    bus_factor=unity,
    bind=bind,
    fill=patterns.sign,
    wrong=wrong,
    legs=2,
    players=lambda ranks: max(1, ranks // 2 * 2),
)
