"""Calculators and timelines by words, for the search page beside the questions."""

from dataclasses import dataclass

import app.calculators.catalog
import app.timelines.catalog
from app.content.search import fold
from app.core.i18n import Text


@dataclass(frozen=True, slots=True)
class Tool:
    """A calculator or a timeline: its page and what it answers."""

    kind: Text
    title: Text
    about: Text
    href: str


CALCULATOR = Text("Calculator", "计算器")
TIMELINE = Text("Timeline", "时间线")


def all_tools() -> tuple[Tool, ...]:
    """Every calculator, then every timeline."""
    calculators = app.calculators.catalog.calculators().values()
    timelines = app.timelines.catalog.scenarios()
    return (
        *(Tool(CALCULATOR, each.title, each.question, f"/calculators/{each.slug}") for each in calculators),
        *(Tool(TIMELINE, each.title, each.claim, f"/timelines/{each.slug}") for each in timelines),
    )


def matching_tools(query: str) -> tuple[Tool, ...]:
    """The tools whose name, title or sentence holds every word of `query`, in either language."""
    words = [fold(word) for word in query.split()]
    return tuple(tool for tool in all_tools() if all(word in _text(tool) for word in words))


def _text(tool: Tool) -> str:
    return fold(" ".join((tool.href, tool.title.en, tool.title.zh, tool.about.en, tool.about.zh)))
