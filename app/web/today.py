"""Today in numbers, for the home page and the box beside a question: due, new, streak, minutes, weak topics.

One read of the learner's states and a handful of sums; nothing is cached, since an answer changes all of it.
"""

from dataclasses import dataclass
from datetime import timedelta

from fastapi import Request

from app.cards import queue, stats
from app.cards.queue import Scope
from app.core.i18n import Text
from app.web import quiz_words
from app.web.quiz_desk import Desk, desk_of

STREAK_DAYS = 400
WEAK_BELOW = 0.9
WEAKEST = 3


@dataclass(frozen=True, slots=True)
class Today:
    """What stands in the box.

    `due` counts reviews and learning steps, `new` the new cards of the day, `minutes` the time for both. `recall`
    in `weakest` is the predicted chance, 0 to 1, to remember a learnt card of the topic today.
    """

    due: int
    new: int
    reviewed: int
    streak: int
    learned_share: float
    minutes: int
    weakest: list[tuple[str, float]]
    next_due: Text | None
    cards: int
    is_first_time: bool


def today(request: Request) -> Today:
    """Today, for the learner of this request."""
    return today_of(desk_of(request))


def today_of(desk: Desk) -> Today:
    """Today, at this desk."""
    plan = desk.plan_for(Scope())
    day = desk.calendar.day(desk.now)
    days = stats.per_day(
        desk.store.quarters(desk.learner, since=desk.now - timedelta(days=STREAK_DAYS)), calendar=desk.calendar
    )
    standings = stats.standings(desk.deck.cards, desk.states, [], now=desk.now, calendar=desk.calendar)
    weak = sorted((s.recall, s.topic) for s in standings if s.recall is not None and s.recall < WEAK_BELOW)
    total = len(desk.deck.cards)
    return Today(
        due=plan.learning + plan.reviews + plan.waiting,
        new=plan.new,
        reviewed=days.get(day, 0),
        streak=stats.streak(days, today=day),
        learned_share=sum(s.learned for s in standings) / total if total else 0.0,
        minutes=queue.minutes(plan.left, desk.store.durations(desk.learner)) if plan.left else 0,
        weakest=[(topic, recall) for recall, topic in weak[:WEAKEST]],
        next_due=quiz_words.until(plan.next_due, now=desk.now, calendar=desk.calendar),
        cards=total,
        is_first_time=not days and not desk.states,
    )
