"""What the log adds up to: streaks over rollover and clock changes, true retention, the forecast."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from app.cards.day import StudyCalendar, quarter_hour
from app.cards.log import Entry, Quarter
from app.cards.model import Basic, Card, CardState, Grade, Memory, Phase
from app.cards.stats import Share, forecast, per_day, session, standings, streak, true_retention

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
UTC_DAYS = StudyCalendar(ZoneInfo("UTC"))


def entry(at: datetime, grade: Grade, *, card: str = "ring/a", phase: Phase = "review") -> Entry:
    return Entry(1, card, 0, "answer", grade, at, 3000, phase, "", undone=False)


def card(name: str, topic: str = "rings") -> Card:
    return Card(f"ring/{name}", "concept", "ring", topic, name, {"en": Basic(name, name)})


def known(due: datetime, *, phase: Phase = "review", suspended: bool = False) -> CardState:
    return CardState(1, Memory(phase, None, 10.0, 5.0, due, NOW - timedelta(days=10), 3, 0), suspended)


def test_answers_before_and_after_midnight_are_one_day() -> None:
    late, later = datetime(2026, 3, 1, 23, 50, tzinfo=UTC), datetime(2026, 3, 2, 3, 59, tzinfo=UTC)
    next_day = datetime(2026, 3, 2, 4, 0, tzinfo=UTC)

    days = per_day([Quarter(quarter_hour(at), 2, 0) for at in (late, later, next_day)], calendar=UTC_DAYS)

    assert days == {date(2026, 3, 1): 4, date(2026, 3, 2): 2}


def test_a_past_day_keeps_its_day_across_a_clock_change() -> None:
    """Counted with today's offset, 03:30 UTC in winter would move to another day in summer."""
    berlin = StudyCalendar(ZoneInfo("Europe/Berlin"))
    winter = datetime(2026, 2, 10, 2, 30, tzinfo=UTC)  # 03:30 in Berlin: still the ninth
    summer = datetime(2026, 7, 10, 2, 30, tzinfo=UTC)  # 04:30 in Berlin: the tenth

    days = per_day([Quarter(quarter_hour(at), 1, 0) for at in (winter, summer)], calendar=berlin)

    assert set(days) == {date(2026, 2, 9), date(2026, 7, 10)}


def test_a_streak_counts_days_in_a_row() -> None:
    today = date(2026, 3, 10)
    days = [today - timedelta(days=ago) for ago in (0, 1, 2, 4)]

    assert streak(days, today=today) == 3


def test_a_day_that_is_not_over_does_not_break_a_streak() -> None:
    today = date(2026, 3, 10)

    assert streak([today - timedelta(days=1), today - timedelta(days=2)], today=today) == 2
    assert streak([today - timedelta(days=2)], today=today) == 0
    assert streak([], today=today) == 0


def test_true_retention_counts_the_first_answer_of_a_day_to_cards_in_review() -> None:
    entries = [
        entry(NOW, Grade.AGAIN),
        entry(NOW + timedelta(minutes=10), Grade.GOOD, phase="relearning"),
        entry(NOW + timedelta(days=1), Grade.GOOD),
        entry(NOW, Grade.HARD, card="ring/b"),
        entry(NOW, Grade.AGAIN, card="ring/c", phase="new"),
        entry(NOW + timedelta(minutes=1), Grade.AGAIN, card="ring/c", phase="learning"),
    ]

    assert true_retention(entries, calendar=UTC_DAYS) == Share(remembered=2, answers=3)


def test_a_review_after_learning_on_the_same_day_does_not_count() -> None:
    entries = [entry(NOW, Grade.GOOD, phase="learning"), entry(NOW + timedelta(hours=1), Grade.GOOD)]

    share = true_retention(entries, calendar=UTC_DAYS)

    assert share == Share()
    assert share.value is None


def test_what_is_overdue_counts_today_and_suspended_cards_do_not_count() -> None:
    cards = [card(name) for name in ("late", "today", "soon", "far", "off", "new")]
    states = {
        "ring/late": known(NOW - timedelta(days=4)),
        "ring/today": known(NOW + timedelta(hours=15)),
        "ring/soon": known(NOW + timedelta(days=2)),
        "ring/far": known(NOW + timedelta(days=30)),
        "ring/off": known(NOW, suspended=True),
    }

    due = forecast(cards, states, now=NOW, calendar=UTC_DAYS, days=14)

    assert next(iter(due)) == date(2026, 3, 1)
    assert len(due) == 14
    assert {day.day: count for day, count in due.items() if count} == {1: 2, 3: 1}


def test_a_topic_stands_by_its_own_cards() -> None:
    cards = [card("a"), card("b"), card("c", "trees")]
    states = {"ring/a": known(NOW)}
    entries = [entry(NOW, Grade.AGAIN), entry(NOW, Grade.GOOD, card="ring/c")]

    rings, trees = standings(cards, states, entries, now=NOW, calendar=UTC_DAYS)

    assert (rings.topic, rings.cards, rings.learned, rings.retention) == ("rings", 2, 1, Share(0, 1))
    assert rings.recall is not None
    assert 0.8 < rings.recall < 0.95
    assert (trees.topic, trees.recall, trees.retention) == ("trees", None, Share(1, 1))


def test_a_session_names_each_missed_card_once() -> None:
    entries = [
        entry(NOW, Grade.AGAIN, card="ring/b"),
        entry(NOW, Grade.GOOD, card="ring/a"),
        entry(NOW, Grade.AGAIN, card="ring/b"),
    ]

    made = session(entries)

    assert (made.answers, made.duration_ms, made.missed) == (3, 9000, ("ring/b",))
    assert made.grades == {Grade.AGAIN: 2, Grade.HARD: 0, Grade.GOOD: 1, Grade.EASY: 0}
