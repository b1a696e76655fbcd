"""The two languages of a question side by side: same ids, same sections, same live blocks.

Cards of both languages share one schedule by their ids, and both pages must show the same
numbers. Differences are problems, but hide nothing.
"""

from collections.abc import Iterator, Mapping

from app.content.model import Embed, MustHit, Page, Problem

_WITHOUT_IDS = ("asked", "picture", "answer", "derivation", "compare", "worked")


def compare(one: Page, other: Page) -> list[Problem]:
    """What one of the pages has and the other has not, or has differently."""
    problems = [*_missing(one, other), *_missing(other, one)]
    embeds = {embed.id: embed for embed in other.embeds()}
    for embed in one.embeds():
        twin = embeds.get(embed.id)
        if twin is not None:
            problems += _unequal(embed, twin, one, other)
    points = {point.id: point for point in other.must}
    for point in one.must:
        twin_point = points.get(point.id)
        if twin_point is not None and _keys(point) != _keys(twin_point):
            remedy = "Hide the same parts in both files, under the same names."
            what = f"The point {{#{point.id}}} hides other parts than in {one.path.name}."
            problems.append(Problem(path=other.path, line=twin_point.line, what=what, remedy=remedy))
    return problems


def _missing(one: Page, other: Page) -> Iterator[Problem]:
    twins = set(_ids(other))
    for identity, (kind, line) in _ids(one).items():
        if identity not in twins:
            remedy = f"Add it to {other.path.name}, or remove it here."
            what = f"The {kind} {{#{identity}}} has no twin in {other.path.name}."
            yield Problem(path=one.path, line=line, what=what, remedy=remedy)
        elif _ids(other)[identity][0] != kind:
            what = f"The {kind} {{#{identity}}} is a {_ids(other)[identity][0]} in {other.path.name}."
            yield Problem(path=one.path, line=line, what=what, remedy="Give one of them another id.")
    for name in _WITHOUT_IDS:
        if getattr(one, name) and not getattr(other, name):
            remedy = f"Write `## {name}` there too."
            yield Problem(
                path=other.path, line=1, what=f"The section `{name}` of {one.path.name} is missing.", remedy=remedy
            )


def _ids(page: Page) -> Mapping[str, tuple[str, int]]:
    """Kind and line of everything with an id."""
    found: dict[str, tuple[str, int]] = {}
    found |= {concept.id: ("concept", concept.line) for concept in page.concepts}
    found |= {point.id: ("point", point.line) for point in page.must}
    found |= {entry.id: ("follow-up", entry.line) for entry in page.followups}
    found |= {entry.id: ("claim", entry.line) for entry in page.wrong}
    found |= {embed.id: (embed.kind, embed.line) for embed in page.embeds()}
    return found


def _keys(point: MustHit) -> set[str]:
    return {cloze.key for cloze in point.clozes}


def _unequal(embed: Embed, twin: Embed, one: Page, other: Page) -> Iterator[Problem]:
    fields = ("slug", "inputs", "compare", "expect")
    different = [name for name in fields if getattr(embed, name) != getattr(twin, name)]
    if different and embed.kind == twin.kind:
        what = f"The {embed.kind} {{#{embed.id}}} differs from {one.path.name} in its {' and '.join(different)}."
        remedy = f"Only the caption may differ; line {embed.line} of {one.path.name} has the other."
        yield Problem(path=other.path, line=twin.line, what=what, remedy=remedy)
