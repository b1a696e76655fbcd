"""The driver's answers, by a stand-in for its library: no machine of the tests has a GPU."""

import ctypes
from collections.abc import Mapping
from typing import Any

import pytest
import torch

from app.bench.diagnosis.explain import kinds
from app.bench.events import Gemm, GemmRate
from app.bench.worker import gpu
from app.bench.worker.gemm import throttling
from app.bench.worker.gpu import Nvml, State

NOT_SUPPORTED = 3


class Driver:
    """Answers the functions of nvml.h that it knows by writing behind their arguments; refuses all others."""

    def __init__(self, answers: Mapping[str, tuple[int, ...]]) -> None:
        self._answers = answers

    def __getattr__(self, name: str) -> Any:
        if name not in self._answers and name.startswith("nvmlDeviceGetMax"):
            raise AttributeError(name)  # a driver that is too old to have it

        def function(*arguments: Any) -> int:
            if name not in self._answers:
                return NOT_SUPPORTED
            values = self._answers[name]
            for pointer, value in zip(arguments[-len(values) :], values, strict=True):
                pointer._obj.value = value
            return 0

        return function


def device(answers: Mapping[str, tuple[int, ...]]) -> gpu.Device:
    found = Nvml(Driver({"nvmlDeviceGetHandleByUUID": (7,), **answers})).device("GPU-1")
    assert found is not None
    assert found.handle.value == ctypes.c_void_p(7).value
    return found


def test_a_gpu_that_answers_everything_is_told_in_full() -> None:
    busy = device(
        {
            "nvmlDeviceGetCurrentClocksThrottleReasons": (0x4 | 0x40,),
            "nvmlDeviceGetClockInfo": (1755,),
            "nvmlDeviceGetMaxClockInfo": (1980,),
            "nvmlDeviceGetEnforcedPowerLimit": (700_000,),
            "nvmlDeviceGetMigMode": (0, 1),
            "nvmlDeviceGetCurrPcieLinkGeneration": (5,),
            "nvmlDeviceGetCurrPcieLinkWidth": (16,),
            "nvmlDeviceGetMaxPcieLinkGeneration": (5,),
            "nvmlDeviceGetMaxPcieLinkWidth": (16,),
            "nvmlDeviceGetNvLinkState": (1,),
        }
    )

    assert busy.state() == State(1755, ("SW power cap", "HW thermal slowdown"))
    assert busy.facts() == (
        "PCIe now: generation 5, x16",
        "PCIe at most: generation 5, x16",
        "NVLinks up: 18",
        "SM clock now: 1755 MHz",
        "SM clock at most: 1980 MHz",
        "power limit: 700 W",
        "MIG: off",
        "held back by: SW power cap, HW thermal slowdown",
    )


def test_a_gpu_that_refuses_every_question_tells_nothing() -> None:
    silent = device({})

    assert silent.state() == State()
    assert silent.facts() == ()
    assert silent.links() is None
    assert silent.path_to(silent) is None


def test_an_idle_gpu_is_not_held_back() -> None:
    assert device({"nvmlDeviceGetCurrentClocksThrottleReasons": (0x1,)}).state() == State()


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({"nvmlDeviceGetTopologyCommonAncestor": (20,), "nvmlDeviceGetP2PStatus": (0,)}, "PXB, peer access"),
        ({"nvmlDeviceGetTopologyCommonAncestor": (50,), "nvmlDeviceGetP2PStatus": (2,)}, "SYS, no peer access"),
        ({"nvmlDeviceGetTopologyCommonAncestor": (40,)}, "NODE"),
        ({"nvmlDeviceGetTopologyCommonAncestor": (60,)}, "level 60"),
    ],
)
def test_the_path_between_two_gpus_is_told(answers: Mapping[str, tuple[int, ...]], expected: str) -> None:
    one = device(answers)

    assert one.path_to(one) == expected


def test_the_cpu_has_no_clock_to_report() -> None:
    assert gpu.state(torch.device("cpu")) == State()
    assert gpu.uuid(torch.device("cpu")) is None


def rates(*throttled: tuple[str, ...]) -> Gemm:
    found = tuple(
        GemmRate(dtype="bfloat16", m=1, n=1, k=1, tflop_per_s=1, maximum_tflop_per_s=1, repeats=5, throttled=reasons)
        for reasons in throttled
    )
    return Gemm(best_dtype="bfloat16", tflop_per_s=1, rates=found)


def test_heat_is_a_warning_and_a_power_cap_is_not() -> None:
    assert throttling(rates((), ("SW power cap",))) is None
    warning = throttling(rates(("HW thermal slowdown",), ("HW thermal slowdown", "SW power cap", "HW slowdown")))

    assert warning is not None
    assert (warning.kind, warning.fatal) == ("throttled", False)
    assert warning.text == "HW slowdown, HW thermal slowdown"
    assert warning.kind in kinds()
