"""The walk over operations and sizes: one `Row` each, sent as soon as it is measured.

Sizes ascend within an operation. At the end the first row's time is taken once more: a machine that drifted meanwhile shows it.
Validation stands outside the timing, on fresh buffers with exact answers. All ranks walk together; only rank 0 has a `send` that
goes anywhere.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from app.bench.events import Event, Heartbeat, Measurement, Problem, Progress, Row
from app.bench.spec import RunSpec
from app.bench.worker.buffers import Buffers
from app.bench.worker.calls import Calls, validate
from app.bench.worker.group import Group
from app.bench.worker.latency import LARGEST_BYTES, latency
from app.bench.worker.plan import Step, role, steps
from app.bench.worker.timing import Clock, clock_for, measure, summarize

NOISY_PERCENT = 10.0
_MINIMUM_PATIENCE = 15.0
_FIRST_BYTES_PER_SECOND = 3e8
"""A guess; only the time left and the patience depend on it."""
_GUESS_SECONDS = 2.0


@dataclass(slots=True)
class Sweep:
    """One walk by this rank. Making one raises Failure when nothing can be measured."""

    group: Group
    spec: RunSpec
    send: Callable[[Event], None]
    started: float = field(default_factory=time.monotonic)
    steps: list[Step] = field(init=False)
    _beaten: float = 0.0
    _clock: Clock = field(init=False)
    _calls: Calls = field(init=False)

    def __post_init__(self) -> None:
        self._clock = clock_for(self.group.device)
        self.steps = steps(self.group, self.spec, send=self.send)
        buffers = Buffers(
            largest_bytes=max(step.layout.size_bytes for step in self.steps),
            dtype=self.spec.dtype,
            device=self.group.device,
            seed=self.spec.seed,
        )
        self._calls = Calls(buffers, role(self.group, self.spec))

    def run(self) -> tuple[int, float]:
        """Measure every row; the number of rows, and the drift in percent."""
        weights = [self._weight(step) for step in self.steps]
        afterwards = self.spec.gemm_seconds + len(self.spec.extras) * self.spec.extra_seconds
        begin = time.monotonic()
        rows: list[Row] = []
        for done, step in enumerate(self.steps):
            # The guess counts like some seconds of experience, so that the first rows do not throw the estimate about.
            slower = (time.monotonic() - begin + _GUESS_SECONDS) / (sum(weights[:done]) + _GUESS_SECONDS)
            self.send(
                Progress(
                    operation=step.collective.name,
                    size_bytes=step.layout.size_bytes,
                    count=step.layout.count,
                    done=done,
                    total=len(self.steps),
                    eta_seconds=round(sum(weights[done:]) * slower + afterwards, 1),
                    patience_seconds=max(_MINIMUM_PATIENCE, 3 * weights[done]),
                )
            )
            rows.append(self._row(step))
            self.send(rows[-1])
        return len(rows), self._drift(self.steps[0], rows[0])

    def latencies(self) -> None:
        """Time single calls of the small sizes, in about `extra_seconds` together."""
        small = [step for step in self.steps if step.layout.size_bytes <= LARGEST_BYTES]
        for step in small:
            found = latency(
                step,
                self._calls.of(step),
                peers=self.group,
                clock=self._clock,
                spec=self.spec,
                seconds=self.spec.extra_seconds / len(small),
                beat=self.beat,
            )
            self.send(found)

    def beat(self) -> None:
        """Say that rank 0 is not stuck, at most once a second."""
        now = time.monotonic()
        if now - self._beaten >= 1:
            self._beaten = now
            self.send(Heartbeat(seconds=round(now - self.started, 1)))

    def _weight(self, step: Step) -> float:
        halves = 1 if step.collective.in_place is None else 2
        moved = step.layout.size_bytes / _FIRST_BYTES_PER_SECOND
        return halves * (self.spec.warm_up_seconds / 2 + self.spec.budget_seconds + 10 * moved)

    def _row(self, step: Step) -> Row:
        collective = step.collective
        return Row(
            operation=collective.name,
            size_bytes=step.layout.size_bytes,
            count=step.layout.count,
            dtype=self.spec.dtype,
            redop=self.spec.redop if collective.reduces else "none",
            root=self.spec.root if collective.has_root else -1,
            ranks=self.group.ranks,
            out_of_place=self._half(step, in_place=False),
            in_place=self._half(step, in_place=True) if collective.in_place is not None else None,
            label=collective.labels.get(self.group.backend),
        )

    def _half(self, step: Step, *, in_place: bool, check: bool = True) -> Measurement:
        wrong = self._validate(step, in_place=in_place) if check and self.spec.check else None
        call = self._calls.of(step, in_place=in_place)
        times = measure(call, peers=self.group, clock=self._clock, spec=self.spec, beat=self.beat)
        collective, ranks = step.collective, self.group.ranks
        return summarize(
            times.of_one_leg(collective.legs, players=collective.players(ranks)),
            size_bytes=step.layout.size_bytes,
            bus_factor=collective.bus_factor(ranks),
            ranks=ranks,
            wrong=wrong,
        )

    def _validate(self, step: Step, *, in_place: bool) -> int:
        send, receive = self._calls.pair(step, number=0, in_place=in_place)
        return validate(step.collective, send, receive, group=self.group, role=self._calls.role)

    def _drift(self, step: Step, first: Row) -> float:
        again = self._half(step, in_place=False, check=False)
        percent = round((again.time_us / first.out_of_place.time_us - 1) * 100, 1)
        if abs(percent) > NOISY_PERCENT:
            text = f"{step.collective.name} at {step.layout.size_bytes} bytes took {percent:+.0f} % at the end"
            self.send(Problem(kind="drift", text=text, fatal=False))
        return percent
