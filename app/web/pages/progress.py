"""`/progress`: what was reviewed, what was remembered, what falls due, how each topic stands. All of it from the log."""

from dataclasses import dataclass
from datetime import date, timedelta

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from app.cards import stats
from app.cards.day import ONE_DAY
from app.cards.model import KIND_TITLES
from app.web import bars, render
from app.web.quiz_desk import desk_of
from app.web.services import services
from app.web.today import STREAK_DAYS, today_of

router = APIRouter()

PAST_DAYS = 30
COMING_DAYS = 14
RETENTION_DAYS = 90


@dataclass(frozen=True, slots=True)
class Chart:
    """Counts of days and the picture of them."""

    days: dict[date, int]
    svg: str


@router.get("/progress")
def progress(request: Request) -> HTMLResponse:
    """Reviews a day, true retention, the forecast, the topics, and what is set aside."""
    desk = desk_of(request)
    day = desk.calendar.day(desk.now)
    quarters = desk.store.quarters(desk.learner, since=desk.now - timedelta(days=STREAK_DAYS))
    per_day = stats.per_day(quarters, calendar=desk.calendar)
    past = {day - ONE_DAY * ago: per_day.get(day - ONE_DAY * ago, 0) for ago in reversed(range(PAST_DAYS))}
    coming = stats.forecast(desk.deck.cards, desk.states, now=desk.now, calendar=desk.calendar, days=COMING_DAYS)
    entries = desk.store.entries(desk.learner, since=desk.now - timedelta(days=RETENTION_DAYS))
    known = [card for card in desk.deck.cards if card.id in desk.states]
    return render.page(
        request,
        "quiz/progress.html",
        today=today_of(desk),
        past=Chart(past, bars.draw(list(past.values()), labels=[f"{when:%m-%d}" for when in past])),
        coming=Chart(coming, bars.draw(list(coming.values()), labels=[f"{when:%m-%d}" for when in coming])),
        retention=stats.true_retention(entries, calendar=desk.calendar),
        retention_days=RETENTION_DAYS,
        standings=stats.standings(desk.deck.cards, desk.states, entries, now=desk.now, calendar=desk.calendar),
        titles={topic.slug: topic.title for topic in services(request).library.topics},
        suspended=[card for card in known if desk.states[card.id].suspended],
        flagged=[card for card in known if desk.states[card.id].flagged],
        orphans=sum(1 for card in desk.states if card not in desk.deck.by_id),
        answers=sum(per_day.values()),
        kinds=KIND_TITLES,
        desk=desk,
    )
