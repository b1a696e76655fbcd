"""What a run measures, decided before anything is timed: every operation that works here, at every size that has elements.

Whether the backend takes an operation with an element type (and a reduction) is found by calling it once on a few elements on
all ranks, who then agree; versions are never asked. What does not work is reported and left out.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from app.bench.events import Event, Problem
from app.bench.spec import ELEMENT_BYTES, RunSpec
from app.bench.worker.buffers import TORCH_TYPES
from app.bench.worker.collectives import collectives
from app.bench.worker.collectives.model import ALIGNMENT_BYTES, Collective, Layout, Role
from app.bench.worker.group import Group
from app.bench.worker.life import Failure

_REASON = 200
"""Characters of an error's first line."""


@dataclass(frozen=True, slots=True)
class Step:
    """One operation at one size: a row to be."""

    collective: Collective
    layout: Layout


def role(group: Group, spec: RunSpec) -> Role:
    """Who this rank is in every call of the run."""
    return Role(rank=group.rank, ranks=group.ranks, root=spec.root, redop=spec.redop, seed=spec.seed)


def steps(group: Group, spec: RunSpec, *, send: Callable[[Event], None]) -> list[Step]:
    """All steps, sizes ascending within an operation. Raises Failure when nothing is left. All ranks call this together."""
    found: list[Step] = []
    reasons: list[str] = []
    known = collectives()
    for name in spec.operations:
        reason = _refusal(known[name], group, spec)
        if reason is not None:
            reasons.append(f"{name} with {_kind(known[name], spec)} on {group.backend}: {reason}")
            send(Problem(kind="not-supported", text=reasons[-1], fatal=False))
            continue
        layouts = [known[name].lay_out(size, group.ranks, ELEMENT_BYTES[spec.dtype]) for size in spec.sizes]
        kept = [layout for layout in layouts if layout.count]
        if len(kept) < len(layouts):
            reasons.append(f"{name}: {len(layouts) - len(kept)} sizes are below one 16-byte part per rank and left out")
            send(Problem(kind="size-skipped", text=reasons[-1], fatal=False))
        found += [Step(known[name], layout) for layout in dict.fromkeys(kept)]
    if not found:
        raise Failure("nothing-to-measure", "; ".join(reasons))
    return found


def _kind(collective: Collective, spec: RunSpec) -> str:
    return f"{spec.dtype} ({spec.redop})" if collective.reduces and spec.redop != "sum" else spec.dtype


def _refusal(collective: Collective, group: Group, spec: RunSpec) -> str | None:
    """Why the operation does not work with this type here, in the words of a rank that saw it; None where it works."""
    dtype = TORCH_TYPES.get(spec.dtype)
    if dtype is None:
        return f"torch {torch.__version__} does not have this type"
    layout = collective.lay_out(ALIGNMENT_BYTES * group.ranks, group.ranks, ELEMENT_BYTES[spec.dtype])
    receive = torch.zeros(layout.receive, dtype=dtype, device=group.device)
    sent = receive if collective.has_one_buffer else torch.zeros(layout.send, dtype=dtype, device=group.device)
    mine = ""
    try:
        collective.bind(sent, receive, role(group, spec))()
        if group.device.type == "cuda":
            torch.cuda.synchronize()
    except (RuntimeError, ValueError, TypeError, NotImplementedError) as error:
        # Not a lost rank: that shows at once in the exchange that follows.
        mine = str(error).strip().partition("\n")[0][:_REASON] or type(error).__name__
    return next(filter(None, group.gather_text(mine)), None)
