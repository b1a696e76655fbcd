"""How figures come from times, with a clock that is told what to say."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from app.bench.spec import ELEMENT_BYTES
from app.bench.worker.buffers import TORCH_TYPES, Buffers
from app.bench.worker.collectives import collectives
from app.bench.worker.latency import MAXIMUM_CALLS, MINIMUM_CALLS, latency
from app.bench.worker.plan import Step
from app.bench.worker.timing import (
    BATCH_SECONDS,
    MINIMUM_BATCHES,
    MINIMUM_WARM_UP,
    BlockingClock,
    Call,
    Times,
    measure,
    percentile,
    summarize,
)
from tests.bench.ranks import small_spec


class Alone:
    """A group of one."""

    def __init__(self) -> None:
        self.barriers = 0

    def barrier(self) -> None:
        self.barriers += 1

    def maximum(self, value: float) -> float:
        return value

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        return [list(values)]


class ToldClock:
    """Each batch's mean is the next of `means`; the last one stays."""

    name = "told"

    def __init__(self, *means: float) -> None:
        self.means = list(means)
        self.batches: list[int] = []

    def batch(self, call: Call, *, first: int, iterations: int) -> tuple[float, list[float]]:
        del call
        assert first == sum(self.batches)
        mean = self.means.pop(0) if len(self.means) > 1 else self.means[0]
        self.batches.append(iterations)
        return mean * iterations, [mean] * iterations

    def singles(self, call: Call, *, iterations: int) -> list[float]:
        del call, iterations
        return []

    def single(self, call: Call, *, number: int) -> float:
        call(number)
        return self.means[0]


def nothing(number: int = 0) -> None:
    del number


def test_warm_up_goes_on_until_two_batches_agree() -> None:
    clock = ToldClock(1e-3, 4e-4, 3e-4, 2.9e-4)

    times = measure(
        nothing, peers=Alone(), clock=clock, spec=small_spec(warm_up_seconds=60, budget_seconds=0.01), beat=nothing
    )

    assert clock.batches[0] == MINIMUM_WARM_UP
    assert len(clock.batches) == 4 + MINIMUM_BATCHES
    assert times.means == [[pytest.approx(2.9e-4)] * 3]


def test_warm_up_that_never_settles_ends_with_its_time() -> None:
    clock = ToldClock(*(1e-3 * 2**place for place in range(10)))

    measure(nothing, peers=Alone(), clock=clock, spec=small_spec(warm_up_seconds=0), beat=nothing)

    assert clock.batches[0] == MINIMUM_WARM_UP
    assert len(clock.batches) == 1 + MINIMUM_BATCHES


def test_short_calls_are_batched_and_long_ones_are_not() -> None:
    short, long = ToldClock(1e-5), ToldClock(2.0)
    spec = small_spec(warm_up_seconds=60, budget_seconds=0.001)

    few = measure(nothing, peers=Alone(), clock=short, spec=spec, beat=nothing)
    one = measure(nothing, peers=Alone(), clock=long, spec=spec, beat=nothing)

    assert few.iterations * 1e-5 >= BATCH_SECONDS
    assert one.iterations == 1
    assert len(one.means[0]) == MINIMUM_BATCHES


def test_every_batch_begins_after_a_barrier() -> None:
    peers, clock = Alone(), ToldClock(1e-3)

    measure(nothing, peers=peers, clock=clock, spec=small_spec(), beat=nothing)

    assert peers.barriers == len(clock.batches)


def test_headline_is_the_slowest_rank_in_the_median_batch() -> None:
    times = Times(
        iterations=10,
        means=[[1e-3, 9e-3, 2e-3], [3e-3, 2e-3, 4e-3]],  # by batch the slowest: 3, 9, 4 ms
        singles=[[1e-3] * 100, [2e-3] * 99 + [8e-3]],
    )

    half = summarize(times, size_bytes=4_000_000, bus_factor=Fraction(3, 2), ranks=4, wrong=0)

    assert half.time_us == 4000
    assert half.algbw_gb_per_s == pytest.approx(1.0)
    assert half.busbw_gb_per_s == pytest.approx(1.5)
    assert half.average_us == 3000
    assert half.minimum_us == 2000
    assert half.slowest_rank == 1
    assert (half.p50_us, half.p99_us) == (2000, 2000)
    assert half.batches_us == (3000, 9000, 4000)


def test_a_round_trip_counts_as_two_messages_of_those_who_play() -> None:
    both = Times(iterations=3, means=[[4e-3, 2e-3], [0.0, 0.0]], singles=[[6e-3, 8e-3, 2e-3], [0.0, 0.0, 0.0]])

    one = both.of_one_leg(2, players=1)

    assert one == Times(iterations=3, means=[[2e-3, 1e-3]], singles=[[3e-3, 4e-3, 1e-3]])


@pytest.mark.parametrize(("percent", "expected"), [(1, 1), (50, 50), (99, 99), (99.5, 100), (100, 100)])
def test_a_percentile_is_one_of_the_values(percent: float, expected: int) -> None:
    assert percentile([float(value) for value in range(1, 101)], percent) == expected


def test_one_rank_has_no_bus() -> None:
    times = Times(iterations=1, means=[[1e-3]], singles=[[1e-3]])

    half = summarize(times, size_bytes=1000, bus_factor=Fraction(0), ranks=1, wrong=None)

    assert half.busbw_gb_per_s is None
    assert half.algbw_gb_per_s == pytest.approx(0.001)


@settings(deadline=None)
@given(
    st.integers(1, 4).flatmap(
        lambda ranks: st.lists(st.lists(st.floats(1e-7, 10), min_size=ranks, max_size=ranks), min_size=1, max_size=9)
    ),
    st.integers(1, 2**34),
)
def test_figures_of_a_half_agree_with_each_other(batches: list[list[float]], size_bytes: int) -> None:
    means = [list(column) for column in zip(*batches, strict=True)]
    factor = Fraction(7, 4)

    half = summarize(
        Times(iterations=1, means=means, singles=means), size_bytes=size_bytes, bus_factor=factor, ranks=8, wrong=0
    )

    assert half.algbw_gb_per_s == pytest.approx(size_bytes / (half.time_us * 1e-6) / 1e9, rel=1e-12)
    assert half.busbw_gb_per_s == pytest.approx(half.algbw_gb_per_s * 1.75, rel=1e-12)
    assert half.minimum_us <= half.average_us + 1e-3 <= half.time_us + 2e-3
    assert half.p50_us <= half.p99_us
    assert 0 <= half.slowest_rank < len(means)


def test_the_latency_pass_meets_before_every_call() -> None:
    peers, called = Alone(), list[int]()
    step = Step(collectives()["ping_pong"], collectives()["ping_pong"].lay_out(8, 1, 4))
    clock = ToldClock(1e-3)

    found = latency(step, called.append, peers=peers, clock=clock, spec=small_spec(ranks=1), seconds=0.5, beat=nothing)

    assert found.calls == len(called) == 250
    assert called[0] == sum(clock.batches)
    assert peers.barriers == len(clock.batches) + found.calls
    assert (found.p50_us, found.p99_us, found.minimum_us, found.cv_percent) == (500, 500, 500, 0)


@pytest.mark.parametrize(("mean", "calls"), [(1.0, MINIMUM_CALLS), (1e-9, MAXIMUM_CALLS)])
def test_the_latency_pass_has_enough_calls_for_a_percentile_and_not_too_many(mean: float, calls: int) -> None:
    step = Step(collectives()["broadcast"], collectives()["broadcast"].lay_out(8, 1, 4))

    found = latency(
        step, nothing, peers=Alone(), clock=ToldClock(mean), spec=small_spec(ranks=1), seconds=0.5, beat=nothing
    )

    assert found.calls == calls


def test_a_latency_counts_the_slowest_rank_of_each_call() -> None:
    class Two(Alone):
        def gather(self, values: Sequence[float]) -> list[list[float]]:
            return [list(values), [3e-3 if place else 9e-3 for place in range(len(values))]]

    step = Step(collectives()["all_reduce"], collectives()["all_reduce"].lay_out(8, 2, 4))

    found = latency(step, nothing, peers=Two(), clock=ToldClock(1e-3), spec=small_spec(), seconds=0, beat=nothing)

    assert (found.calls, found.p50_us, found.p99_us, found.minimum_us) == (100, 3000, 3000, 3000)
    assert found.cv_percent > 0


def test_the_blocking_clock_times_one_call() -> None:
    called: list[int] = []

    assert BlockingClock().single(called.append, number=7) >= 0
    assert called == [7]


def test_the_blocking_clock_accounts_for_every_call() -> None:
    called: list[int] = []

    total, singles = BlockingClock().batch(called.append, first=5, iterations=4)

    assert called == [5, 6, 7, 8]
    assert sum(singles) == pytest.approx(total)


@pytest.mark.parametrize("size", [1 << 10, 100_000, 1 << 20])
def test_calls_walk_through_memory_without_overlap(size: int) -> None:
    buffers = Buffers(largest_bytes=1 << 20, dtype="float", device=torch.device("cpu"), seed=0)
    collective = collectives()["all_gather"]
    layout = collective.lay_out(size, 2, 4)

    slots = buffers.slots(layout)
    pairs = [buffers.pair(collective, layout, number=number) for number in range(min(slots, 5))]

    assert slots * layout.size_bytes <= 128 << 20
    starts = [receive.data_ptr() for _, receive in pairs]
    assert all(after - before >= layout.size_bytes for before, after in pairwise(starts))
    assert all((len(send), len(receive)) == (layout.send, layout.receive) for send, receive in pairs)
    again, _ = buffers.pair(collective, layout, number=slots)
    assert again.data_ptr() == pairs[0][0].data_ptr()


@pytest.mark.parametrize("dtype", TORCH_TYPES)
def test_every_type_has_random_memory(dtype: str) -> None:
    buffers = Buffers(largest_bytes=4096, dtype=dtype, device=torch.device("cpu"), seed=0)
    collective = collectives()["send_recv"]

    send, receive = buffers.pair(collective, collective.lay_out(4096, 2, ELEMENT_BYTES[dtype]), number=0)

    assert send.dtype == receive.dtype == TORCH_TYPES[dtype]
    assert send.nbytes == 4096
    assert send.data_ptr() != receive.data_ptr()
    assert len(send.double().unique()) > 20


def test_the_largest_size_has_a_slot() -> None:
    buffers = Buffers(largest_bytes=4 * 1001, dtype="float", device=torch.device("cpu"), seed=0)
    collective = collectives()["all_reduce"]

    send, receive = buffers.pair(collective, collective.lay_out(200 << 20, 2, 4), number=0)

    assert len(receive) <= 200 << 18
    assert send.data_ptr() == receive.data_ptr()
