"""Intervals: golden histories for the pinned py-fsrs, our fuzz, and the promise that the button tells the truth."""

from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cards import schedule
from app.cards.day import StudyCalendar
from app.cards.model import NEW, Grade, Memory
from app.cards.schedule import MAXIMUM_DAYS, fuzzed, preview, retrievability, scheduler_name

UTC_DAYS = StudyCalendar(ZoneInfo("UTC"))
SHANGHAI = StudyCalendar(ZoneInfo("Asia/Shanghai"))
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

AGAIN, HARD, GOOD, EASY = Grade


def history(*grades: Grade, card: str = "ring/answer", calendar: StudyCalendar = UTC_DAYS) -> list[tuple[str, Memory]]:
    """Each answer's interval and the memory after it, each given at the moment the card is due."""
    memory, now, answers = NEW, NOON, []
    for grade in grades:
        outcome = preview(memory, card=card, shown_at=now, calendar=calendar)[grade]
        memory = outcome.memory
        answers.append(
            (f"{outcome.days} d" if outcome.days is not None else f"{outcome.delay.seconds // 60} min", memory)
        )
        assert memory.due_at is not None
        now = max(now, memory.due_at)
    return answers


GOLDEN = [
    ((GOOD, GOOD, GOOD, GOOD, GOOD), "10 min, 2 d, 11 d, 48 d, 176 d", 166.591398, 2.090586),
    ((EASY, GOOD, GOOD), "8 d, 40 d, 154 d", 155.076064, 1.0),
    ((AGAIN, GOOD, GOOD, HARD), "1 min, 10 min, 1 d, 1 d", 1.407545, 7.589367),
    ((GOOD, GOOD, GOOD, AGAIN, GOOD, GOOD), "10 min, 2 d, 11 d, 10 min, 2 d, 5 d", 4.934769, 7.365665),
    ((HARD, HARD, GOOD, GOOD), "5 min, 5 min, 10 min, 1 d", 1.377162, 6.717447),
]
"""Grades, each given when the card is due; the intervals of all, stability and difficulty after the last."""


def test_the_pinned_version_is_the_one_installed() -> None:
    """Other versions give other intervals: a new pin comes with new golden rows and a new name in the log."""
    assert version("fsrs") == "6.3.2"
    assert scheduler_name() == "fsrs 6.3.2, fuzz 1, retention 0.9"


@pytest.mark.parametrize(("grades", "intervals", "stability", "difficulty"), GOLDEN)
def test_a_history_gives_the_recorded_intervals(
    grades: tuple[Grade, ...], intervals: str, stability: float, difficulty: float
) -> None:
    answers = history(*grades)

    assert ", ".join(interval for interval, _ in answers) == intervals
    assert answers[-1][1].stability == pytest.approx(stability, abs=1e-6)
    assert answers[-1][1].difficulty == pytest.approx(difficulty, abs=1e-6)


def test_a_same_day_hard_answer_does_not_shrink_stability() -> None:
    """What 6.3.2 changed against 6.3.1: without its clamp the second answer would roughly halve the first one's value."""
    memory = history(EASY)[-1][1]
    later = NOON + timedelta(hours=2)

    after = schedule.answer(memory, HARD, card="x", shown_at=later, answered_at=later, calendar=UTC_DAYS).memory

    assert memory.stability == pytest.approx(8.2956)
    assert after.stability == memory.stability


def test_forgetting_counts_a_lapse_only_in_review() -> None:
    answers = [memory for _, memory in history(AGAIN, GOOD, GOOD, AGAIN, AGAIN)]

    assert [memory.lapses for memory in answers] == [0, 0, 0, 1, 1]
    assert answers[-1].phase == "relearning"
    assert answers[-1].reps == 5


@pytest.mark.parametrize("grade", list(Grade))
def test_replaying_a_history_gives_the_same_dates(grade: Grade) -> None:
    grades = (GOOD, GOOD, grade, GOOD)

    assert history(*grades) == history(*grades)


@given(
    grades=st.lists(st.sampled_from(list(Grade)), max_size=12),
    minutes=st.integers(0, 60 * 24 * 40),
    card=st.text("abc/-", min_size=1, max_size=12),
)
def test_what_the_button_says_is_what_is_stored(grades: list[Grade], minutes: int, card: str) -> None:
    memory, now = NEW, NOON
    for grade in grades:
        buttons = preview(memory, card=card, shown_at=now, calendar=SHANGHAI)
        answered = now + timedelta(seconds=25)
        stored = schedule.answer(memory, grade, card=card, shown_at=now, answered_at=answered, calendar=SHANGHAI)
        due = stored.memory.due_at
        assert due is not None
        if buttons[grade].days is None:
            assert due - answered == buttons[grade].delay
        else:
            assert (SHANGHAI.day(due) - SHANGHAI.day(now)).days == buttons[grade].days
        memory, now = stored.memory, answered + timedelta(minutes=minutes)


@given(grades=st.lists(st.sampled_from(list(Grade)), max_size=10), minutes=st.integers(0, 60 * 24 * 90))
def test_a_better_grade_never_comes_back_sooner(grades: list[Grade], minutes: int) -> None:
    memory, now = NEW, NOON
    for grade in grades:
        outcome = preview(memory, card="ring/answer", shown_at=now, calendar=UTC_DAYS)[grade]
        memory, now = outcome.memory, now + timedelta(minutes=minutes)

    buttons = preview(memory, card="ring/answer", shown_at=now, calendar=UTC_DAYS)

    due = [buttons[grade].memory.due_at for grade in Grade]
    assert due == sorted(due, key=lambda instant: instant or NOON)


def test_an_evening_and_the_next_morning_are_a_day_apart() -> None:
    """Ten hours apart, but two study days: py-fsrs alone would take them for one session."""
    memory = history(GOOD, GOOD)[-1][1]
    evening, morning = (datetime(2026, 3, 10, 22, tzinfo=UTC), datetime(2026, 3, 11, 8, tzinfo=UTC))
    after = schedule.answer(memory, GOOD, card="x", shown_at=evening, answered_at=evening, calendar=UTC_DAYS).memory

    same_session = schedule.answer(
        after, GOOD, card="x", shown_at=evening, answered_at=evening, calendar=UTC_DAYS
    ).memory
    next_day = schedule.answer(after, GOOD, card="x", shown_at=morning, answered_at=morning, calendar=UTC_DAYS).memory

    assert next_day.stability != same_session.stability


def test_two_answers_of_one_long_night_are_no_day_apart() -> None:
    """Before and after midnight, but before the rollover."""
    memory = history(GOOD, GOOD)[-1][1]
    late, later = (datetime(2026, 3, 10, 23, tzinfo=UTC), datetime(2026, 3, 11, 3, 59, tzinfo=UTC))
    after = schedule.answer(memory, GOOD, card="x", shown_at=late, answered_at=late, calendar=UTC_DAYS).memory

    assert retrievability(after, now=later, calendar=UTC_DAYS) == 1.0
    assert retrievability(after, now=later + timedelta(minutes=1), calendar=UTC_DAYS) != 1.0


@pytest.mark.parametrize("hour", [0, 12, 19, 23])
def test_a_card_of_one_day_is_due_on_the_next_study_day_once(hour: int) -> None:
    memory = Memory("relearning", 0, 1.0, 5.0, NOON, NOON - timedelta(minutes=10), 1, 0)
    now = datetime(2026, 2, 28, 20, tzinfo=UTC) + timedelta(hours=hour)

    outcome = schedule.answer(memory, GOOD, card="x", shown_at=now, answered_at=now, calendar=SHANGHAI)

    assert outcome.days == 1
    assert outcome.memory.due_at == SHANGHAI.end(SHANGHAI.day(now))


@given(days=st.integers(3, MAXIMUM_DAYS), seed=st.text(max_size=20))
def test_fuzz_stays_near_and_is_repeatable(days: int, seed: str) -> None:
    moved = fuzzed(days, seed=seed)

    assert moved == fuzzed(days, seed=seed)
    assert abs(moved - days) <= 1 + round(0.1 * days)
    assert 2 <= moved <= MAXIMUM_DAYS


@given(shorter=st.integers(1, MAXIMUM_DAYS), longer=st.integers(1, MAXIMUM_DAYS), seed=st.text(max_size=20))
def test_fuzz_keeps_the_order_of_intervals(shorter: int, longer: int, seed: str) -> None:
    shorter, longer = sorted((shorter, longer))

    assert fuzzed(shorter, seed=seed) <= fuzzed(longer, seed=seed)


def test_fuzz_spreads_ten_days_over_the_range_worked_by_hand() -> None:
    assert {fuzzed(10, seed=f"card-{number}") for number in range(300)} == {8, 9, 10, 11, 12}


def test_short_intervals_are_not_moved() -> None:
    assert {fuzzed(days, seed=str(seed)) for days in (1, 2) for seed in range(50)} == {1, 2}


@pytest.mark.parametrize("retention", [0, -1, 0.5, 0.99, 1.2])
def test_a_retention_that_breaks_the_scheduler_is_refused(retention: float) -> None:
    with pytest.raises(ValueError, match="desired retention"):
        preview(NEW, card="x", shown_at=NOON, calendar=UTC_DAYS, retention=retention)


def test_wanting_to_remember_more_means_coming_back_sooner() -> None:
    memory = history(GOOD, GOOD, GOOD)[-1][1]
    assert memory.due_at is not None

    strict = preview(memory, card="x", shown_at=memory.due_at, calendar=UTC_DAYS, retention=0.95)[GOOD].days
    usual = preview(memory, card="x", shown_at=memory.due_at, calendar=UTC_DAYS)[GOOD].days

    assert strict is not None
    assert usual is not None
    assert strict < usual


def test_recall_falls_with_time_and_is_unknown_for_a_new_card() -> None:
    memory = history(GOOD, GOOD, GOOD)[-1][1]
    assert memory.reviewed_at is not None

    chances = [
        retrievability(memory, now=memory.reviewed_at + timedelta(days=days), calendar=UTC_DAYS) or 0
        for days in (0, 5, 50)
    ]

    assert chances == sorted(chances, reverse=True)
    assert retrievability(NEW, now=NOON, calendar=UTC_DAYS) is None


def test_an_instant_from_any_zone_is_accepted() -> None:
    """py-fsrs itself takes nothing but `datetime.UTC`."""
    abroad = NOON.astimezone(ZoneInfo("Asia/Shanghai"))

    there = schedule.answer(NEW, GOOD, card="x", shown_at=abroad, answered_at=abroad, calendar=UTC_DAYS)
    here = schedule.answer(NEW, GOOD, card="x", shown_at=NOON, answered_at=NOON, calendar=UTC_DAYS)

    assert there == here


def test_moving_to_a_zone_where_it_is_still_yesterday_breaks_nothing() -> None:
    memory = history(GOOD, GOOD, calendar=SHANGHAI)[-1][1]
    assert memory.reviewed_at is not None
    honolulu = StudyCalendar(ZoneInfo("Pacific/Honolulu"))

    outcome = preview(memory, card="x", shown_at=memory.reviewed_at + timedelta(minutes=1), calendar=honolulu)[GOOD]

    assert outcome.days is not None
    assert outcome.days >= 1
