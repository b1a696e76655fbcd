"""When a card comes back: FSRS-6 through py-fsrs, and the only file that knows that package.

py-fsrs counts elapsed time in whole spans of 24 hours. We count study days: every instant is handed over as midday (UTC)
of its study day, so that an evening and the next morning are one day apart and two answers of one session none
(decision 0016). Its fuzz draws from the global random generator, so it is switched off; ours is seeded
by card and repetition, and therefore the interval on the button is the interval stored (decision 0015).
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from importlib.metadata import version

from fsrs import Card as FsrsCard
from fsrs import Rating, Scheduler, State

from app.cards.day import StudyCalendar
from app.cards.model import Grade, Memory, Phase

RETENTION = 0.9
RETENTION_BOUNDS = (0.7, 0.97)
"""Below, most answers fail; above, the reviews a day explode. py-fsrs itself checks nothing here."""
MAXIMUM_DAYS = 365
LEARNING_STEPS = (timedelta(minutes=1), timedelta(minutes=10))
RELEARNING_STEPS = (timedelta(minutes=10),)
FUZZ_VERSION = 1

FUZZ_BANDS = ((2.5, 7.0, 0.15), (7.0, 20.0, 0.1), (20.0, float("inf"), 0.05))
"""From, to (days) and the share of the interval's part in between by which it may move either way."""

_PHASES: Mapping[State, Phase] = {State.Learning: "learning", State.Review: "review", State.Relearning: "relearning"}
_STATES = {phase: state for state, phase in _PHASES.items()}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one grade would do: the memory after it, and how long until the card is due.

    `days` is set when the card is due on a later study day, else `delay` is a learning step.
    """

    grade: Grade
    memory: Memory
    days: int | None
    delay: timedelta


def scheduler_name(retention: float = RETENTION) -> str:
    """What decided an interval, stored with each answer: `fsrs 6.3.2, fuzz 1, retention 0.9`."""
    return f"fsrs {version('fsrs')}, fuzz {FUZZ_VERSION}, retention {retention:g}"


def preview(
    memory: Memory, *, card: str, shown_at: datetime, calendar: StudyCalendar, retention: float = RETENTION
) -> dict[Grade, Outcome]:
    """The outcome of each grade for a card shown at `shown_at`: what the four buttons say."""
    return {
        grade: answer(
            memory,
            grade,
            card=card,
            shown_at=shown_at,
            answered_at=shown_at,
            calendar=calendar,
            retention=retention,
        )
        for grade in Grade
    }


def answer(
    memory: Memory,
    grade: Grade,
    *,
    card: str,
    shown_at: datetime,
    answered_at: datetime,
    calendar: StudyCalendar,
    retention: float = RETENTION,
) -> Outcome:
    """The outcome of `grade`. Intervals of days count from the study day of `shown_at`, as the button said.

    Learning steps count from `answered_at`. Raises ValueError for a retention outside `RETENTION_BOUNDS`.
    """
    today = calendar.day(shown_at)
    before = _to_fsrs(memory, calendar)
    noon = _noon(today)
    after, _ = _scheduler(retention).review_card(before, Rating(int(grade)), noon)
    interval = after.due - noon
    if after.state == State.Review:
        days: int | None = fuzzed(interval.days, seed=f"{card}:{memory.reps}")
        due_at = calendar.start(today + timedelta(days=days or 0))
        delay = due_at - shown_at
    else:
        days, delay = None, interval
        due_at = answered_at + interval
    lapsed = memory.phase == "review" and grade == Grade.AGAIN
    return Outcome(
        grade=grade,
        memory=Memory(
            phase=_PHASES[after.state],
            step=after.step,
            stability=after.stability,
            difficulty=after.difficulty,
            due_at=due_at.astimezone(UTC),
            reviewed_at=answered_at.astimezone(UTC),
            reps=memory.reps + 1,
            lapses=memory.lapses + lapsed,
        ),
        days=days,
        delay=delay,
    )


def retrievability(
    memory: Memory, *, now: datetime, calendar: StudyCalendar, retention: float = RETENTION
) -> float | None:
    """The chance to remember the card today, 0 to 1; None for a new card."""
    if memory.phase == "new":
        return None
    noon = _noon(calendar.day(now))
    return float(_scheduler(retention).get_card_retrievability(_to_fsrs(memory, calendar), noon))


def fuzzed(days: int, *, seed: str) -> int:
    """`days` moved a little, always the same way for the same seed, so that cards learnt together drift apart.

    The same seed moves every interval by the same share, so that the order of the four grades is kept.
    By hand: 10 days may move by 1 + 4.5 x 0.15 + 3 x 0.1 = 1.975, so the result is one of 8 to 12.
    """
    if days < FUZZ_BANDS[0][0]:
        return days
    reach = 1.0 + sum(share * max(0.0, min(days, end) - start) for start, end, share in FUZZ_BANDS)
    low = max(2, round(days - reach))
    high = max(low, min(MAXIMUM_DAYS, round(days + reach)))
    # Seeded by a string, `Random` hashes it with SHA-512: the same on every machine and in every process.
    position = random.Random(seed).random()  # noqa: S311 - spreads dates, guards nothing
    return min(MAXIMUM_DAYS, low + int(position * (high - low + 1)))


@cache
def _scheduler(retention: float) -> Scheduler:
    low, high = RETENTION_BOUNDS
    if not low <= retention <= high:
        raise ValueError(f"desired retention must be {low} to {high}, not {retention}")
    return Scheduler(
        desired_retention=retention,
        learning_steps=LEARNING_STEPS,
        relearning_steps=RELEARNING_STEPS,
        maximum_interval=MAXIMUM_DAYS,
        enable_fuzzing=False,
    )


def _noon(day: date) -> datetime:
    return datetime.combine(day, time(12), UTC)


def _to_fsrs(memory: Memory, calendar: StudyCalendar) -> FsrsCard:
    """py-fsrs' card. The id is always given: without one, it sleeps a millisecond to make one up."""
    if memory.phase == "new":
        return FsrsCard(card_id=0)
    assert memory.reviewed_at is not None
    return FsrsCard(
        card_id=0,
        state=_STATES[memory.phase],
        step=memory.step,
        stability=memory.stability,
        difficulty=memory.difficulty,
        last_review=_noon(calendar.day(memory.reviewed_at)),
    )
