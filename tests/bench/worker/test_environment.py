"""What a run says of where it ran."""

import os
import typing

import pytest

from app.bench.events import PhaseName
from app.bench.result import RunResult
from app.bench.spec import EXTRAS as CHOICES
from app.bench.worker.environment import variables
from app.bench.worker.extras import EXTRAS


def test_only_variables_that_steer_a_backend_leave_the_machine() -> None:
    environ = {"NCCL_DEBUG": "INFO", "GLOO_SOCKET_IFNAME": "lo", "AWS_SECRET_ACCESS_KEY": "x", "HOME": "/root"}

    assert variables(environ) == {"GLOO_SOCKET_IFNAME": "lo", "NCCL_DEBUG": "INFO"}


def test_every_extra_is_measured_somewhere() -> None:
    assert {*EXTRAS, "latency"} == set(CHOICES)
    assert set(EXTRAS) <= set(typing.get_args(PhaseName))


@pytest.mark.gloo
def test_cpu_ranks_share_no_gpu(extras_run: RunResult) -> None:
    environment = extras_run.environment

    assert environment is not None
    assert not environment.emulated
    assert environment.hosts == ("node-0",)
    assert environment.cores == len(os.sched_getaffinity(0))
