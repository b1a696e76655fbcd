"""The numbers in content, from the engines: `evaluate` for the renderer, two checks for `ringside check`.

This is where content meets calculators and timelines, which know nothing of each other.
"""

import math
from collections.abc import Mapping

from app.calculators import catalog as calculators
from app.content.dialect.number import Number, NumberKind
from app.content.model import Embed
from app.core.errors import AppError, InvalidInput, NotFound
from app.core.i18n import Text
from app.core.units import quantity_text
from app.timelines import catalog as timelines


def evaluate(kind: NumberKind, slug: str, result: str, inputs: Mapping[str, str]) -> Text:
    """The result with its unit, as it stands in text. Raises NotFound or InvalidInput."""
    values = _results(kind, slug, inputs)
    if result not in values:
        known = ", ".join(values)
        raise NotFound(
            Text(f"{slug} has no result {result!r}.", f"{slug} 没有名为 {result!r} 的结果。"),
            remedy=Text(f"There are: {known}.", f"现有：{known}。"),
        )
    return quantity_text(*values[result])


def check_number(number: Number) -> list[str]:
    """What is wrong with a computed number in text; nothing when it can be computed."""
    try:
        evaluate(number.kind, number.slug, number.result, number.inputs)
    except AppError as error:
        return _sentences(error)
    return []


def check_embed(embed: Embed) -> list[str]:
    """What is wrong with a live block: its name, its inputs, or a result that is not the one expected."""
    kind: NumberKind = "calc" if embed.kind == "calculator" else "timeline"
    try:
        values = _results(kind, embed.slug, embed.inputs)
        if embed.compare is not None:
            _results(kind, embed.slug, {**embed.inputs, **embed.compare})
    except AppError as error:
        return _sentences(error)
    problems = []
    for name, expected in embed.expect.items():
        if name not in values:
            problems.append(f"There is no result `{name}`. There are: {', '.join(values)}.")
            continue
        value, unit = values[name]
        if not abs(value - expected.value) <= abs(expected.value) * expected.relative:
            shown = f"{_exact(value)} {unit}".strip()
            problems.append(f"`{name}` is {shown}, not {_exact(expected.value)} as `expect:` says.")
    return problems


def _results(kind: NumberKind, slug: str, inputs: Mapping[str, str]) -> dict[str, tuple[float, str]]:
    """Value and unit of every result that is one number."""
    if kind == "calc":
        _, outcome = calculators.run(slug, inputs)
        return {name: (result.value, result.unit) for name, result in outcome.results.items()}
    run = timelines.run(slug, inputs)
    units = {measure.name: measure.unit for measure in run.scenario.measures}
    return {
        name: (value, units.get(name, ""))
        for name, value in run.summary.items()
        if not isinstance(value, list) and math.isfinite(value)
    }


def _exact(value: float) -> str:
    """All digits, so that an author can copy it."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def _sentences(error: AppError) -> list[str]:
    if isinstance(error, InvalidInput):
        return [f"The input `{name}`: {text.en}" if name else text.en for name, text in error.fields.items()]
    return [f"{error.message.en} {error.remedy.en}" if error.remedy else error.message.en]
