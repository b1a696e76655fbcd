"""The engine on small schedules worked by hand, and on random ones by its laws."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.i18n import same
from app.timelines.engine import Deadlock, simulate
from app.timelines.model import Allocation, Operation, Schedule, Trace


def operation(
    name: str,
    *,
    stream: str = "compute",
    duration: Fraction | int = 1,
    after: tuple[str, ...] = (),
    lag: Fraction | int = 0,
    device: str = "GPU 0",
) -> Operation:
    return Operation(
        id=name,
        device=device,
        stream=stream,
        kind="compute" if stream.startswith("compute") else "communication",
        duration=Fraction(duration),
        label=name,
        detail=same(name),
        after=tuple((before, Fraction(lag)) for before in after),
    )


def run(*operations: Operation, contention: Fraction | int = 1, allocations: tuple[Allocation, ...] = ()) -> Trace:
    return simulate(Schedule(operations, allocations=allocations, contention=Fraction(contention)))


def exact(*values: Fraction | int) -> tuple[Fraction, ...]:
    return tuple(Fraction(value) for value in values)


def times(trace: Trace) -> dict[str, tuple[Fraction, ...]]:
    return {span.operation.id: (span.start, span.end) for span in trace.spans}


def test_a_stream_runs_its_operations_in_the_order_of_the_list() -> None:
    trace = run(operation("b", duration=2), operation("a", duration=3))

    assert times(trace) == {"b": exact(0, 2), "a": exact(2, 5)}


def test_an_operation_starts_when_its_dependency_and_the_lag_have_passed() -> None:
    trace = run(operation("send", stream="link", duration=2), operation("use", after=("send",), lag=Fraction(1, 2)))

    assert times(trace)["use"] == exact(Fraction(5, 2), Fraction(7, 2))


def test_thirds_and_tenths_stay_exact() -> None:
    trace = run(
        *(operation(f"o{place}", duration=Fraction(1, 3)) for place in range(3)),
        operation("t", duration=Fraction(1, 10)),
    )

    assert trace.makespan == Fraction(11, 10)


def test_a_dependency_may_stand_later_in_the_list() -> None:
    trace = run(operation("use", after=("send",)), operation("send", stream="link", duration=4))

    assert times(trace)["use"] == exact(4, 5)


def test_operations_that_wait_for_each_other_are_named() -> None:
    with pytest.raises(Deadlock) as caught:
        run(
            operation("a", after=("b",)), operation("b", stream="link", after=("a",)), operation("free", stream="other")
        )

    assert caught.value.operations == ("a", "b")


def test_a_stream_that_waits_for_its_own_later_operation_is_a_deadlock() -> None:
    with pytest.raises(Deadlock):
        run(operation("first", after=("second",)), operation("second"))


def test_an_unknown_dependency_is_refused() -> None:
    with pytest.raises(ValueError, match="nobody"):
        run(operation("a", after=("nobody",)))


def test_a_repeated_id_is_refused() -> None:
    with pytest.raises(ValueError, match="same id"):
        run(operation("a"), operation("a"))


def test_a_negative_duration_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        run(operation("a", duration=-1))


def test_an_empty_schedule_takes_no_time() -> None:
    trace = run()

    assert (trace.makespan, trace.exposed, trace.spans, trace.gaps) == (Fraction(0), Fraction(0), (), ())


def test_idle_time_is_split_into_fill_internal_and_drain() -> None:
    trace = run(
        operation("in", stream="link", duration=2),
        operation("a", duration=3, after=("in",)),
        operation("more", stream="link", duration=4, after=("in",)),
        operation("b", duration=1, after=("more",)),
        operation("out", stream="link", duration=5, after=("b",)),
    )

    assert (trace.idle.fill, trace.idle.internal, trace.idle.drain) == exact(2, 1, 5)
    assert (trace.makespan, trace.compute_busy, trace.exposed) == exact(12, 4, 8)


def test_every_gap_names_what_it_waited_for() -> None:
    trace = run(
        operation("in", stream="link", duration=2),
        operation("a", duration=3, after=("in",)),
        operation("out", stream="link", duration=1, after=("a",)),
    )

    found = [(gap.stream, gap.kind, gap.waits_for, gap.next, gap.exposed) for gap in trace.gaps]
    assert sorted(found, key=str) == [
        ("compute", "drain", "out", None, True),
        ("compute", "fill", "in", "a", True),
        ("link", "internal", "a", "out", False),
    ]


def test_exposed_counts_the_busiest_device() -> None:
    trace = run(operation("a", duration=5), operation("b", device="GPU 1", duration=7))

    assert (trace.busiest, trace.exposed) == ("GPU 1", Fraction(0))


def test_two_compute_streams_of_a_device_are_not_counted_twice() -> None:
    trace = run(operation("a", duration=4), operation("b", stream="compute 2", duration=6))

    assert (trace.compute_busy, trace.exposed) == exact(6, 0)


def test_memory_freed_at_an_instant_makes_room_for_what_comes_at_it() -> None:
    trace = run(
        operation("a"),
        operation("b"),
        operation("c"),
        allocations=(
            Allocation("GPU 0", Fraction(3), "a", "a"),
            Allocation("GPU 0", Fraction(4), "b", "c"),
            Allocation("GPU 0", Fraction(2), "c", "c"),
        ),
    )

    assert trace.peak_live == {"GPU 0": 6}


def test_compute_beside_communication_is_slower_by_the_factor() -> None:
    """2 ms beside the transfer do 1 ms of work at factor 2; the 3 ms left run alone."""
    trace = run(operation("send", stream="link", duration=2), operation("work", duration=4), contention=2)

    assert times(trace)["work"] == exact(0, 5)


def test_contention_ends_and_begins_again_with_each_transfer() -> None:
    """Factor 2: 2 ms of transfer do 1 ms of work, 1 ms alone does 1, the second transfer 1, the last 2 run alone."""
    trace = run(
        operation("send", stream="link", duration=2),
        operation("again", stream="link", duration=2, after=("send",), lag=1),
        operation("work", duration=5),
        contention=2,
    )

    assert times(trace)["work"] == exact(0, 7)


def test_communication_of_another_device_does_not_slow_compute() -> None:
    trace = run(operation("send", stream="link", device="GPU 1", duration=9), operation("work"), contention=5)

    assert times(trace)["work"] == exact(0, 1)


def test_a_tie_is_decided_for_the_own_stream_and_then_by_list_order() -> None:
    trace = run(
        operation("x", stream="link"),
        operation("y", stream="other"),
        operation("a"),
        operation("b", after=("y", "x")),
        operation("c", stream="third", after=("y", "x")),
    )

    blockers = {span.operation.id: span.blocked_by for span in trace.spans}
    assert (blockers["b"], blockers["c"]) == ("a", "x")


few = settings(max_examples=40)
"""A schedule is a large example; forty of them still find a broken tie or a lost lag."""
durations = st.fractions(min_value=0, max_value=20, max_denominator=12)


@st.composite
def schedules(draw: st.DrawFn, *, contention: tuple[Fraction, ...] = (Fraction(1),)) -> Schedule:
    """Schedules that end: an operation depends only on earlier ones."""
    operations: list[Operation] = []
    for place in range(draw(st.integers(1, 14))):
        before = draw(st.lists(st.integers(0, place - 1), max_size=3, unique=True)) if place else []
        operations.append(
            operation(
                f"o{place}",
                stream=draw(st.sampled_from(["compute", "link", "other"])),
                device=draw(st.sampled_from(["GPU 0", "GPU 1"])),
                duration=draw(durations),
                after=tuple(f"o{index}" for index in before),
                lag=draw(st.sampled_from([Fraction(0), Fraction(1, 3)])),
            )
        )
    return Schedule(tuple(operations), contention=draw(st.sampled_from(contention)))


@given(
    schedules(
        contention=(
            Fraction(1),
            Fraction(6, 5),
            Fraction(2),
        )
    )
)
def test_blocks_of_a_stream_never_overlap(schedule: Schedule) -> None:
    free: dict[tuple[str, str], Fraction] = {}
    for span in simulate(schedule).spans:
        lane = (span.operation.device, span.operation.stream)
        assert span.start >= free.get(lane, 0)
        free[lane] = span.end


@given(
    schedules(
        contention=(
            Fraction(1),
            Fraction(6, 5),
        )
    )
)
def test_nothing_starts_before_what_it_needs_has_ended(schedule: Schedule) -> None:
    spans = times(simulate(schedule))
    for one in schedule.operations:
        for before, lag in one.after:
            assert spans[one.id][0] >= spans[before][1] + lag


@few
@given(schedules())
def test_the_critical_path_explains_the_makespan_to_the_bit(schedule: Schedule) -> None:
    trace = simulate(schedule)
    lags = {(one.id, before): lag for one in schedule.operations for before, lag in one.after}
    path = [trace.span(name) for name in trace.critical]
    waited = sum((later.start - earlier.end for earlier, later in pairwise(path)), start=path[0].start)

    assert sum((span.duration for span in path), start=waited) == trace.makespan
    for earlier, later in pairwise(path):
        assert later.start - earlier.end in {
            Fraction(0),
            lags.get((later.operation.id, earlier.operation.id), Fraction(0)),
        }


@few
@given(schedules())
def test_the_makespan_is_at_most_everything_in_a_row(schedule: Schedule) -> None:
    total = sum((one.duration for one in schedule.operations), start=Fraction(0))
    lags = sum(
        (max((lag for _, lag in one.after), default=Fraction(0)) for one in schedule.operations), start=Fraction(0)
    )
    longest = max(one.duration for one in schedule.operations)

    assert longest <= simulate(schedule).makespan <= total + lags


@given(
    schedules(
        contention=(
            Fraction(1),
            Fraction(6, 5),
        )
    )
)
def test_busy_and_idle_fill_every_lane(schedule: Schedule) -> None:
    trace = simulate(schedule)
    for stream in trace.streams:
        gaps = [gap for gap in trace.gaps if (gap.device, gap.stream) == (stream.device, stream.name)]
        assert stream.busy + sum((gap.duration for gap in gaps), start=Fraction(0)) == trace.makespan
    idle = trace.idle
    assert idle.fill + idle.internal + idle.drain == trace.exposed == trace.makespan - trace.compute_busy


@few
@given(schedules(), st.integers(0, 13))
def test_a_faster_operation_never_makes_the_run_longer(schedule: Schedule, place: int) -> None:
    """Streams are in-order queues, so there are no scheduling anomalies."""
    chosen = schedule.operations[place % len(schedule.operations)]
    faster = operation(
        chosen.id,
        stream=chosen.stream,
        device=chosen.device,
        duration=chosen.duration / 2,
        after=tuple(before for before, _ in chosen.after),
        lag=chosen.after[0][1] if chosen.after else 0,
    )
    changed = Schedule(tuple(faster if one is chosen else one for one in schedule.operations))

    assert simulate(changed).makespan <= simulate(schedule).makespan


@given(
    schedules(
        contention=(
            Fraction(6, 5),
            Fraction(3),
        )
    )
)
def test_contention_never_makes_a_run_shorter(schedule: Schedule) -> None:
    free = Schedule(schedule.operations)

    assert simulate(free).makespan <= simulate(schedule).makespan <= simulate(free).makespan * schedule.contention


@given(
    schedules(
        contention=(
            Fraction(1),
            Fraction(6, 5),
        )
    )
)
def test_the_same_schedule_always_gives_the_same_trace(schedule: Schedule) -> None:
    assert simulate(schedule) == simulate(schedule)
