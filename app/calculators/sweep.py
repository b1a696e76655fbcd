"""One result as one input varies: the data of a plot, without drawing anything.

Numbers are varied geometrically around the current value, whole numbers by powers of two; choices and
switches take each of their values. Values that do not fit the other inputs are left out.
"""

import math
from dataclasses import dataclass

from app.calculators.model import Calculator
from app.core.errors import InvalidInput
from app.core.i18n import Text
from app.core.inputs import FieldDoc, Inputs, describe, parse, to_text

DOWN, UP = 5, 3
"""How far a number is varied to either side, in powers of two: what is too large grows out of sight soon enough."""
SIZES = (10, 32)
"""An input in bytes is varied at least over these powers of two, 1 KiB to 4 GiB."""
FROM_ZERO = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""What an input is varied over when it is 0, such as a latency."""


@dataclass(frozen=True, slots=True)
class Point:
    """`x` is the input as a query writes it, `at` its number (None for names), `y` the result there."""

    x: str
    at: float | None
    label: Text | None
    y: float
    is_current: bool


@dataclass(frozen=True, slots=True)
class Sweep:
    """A plotted result: `field` is varied, `result` names what is computed, `unit` is its unit."""

    field: FieldDoc
    result: str
    title: Text
    unit: str
    points: tuple[Point, ...]


def sweep(calculator: Calculator, inputs: Inputs, *, field: str, result: str) -> Sweep:
    """The values of `result` while `field` varies around `inputs`. Both must be names of this calculator."""
    doc = next(doc for doc in describe(calculator.inputs) if doc.name == field)
    here = calculator.compute(inputs).results[result]
    current = to_text(getattr(inputs, field))
    texts = {name: to_text(getattr(inputs, name)) for name in type(inputs).model_fields}
    points = []
    for x in _values(doc, current):
        try:
            outcome = calculator.compute(parse(calculator.inputs, {**texts, field: x}))
        except InvalidInput:
            continue
        if result in outcome.results:
            label = dict(doc.choices).get(x)
            number = float(x) if doc.kind in {"whole", "real"} else None
            points.append(Point(x=x, at=number, label=label, y=outcome.results[result].value, is_current=x == current))
    return Sweep(field=doc, result=result, title=here.title, unit=here.unit, points=tuple(points))


def _values(doc: FieldDoc, current: str) -> list[str]:
    if doc.kind == "choice":
        return [name for name, _ in doc.choices]
    if doc.kind == "switch":
        return ["false", "true"]
    value = float(current)
    low = -math.inf if doc.minimum is None else doc.minimum
    high = math.inf if doc.maximum is None else doc.maximum
    if value == 0:
        numbers = {*FROM_ZERO} if doc.kind == "real" else {0.0, *(2.0**k for k in range(21))}
    elif doc.kind == "whole":
        middle = round(math.log2(value))
        low_power, high_power = max(0, middle - DOWN), middle + UP
        if doc.unit == "B":
            low_power, high_power = min(low_power, SIZES[0]), max(high_power, SIZES[1])
        numbers = {2.0**k for k in range(low_power, high_power + 1)}
    else:
        numbers = {value * 2 ** (k / 4) for k in range(-4 * UP, 4 * UP + 1)}
    inside = sorted(number for number in {*numbers, value} if low <= number <= high)
    if doc.kind == "whole":
        return [to_text(number) for number in inside]
    return [current if number == value else to_text(float(f"{number:.6g}")) for number in inside]
