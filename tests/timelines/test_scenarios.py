"""Each scenario against its closed form, its laws and its contract."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.errors import InvalidInput, NotFound
from app.core.inputs import describe, to_text
from app.timelines import catalog
from app.timelines.catalog import Run
from app.timelines.model import Gap
from app.timelines.scenario import Scenario
from app.timelines.scenarios.ring_all_reduce import Ring, start_value

SCENARIOS = catalog.scenarios()
times = st.fractions(min_value=0, max_value=30, max_denominator=10)
layers = st.integers(1, 9)
few = settings(max_examples=40)


def run(slug: str, **raw: object) -> Run:
    return catalog.run(slug, {name.rstrip("_"): to_text(value) for name, value in raw.items()})


@few
@given(st.lists(st.tuples(times, times), min_size=1, max_size=8))
def test_forward_hides_each_gather_behind_the_gemm_before(chain: list[tuple[Fraction, Fraction]]) -> None:
    """T = a_1 + sum of max(g_i, a_(i+1)) + g_L."""
    gemms, gathers = (tuple(column) for column in zip(*chain, strict=True))
    trace = run("gtp-chain", gemms=gemms, all_gathers=gathers).trace
    hidden = sum((max(gemm, gather) for gemm, gather in zip(gemms, gathers[1:], strict=False)), start=Fraction(0))

    assert trace.makespan == gathers[0] + hidden + gemms[-1]
    assert trace.exposed == trace.makespan - sum(gemms)


@few
@given(layers, times, times)
def test_cold_start_gathers_and_computes_in_turn(length: int, gemm: Fraction, gather: Fraction) -> None:
    trace = run("gtp-chain", layers=length, gemm=gemm, all_gather=gather, pass_="cold_start").trace

    assert trace.makespan == length * (gemm + gather)


@few
@given(layers, times, times, times)
def test_backward_follows_its_closed_forms(length: int, gather: Fraction, compute: Fraction, scatter: Fraction) -> None:
    """T = a + (L-1)·max(a, c) + c + r for r <= c, and a + c + L·r for r >= c >= a."""
    trace = run(
        "gtp-chain", layers=length, all_gather=gather, backward=compute, reduce_scatter=scatter, pass_="backward"
    ).trace

    if scatter <= compute:
        assert trace.makespan == gather + (length - 1) * max(gather, compute) + compute + scatter
    elif gather <= compute:
        assert trace.makespan == gather + compute + length * scatter
    assert trace.makespan >= gather + length * compute + scatter


@few
@given(layers, times, times, times, times)
def test_a_step_is_its_forward_and_its_backward(
    length: int, gemm: Fraction, gather: Fraction, compute: Fraction, scatter: Fraction
) -> None:
    def makespan(name: str) -> Fraction:
        return run(
            "gtp-chain",
            layers=length,
            gemm=gemm,
            all_gather=gather,
            backward=compute,
            reduce_scatter=scatter,
            pass_=name,
        ).trace.makespan

    assert makespan("step") == makespan("forward") + makespan("backward")


@few
@given(layers, times, times, times)
def test_one_queue_is_never_faster_than_two(
    length: int, gather: Fraction, compute: Fraction, scatter: Fraction
) -> None:
    def makespan(*, shared: bool) -> Fraction:
        return run(
            "gtp-chain",
            layers=length,
            all_gather=gather,
            backward=compute,
            reduce_scatter=scatter,
            pass_="backward",
            shared_queue=shared,
        ).trace.makespan

    assert makespan(shared=False) <= makespan(shared=True)


@few
@given(layers, times, times, st.sampled_from(["cold_start", "forward", "backward", "step"]))
def test_more_bandwidth_is_never_slower(length: int, gather: Fraction, scatter: Fraction, name: str) -> None:
    def makespan(factor: int) -> Fraction:
        return run(
            "gtp-chain", layers=length, all_gather=gather / factor, reduce_scatter=scatter / factor, pass_=name
        ).trace.makespan

    assert makespan(2) <= makespan(1)


def test_at_most_two_gathered_weights_live_at_once() -> None:
    assert run("gtp-chain", layers=9, pass_="step").summary["peak_live"] == 2


def test_the_order_of_launch_is_that_of_the_wait_then_issue_rule() -> None:
    """AG(W_i-1) is launched before dgrad of i, RS_i after its wgrad: so they stand in one queue in this order."""
    shared = run("gtp-chain", layers=3, pass_="backward", shared_queue=True)
    order = [operation.label for operation in shared.operations if operation.stream == "communication"]

    assert order == ["AG W3", "AG W2", "RS dW3", "AG W1", "RS dW2", "RS dW1"]


def test_only_the_head_of_the_chain_waits_for_its_own_reduce_scatter() -> None:
    trace = run("gtp-chain", layers=4, pass_="backward", reduce_scatter=3).trace
    waits = {gap.waits_for for gap in trace.gaps if gap.stream == "compute"}

    assert waits == {"b-ag-4", "b-rs-1"}


@few
@given(times, times, times, st.booleans())
def test_backward_exposes_what_the_weight_gradient_cannot_hide(
    attention: Fraction,
    mlp: Fraction,
    all_reduce: Fraction,
    asynchronous: bool,  # noqa: FBT001 - drawn by hypothesis
) -> None:
    hides = min(attention, mlp) / 2
    trace = run(
        "tp-layer",
        pass_="backward",
        attention_gemm=attention,
        mlp_gemm=mlp,
        weight_grad=hides,
        all_reduce=all_reduce,
        async_backward=asynchronous,
    ).trace
    exposed = 2 * max(Fraction(0), all_reduce - hides) if asynchronous else 2 * all_reduce

    assert trace.exposed == exposed
    assert trace.makespan == 2 * (attention + mlp) + exposed


@few
@given(times, times, times)
def test_sequence_parallelism_takes_as_long_as_plain_forward(
    attention: Fraction, mlp: Fraction, all_reduce: Fraction
) -> None:
    """An all-reduce is a reduce-scatter and an all-gather."""

    def makespan(*, sequence_parallel: bool) -> Fraction:
        return run(
            "tp-layer",
            pass_="forward",
            attention_gemm=attention,
            mlp_gemm=mlp,
            all_reduce=all_reduce,
            sequence_parallel=sequence_parallel,
        ).trace.makespan

    assert makespan(sequence_parallel=True) == makespan(sequence_parallel=False) == attention + mlp + 2 * all_reduce


@pytest.mark.parametrize("ranks", [2, 3, 4, 7, 16])
def test_the_ring_adds_every_contribution_exactly_once(ranks: int) -> None:
    ring = Ring(ranks)
    for step in range(ring.steps):
        ring.move(step)

    for rank in range(ranks):
        for chunk in range(ranks):
            assert sorted(ring.owners[rank][chunk]) == list(range(ranks))
            assert ring.value(rank, chunk) == sum(start_value(other, chunk, ranks) for other in range(ranks))


@pytest.mark.parametrize("ranks", [3, 8])
def test_after_the_reduce_scatter_a_rank_owns_the_next_chunk(ranks: int) -> None:
    ring = Ring(ranks)
    for step in range(ranks - 1):
        ring.move(step)

    for rank in range(ranks):
        assert [len(owners) for owners in ring.owners[rank]].index(ranks) == (rank + 1) % ranks


def test_two_ranks_add_one_and_three_two_and_four() -> None:
    details = [operation.detail.en for operation in run("ring-all-reduce", ranks=2).operations]

    assert any("1+3=4" in detail for detail in details)
    assert any("2+4=6" in detail for detail in details)
    assert [cell[0] for cell in run("ring-all-reduce", ranks=2).frames[-1].cells[0]] == ["1+3=4", "2+4=6"]


@few
@given(st.integers(2, 12), times)
def test_a_ring_takes_two_n_minus_two_steps(ranks: int, chunk: Fraction) -> None:
    ring = run("ring-all-reduce", ranks=ranks, chunk_time=chunk)

    assert ring.trace.makespan == 2 * (ranks - 1) * chunk
    assert ring.summary["sent_share"] == pytest.approx(2 * (ranks - 1) / ranks)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.slug)
class TestContract:
    """What every scenario must give."""

    def test_it_runs_with_its_defaults(self, scenario: Scenario) -> None:
        run_ = catalog.run(scenario.slug, {})

        assert run_.operations
        assert {measure.name for measure in scenario.measures} <= set(run_.summary)

    def test_every_comparison_draws_something_else(self, scenario: Scenario) -> None:
        plain = catalog.run(scenario.slug, {})
        for comparison in scenario.comparisons:
            other = catalog.run(scenario.slug, dict(comparison.inputs))
            assert other.trace.spans != plain.trace.spans, comparison.title.en

    def test_shape_and_inputs_have_no_name_in_common(self, scenario: Scenario) -> None:
        assert scenario.filling is not None
        names = {doc.name for doc in describe(scenario.inputs)}
        shape = {doc.name for doc in describe(scenario.filling.shape)}
        assert not names & shape
        assert set(scenario.filling.fills) <= names
        assert scenario.filling.ranks in names | shape
        assert set(scenario.filling.small) <= shape

    def test_all_durations_may_be_zero(self, scenario: Scenario) -> None:
        zero = {doc.name: "0" for doc in describe(scenario.inputs) if doc.unit == "ms" and doc.kind == "rational"}
        assert catalog.run(scenario.slug, zero).trace.makespan == 0

    def test_every_gap_has_a_reason_in_both_languages(self, scenario: Scenario) -> None:
        gaps = catalog.run(scenario.slug, {}).gaps
        labels = {operation.id: operation.label for operation in catalog.run(scenario.slug, {}).operations}
        for gap in gaps:
            assert gap.waits_for is not None
            assert labels[gap.waits_for] in gap.why.en
            assert labels[gap.waits_for] in gap.why.zh

    def test_an_unknown_input_is_refused_by_name(self, scenario: Scenario) -> None:
        with pytest.raises(InvalidInput) as caught:
            catalog.run(scenario.slug, {"nonsense": "1"})
        assert list(caught.value.fields) == ["nonsense"]


def test_an_unknown_timeline_is_not_found() -> None:
    with pytest.raises(NotFound):
        catalog.run("perpetual-motion", {})


def test_lists_of_different_length_are_refused_at_the_second() -> None:
    with pytest.raises(InvalidInput) as caught:
        run("gtp-chain", gemms=(Fraction(1), Fraction(2)), all_gathers=(Fraction(1),))
    assert list(caught.value.fields) == ["all_gathers"]


def test_a_negative_time_in_a_list_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        run("gtp-chain", gemms=(Fraction(1), Fraction(-2)))
    assert list(caught.value.fields) == ["gemms"]


def test_lists_whose_common_denominator_would_be_huge_are_refused() -> None:
    """Exact times stay exact, but 512 unrelated fractions would be added for minutes."""
    odd = tuple(Fraction(1, 10**36 + 2 * place + 1) for place in range(200))
    with pytest.raises(InvalidInput) as caught:
        run("gtp-chain", gemms=odd)
    assert list(caught.value.fields) == ["gemms"]
    with pytest.raises(InvalidInput) as caught:
        run("gtp-chain", all_gathers=odd)
    assert list(caught.value.fields) == ["all_gathers"]


def test_a_weight_gradient_longer_than_its_block_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        run("tp-layer", weight_grad=5)
    assert "4 ms" in caught.value.fields["weight_grad"].en


def test_gaps_of_a_lane_stand_in_order() -> None:
    gaps: tuple[Gap, ...] = run("gtp-chain", pass_="step", shared_queue=True).trace.gaps
    compute = [gap for gap in gaps if gap.stream == "compute"]

    assert all(one.end <= other.start for one, other in pairwise(compute))
