"""Send/receive around a ring: every rank sends to the next and receives from the one before, all at once.

Every link is busy both ways and each rank's buffer crosses one link once: bus factor 1 (nccl-tests src/sendrecv.cu, which
has no in-place form and prints the name of a reduction that it never does; a row here says none). Two ranks send to each
other. One rank has only itself, and copies.
"""

from functools import partial

import torch
import torch.distributed as dist

from app.bench.worker.collectives import patterns
from app.bench.worker.collectives.model import Collective, Ready, Role, unity, whole


def bind(send: torch.Tensor, receive: torch.Tensor, role: Role) -> Ready:
    """Send `send` on and receive into `receive`; both are posted before either is waited for."""
    if role.ranks == 1:
        return partial(receive.copy_, send)
    messages = [
        dist.P2POp(dist.isend, send, (role.rank + 1) % role.ranks),
        dist.P2POp(dist.irecv, receive, _before(role)),
    ]

    def call() -> None:
        for work in dist.batch_isend_irecv(messages):
            work.wait()

    return call


def wrong(buffer: torch.Tensor, role: Role) -> int:
    """Elements that are not what the rank before sent."""
    return patterns.not_from(buffer, _before(role), role)


def _before(role: Role) -> int:
    return (role.rank - 1) % role.ranks


collective = Collective(
    name="send_recv",
    lay_out=whole,
    bus_factor=unity,
    bind=bind,
    fill=patterns.sign,
    wrong=wrong,
)
