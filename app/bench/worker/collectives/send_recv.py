"""Send/receive around a ring: every rank sends to the next and receives from the one before, all at once.

Every link is busy both ways and each rank's buffer crosses one link once: bus factor 1 (nccl-tests src/sendrecv.cu, which
has no in-place form and prints the name of a reduction that it never does; a row here says none). Two ranks send to each
other. One rank has only itself, and copies.
"""

from collections.abc import Callable, Iterable
from functools import partial

import torch
import torch.distributed as dist

from app.bench.worker.collectives import patterns
from app.bench.worker.collectives.model import Collective, Ready, Role, unity, whole


def bind(send: torch.Tensor, receive: torch.Tensor, role: Role) -> Ready:
    """Send `send` on and receive into `receive`; both are posted before either is waited for."""
    if role.ranks == 1:
        return partial(receive.copy_, send)
    following, before = (role.rank + 1) % role.ranks, _before(role)
    if send.device.type == "cpu":
        return partial(_post_and_wait, lambda: (dist.isend(send, following), dist.irecv(receive, before)))
    # NCCL runs messages one after another unless they are posted as a group, and a ring of them would wait for itself.
    messages = [dist.P2POp(dist.isend, send, following), dist.P2POp(dist.irecv, receive, before)]
    return partial(_post_and_wait, partial(dist.batch_isend_irecv, messages))


def _post_and_wait(post: Callable[[], Iterable[dist.Work | None]]) -> None:
    for work in post():
        if work is not None:
            work.wait()


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
