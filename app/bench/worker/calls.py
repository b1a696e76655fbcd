"""A step's calls with their buffers, ready to be timed, and the check of one on exact data."""

from dataclasses import dataclass

import torch

from app.bench.worker.buffers import Buffers
from app.bench.worker.collectives import patterns
from app.bench.worker.collectives.model import Collective, Role
from app.bench.worker.group import Group
from app.bench.worker.plan import Step
from app.bench.worker.timing import Call

_PLACES = 4096
"""Calls bound beforehand at most; further ones begin again."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Makes calls of steps in one pool of memory."""

    buffers: Buffers
    role: Role

    def of(self, step: Step, *, in_place: bool = False) -> Call:
        """The call to time. Buffers are cut and arguments bound beforehand: that costs as much as a small call's tenth."""
        slots = min(self.buffers.slots(step.layout), _PLACES)
        bind = step.collective.bind
        ready = [bind(*self.pair(step, number=number, in_place=in_place), self.role) for number in range(slots)]

        def call(number: int) -> None:
            ready[number % slots]()

        return call

    def pair(self, step: Step, *, number: int, in_place: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
        """Send and receive buffers of call `number`."""
        if in_place:
            return self.buffers.shared(
                step.collective, step.layout, number=number, rank=self.role.rank, ranks=self.role.ranks
            )
        return self.buffers.pair(step.collective, step.layout, number=number)


def validate(collective: Collective, send: torch.Tensor, receive: torch.Tensor, *, group: Group, role: Role) -> int:
    """Wrong elements over all ranks of one call on data whose result is known exactly."""
    patterns.spoil(receive)
    patterns.spoil(send)
    collective.fill(send, role)
    collective.bind(send, receive, role)()
    return group.total(collective.wrong(receive, role))
