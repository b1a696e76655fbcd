"""Cuts a question into cards. Pure and deterministic: the same question always gives the same cards, in reading order.

An id is made of ids the author wrote: `<slug>/concept/<id>`, `<slug>/cloze/<key>`, `<slug>/drill/<embed id>`, ...
Positions and texts are not part of it. The two languages of a question are two faces of one card, so
they share one schedule; a card that stands in one language only has one face.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from urllib.parse import urlencode

from app.cards import exercises
from app.cards.model import Basic, Card, Claim, Exercise, Face, Hidden, Kind
from app.content.model import Embed, Page, Part, Question
from app.core.i18n import Language, Text

_UNMARKED = re.compile(r"(```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$\n]+\$)", re.DOTALL)
"""Code and math: a term is hidden around them, and in code only where the code is the term itself."""
GAP = "[…]"
_OPEN = {
    "calculator": Text("Open the calculator", "打开计算器"),
    "timeline": Text("Open the timeline", "打开时间线"),
}

Cut = Callable[[Page], Iterable[tuple[str, str, Face]]]
"""(author's id, group, face) of each card of one kind in one language."""


def cards_of(question: Question) -> tuple[Card, ...]:
    """All cards of `question`: the spoken answer first, then section by section."""
    cards: list[Card] = []
    for kind, cut in _CUTS:
        faces: dict[str, dict[Language, Face]] = {}
        groups: dict[str, str] = {}
        for language in ("en", "zh"):
            page = question.pages.get(language)
            for item, group, face in cut(page) if page else ():
                faces.setdefault(item, {})[language] = face
                groups[item] = group
        cards += [
            Card(
                id="/".join(part for part in (question.slug, kind, item) if part),
                kind=kind,
                question=question.slug,
                topic=question.topic,
                group=f"{question.slug}/{groups[item]}",
                faces=by_language,
            )
            for item, by_language in faces.items()
        ]
    spoken = question.spoken_answer()
    return tuple(_with_spoken_answer(card, spoken) if card.kind == "answer" else card for card in cards)


def _with_spoken_answer(card: Card, spoken: str) -> Card:
    """The answer is spoken in English in both languages; a Chinese face adds its gloss below."""
    faces: dict[Language, Face] = {}
    for language, face in card.faces.items():
        assert isinstance(face, Basic)
        faces[language] = Basic(face.front, "" if language == "en" else face.back, spoken)
    return Card(card.id, card.kind, card.question, card.topic, card.group, faces)


def _answer(page: Page) -> Iterable[tuple[str, str, Face]]:
    if page.answer:
        yield "", "answer", Basic(page.title, page.answer)


def _concepts(page: Page) -> Iterable[tuple[str, str, Face]]:
    for concept in page.concepts:
        yield concept.id, f"concept/{concept.id}", Basic(concept.term, concept.body)


def _reversed_concepts(page: Page) -> Iterable[tuple[str, str, Face]]:
    for concept in page.concepts:
        front = hide_term(concept.body, term=concept.term)
        # Where nothing was hidden, the body stands on the front already.
        back = f"**{concept.term}**" + (f"\n\n{concept.body}" if front != concept.body else "")
        yield concept.id, f"concept/{concept.id}", Basic(front, back)


def _followups(page: Page) -> Iterable[tuple[str, str, Face]]:
    for followup in page.followups:
        back = "\n\n".join(as_markdown(part, language=page.language) for part in followup.answer)
        yield followup.id, f"followup/{followup.id}", Basic(followup.question, back)


def _clozes(page: Page) -> Iterable[tuple[str, str, Face]]:
    for must in page.must:
        for cloze in must.clozes:
            yield cloze.key, f"must/{must.id}", Hidden(must, cloze.key)


def _claims(page: Page) -> Iterable[tuple[str, str, Face]]:
    for misconception in page.wrong:
        yield misconception.id, f"wrong/{misconception.id}", Claim(misconception.claim, misconception.fact)


def _drills(page: Page) -> Iterable[tuple[str, str, Face]]:
    for embed in page.embeds():
        if embed.kind == "calculator" and exercises.is_drill(embed):
            yield embed.id, f"drill/{embed.id}", Exercise(embed)


def _timelines(page: Page) -> Iterable[tuple[str, str, Face]]:
    for embed in page.embeds():
        if embed.kind == "timeline" and exercises.is_readable(embed):
            yield embed.id, f"timeline/{embed.id}", Exercise(embed)


_CUTS: Sequence[tuple[Kind, Cut]] = (
    ("answer", _answer),
    ("concept", _concepts),
    ("concept-reverse", _reversed_concepts),
    ("cloze", _clozes),
    ("drill", _drills),
    ("timeline", _timelines),
    ("followup", _followups),
    ("wrong", _claims),
)


def as_markdown(part: Part, *, language: Language) -> str:
    """A part of a page on a card: prose as it is, a calculator or timeline as its caption and a link to it."""
    if not isinstance(part, Embed):
        return part.markdown
    # As `web/timeline_query.py` reads it: the second schedule of a comparison has names of its own.
    values = {**part.inputs, **{f"vs.{name}": value for name, value in (part.compare or {}).items()}}
    address = f"/{part.kind}s/{part.slug}" + (f"?{urlencode(values, safe=',/')}" if values else "")
    link = f"[{_OPEN[part.kind][language]}]({address})"
    return f"{part.caption} {link}" if part.caption else link


def hide_term(body: str, *, term: str) -> str:
    """`body` with the term, and each name it is made of, replaced by a gap; math is left alone."""
    names = sorted(_names(term), key=len, reverse=True)
    if not names:
        return body
    # Latin names are hidden as whole words (with a plural s); Han characters have no word boundary.
    pattern = re.compile(
        "|".join(rf"(?<![A-Za-z0-9]){re.escape(name)}(?:s|es)?(?![A-Za-z0-9])" for name in names), re.IGNORECASE
    )
    pieces = _UNMARKED.split(body)
    for index, piece in enumerate(pieces):
        if index % 2 == 0:
            pieces[index] = pattern.sub(GAP, piece)
        elif piece.startswith("`") and piece.strip("`").strip().lower() in {name.lower() for name in names}:
            pieces[index] = GAP
    return "".join(pieces)


def _names(term: str) -> set[str]:
    """The term and the names in it: `Bus bandwidth (busbw)` is also called `Bus bandwidth` and `busbw`."""
    plain = re.sub(r"[`*$]", "", term)
    parts = [plain, *re.split("[()()/,,、]| vs | 与 | 和 ", plain)]
    return {part.strip() for part in parts if len(part.strip()) > 1}
