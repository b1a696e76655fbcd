"""`/quiz` and the review of cards: show, reveal, grade, undo, suspend, flag.

A card's address holds what is shown (card, its version, whether it is revealed, what was typed); the queue alone decides
which one is next. Every change is a POST that answers 303 to the next card, with htmx and without, so a reload never
repeats it; one that comes too late answers 409 with the card as it is now. `quiz_desk.py` gathers what a page needs.
"""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from pydantic import BaseModel
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.cards import schedule
from app.cards.faces import Attempt, Shown, face_of, judge, source_address, suggested
from app.cards.model import GRADE_TITLES, KIND_TITLES, Card, CardState, Grade, Memory
from app.cards.queue import Scope
from app.cards.store import Stale, already_answered
from app.content.render import Renderer
from app.core.errors import AppError, NotFound
from app.core.i18n import Text
from app.web import numbers, quiz_words, render
from app.web.language import language_of
from app.web.learner import NOBODY, enrol
from app.web.quiz_desk import CardView, Desk, desk_of, from_stamp, outcomes, stamp
from app.web.services import services
from app.web.today import today_of

router = APIRouter()

RENDERER = Renderer(numbers.evaluate)

BUTTONS_LAST = timedelta(hours=12)
"""After this the intervals on the buttons may be of another day: they are shown anew instead of stored."""
DURATION_CAP_MS = {"drill": 300_000, "timeline": 300_000}
DEFAULT_CAP_MS = 60_000
"""A longer look is a break: it counts as this long."""

GONE = Text("This card is not there any more: its text was removed.", "这张卡片已经不在了：原文已被删除。")


class Where(BaseModel):
    """Scope and session, which every address and form of the review carries."""

    topic: str = ""
    question: str = ""
    session: str = ""


class Asked(Where):
    """The card an address asks for, and what the learner did with it so far."""

    card: str = ""
    version: int | None = None
    reveal: bool = False
    skip: bool = False
    seen: str = ""
    typed: str = ""
    said: str = ""
    pick: list[str] = []
    picked: bool = False


class Act(Where):
    """A change to one card, as its form sends it."""

    card: str = ""
    version: int = -1
    seen: str = ""
    shown: str = ""
    grade: int = 0
    entry: int = 0


@router.get("/quiz")
def start(request: Request, where: Annotated[Where, Query()]) -> HTMLResponse:
    """What is due, by topic, and the button that starts."""
    desk = _desk(request, where)
    topics = [
        (topic, desk.plan_for(Scope(topic=topic.slug)))
        for topic in services(request).library.topics
        if any(card.topic == topic.slug for card in desk.deck.cards)
    ]
    begin = desk_of(request, topic=where.topic, question=where.question, session=str(stamp(desk.now)))
    return render.page(
        request,
        "quiz/start.html",
        desk=begin,
        plan=desk.plan,
        topics=topics,
        today=today_of(desk),
        minutes=desk.minutes_left,
        next_due=quiz_words.until(desk.plan.next_due, now=desk.now, calendar=desk.calendar),
        last=desk.store.last_change(desk.learner),
    )


@router.get("/quiz/today")
def today_box(request: Request) -> HTMLResponse:
    """The box that study pages load beside a question."""
    desk = desk_of(request)
    titles = {topic.slug: topic.title for topic in services(request).library.topics}
    return render.page(request, "quiz/today.html", block="today", today=today_of(desk), titles=titles)


@router.get("/quiz/card")
def show(request: Request, asked: Annotated[Asked, Query()]) -> HTMLResponse:
    """The card asked for, else the next one, else the summary."""
    desk = _desk(request, asked)
    card = desk.deck.by_id.get(asked.card)
    if card is None or not _may_show(desk, card):
        return _next(request, desk)
    if asked.version is not None and asked.version != desk.state(card).version:
        return _next(request, desk, problem=already_answered())
    return _page(request, desk, card, asked)


@router.post("/quiz/card")
def grade(request: Request, act: Annotated[Act, Form()]) -> Response:
    """Record a grade, then go on to the next card."""
    desk = _desk(request, act)
    card = desk.deck.by_id.get(act.card)
    if card is None:
        return _next(request, desk, problem=NotFound(GONE))
    shown_at, seen_at = from_stamp(act.shown), from_stamp(act.seen)
    if act.grade not in set(Grade) or shown_at is None or not desk.now - BUTTONS_LAST <= shown_at <= desk.now:
        return _next(request, desk, problem=_old_buttons())
    response = RedirectResponse("/quiz/card" + desk.query(), 303)

    def decide(memory: Memory) -> Memory:
        return schedule.answer(
            memory,
            Grade(act.grade),
            card=card.id,
            shown_at=shown_at,
            answered_at=desk.now,
            calendar=desk.calendar,
        ).memory

    taken = None
    if seen_at is not None and seen_at <= desk.now:
        cap = DURATION_CAP_MS.get(card.kind, DEFAULT_CAP_MS)
        taken = min(cap, round((desk.now - seen_at).total_seconds() * 1000))
    try:
        desk.store.answer(
            enrol(request, response),
            card.id,
            version=act.version,
            grade=Grade(act.grade),
            decide=decide,
            at=desk.now,
            duration_ms=taken,
            scheduler=schedule.scheduler_name(),
        )
    except Stale as problem:
        return _next(request, _desk(request, act), problem=problem)
    return response


@router.post("/quiz/undo")
def undo(request: Request, act: Annotated[Act, Form()]) -> Response:
    """Take back the change that the form names, and show its card again."""
    desk = _desk(request, act)
    try:
        if desk.learner == NOBODY:
            raise NotFound(Text("There is nothing to undo.", "没有可以撤销的操作。"))
        card = desk.store.undo(desk.learner, entry=act.entry, at=desk.now)
    except AppError as problem:
        return _next(request, desk, problem=problem)
    return RedirectResponse("/quiz/card" + desk.query(card=card), 303)


@router.post("/quiz/suspend")
def suspend(request: Request, act: Annotated[Act, Form()]) -> Response:
    """Take the card out of the queue until it is put back."""
    return _change(request, act, suspended=True)


@router.post("/quiz/resume")
def resume(request: Request, act: Annotated[Act, Form()]) -> Response:
    """Put a suspended card back."""
    return _change(request, act, suspended=False)


@router.post("/quiz/flag")
def flag(request: Request, act: Annotated[Act, Form()]) -> Response:
    """Flag the card, or take its flag off; the card stays in front."""
    desk = _desk(request, act)
    card = desk.deck.by_id.get(act.card)
    if card is None:
        return _next(request, desk, problem=NotFound(GONE))
    response = RedirectResponse("/quiz/card" + desk.query(card=card.id), 303)
    desk.store.flag(enrol(request, response), card.id, flagged=not desk.state(card).flagged)
    return response


def _change(request: Request, act: Act, *, suspended: bool) -> Response:
    desk = _desk(request, act)
    card = desk.deck.by_id.get(act.card)
    if card is None:
        return _next(request, desk, problem=NotFound(GONE))
    response = RedirectResponse("/quiz/card" + desk.query() if suspended else "/progress", 303)
    try:
        desk.store.suspend(enrol(request, response), card.id, version=act.version, suspended=suspended, at=desk.now)
    except Stale as problem:
        return _next(request, _desk(request, act), problem=problem)
    return response


def _desk(request: Request, where: Where) -> Desk:
    return desk_of(request, topic=where.topic, question=where.question, session=where.session)


def _may_show(desk: Desk, card: Card) -> bool:
    """Whether the card is among what is left today: an address alone does not bring a review forward."""
    everything = desk.plan_for(Scope())
    in_learning = desk.state(card).memory.step is not None and not desk.state(card).suspended
    return in_learning or card in desk.plan.cards or card in everything.cards


def _next(request: Request, desk: Desk, *, problem: AppError | None = None) -> HTMLResponse:
    """The next card or the summary; with `problem`, what went wrong stands above it and its status is the answer's."""
    if desk.plan.cards:
        return _page(request, desk, desk.plan.cards[0], Asked(), problem=problem)
    return _draw(request, desk, view=None, problem=problem)


def _page(request: Request, desk: Desk, card: Card, asked: Asked, *, problem: AppError | None = None) -> HTMLResponse:
    state = desk.state(card)
    shown = face_of(
        card,
        question=desk.deck.questions[card.question],
        renderer=RENDERER,
        language=language_of(request),
        reps=state.memory.reps,
    )
    attempt = Attempt(asked.typed, asked.said, tuple(asked.pick), asked.picked)
    view = _view(desk, shown, state, asked, attempt)
    return _draw(request, desk, view=view, problem=problem)


def _view(desk: Desk, shown: Shown, state: CardState, asked: Asked, attempt: Attempt) -> CardView:
    verdict = None if asked.skip or not asked.reveal else judge(shown, attempt)
    # An answer that cannot be read is asked for again, unless the learner gives up.
    is_blank = asked.reveal and shown.drill is not None and not asked.skip and not attempt.typed.strip()
    revealed = asked.reveal and not is_blank and not (verdict is not None and verdict.kind == "unreadable")
    seen = from_stamp(asked.seen)
    return CardView(
        shown=shown,
        state=state,
        revealed=revealed,
        is_blank=is_blank,
        seen=stamp(seen if seen is not None and seen <= desk.now else desk.now),
        shown_at=stamp(desk.now),
        outcomes=outcomes(shown.card, state, shown_at=desk.now, calendar=desk.calendar) if revealed else {},
        attempt=attempt,
        verdict=verdict,
        suggested=suggested(verdict),
        link=f"{source_address(shown.card)}#{shown.card.anchor}",
    )


def _draw(request: Request, desk: Desk, *, view: CardView | None, problem: AppError | None) -> HTMLResponse:
    status = problem.status if problem else 200
    if view and (view.is_blank or (view.verdict and view.verdict.kind == "unreadable")):
        status = 422
    done = desk.session.answers
    response = render.page(
        request,
        "quiz/card.html",
        block="card",
        status=status,
        desk=desk,
        view=view,
        problem=problem,
        done=done,
        left=desk.plan.left,
        minutes=desk.minutes_left,
        last=desk.store.last_change(desk.learner),
        missed=[desk.deck.by_id[card] for card in desk.session.missed if card in desk.deck.by_id],
        next_due=quiz_words.until(desk.plan.next_due, now=desk.now, calendar=desk.calendar),
        session=str(stamp(desk.session_start)),
        again=Grade.AGAIN,
        kinds=KIND_TITLES,
        grades=GRADE_TITLES,
        words=quiz_words,
        address=source_address,
    )
    # With the address of what is shown, a reload shows it again and asks for no older state of the card.
    is_asked_for = request.method == "GET" and problem is None
    response.headers["HX-Replace-Url"] = "/quiz/card" + (f"?{request.url.query}" if is_asked_for else desk.query())
    return response


def _old_buttons() -> Stale:
    return Stale(
        Text("These buttons were from an earlier day, so nothing was recorded.", "按钮上的间隔已经过期，没有记录。"),
        remedy=Text("Here is the card with today's intervals.", "下面按今天的时间重新给出间隔。"),
    )
