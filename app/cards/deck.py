"""All cards of the current content, cut once for each revision of it.

An id in the store that is not in the deck is an orphan: its history stays, it is neither shown nor counted, and it is
back as soon as the content has the id again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Protocol
from weakref import WeakKeyDictionary

from app.cards.cut import cards_of
from app.cards.model import Card
from app.content.model import Question


class Source(Protocol):
    """What a deck is cut from: a `Library`."""

    @property
    def revision(self) -> int: ...
    def questions(self, topic: str | None = None) -> tuple[Question, ...]: ...


@dataclass(frozen=True, slots=True)
class Deck:
    """Cards in reading order, and by id; questions by slug."""

    cards: tuple[Card, ...]
    by_id: Mapping[str, Card]
    questions: Mapping[str, Question]


_cut: WeakKeyDictionary[Source, tuple[int, Deck]] = WeakKeyDictionary()
_lock = Lock()


def deck_of(source: Source) -> Deck:
    """The deck of the content as it is now."""
    revision = source.revision
    with _lock:
        cached = _cut.get(source)
        if cached is None or cached[0] != revision:
            cached = (revision, cut_deck(source.questions()))
            _cut[source] = cached
        return cached[1]


def cut_deck(questions: tuple[Question, ...]) -> Deck:
    """The deck of these questions."""
    cards = tuple(card for question in questions for card in cards_of(question))
    return Deck(cards, {card.id: card for card in cards}, {question.slug: question for question in questions})
