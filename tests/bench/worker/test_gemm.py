"""When a product counts as warmed up, and what real ranks report of it."""

import pytest
import torch

from app.bench.events import Gemm
from app.bench.result import RunResult
from app.bench.worker.gemm import CPU_SHAPES, DTYPES, gemm, warm_up
from app.bench.worker.group import Group


class Batches:
    """Each batch's mean is the next of `means`; the last one stays."""

    def __init__(self, *means: float) -> None:
        self.means = list(means)
        self.count = 0

    def __call__(self, iterations: int) -> float:
        self.count += 1
        mean = self.means.pop(0) if len(self.means) > 1 else self.means[0]
        return mean * iterations


def alone(value: float) -> float:
    return value


def nothing() -> None:
    pass


def test_warm_up_goes_on_until_two_batches_agree() -> None:
    batches = Batches(4e-3, 2e-3, 1e-3, 0.99e-3, 5e-3)

    mean = warm_up(batches, agree=alone, mean=4e-3, seconds=60)

    assert batches.count == 4
    assert mean == pytest.approx(0.99e-3)


def test_warm_up_that_never_settles_ends_with_its_time() -> None:
    batches = Batches(*(1e-3 * 2**place for place in range(10)))

    warm_up(batches, agree=alone, mean=1e-3, seconds=0)

    assert batches.count == 1


def test_no_time_is_no_rate() -> None:
    group = Group(0, 1, "gloo", torch.device("cpu"), None, ())

    assert gemm(group, seconds=0, seed=0, beat=nothing) is None


@pytest.mark.gloo
def test_shapes_and_rates_of_real_ranks_agree(extras_run: RunResult) -> None:
    rates: Gemm | None = extras_run.gemm

    assert rates is not None
    for rate in rates.rates:
        assert (rate.m, rate.n, rate.k) in CPU_SHAPES
        assert rate.dtype in DTYPES
        assert 0 < rate.tflop_per_s <= rate.maximum_tflop_per_s
        assert (rate.clock_mhz, rate.throttled) == (None, ())
    assert rates.tflop_per_s == max(rate.tflop_per_s for rate in rates.rates)
