"""Laws that hold for any inputs: monotony, identities of collectives, and the way through the address."""

import math
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from app.calculators import busbw, collective_time, gtp_memory, tp_communication
from app.calculators.busbw import BusbwInputs
from app.calculators.collective_time import Algorithm, CollectiveInputs
from app.calculators.gtp_inputs import Format, GtpInputs
from app.calculators.operations import OPERATIONS, Operation
from app.calculators.tp_inputs import TpInputs
from app.core.inputs import parse, to_query

sizes = st.integers(0, 2**40)
ranks = st.integers(1, 4096)
rates = st.floats(0.01, 1e4)
latencies = st.floats(0, 1e4)


def collective(
    operation: Operation = "all_reduce",
    *,
    algorithm: Algorithm = "ring",
    n: int = 8,
    size: int = 2**26,
    rate: float = 450.0,
    latency: float = 0.0,
) -> dict[str, float]:
    inputs = CollectiveInputs(
        operation=operation,
        algorithm=algorithm,
        ranks=n,
        message_bytes=size,
        bandwidth_gb_per_s=rate,
        latency_us=latency,
    )
    return {name: result.value for name, result in collective_time.compute(inputs).results.items()}


@given(
    algorithm=st.sampled_from(["ring", "tree", "pipelined_tree", "halving_doubling", "nvls", "hierarchical"]),
    power=st.integers(0, 10),
    size=sizes,
    rate=rates,
    latency=latencies,
    factor=st.floats(1, 100),
)
def test_more_bandwidth_is_never_slower(
    *, algorithm: Algorithm, power: int, size: int, rate: float, latency: float, factor: float
) -> None:
    slow = collective(algorithm=algorithm, n=2**power, size=size, rate=rate, latency=latency)
    fast = collective(algorithm=algorithm, n=2**power, size=size, rate=rate * factor, latency=latency)

    assert fast["time_s"] <= slow["time_s"]


@given(n=ranks, size=sizes, rate=rates, latency=latencies)
def test_an_all_reduce_is_a_reduce_scatter_and_an_all_gather(n: int, size: int, rate: float, latency: float) -> None:
    whole = collective("all_reduce", n=n, size=size, rate=rate, latency=latency)
    halves = [collective(name, n=n, size=size, rate=rate, latency=latency) for name in ("reduce_scatter", "all_gather")]

    for name in ("steps", "sent_per_rank_bytes", "time_s", "bus_factor"):
        assert math.isclose(whole[name], sum(half[name] for half in halves), rel_tol=1e-9)


@given(n=ranks, size=sizes)
def test_a_ring_sends_less_than_twice_the_message(n: int, size: int) -> None:
    sent = collective(n=n, size=size)["sent_per_rank_bytes"]

    assert sent <= 2 * size


@given(operation=st.sampled_from(OPERATIONS), n=st.integers(2, 4096), size=st.integers(1, 2**40), rate=rates)
def test_without_latency_a_ring_runs_at_its_bus_bandwidth(operation: Operation, n: int, size: int, rate: float) -> None:
    assert math.isclose(collective(operation, n=n, size=size, rate=rate)["bus_bandwidth_gb_per_s"], rate, rel_tol=1e-9)


@given(operation=st.sampled_from(OPERATIONS), n=ranks, size=st.integers(1, 2**40), rate=rates, latency=latencies)
def test_measuring_what_was_computed_gives_the_same_bandwidths(
    operation: Operation, n: int, size: int, rate: float, latency: float
) -> None:
    computed = collective(operation, n=n, size=size, rate=rate, latency=latency)
    inputs = BusbwInputs(operation=operation, ranks=n, message_bytes=size, time_us=computed["time_s"] * 1e6)
    measured = {name: result.value for name, result in busbw.compute(inputs).results.items()}

    for name in ("bus_factor", "algorithm_bandwidth_gb_per_s", "bus_bandwidth_gb_per_s"):
        assert math.isclose(measured[name], computed[name], rel_tol=1e-9)


@given(nodes=st.integers(1, 64), per_node=st.integers(1, 16), size=sizes, latency=latencies)
def test_hierarchical_over_equal_links_is_as_long_as_one_ring(
    nodes: int, per_node: int, size: int, latency: float
) -> None:
    inputs = CollectiveInputs(
        algorithm="hierarchical",
        ranks=nodes * per_node,
        ranks_per_node=per_node,
        message_bytes=size,
        inter_bandwidth_gb_per_s=450,
    )
    results = {name: result.value for name, result in collective_time.compute(inputs).results.items()}
    ring = collective(n=nodes * per_node, size=size)

    assert math.isclose(results["time_s"], ring["time_s"], rel_tol=1e-9, abs_tol=1e-18)


@given(
    b=st.integers(1, 64),
    s=st.integers(1, 2**17),
    h=st.integers(1, 2**15),
    t=st.integers(1, 512),
    e=st.sampled_from([0.5, 1.0, 2.0, 4.0]),
)
def test_the_ratio_of_times_is_required_over_achieved_intensity(b: int, s: int, h: int, t: int, e: float) -> None:
    inputs = TpInputs(micro_batch_size=b, sequence_length=s, hidden_size=h, tensor_parallel_size=t, bytes_per_element=e)
    results = {name: result.value for name, result in tp_communication.compute(inputs).results.items()}
    achieved = results["intensity_flop_per_byte"]
    expected = results["required_flop_per_byte"] / achieved if t > 1 else 0.0

    assert math.isclose(results["communication_over_compute"], expected, rel_tol=1e-9)
    assert math.isclose(achieved, 6 * h / (e * (t - 1)) if t > 1 else 0.0, rel_tol=1e-9)


@given(
    out=st.integers(1, 64),
    inner=st.integers(1, 64),
    tp=st.sampled_from([1, 2, 4, 8]),
    remat=st.integers(1, 64),
    name=st.sampled_from(["bf16", "mxfp8", "nvfp4"]),
    kind=st.sampled_from(["column", "row"]),
)
def test_shards_add_up_to_a_slice_that_is_padded_by_less_than_one_multiple(
    *, out: int, inner: int, tp: int, remat: int, name: Format, kind: Literal["column", "row"]
) -> None:
    inputs = GtpInputs(
        out_features=out * tp,
        in_features=inner * tp,
        tensor_parallel_size=tp,
        gtp_remat_size=remat,
        weight_format=name,
        parallel_kind=kind,
    )
    results = {key: result.value for key, result in gtp_memory.compute(inputs).results.items()}
    rows = out if kind == "column" else out * tp

    assert math.isclose(results["stored_bytes"] * remat, results["gathered_bytes"])
    assert rows <= results["padded_out_features"] < rows + 32 * remat
    assert results["moved_per_rank_bytes"] == 0 or remat > 1


@given(
    b=st.integers(1, 10**6),
    h=st.integers(1, 10**6),
    rate=st.floats(0.001, 1e6),
    latency=latencies,
    parallel=st.booleans(),
)
def test_the_address_brings_back_the_same_inputs(
    b: int, h: int, rate: float, latency: float, *, parallel: bool
) -> None:
    inputs = TpInputs(
        micro_batch_size=b, hidden_size=h, bandwidth_gb_per_s=rate, latency_us=latency, sequence_parallel=parallel
    )

    assert parse(TpInputs, to_query(inputs)) == inputs
