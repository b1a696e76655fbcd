"""What a calculator is: typed inputs, a pure `compute`, and everything a page, a quiz or a check wants of it.

A calculator is one module of this package with a `CALCULATOR`. `compute` takes the parsed inputs and
returns an `Outcome`: results with their derivation, and the mistakes people make with the same inputs.
Start with `busbw.py`, the shortest one; `work.py` writes the derivations.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.calculators.shapes import ModelShape
from app.core.i18n import Text
from app.core.inputs import Inputs
from app.hardware.model import Profile


@dataclass(frozen=True, slots=True)
class Result:
    """One computed quantity. `value` is in `unit`, which the result's name states too (`time_s`, `stored_bytes`).

    `formula` and `substituted` are LaTeX: the symbols, and the same line with the numbers put in and the value.
    """

    title: Text
    value: float
    unit: str
    formula: str
    substituted: str
    source: str


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the derivation, in the order one would write it. `result` names the result it yields, if any."""

    title: Text
    formula: str
    substituted: str
    why: Text | None
    result: str | None


@dataclass(frozen=True, slots=True)
class WrongAnswer:
    """What a common mistake gives for `result` with the same inputs, and why it is one."""

    result: str
    title: Text
    value: float
    unit: str
    why: Text


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything computed from one set of inputs."""

    results: Mapping[str, Result]
    steps: tuple[Step, ...]
    assumptions: tuple[Text, ...]
    warnings: tuple[Text, ...]
    wrong_answers: tuple[WrongAnswer, ...]


@dataclass(frozen=True, slots=True)
class Drill:
    """How to ask for fresh numbers: one of `results`, with each input of `draws` drawn from its values.

    Every combination of the drawn values is a legal input; inputs not named keep their defaults.
    """

    results: tuple[str, ...]
    draws: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Calculator:
    """An entry of the catalogue.

    `headline` names the results shown large; `sweep` is the input the plot varies at first and `sweep_result` what it
    plots, with the `thresholds` of results that have one. `from_profile` and `from_shape` give the inputs that a machine
    or a model settles, as query values. `questions` are slugs of study pages that use it.
    """

    slug: str
    title: Text
    question: Text
    inputs: type[Inputs]
    compute: Callable[[Any], Outcome]
    headline: tuple[str, ...]
    sweep: str
    sweep_result: str
    drill: Drill
    from_profile: Callable[[Profile, Any], dict[str, str]] | None = None
    from_shape: Callable[[ModelShape], dict[str, str]] | None = None
    questions: tuple[str, ...] = ()
    thresholds: Mapping[str, tuple[float, Text]] = field(default_factory=dict)
