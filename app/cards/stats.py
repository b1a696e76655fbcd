"""What the log and the states add up to: streak, reviews a day, true retention, what falls due, weak topics.

Everything is counted from the review log (undone answers do not count) and by the same study day as the queue.
True retention is the share of cards in review that were remembered at the first answer of a day; it
says nothing before there are some, so shares come with the number of answers behind them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from app.cards import schedule
from app.cards.day import ONE_DAY, StudyCalendar, from_quarter_hour
from app.cards.log import Entry, Quarter
from app.cards.model import Card, CardState, Grade


@dataclass(frozen=True, slots=True)
class Share:
    """`remembered` of `answers`."""

    remembered: int = 0
    answers: int = 0

    @property
    def value(self) -> float | None:
        """0 to 1; None where there is nothing to divide."""
        return self.remembered / self.answers if self.answers else None


@dataclass(frozen=True, slots=True)
class TopicStanding:
    """One topic: how many cards it has, how many are learnt, and the mean chance to remember a learnt one today."""

    topic: str
    cards: int
    learned: int
    recall: float | None
    retention: Share


@dataclass(frozen=True, slots=True)
class Session:
    """What was done since a session began."""

    answers: int
    grades: Mapping[Grade, int]
    duration_ms: int
    missed: tuple[str, ...]
    """Ids of cards that were not remembered, each once, in order."""


def per_day(quarters: Iterable[Quarter], *, calendar: StudyCalendar) -> dict[date, int]:
    """Answers on each study day that has any."""
    days: dict[date, int] = {}
    for quarter in quarters:
        day = calendar.day(from_quarter_hour(quarter.quarter_hour))
        days[day] = days.get(day, 0) + quarter.answers
    return days


def streak(days: Iterable[date], *, today: date) -> int:
    """Study days in a row with an answer, up to today; a day that is not over does not break it."""
    studied = set(days)
    day = today if today in studied else today - ONE_DAY
    count = 0
    while day in studied:
        count += 1
        day -= ONE_DAY
    return count


def true_retention(entries: Sequence[Entry], *, calendar: StudyCalendar) -> Share:
    """Of cards in review, how many were remembered at the first answer of a study day."""
    return _share(_first_reviews(entries, calendar=calendar))


def _first_reviews(entries: Sequence[Entry], *, calendar: StudyCalendar) -> list[Entry]:
    first: dict[tuple[str, date], Entry] = {}
    for entry in entries:
        first.setdefault((entry.card, calendar.day(entry.reviewed_at)), entry)
    return [entry for entry in first.values() if entry.phase_before == "review"]


def _share(entries: Sequence[Entry]) -> Share:
    return Share(sum(1 for entry in entries if entry.grade != Grade.AGAIN), len(entries))


def forecast(
    cards: Sequence[Card], states: Mapping[str, CardState], *, now: datetime, calendar: StudyCalendar, days: int
) -> dict[date, int]:
    """Cards that fall due on each of the next `days` study days, today first; what is overdue counts today."""
    today = calendar.day(now)
    due = {today + ONE_DAY * offset: 0 for offset in range(days)}
    for card in cards:
        state = states.get(card.id)
        if state is None or state.suspended or state.memory.due_at is None:
            continue
        day = max(today, calendar.day(state.memory.due_at))
        if day in due:
            due[day] += 1
    return due


def standings(
    cards: Sequence[Card],
    states: Mapping[str, CardState],
    entries: Sequence[Entry],
    *,
    now: datetime,
    calendar: StudyCalendar,
) -> list[TopicStanding]:
    """Each topic of the deck, in its order."""
    topics: dict[str, list[Card]] = {}
    for card in cards:
        topics.setdefault(card.topic, []).append(card)
    topic_of = {card.id: card.topic for card in cards}
    firsts = _first_reviews(entries, calendar=calendar)
    return [
        _standing(
            topic, of_topic, states, [e for e in firsts if topic_of.get(e.card) == topic], now=now, calendar=calendar
        )
        for topic, of_topic in topics.items()
    ]


def _standing(
    topic: str,
    cards: Sequence[Card],
    states: Mapping[str, CardState],
    firsts: Sequence[Entry],
    *,
    now: datetime,
    calendar: StudyCalendar,
) -> TopicStanding:
    known = [states[card.id] for card in cards if card.id in states]
    chances = [schedule.retrievability(state.memory, now=now, calendar=calendar) for state in known]
    recalls = [chance for chance in chances if chance is not None]
    return TopicStanding(
        topic=topic,
        cards=len(cards),
        learned=sum(1 for state in known if state.memory.phase == "review"),
        recall=sum(recalls) / len(recalls) if recalls else None,
        retention=_share(firsts),
    )


def session(entries: Sequence[Entry]) -> Session:
    """The summary of these answers."""
    grades = {grade: sum(1 for entry in entries if entry.grade == grade) for grade in Grade}
    missed = dict.fromkeys(entry.card for entry in entries if entry.grade == Grade.AGAIN)
    return Session(len(entries), grades, sum(entry.duration_ms or 0 for entry in entries), tuple(missed))
