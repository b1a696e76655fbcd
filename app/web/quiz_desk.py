"""Everything a quiz page needs of one request: the learner, the clock, the deck, the states, the plan.

`Desk` is read once per request. What a page shows of a card (`CardView`)
stands here too, so that the handlers only route; the words are in `quiz_words.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from urllib.parse import urlencode

from fastapi import Request

from app.cards import queue, schedule, stats
from app.cards.answers import Verdict
from app.cards.day import StudyCalendar
from app.cards.deck import Deck, deck_of
from app.cards.faces import Attempt, Shown
from app.cards.model import UNSEEN, Card, CardState, Grade
from app.cards.queue import Plan, Scope
from app.cards.schedule import Outcome
from app.cards.store import CardStore
from app.core.errors import NotFound
from app.core.i18n import Text
from app.web.learner import calendar_of, learner_of
from app.web.services import services


@dataclass(frozen=True)
class Desk:
    """One learner's quiz at one instant."""

    learner: str
    now: datetime
    calendar: StudyCalendar
    deck: Deck
    store: CardStore
    scope: Scope
    session_start: datetime

    @cached_property
    def states(self) -> dict[str, CardState]:
        """Everything known about the learner's cards."""
        return self.store.states(self.learner)

    @cached_property
    def plan(self) -> Plan:
        """What is left to do within the scope."""
        return self.plan_for(self.scope)

    def plan_for(self, scope: Scope) -> Plan:
        """What is left to do within any scope."""
        return queue.plan(
            self.deck.cards,
            self.states,
            now=self.now,
            calendar=self.calendar,
            introduced=self._introduced,
            scope=scope,
        )

    @cached_property
    def _introduced(self) -> int:
        return self.store.introduced(self.learner, since=self.day_start)

    @cached_property
    def day_start(self) -> datetime:
        """The instant at which this study day began."""
        return self.calendar.start(self.calendar.day(self.now))

    @cached_property
    def session(self) -> stats.Session:
        """What was done since the session began."""
        return stats.session(self.store.entries(self.learner, since=self.session_start))

    @cached_property
    def minutes_left(self) -> int:
        """How long the rest of the plan will take."""
        return queue.minutes(self.plan.left, self.store.durations(self.learner))

    def state(self, card: Card) -> CardState:
        """What is known of one card."""
        return self.states.get(card.id, UNSEEN)

    def query(self, **more: str) -> str:
        """The query that carries scope and session from page to page, `?` included; empty where nothing is to carry."""
        values = {"topic": self.scope.topic, "question": self.scope.question, "session": str(stamp(self.session_start))}
        values |= more
        return "?" + urlencode({name: value for name, value in values.items() if value})


@dataclass(frozen=True, slots=True)
class CardView:
    """The card in front of the learner. `outcomes` are what the four buttons do, once it is revealed."""

    shown: Shown
    state: CardState
    revealed: bool
    is_blank: bool
    seen: int
    shown_at: int
    outcomes: Mapping[Grade, Outcome]
    attempt: Attempt
    verdict: Verdict | None
    suggested: Grade
    link: str


def desk_of(request: Request, *, topic: str = "", question: str = "", session: str = "") -> Desk:
    """The desk for this request. `session` is the stamp of when the session began; today, where there is none.

    Raises NotFound for a question or a topic that does not exist.
    """
    made = services(request)
    if question:
        made.library.question(question)
    if topic and topic not in {known.slug for known in made.library.topics}:
        raise NotFound(
            Text(f"There is no topic {topic!r}.", f"没有名为 {topic!r} 的专题。"),
            remedy=Text("The quiz page lists the topics.", "自测页列出了所有专题。"),
        )
    calendar = calendar_of(request)
    now = made.clock()
    begin = calendar.start(calendar.day(now))
    started = from_stamp(session)
    if started is None or not begin - timedelta(days=1) <= started <= now:
        started = begin
    return Desk(
        learner=learner_of(request),
        now=now,
        calendar=calendar,
        deck=deck_of(made.library),
        store=CardStore(made.database),
        scope=Scope(topic=topic, question=question),
        session_start=started,
    )


def outcomes(card: Card, state: CardState, *, shown_at: datetime, calendar: StudyCalendar) -> dict[Grade, Outcome]:
    """What each button would do."""
    return schedule.preview(state.memory, card=card.id, shown_at=shown_at, calendar=calendar)


def stamp(instant: datetime) -> int:
    """An instant as milliseconds since 1970, for a form."""
    return round(instant.timestamp() * 1000)


def from_stamp(text: str) -> datetime | None:
    """The instant of a stamp; None for anything else."""
    try:
        return datetime.fromtimestamp(int(text) / 1000, UTC) if text.isascii() and text.isdigit() else None
    except (ValueError, OverflowError, OSError):
        return None
