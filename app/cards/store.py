"""Reads and writes what learners know: one row a card, and a log that only grows.

Every change goes through `_change`: it takes the write lock, compares the version the learner saw with the one stored, and
writes the log entry and the new state in the same transaction. A stale or repeated click finds another version and
raises `Stale`; the unique key (learner, card, version) holds that even where two transactions race. Undo is
an entry of its own that puts the snapshot before an answer back; versions only go up, so nothing can be answered twice.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from app.cards.day import quarter_hour
from app.cards.log import Entry, EntryKind, Quarter
from app.cards.model import UNSEEN, CardState, Grade, Memory, Phase
from app.core.db import Database
from app.core.errors import Conflict, NotFound
from app.core.i18n import Text
from app.core.schema.cards import card_state, review

DURATIONS_KEPT = 200


class Stale(Conflict):
    """The card has moved on since it was shown: answered in another tab, or clicked twice."""


class CardStore:
    """Card states and the review log of `database`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def states(self, learner: str) -> dict[str, CardState]:
        """Every card the learner has met, by id; orphans included."""
        with self._database.read() as connection:
            rows = connection.execute(select(*_STATE).where(card_state.c.learner == learner))
            return {card: _state(*values) for card, *values in rows}

    def state(self, learner: str, card: str) -> CardState:
        """One card's state; of a card never met, that of a new one."""
        with self._database.read() as connection:
            return _read(connection, learner, card, lock=False) or UNSEEN

    def answer(
        self,
        learner: str,
        card: str,
        *,
        version: int,
        grade: Grade,
        decide: Callable[[Memory], Memory],
        at: datetime,
        duration_ms: int | None,
        scheduler: str,
    ) -> int:
        """Record a grade and the memory that `decide` makes of the old one; the new entry's id. Raises Stale."""

        def change(state: CardState) -> CardState:
            return CardState(state.version + 1, decide(state.memory), state.suspended, state.flagged)

        extra = {"grade": int(grade), "duration_ms": duration_ms, "scheduler": scheduler}
        return self._change(learner, card, version=version, kind="answer", at=at, change=change, **extra)

    def suspend(self, learner: str, card: str, *, version: int, suspended: bool, at: datetime) -> int:
        """Take a card out of the queue, or put it back; the new entry's id. Raises Stale."""

        def change(state: CardState) -> CardState:
            return CardState(state.version + 1, state.memory, suspended, state.flagged)

        kind: EntryKind = "suspend" if suspended else "resume"
        return self._change(learner, card, version=version, kind=kind, at=at, change=change)

    def flag(self, learner: str, card: str, *, flagged: bool) -> None:
        """Mark a card for later, or unmark it. No part of the schedule, so neither logged nor versioned."""
        with self._database.write() as connection:
            state = _read(connection, learner, card, lock=True)
            if state is None:
                _write(connection, learner, card, CardState(flagged=flagged), is_new=True)
            else:
                changed = CardState(state.version, state.memory, state.suspended, flagged)
                _write(connection, learner, card, changed, is_new=False)

    def last_change(self, learner: str) -> Entry | None:
        """The newest entry that is not undone and is no undo itself: what `undo` would take back."""
        with self._database.read() as connection:
            return _last_change(connection, learner)

    def undo(self, learner: str, *, entry: int, at: datetime) -> str:
        """Take back the learner's last change, which must be `entry`; the card's id. Raises NotFound or Stale."""
        with self._database.write() as connection:
            last = _last_change(connection, learner)
            if last is None:
                raise NotFound(Text("There is nothing to undo.", "没有可以撤销的操作。"))
            if last.id != entry:
                raise Stale(Text("That answer has been undone already.", "这个回答已经撤销过了。"))
            row = connection.execute(select(review).where(review.c.id == entry)).one()
            now = _read(connection, learner, row.card, lock=True)
            assert now is not None
            before = _from_snapshot(row.before, version=now.version + 1, flagged=now.flagged)
            values = _entry(learner, row.card, now, before, kind="undo", at=at) | {"undoes": entry}
            try:
                connection.execute(insert(review).values(values))
            except IntegrityError as error:
                raise Stale(Text("That answer has been undone already.", "这个回答已经撤销过了。")) from error
            _write(connection, learner, row.card, before, is_new=False)
            return str(row.card)

    def _change(
        self,
        learner: str,
        card: str,
        *,
        version: int,
        kind: EntryKind,
        at: datetime,
        change: Callable[[CardState], CardState],
        **extra: Any,
    ) -> int:
        try:
            with self._database.write() as connection:
                stored = _read(connection, learner, card, lock=True)
                state = stored or UNSEEN
                if state.version != version:
                    raise already_answered()
                after = change(state)
                values = _entry(learner, card, state, after, kind=kind, at=at) | extra
                entry = connection.execute(insert(review).values(values).returning(review.c.id)).scalar_one()
                _write(connection, learner, card, after, is_new=stored is None)
                return int(entry)
        except IntegrityError as error:
            raise already_answered() from error

    def entries(self, learner: str, *, since: datetime, until: datetime | None = None) -> list[Entry]:
        """Answers that stand, from `since` on (and before `until`), oldest first."""
        query = _standing(_entries(), learner).where(review.c.reviewed_at >= since).order_by(review.c.id)
        if until is not None:
            query = query.where(review.c.reviewed_at < until)
        with self._database.read() as connection:
            return [_to_entry(row) for row in connection.execute(query)]

    def introduced(self, learner: str, *, since: datetime) -> int:
        """How many new cards have been answered for the first time since then."""
        query = _standing(select(func.count()).select_from(review), learner).where(
            review.c.reviewed_at >= since, review.c.phase_before == "new"
        )
        with self._database.read() as connection:
            return int(connection.execute(query).scalar_one())

    def quarters(self, learner: str, *, since: datetime) -> list[Quarter]:
        """Answers that stand, summed per quarter of an hour: few rows, whatever the number of answers."""
        total = func.coalesce(func.sum(review.c.duration_ms), 0)
        query = (
            _standing(select(review.c.quarter_hour, func.count(), total), learner)
            .where(review.c.quarter_hour >= quarter_hour(since))
            .group_by(review.c.quarter_hour)
            .order_by(review.c.quarter_hour)
        )
        with self._database.read() as connection:
            return [Quarter(int(row[0]), int(row[1]), int(row[2])) for row in connection.execute(query)]

    def durations(self, learner: str) -> list[int]:
        """Milliseconds of the newest answers that stand, for an estimate of the time left."""
        query = (
            _standing(select(review.c.duration_ms), learner)
            .where(review.c.duration_ms.is_not(None))
            .order_by(review.c.id.desc())
            .limit(DURATIONS_KEPT)
        )
        with self._database.read() as connection:
            return [int(value) for value in connection.execute(query).scalars()]


_STATE = [card_state.c.card, card_state.c.version, card_state.c.suspended, card_state.c.flagged]
_STATE += [card_state.c[field.name] for field in fields(Memory)]
"""The columns of a state: a learner may have thousands, so rows are unpacked by position."""


def already_answered() -> Stale:
    """What is said to a form that shows an older state of its card."""
    return Stale(
        Text("This card was answered already, in another tab or by a second click.",
             "这张卡片已经答过了，可能在另一个标签页，或者点了两次。"),
        remedy=Text("Your first answer stands; nothing was recorded twice.", "第一次的回答有效，没有重复记录。"),
    )  # fmt: skip


_undoing = review.alias("undoing")
_is_undone = select(_undoing.c.id).where(_undoing.c.undoes == review.c.id).exists()


def _entries() -> Select[Any]:
    return select(review, _is_undone.label("undone"))


def _standing(query: Select[Any], learner: str) -> Select[Any]:
    """Only answers that nobody took back."""
    return query.where(review.c.learner == learner, review.c.kind == "answer", ~_is_undone)


def _last_change(connection: Connection, learner: str) -> Entry | None:
    query = (
        _entries()
        .where(and_(review.c.learner == learner, review.c.kind != "undo", ~_is_undone))
        .order_by(review.c.id.desc())
        .limit(1)
    )
    row = connection.execute(query).first()
    return None if row is None else _to_entry(row)


def _read(connection: Connection, learner: str, card: str, *, lock: bool) -> CardState | None:
    query = select(*_STATE).where(card_state.c.learner == learner, card_state.c.card == card)
    row = connection.execute(query.with_for_update() if lock else query).first()
    return None if row is None else _state(*row[1:])


def _write(connection: Connection, learner: str, card: str, state: CardState, *, is_new: bool) -> None:
    values = asdict(state.memory) | {
        "phase": None if state.memory.phase == "new" else state.memory.phase,
        "version": state.version,
        "suspended": state.suspended,
        "flagged": state.flagged,
    }
    if is_new:
        connection.execute(insert(card_state).values(learner=learner, card=card, **values))
    else:
        where = and_(card_state.c.learner == learner, card_state.c.card == card)
        connection.execute(update(card_state).where(where).values(values))


def _entry(
    learner: str, card: str, before: CardState, after: CardState, *, kind: EntryKind, at: datetime
) -> dict[str, Any]:
    return {
        "learner": learner,
        "card": card,
        "version": before.version,
        "kind": kind,
        "reviewed_at": at,
        "quarter_hour": quarter_hour(at),
        "phase_before": before.memory.phase,
        "before": _snapshot(before),
        "after": _snapshot(after),
        "scheduler": "",
    }


def _state(version: int, suspended: bool, flagged: bool, phase: Phase | None, *memory: Any) -> CardState:  # noqa: FBT001 - a row
    return CardState(version, Memory(phase or "new", *memory), suspended, flagged)


def _to_entry(row: Row[Any]) -> Entry:
    return Entry(
        id=row.id,
        card=row.card,
        version=row.version,
        kind=row.kind,
        grade=None if row.grade is None else Grade(row.grade),
        reviewed_at=row.reviewed_at,
        duration_ms=row.duration_ms,
        phase_before=row.phase_before,
        scheduler=row.scheduler,
        undone=bool(row.undone),
    )


def _snapshot(state: CardState) -> dict[str, Any]:
    """A state as JSON that `_from_snapshot` reads back exactly."""
    values = asdict(state.memory) | {"suspended": state.suspended}
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}


def _from_snapshot(snapshot: Mapping[str, Any], *, version: int, flagged: bool) -> CardState:
    values = dict(snapshot)
    suspended = bool(values.pop("suspended"))
    for name in ("due_at", "reviewed_at"):
        values[name] = None if values[name] is None else datetime.fromisoformat(values[name])
    return CardState(version, Memory(**values), suspended, flagged)
