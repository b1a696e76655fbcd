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
from app.core.inputs import FieldDoc, Inputs, describe, to_query, to_text

ATTEMPTS = 20
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
            given=_given(inputs, fresh=set(fresh)),
            steps=_steps(outcome.steps, name=name),
            wrong_answers=mistakes,
            query=to_query(inputs),
        )
    raise LookupError(f"no drawn numbers fit {embed.slug}")


def _given(inputs: Inputs, *, fresh: set[str]) -> tuple[Given, ...]:
    given = []
    for field in describe(type(inputs)):
        value = to_text(getattr(inputs, field.name))
        if field.name in fresh or value != field.default or value not in _QUIET:
            given.append(Given(field, value, field.name in fresh))
    return tuple(sorted(given, key=lambda item: not item.is_fresh))


def _steps(steps: tuple[Step, ...], *, name: str) -> tuple[Step, ...]:
    """The derivation up to the result asked for."""
    for index, step in enumerate(steps):
        if step.result == name:
            return steps[: index + 1]
    return steps


def is_readable(embed: Embed) -> bool:
    """Whether the timeline has something to read: compute that can wait, and blocks to choose among."""
    del embed
    return False
