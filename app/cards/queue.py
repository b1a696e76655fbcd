"""Which card is next, how many are left, and how long they will take. Pure: states in, plan out.

In order: cards in (re)learning whose step is over; reviews due on this study day, mixed so that topics interleave; new
cards in reading order, up to the day's limit. Of siblings (both ways of a concept, gaps of one sentence) one a day
is shown, since the first gives the others away. When nothing else is left, a learning step may end a little early.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median

from app.cards.day import StudyCalendar
from app.cards.model import UNSEEN, Card, CardState

NEW_PER_DAY = 20
LEARN_AHEAD = timedelta(minutes=20)
SECONDS_PER_CARD = 20.0
"""Assumed until there are enough answers to know better."""
DURATIONS_NEEDED = 5


@dataclass(frozen=True, slots=True)
class Scope:
    """What to study: everything, one topic, or one question. A question asked for by name has no limit on new cards."""

    topic: str = ""
    question: str = ""

    def holds(self, card: Card) -> bool:
        """Whether the card belongs to it."""
        return (not self.topic or card.topic == self.topic) and (not self.question or card.question == self.question)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is left today. `cards` is the order; `waiting` are learning steps that end later today."""

    cards: tuple[Card, ...] = ()
    learning: int = 0
    reviews: int = 0
    new: int = 0
    waiting: int = 0
    next_due: datetime | None = None
    by_topic: Mapping[str, int] = field(default_factory=dict)

    @property
    def left(self) -> int:
        """Cards to answer now or, for those in learning, later today."""
        return len(self.cards) + self.waiting


def plan(
    cards: Sequence[Card],
    states: Mapping[str, CardState],
    *,
    now: datetime,
    calendar: StudyCalendar,
    introduced: int,
    scope: Scope = Scope(),
    new_per_day: int = NEW_PER_DAY,
) -> Plan:
    """The plan for the study day of `now`. `introduced` is how many new cards were answered on it already."""
    today = calendar.day(now)
    begin, end = calendar.start(today), calendar.end(today)
    active = [(card, states.get(card.id, UNSEEN)) for card in cards if scope.holds(card)]
    active = [(card, state) for card, state in active if not state.suspended]
    # Siblings count over the whole deck, whatever the scope.
    seen = _answered_groups(cards, states, begin=begin, now=now)

    in_learning = sorted(
        ((state.memory.due_at or now, card) for card, state in active if state.memory.step is not None),
        key=lambda item: (item[0], item[1].id),
    )
    learning = [card for due, card in in_learning if due <= now]
    soon = [card for due, card in in_learning if now < due <= now + LEARN_AHEAD]
    later = [due for due, _ in in_learning if due > now]

    for card in (*learning, *soon):
        seen.setdefault(card.group, card.id)
    due = [card for card, state in active if state.memory.phase == "review" and _is_before(state, end)]
    reviews = _first_of_each_group(_mixed(due, seed=str(today)), seen)
    fresh = [card for card, state in active if state.memory.phase == "new"]
    room = len(fresh) if scope.question else max(0, new_per_day - introduced)
    new = _first_of_each_group(fresh, seen)[:room]

    order = [*learning, *reviews, *new] or soon
    taken = {card.id for card in order}
    by_topic: dict[str, int] = {}
    for card in order:
        by_topic[card.topic] = by_topic.get(card.topic, 0) + 1
    return Plan(
        cards=tuple(order),
        learning=len(learning) + (len(soon) if order == soon else 0),
        reviews=len(reviews),
        new=len(new),
        waiting=sum(1 for when, card in in_learning if now < when < end and card.id not in taken),
        next_due=_next_due(active, later=later, fresh=fresh, end=end),
        by_topic=by_topic,
    )


def minutes(cards: int, durations_ms: Sequence[int]) -> int:
    """Whole minutes, at least 1 for at least one card, that `cards` take at the learner's median pace."""
    if not cards:
        return 0
    known = len(durations_ms) >= DURATIONS_NEEDED
    seconds = median(durations_ms) / 1000 if known else SECONDS_PER_CARD
    return max(1, round(cards * seconds / 60))


def _is_before(state: CardState, end: datetime) -> bool:
    return state.memory.due_at is not None and state.memory.due_at < end


def _mixed(cards: Iterable[Card], *, seed: str) -> list[Card]:
    """The cards in an order that stays the same all day."""
    return sorted(cards, key=lambda card: (random.Random(f"{seed}:{card.id}").random(), card.id))  # noqa: S311


def _answered_groups(
    cards: Sequence[Card], states: Mapping[str, CardState], *, begin: datetime, now: datetime
) -> dict[str, str]:
    """Groups of which a card was answered on this study day, and that card."""
    answered: dict[str, str] = {}
    for card in cards:
        state = states.get(card.id)
        if state and state.memory.reviewed_at and begin <= state.memory.reviewed_at <= now:
            answered[card.group] = card.id
    return answered


def _first_of_each_group(cards: Iterable[Card], seen: dict[str, str]) -> list[Card]:
    """One card of each group; `seen` is filled as a side effect, so that the next call knows."""
    return [card for card in cards if seen.setdefault(card.group, card.id) == card.id]


def _next_due(
    active: Sequence[tuple[Card, CardState]], *, later: Sequence[datetime], fresh: Sequence[Card], end: datetime
) -> datetime | None:
    """When there is something to do again; new cards and buried siblings are there on the next study day."""
    times = [*later]
    for _, state in active:
        if state.memory.phase == "review" and state.memory.due_at is not None:
            times.append(max(state.memory.due_at, end))
    if fresh:
        times.append(end)
    return min(times, default=None)
