"""The walk over operations and sizes: one `Row` each, sent as soon as it is measured.

Sizes ascend within an operation. At the end the first row's time is taken once more: a machine that drifted meanwhile shows it.
Validation stands outside the timing, on fresh buffers with exact answers. All ranks walk together; only rank 0 has a `send` that
goes anywhere.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from app.bench.events import Event, Heartbeat, Measurement, Problem, Progress, Row
from app.bench.spec import ELEMENT_BYTES, RunSpec
from app.bench.worker.buffers import Buffers
from app.bench.worker.collectives import collectives
from app.bench.worker.collectives.model import Collective, Layout
from app.bench.worker.group import Group
from app.bench.worker.timing import Call, Clock, clock_for, measure, summarize

NOISY_PERCENT = 10.0
_MINIMUM_PATIENCE = 15.0
_FIRST_BYTES_PER_SECOND = 3e8
"""A guess; only the time left and the patience depend on it."""
_GUESS_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class _Step:
    collective: Collective
    layout: Layout


@dataclass(slots=True)
class Sweep:
    """One walk by this rank."""

    group: Group
    spec: RunSpec
    send: Callable[[Event], None]
    started: float = field(default_factory=time.monotonic)
    _beaten: float = 0.0
    _clock: Clock = field(init=False)
    _buffers: Buffers = field(init=False)

    def __post_init__(self) -> None:
        self._clock = clock_for(self.group.device)
        self._buffers = Buffers(
            largest_bytes=self.spec.sizes[-1], dtype=self.spec.dtype, device=self.group.device, seed=self.spec.seed
        )

    def run(self) -> tuple[int, float | None]:
        """Measure every row; the number of rows, and the drift in percent where there is a row to compare."""
        steps = self._steps()
        weights = [self._weight(step) for step in steps]
        begin = time.monotonic()
        first: Row | None = None
        for done, step in enumerate(steps):
            # The guess counts like some seconds of experience, so that the first rows do not throw the estimate about.
            slower = (time.monotonic() - begin + _GUESS_SECONDS) / (sum(weights[:done]) + _GUESS_SECONDS)
            left = sum(weights[done:]) * slower + self.spec.gemm_seconds
            self.send(
                Progress(
                    operation=step.collective.name,
                    size_bytes=step.layout.size_bytes,
                    count=step.layout.count,
                    done=done,
                    total=len(steps),
                    eta_seconds=round(left, 1),
                    patience_seconds=max(_MINIMUM_PATIENCE, 3 * weights[done]),
                )
            )
            row = self._row(step)
            first = first or row
            self.send(row)
        return len(steps), self._drift(steps[0], first) if first else None

    def beat(self) -> None:
        """Say that rank 0 is not stuck, at most once a second."""
        now = time.monotonic()
        if now - self._beaten >= 1:
            self._beaten = now
            self.send(Heartbeat(seconds=round(now - self.started, 1)))

    def _steps(self) -> list[_Step]:
        known = collectives()
        steps: list[_Step] = []
        for name in self.spec.operations:
            collective = known[name]
            layouts = [
                collective.lay_out(size, self.group.ranks, ELEMENT_BYTES[self.spec.dtype]) for size in self.spec.sizes
            ]
            kept = [layout for layout in layouts if layout.count]
            if len(kept) < len(layouts):
                text = f"{name}: {len(layouts) - len(kept)} sizes are below one 16-byte part per rank and left out"
                self.send(Problem(kind="size-skipped", text=text, fatal=False))
            steps += [_Step(collective, layout) for layout in kept]
        return steps

    def _weight(self, step: _Step) -> float:
        halves = 1 if step.collective.in_place is None else 2
        moved = step.layout.size_bytes / _FIRST_BYTES_PER_SECOND
        return halves * (self.spec.warm_up_seconds / 2 + self.spec.budget_seconds + 10 * moved)

    def _row(self, step: _Step) -> Row:
        collective, layout = step.collective, step.layout
        wrong = self._validate(step, in_place=False)
        out_of_place = self._half(step, in_place=False, wrong=wrong)
        in_place: Measurement | None = None
        if collective.in_place is not None:
            wrong = self._validate(step, in_place=True)
            in_place = self._half(step, in_place=True, wrong=wrong)
        return Row(
            operation=collective.name,
            size_bytes=layout.size_bytes,
            count=layout.count,
            dtype=self.spec.dtype,
            redop=collective.redop,
            root=-1,
            ranks=self.group.ranks,
            out_of_place=out_of_place,
            in_place=in_place,
            label=collective.labels.get(self.group.backend),
        )

    def _half(self, step: _Step, *, in_place: bool, wrong: int | None) -> Measurement:
        times = measure(
            self._call(step, in_place=in_place), peers=self.group, clock=self._clock, spec=self.spec, beat=self.beat
        )
        return summarize(
            times,
            size_bytes=step.layout.size_bytes,
            bus_factor=step.collective.bus_factor(self.group.ranks),
            ranks=self.group.ranks,
            wrong=wrong,
        )

    def _call(self, step: _Step, *, in_place: bool) -> Call:
        """The call to time. Its buffers are cut beforehand: cutting costs as much as a small call's tenth."""
        slots = self._buffers.slots(step.layout)
        pairs = [self._pair(step, number=number, in_place=in_place) for number in range(min(slots, 4096))]
        run, count = step.collective.run, len(pairs)

        def call(number: int) -> None:
            send, receive = pairs[number % count]
            run(send, receive)

        return call

    def _pair(self, step: _Step, *, number: int, in_place: bool) -> tuple[torch.Tensor, torch.Tensor]:
        if in_place:
            return self._buffers.shared(
                step.collective, step.layout, number=number, rank=self.group.rank, ranks=self.group.ranks
            )
        return self._buffers.pair(step.collective, step.layout, number=number)

    def _validate(self, step: _Step, *, in_place: bool) -> int | None:
        if not self.spec.check:
            return None
        send, receive = self._pair(step, number=0, in_place=in_place)
        return validate(step.collective, send, receive, group=self.group, seed=self.spec.seed)

    def _drift(self, step: _Step, first: Row) -> float:
        again = self._half(step, in_place=False, wrong=None)
        percent = round((again.time_us / first.out_of_place.time_us - 1) * 100, 1)
        if abs(percent) > NOISY_PERCENT:
            text = f"{step.collective.name} at {step.layout.size_bytes} bytes took {percent:+.0f} % at the end"
            self.send(Problem(kind="drift", text=text, fatal=False))
        return percent


def validate(collective: Collective, send: torch.Tensor, receive: torch.Tensor, *, group: Group, seed: int) -> int:
    """Wrong elements over all ranks of one call on exactly representable data."""
    rank, ranks = group.rank, group.ranks
    if send.data_ptr() != receive.data_ptr() or len(send) < len(receive):
        receive.fill_(-1)
    collective.fill(send, rank=rank, ranks=ranks, seed=seed)
    collective.run(send, receive)
    return group.total(collective.wrong(receive, rank=rank, ranks=ranks, seed=seed))
