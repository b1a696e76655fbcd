"""The log and the states, on SQLite and on PostgreSQL: nothing twice, nothing lost, undo exact."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Barrier
from zoneinfo import ZoneInfo

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from app.cards import schedule
from app.cards.day import StudyCalendar, quarter_hour
from app.cards.log import Entry
from app.cards.model import NEW, UNSEEN, CardState, Grade, Memory
from app.cards.store import CardStore, Stale
from app.core.db import Database
from app.core.errors import NotFound
from app.core.schema import bench, cards, imports
from app.core.schema.metadata import metadata

NOW = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
CALENDAR = StudyCalendar(ZoneInfo("UTC"))


@pytest.fixture
def store(database: Database) -> CardStore:
    return CardStore(database)


def answer(
    store: CardStore,
    card: str = "ring/answer",
    *,
    learner: str = "local",
    grade: Grade = Grade.GOOD,
    version: int | None = None,
    at: datetime = NOW,
) -> int:
    def decide(memory: Memory) -> Memory:
        outcome = schedule.answer(memory, grade, card=card, shown_at=at, answered_at=at, calendar=CALENDAR)
        return outcome.memory

    return store.answer(
        learner,
        card,
        version=store.state(learner, card).version if version is None else version,
        grade=grade,
        decide=decide,
        at=at,
        duration_ms=4000,
        scheduler=schedule.scheduler_name(),
    )


def entries(store: CardStore, learner: str = "local") -> list[Entry]:
    return store.entries(learner, since=NOW - timedelta(days=3650))


def test_migrations_build_the_tables_that_the_code_knows(database: Database) -> None:
    assert len({bench, cards, imports}) == 3
    with database.read() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), metadata)

    assert differences == []


def test_a_card_never_met_is_new(store: CardStore) -> None:
    assert store.state("local", "ring/answer") == UNSEEN
    assert store.states("local") == {}


def test_what_was_answered_is_read_back_exactly(store: CardStore) -> None:
    answer(store)

    stored = store.state("local", "ring/answer")

    expected = schedule.answer(
        NEW, Grade.GOOD, card="ring/answer", shown_at=NOW, answered_at=NOW, calendar=CALENDAR
    ).memory
    assert stored == CardState(1, expected)
    assert store.states("local") == {"ring/answer": stored}


def test_each_entry_names_what_decided_it(store: CardStore) -> None:
    answer(store)

    (entry,) = entries(store)

    assert entry.scheduler == "fsrs 6.3.2, fuzz 1, retention 0.9"
    assert (entry.grade, entry.duration_ms, entry.phase_before) == (Grade.GOOD, 4000, "new")
    assert entry.reviewed_at == NOW


def test_a_stale_answer_is_refused_and_leaves_no_trace(store: CardStore) -> None:
    answer(store, version=0)
    after_first = store.state("local", "ring/answer")

    with pytest.raises(Stale, match="already"):
        answer(store, version=0, grade=Grade.AGAIN)

    assert len(entries(store)) == 1
    assert store.state("local", "ring/answer") == after_first


@pytest.mark.parametrize("answered_before", [False, True])
def test_of_many_simultaneous_clicks_one_counts(store: CardStore, *, answered_before: bool) -> None:
    if answered_before:
        answer(store)
    version = store.state("local", "ring/answer").version
    start = Barrier(8)

    def click() -> bool:
        start.wait()
        try:
            answer(store, version=version)
        except Stale:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        counted = sum(pool.map(lambda _: click(), range(8)))

    assert counted == 1
    assert len(entries(store)) == 1 + answered_before
    assert store.state("local", "ring/answer").version == version + 1


def test_undo_restores_the_exact_state(store: CardStore) -> None:
    answer(store)
    answer(store, at=NOW + timedelta(minutes=11))
    before = store.state("local", "ring/answer")
    entry = answer(store, grade=Grade.AGAIN, at=NOW + timedelta(days=9))

    card = store.undo("local", entry=entry, at=NOW + timedelta(days=9, minutes=1))

    after = store.state("local", "ring/answer")
    assert card == "ring/answer"
    assert replace(after, version=before.version) == before
    assert after.version == before.version + 2


def test_undo_of_a_first_answer_makes_the_card_new_again(store: CardStore) -> None:
    entry = answer(store)

    store.undo("local", entry=entry, at=NOW)

    assert store.state("local", "ring/answer").memory == NEW
    assert entries(store) == []
    assert store.introduced("local", since=NOW - timedelta(days=1)) == 0
    assert store.quarters("local", since=NOW - timedelta(days=1)) == []
    assert store.durations("local") == []


def test_undo_twice_goes_back_two_answers(store: CardStore) -> None:
    first = answer(store, "ring/answer")
    second = answer(store, "ring/wrong/moves", at=NOW + timedelta(seconds=9))

    assert store.undo("local", entry=second, at=NOW) == "ring/wrong/moves"
    assert store.undo("local", entry=first, at=NOW) == "ring/answer"

    assert all(state.memory == NEW for state in store.states("local").values())
    with pytest.raises(NotFound, match="nothing to undo"):
        store.undo("local", entry=first, at=NOW)


def test_undo_twice_on_one_card_goes_back_two_answers(store: CardStore) -> None:
    answer(store)
    one = store.state("local", "ring/answer").memory
    second = answer(store, at=NOW + timedelta(minutes=11))
    third = answer(store, at=NOW + timedelta(days=4))

    store.undo("local", entry=third, at=NOW)
    store.undo("local", entry=second, at=NOW)

    assert store.state("local", "ring/answer").memory == one


def test_a_double_click_on_undo_takes_back_one_answer(store: CardStore) -> None:
    answer(store, "ring/answer")
    second = answer(store, "ring/wrong/moves")

    store.undo("local", entry=second, at=NOW)
    with pytest.raises(Stale, match="undone already"):
        store.undo("local", entry=second, at=NOW)

    assert [entry.card for entry in entries(store)] == ["ring/answer"]


def test_simultaneous_undo_takes_back_one_answer(store: CardStore) -> None:
    answer(store, "ring/answer")
    last = answer(store, "ring/wrong/moves")
    start = Barrier(6)

    def click() -> bool:
        start.wait()
        try:
            store.undo("local", entry=last, at=NOW)
        except Stale:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        counted = sum(pool.map(lambda _: click(), range(6)))

    assert counted == 1
    assert [entry.card for entry in entries(store)] == ["ring/answer"]


def test_an_undone_card_can_be_answered_again(store: CardStore) -> None:
    entry = answer(store, grade=Grade.AGAIN)
    store.undo("local", entry=entry, at=NOW)

    answer(store, grade=Grade.EASY)

    assert [entry.grade for entry in entries(store)] == [Grade.EASY]
    assert store.state("local", "ring/answer").version == 3


def test_an_answer_to_the_state_before_an_undo_is_stale(store: CardStore) -> None:
    """Versions only go up: the form of the undone answer must not fit again."""
    entry = answer(store, version=0)
    store.undo("local", entry=entry, at=NOW)

    with pytest.raises(Stale):
        answer(store, version=0)


def test_suspending_can_be_undone(store: CardStore) -> None:
    answer(store)
    version = store.state("local", "ring/answer").version
    entry = store.suspend("local", "ring/answer", version=version, suspended=True, at=NOW)
    assert store.state("local", "ring/answer").suspended

    store.undo("local", entry=entry, at=NOW)

    assert not store.state("local", "ring/answer").suspended
    assert store.state("local", "ring/answer").memory.reps == 1


def test_a_flag_outlives_an_undo(store: CardStore) -> None:
    """The flag was set by another act than the answer that is taken back."""
    entry = answer(store)
    store.flag("local", "ring/answer", flagged=True)

    store.undo("local", entry=entry, at=NOW)

    assert store.state("local", "ring/answer").flagged


def test_a_new_card_can_be_flagged(store: CardStore) -> None:
    store.flag("local", "ring/answer", flagged=True)

    assert store.state("local", "ring/answer") == CardState(flagged=True)
    answer(store, version=0)
    assert store.state("local", "ring/answer").flagged


def test_learners_do_not_see_each_other(store: CardStore) -> None:
    entry = answer(store, learner="ada")
    answer(store, learner="grace", grade=Grade.EASY)

    with pytest.raises(Stale):
        store.undo("grace", entry=entry, at=NOW)

    assert [entry.grade for entry in entries(store, "ada")] == [Grade.GOOD]
    assert [entry.grade for entry in entries(store, "grace")] == [Grade.EASY]
    assert store.last_change("nobody") is None


def test_answers_are_summed_by_quarter_of_an_hour(store: CardStore) -> None:
    for index, minutes in enumerate((0, 1, 20)):
        answer(store, f"ring/concept/{index}", at=NOW + timedelta(minutes=minutes))

    quarters = store.quarters("local", since=NOW - timedelta(hours=1))

    first = quarter_hour(NOW)
    assert [(quarter.quarter_hour - first, quarter.answers) for quarter in quarters] == [(0, 2), (1, 1)]
    assert quarters[0].duration_ms == 8000


def test_a_failed_decision_writes_nothing(store: CardStore) -> None:
    def fail(memory: Memory) -> Memory:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.answer("local", "x", version=0, grade=Grade.GOOD, decide=fail, at=NOW, duration_ms=None, scheduler="")

    assert entries(store) == []
    assert store.states("local") == {}


def test_progress_survives_closing_the_database(make_database: Callable[[str], Database]) -> None:
    database = make_database("sqlite")
    entry = answer(CardStore(database))
    url = str(database._engine.url)
    database.dispose()

    reopened = CardStore(Database(url))
    last = reopened.last_change("local")

    assert last is not None
    assert last.id == entry
    reopened.undo("local", entry=entry, at=NOW)
    assert reopened.state("local", "ring/answer").memory == NEW
    reopened._database.dispose()
