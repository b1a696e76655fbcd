"""Which card is next: order, limits, siblings, and when there is something again."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from app.cards.day import StudyCalendar
from app.cards.model import Basic, Card, CardState, Memory, Phase
from app.cards.queue import Plan, Scope, minutes, plan

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CALENDAR = StudyCalendar(ZoneInfo("UTC"))
TOMORROW = datetime(2026, 3, 2, 4, tzinfo=UTC)
EVERYTHING = Scope()


def card(name: str, *, topic: str = "rings", group: str = "") -> Card:
    return Card(f"ring/{name}", "concept", "ring", topic, group or name, {"en": Basic(name, name)})


def state(
    phase: Phase, due: datetime | None, *, reviewed: datetime | None = None, suspended: bool = False
) -> CardState:
    step = 0 if phase in {"learning", "relearning"} else None
    return CardState(1, Memory(phase, step, 3.0, 5.0, due, reviewed or NOW - timedelta(days=5), 2, 0), suspended)


def make(
    cards: list[Card],
    states: Mapping[str, CardState] | None = None,
    *,
    now: datetime = NOW,
    introduced: int = 0,
    scope: Scope = EVERYTHING,
    new_per_day: int = 20,
) -> Plan:
    return plan(
        cards, states or {}, now=now, calendar=CALENDAR, introduced=introduced, scope=scope, new_per_day=new_per_day
    )


def names(made: Plan) -> list[str]:
    return [card.id.removeprefix("ring/") for card in made.cards]


def test_learning_steps_come_first_then_reviews_then_new_cards() -> None:
    cards = [card("new"), card("review"), card("learning")]
    states = {
        "ring/review": state("review", NOW - timedelta(hours=1)),
        "ring/learning": state("learning", NOW - timedelta(minutes=1)),
    }

    made = make(cards, states)

    assert names(made) == ["learning", "review", "new"]
    assert (made.learning, made.reviews, made.new, made.left) == (1, 1, 1, 3)


def test_a_review_due_later_on_this_study_day_is_there_in_the_morning() -> None:
    """`due` keeps the time of day; the queue asks for the day."""
    cards = [card("tonight"), card("tomorrow")]
    states = {
        "ring/tonight": state("review", TOMORROW - timedelta(minutes=1)),
        "ring/tomorrow": state("review", TOMORROW),
    }

    assert names(make(cards, states)) == ["tonight"]


def test_the_day_of_a_review_is_the_learners() -> None:
    """Due at 20:00 UTC on 1 March: today in London, tomorrow in Shanghai."""
    cards, due = [card("a")], datetime(2026, 3, 1, 20, tzinfo=UTC)
    states = {"ring/a": state("review", due)}
    shanghai = StudyCalendar(ZoneInfo("Asia/Shanghai"))

    assert names(make(cards, states)) == ["a"]
    assert plan(cards, states, now=NOW, calendar=shanghai, introduced=0).cards == ()
    later = plan(cards, states, now=due, calendar=shanghai, introduced=0)
    assert later.cards == tuple(cards)


def test_new_cards_stop_at_the_days_limit() -> None:
    cards = [card(str(number)) for number in range(30)]

    assert len(make(cards).cards) == 20
    assert len(make(cards, introduced=15).cards) == 5
    assert make(cards, introduced=25).cards == ()


def test_a_question_asked_for_by_name_has_no_limit() -> None:
    cards = [card(str(number)) for number in range(30)]

    assert len(make(cards, introduced=25, scope=Scope(question="ring")).cards) == 30


def test_a_topic_shows_its_own_cards_only() -> None:
    cards = [card("a"), card("b", topic="trees")]

    assert names(make(cards, scope=Scope(topic="trees"))) == ["b"]


def test_of_siblings_one_a_day_is_shown() -> None:
    cards = [card("forward", group="g"), card("reverse", group="g"), card("other")]

    assert names(make(cards)) == ["forward", "other"]


def test_a_sibling_waits_for_tomorrow_once_one_was_answered() -> None:
    cards = [card("forward", group="g"), card("reverse", group="g")]
    states = {"ring/forward": state("review", NOW + timedelta(days=3), reviewed=NOW - timedelta(hours=1))}

    today, tomorrow = make(cards, states), make(cards, states, now=TOMORROW)

    assert names(today) == []
    assert names(tomorrow) == ["reverse"]
    assert today.next_due == TOMORROW


def test_a_sibling_does_not_hide_the_card_that_is_being_learnt() -> None:
    cards = [card("forward", group="g"), card("reverse", group="g")]
    states = {"ring/reverse": state("learning", NOW, reviewed=NOW - timedelta(minutes=10))}

    assert names(make(cards, states)) == ["reverse"]


def test_a_learning_step_ends_early_only_when_nothing_else_is_left() -> None:
    soon = {"ring/a": state("learning", NOW + timedelta(minutes=9), reviewed=NOW)}

    assert names(make([card("a"), card("b")], soon)) == ["b"]
    assert make([card("a"), card("b")], soon).left == 2
    assert names(make([card("a")], soon)) == ["a"]
    assert make([card("a")], soon).left == 1


def test_a_learning_step_far_off_is_waited_for() -> None:
    later = {"ring/a": state("learning", NOW + timedelta(minutes=45), reviewed=NOW)}

    made = make([card("a")], later)

    assert made.cards == ()
    assert (made.waiting, made.next_due) == (1, NOW + timedelta(minutes=45))


def test_a_learning_step_left_over_from_days_ago_is_still_due() -> None:
    assert names(make([card("a")], {"ring/a": state("learning", NOW - timedelta(days=9))})) == ["a"]


def test_suspended_cards_and_orphans_are_not_asked() -> None:
    states = {
        "ring/a": state("review", NOW, suspended=True),
        "ring/gone": state("review", NOW - timedelta(days=1)),
    }

    made = make([card("a")], states)

    assert made.cards == ()
    assert made.next_due is None


def test_reviews_keep_their_order_all_day_and_change_it_over_days() -> None:
    cards = [card(str(number)) for number in range(12)]
    states = {item.id: state("review", NOW - timedelta(days=2)) for item in cards}

    morning, evening = make(cards, states), make(cards, states, now=NOW + timedelta(hours=9))

    assert names(morning) == names(evening)
    assert names(morning) != names(make(cards, states, now=NOW + timedelta(days=1)))
    assert sorted(names(morning)) == sorted(names(make(list(reversed(cards)), states)))


def test_the_next_card_is_known_when_nothing_is_due() -> None:
    states = {"ring/a": state("review", NOW + timedelta(days=3)), "ring/b": state("review", NOW + timedelta(days=9))}

    assert make([card("a"), card("b")], states).next_due == NOW + timedelta(days=3)


def test_an_empty_deck_makes_an_empty_plan() -> None:
    assert make([]) == Plan()


@pytest.mark.parametrize(
    ("cards", "durations", "expected"),
    [(0, [], 0), (1, [], 1), (30, [], 10), (30, [60_000] * 9, 30), (30, [2_000] * 5, 1), (30, [60_000] * 4, 10)],
)
def test_minutes_follow_the_learners_own_pace_once_it_is_known(cards: int, durations: list[int], expected: int) -> None:
    assert minutes(cards, durations) == expected
