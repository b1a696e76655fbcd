"""Exercises made from a page's calculators and timelines: fresh numbers to work out, and a schedule to read.

Everything drawn is drawn by a seed (card id and repetition), so reloading a card, or seeing it in the other
language, shows the same numbers, and the next repetition shows others. What is right comes from the engines that the pages use.
"""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass

from app.calculators import catalog as calculators
from app.calculators.model import Calculator, Result, Step, WrongAnswer
from app.content.model import Embed
from app.core.errors import InvalidInput, NotFound
from app.core.inputs import FieldDoc, Inputs, describe, public_name, to_query, to_text
from app.timelines import catalog as timelines
from app.timelines.catalog import Run, RunOperation

ATTEMPTS = 20
MAXIMUM_BLOCKS = 40
_QUIET = {"0", "none", "false", ""}
"""Defaults that say "not used": such an input is left out of the question."""


@dataclass(frozen=True, slots=True)
class Given:
    """One input as the question states it. `is_fresh` marks the ones that change from time to time."""

    field: FieldDoc
    value: str
    is_fresh: bool


@dataclass(frozen=True, slots=True)
class Drill:
    """A question with fresh numbers: what is given, what is asked, and what people get wrong."""

    calculator: Calculator
    name: str
    result: Result
    given: tuple[Given, ...]
    steps: tuple[Step, ...]
    wrong_answers: tuple[WrongAnswer, ...]
    query: Mapping[str, str]


def is_drill(embed: Embed) -> bool:
    """Whether numbers can be drawn for this calculator block."""
    try:
        draw(embed, seed="probe")
    except (NotFound, InvalidInput, LookupError):
        return False
    return True


def draw(embed: Embed, *, seed: str) -> Drill:
    """The drill that `seed` draws for a calculator block. Raises NotFound, InvalidInput or LookupError if there is none."""
    calculator = calculators.calculator(embed.slug)
    dice = random.Random(seed)  # noqa: S311 - varies an exercise, guards nothing
    # Ask for what the author works out on the page, where that makes a good exercise.
    stated = [name for name in calculator.drill.results if name in embed.expect]
    names = stated or list(calculator.drill.results)
    if not names:
        raise LookupError(f"{embed.slug} has no result to drill")
    for attempt in range(ATTEMPTS):
        fresh = {name: dice.choice(values) for name, values in sorted(calculator.drill.draws.items())}
        name = dice.choice(names)
        # What the block sets and the draw does not stays (an operation, a mode), unless it does not fit together.
        base = dict(embed.inputs) if attempt < ATTEMPTS // 2 else {}
        try:
            inputs, outcome = calculators.run(embed.slug, base | fresh)
        except InvalidInput:
            continue
        result = outcome.results.get(name)
        if result is None or not math.isfinite(result.value) or not result.value:
            continue
        mistakes = tuple(
            wrong for wrong in outcome.wrong_answers if wrong.result == name and wrong.value != result.value
        )
        return Drill(
            calculator=calculator,
            name=name,
            result=result,
            given=_given(embed.slug, inputs, name, fresh=set(fresh)),
            steps=_steps(outcome.steps, name=name),
            wrong_answers=mistakes,
            query=to_query(inputs),
        )
    raise LookupError(f"no drawn numbers fit {embed.slug}")


def _given(slug: str, inputs: Inputs, result: str, *, fresh: set[str]) -> tuple[Given, ...]:
    """The inputs that the result depends on, fresh ones first. Those at a default that says "not used" are left out."""
    given = []
    for field in describe(type(inputs)):
        value = to_values(inputs)[field.name]
        is_quiet = field.name not in fresh and value == field.default and value in _QUIET
        if not is_quiet and _matters(slug, inputs, field, result):
            given.append(Given(field, value, field.name in fresh))
    return tuple(sorted(given, key=lambda item: not item.is_fresh))


def to_values(inputs: Inputs) -> dict[str, str]:
    """Every input as text, defaults included, by its public name."""
    return {public_name(name): to_text(getattr(inputs, name)) for name in type(inputs).model_fields}


def _matters(slug: str, inputs: Inputs, field: FieldDoc, result: str) -> bool:
    """Whether another value of `field` would change `result`."""
    values = to_values(inputs)
    before = calculators.run(slug, values)[1].results[result].value
    for other in _others(field, values[field.name]):
        try:
            after = calculators.run(slug, values | {field.name: other})[1].results.get(result)
        except InvalidInput:
            continue
        if after is None or after.value != before:
            return True
    return False


def _others(field: FieldDoc, value: str) -> tuple[str, ...]:
    if field.kind == "choice":
        return tuple(name for name, _ in field.choices if name != value)
    if field.kind == "switch":
        return ("false" if value == "true" else "true",)
    if field.kind == "rationals":
        return ()
    number = float(value)
    return tuple(to_text(int(other)) if field.kind == "whole" else str(other) for other in (number * 2, number * 3, 1))


def _steps(steps: tuple[Step, ...], *, name: str) -> tuple[Step, ...]:
    """The derivation up to the result asked for."""
    for index, step in enumerate(steps):
        if step.result == name:
            return steps[: index + 1]
    return steps


@dataclass(frozen=True, slots=True)
class Lane:
    """One stream of a timeline to be read: its blocks in the order they are launched, without their times."""

    device: str
    stream: str
    blocks: tuple[RunOperation, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """A schedule to read: the lanes, and which communication blocks run while compute stands idle."""

    run: Run
    lanes: tuple[Lane, ...]
    choices: tuple[str, ...]
    exposed: frozenset[str]


def is_readable(embed: Embed) -> bool:
    """Whether the timeline has something to read: compute that can wait, and a few blocks to choose among."""
    try:
        reading = read(embed)
    except (NotFound, InvalidInput):
        return False
    has_compute = any(operation.kind == "compute" for operation in reading.run.operations)
    return has_compute and len(reading.choices) >= 2 and len(reading.run.operations) <= MAXIMUM_BLOCKS


def read(embed: Embed) -> Reading:
    """The reading exercise of a timeline block. Raises NotFound or InvalidInput."""
    run = timelines.run(embed.slug, embed.inputs)
    lanes: dict[tuple[str, str], list[RunOperation]] = {}
    for operation in run.operations:
        lanes.setdefault((operation.device, operation.stream), []).append(operation)
    return Reading(
        run=run,
        lanes=tuple(Lane(device, stream, tuple(blocks)) for (device, stream), blocks in lanes.items()),
        choices=tuple(operation.id for operation in run.operations if operation.kind == "communication"),
        exposed=_exposed(run),
    )


def _exposed(run: Run) -> frozenset[str]:
    """Communication that runs, at least partly, in a gap of its device's compute. Compared as exact fractions."""
    gaps = [gap for gap in run.trace.gaps if gap.exposed]
    return frozenset(
        span.operation.id
        for span in run.trace.spans
        if span.operation.kind == "communication"
        and any(gap.device == span.operation.device and span.start < gap.end and gap.start < span.end for gap in gaps)
    )
