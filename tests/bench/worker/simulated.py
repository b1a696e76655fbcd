"""What every rank must end with, computed here without any backend: the collectives as a textbook defines them."""

import torch

from app.bench.worker.collectives.model import Collective, Role

Tensors = list[torch.Tensor]


def sent(collective: Collective, count: int, *, dtype: torch.dtype, roles: list[Role]) -> Tensors:
    """What each rank sends; -1 where it sends nothing."""
    buffers = [torch.full((count,), -1, dtype=torch.float32).to(dtype) for _ in roles]
    for buffer, role in zip(buffers, roles, strict=True):
        collective.fill(buffer, role)
    return buffers


def answers(name: str, buffers: Tensors, *, roles: list[Role]) -> dict[int, torch.Tensor]:
    """What each rank that receives something ends with, by rank."""
    ranks, root = len(roles), roles[0].root
    if name in ("broadcast", "scatter"):
        parts = buffers[root].chunk(ranks) if name == "scatter" else [buffers[root]] * ranks
        return {rank: part.clone() for rank, part in enumerate(parts)}
    if name in ("send_recv", "ping_pong"):
        senders = [rank - 1 if name == "send_recv" or rank % 2 else min(rank + 1, ranks) for rank in range(ranks)]
        if ranks == 1:
            senders = [0]
        return {rank: buffers[sender].clone() for rank, sender in enumerate(senders) if sender < ranks}
    if name == "all_to_all":
        return {rank: torch.cat([buffer.chunk(ranks)[rank] for buffer in buffers]) for rank in range(ranks)}
    everything = torch.cat(buffers) if "gather" in name else reduced(buffers, roles[0].redop)
    if name == "reduce_scatter":
        return {rank: part.clone() for rank, part in enumerate(everything.chunk(ranks))}
    return {rank: everything.clone() for rank in (range(ranks) if name.startswith("all_") else [root])}


def reduced(buffers: Tensors, redop: str) -> torch.Tensor:
    """All buffers as one, one after another in their own type, as a ring does it; half a sum overflows where a type is small."""
    total = buffers[0].clone()
    for buffer in buffers[1:]:
        wide_total, wide = (tensor.to(_wide(buffer)) for tensor in (total, buffer))
        match redop:
            case "sum" | "avg":
                combined = wide_total + wide
            case "prod":
                combined = wide_total * wide
            case "min":
                combined = torch.minimum(wide_total, wide)
            case _:
                combined = torch.maximum(wide_total, wide)
        total = combined.to(buffer.dtype)
        assert torch.equal(total.to(_wide(buffer)), combined), "an intermediate result is not exact"
    return (total.to(torch.float64) / len(buffers)).to(total.dtype) if redop == "avg" else total


def _wide(buffer: torch.Tensor) -> torch.dtype:
    return torch.float64 if buffer.is_floating_point() else torch.int64
