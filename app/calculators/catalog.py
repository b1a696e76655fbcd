"""Every calculator by its slug, and one call that runs one from the strings of a query."""

from collections.abc import Mapping
from functools import cache

import app.calculators
from app.calculators.model import Calculator, Outcome
from app.core.errors import NotFound
from app.core.i18n import Text
from app.core.inputs import Inputs, parse
from app.core.registry import discover


@cache
def calculators() -> dict[str, Calculator]:
    """Slug to calculator, by slug."""
    return discover(app.calculators, "CALCULATOR", Calculator)


def calculator(slug: str) -> Calculator:
    """The calculator of that slug. Raises NotFound."""
    found = calculators().get(slug)
    if found is None:
        known = ", ".join(calculators())
        raise NotFound(
            Text(f"There is no calculator “{slug}”.", f"没有名为“{slug}”的计算器。"),
            remedy=Text(f"There are: {known}.", f"现有：{known}。"),
        )
    return found


def run(slug: str, raw: Mapping[str, str]) -> tuple[Inputs, Outcome]:
    """The parsed inputs and what follows from them. Raises NotFound or InvalidInput."""
    entry = calculator(slug)
    inputs = parse(entry.inputs, raw)
    return inputs, entry.compute(inputs)
