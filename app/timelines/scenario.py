"""The shape of a file in `scenarios/`: what it takes, how it is built, what it reports, how it is compared.

A scenario is pure: `build` turns inputs into a `Schedule`, `summarise` reads a `Trace`. Where it has a
`shape`, its durations can come from a model's dimensions and a hardware profile instead of typed numbers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from app.core.i18n import Text
from app.core.inputs import Inputs
from app.hardware.model import Estimate, Profile
from app.timelines.model import Schedule, Trace

Value = int | float | Fraction | list[int] | list[Fraction]


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of the summary. `unit` is `ms` or empty; `shown` ones stand as tiles under the picture.

    A tile of a measure with `hide_zero` is left out where it is zero.
    """

    name: str
    title: Text
    help: Text
    unit: str = ""
    shown: bool = True
    hide_zero: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """A second set of inputs worth seeing on the same axis, laid over the first set."""

    title: Text
    inputs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Filling:
    """Durations from a model shape and a profile.

    `shape` declares the dimensions; its names differ from those of the inputs. `durations` maps input names to
    estimates. `ranks` names the field, of the inputs or the shape, that is the size of the communicating group:
    a measured profile knows its own. `fills` names every input that may be filled in. `small` is a shape that a
    laptop can run in milliseconds, offered with measured profiles.
    """

    shape: type[Inputs]
    durations: Callable[[Any, Any, Profile], Mapping[str, Estimate]]
    fills: tuple[str, ...]
    ranks: str
    small: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Frame:
    """The buffers of every rank during one step of a collective, for the picture above the lanes.

    `cells[rank][chunk]` is (text, contributions so far, changed in the step before). `title` says what moves now.
    """

    start: Fraction
    end: Fraction
    title: Text
    cells: tuple[tuple[tuple[str, int, bool], ...], ...]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One timeline. `claim` is the sentence that the picture proves."""

    slug: str
    title: Text
    claim: Text
    rules: tuple[Text, ...]
    inputs: type[Inputs]
    build: Callable[[Any], Schedule]
    summarise: Callable[[Any, Trace], dict[str, Value]]
    measures: tuple[Measure, ...]
    comparisons: tuple[Comparison, ...] = ()
    filling: Filling | None = None
    frames: Callable[[Any, Trace], tuple[Frame, ...]] | None = None


MAKESPAN = Measure(
    "makespan",
    Text("total", "总时长"),
    Text("From the first start to the last end.", "从最早开始到最晚结束的时间。"),
    "ms",
)
EXPOSED = Measure(
    "exposed",
    Text("exposed", "暴露"),
    Text(
        "Total time less the compute of the busiest device: what communication costs after overlap.",
        "总时长减去最忙设备的计算时间：重叠之后通信仍然付出的代价。",
    ),
    "ms",
)


def estimate_gemm(flops: float, profile: Profile, *, efficiency: float) -> Estimate | None:
    """The time of a matrix multiplication on one rank; None where the profile has no rate. `flops` counts 2 per MAC."""
    rate = profile.flop_per_second
    if rate is None:
        return None
    measured = profile.kind == "measured"
    note = (
        Text(
            "The FLOPs of this shape over the GEMM rate this run measured.",
            "用此形状的 FLOPs 除以这次实测的 GEMM 速率。",
        )
        if measured
        else Text(
            "From the dense peak of the datasheet times the efficiency; real GEMMs reach less than the peak.",
            "按数据手册的稠密峰值乘以效率换算；真实 GEMM 达不到峰值。",
        )
    )
    return Estimate(flops / (rate if measured else rate * efficiency), "measured" if measured else "datasheet", note)
