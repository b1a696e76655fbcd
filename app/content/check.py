"""Everything that can be wrong with the content, format and numbers, in one list.

The format's problems are found when the library reads its files. Here the engines are asked as well:
does each live block name a calculator or timeline, inputs and results that exist, does each
`expect:` agree with what is computed, and can each computed number in text be computed.
"""

from collections.abc import Callable
from pathlib import Path

from app.content.dialect.number import Number
from app.content.library import Library
from app.content.model import Embed, Problem

CheckEmbed = Callable[[Embed], list[str]]
CheckNumber = Callable[[Number], list[str]]


def check(library: Library, *, check_embed: CheckEmbed, check_number: CheckNumber) -> tuple[Problem, ...]:
    """All problems by path and line. The callables answer with what is wrong, as sentences."""
    found = list(library.problems())
    for question in library.questions():
        for page in question.pages.values():
            for embed in page.embeds():
                place = f"In the {embed.kind} {{#{embed.id}}}:"
                found += (_problem(page.path, embed.line, f"{place} {what}") for what in check_embed(embed))
    for placed in library.numbers:
        found += (_problem(placed.path, placed.line, what) for what in check_number(placed.number))
    return tuple(sorted(found, key=lambda problem: (str(problem.path), problem.line)))


def _problem(path: Path, line: int, what: str) -> Problem:
    return Problem(path=path, line=line, what=what, remedy="Mend the text or the number.")
