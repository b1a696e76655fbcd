"""The database: snapshots for readers, one lock for writers, all or nothing."""

import threading
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, insert, select, update
from sqlalchemy.exc import StatementError

from app.core.db import Database, sqlite_url
from app.core.schema.metadata import UtcInstant

tables = MetaData()
counter = Table("counter", tables, Column("id", Integer, primary_key=True), Column("value", Integer))
moments = Table("moments", tables, Column("id", Integer, primary_key=True), Column("at", UtcInstant))


@pytest.fixture
def database(tmp_path: Path) -> Database:
    database = Database(sqlite_url(tmp_path / "new folder" / "test.sqlite3"))
    with database.write() as tx:
        tables.create_all(tx)
        tx.execute(insert(counter).values(id=1, value=0))
    return database


def value(database: Database) -> int | None:
    with database.read() as connection:
        return connection.scalar(select(counter.c.value))


def test_writers_that_read_first_wait_for_each_other(database: Database) -> None:
    """A deferred transaction would fail at once with "database is locked" or lose an update here."""

    def add() -> None:
        for _ in range(25):
            with database.write() as tx:
                seen = tx.scalars(select(counter.c.value)).one()
                tx.execute(update(counter).values(value=seen + 1))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert value(database) == 100


def test_a_failing_block_leaves_nothing_behind(database: Database) -> None:
    def fail() -> None:
        with database.write() as tx:
            tx.execute(update(counter).values(value=7))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    assert value(database) == 0


def test_a_reader_keeps_its_snapshot(database: Database) -> None:
    with database.read() as connection:
        before = connection.scalar(select(counter.c.value))
        with database.write() as tx:
            tx.execute(update(counter).values(value=1))
        after = connection.scalar(select(counter.c.value))

    assert (before, after, value(database)) == (0, 0, 1)


def test_instants_come_back_aware_in_utc(database: Database) -> None:
    shanghai = timezone(timedelta(hours=8))
    with database.write() as tx:
        tx.execute(insert(moments).values(id=1, at=datetime(2026, 3, 1, 23, 59, tzinfo=shanghai)))

    with database.read() as connection:
        assert connection.scalar(select(moments.c.at)) == datetime(2026, 3, 1, 15, 59, tzinfo=UTC)


def test_naive_instants_are_refused(database: Database) -> None:
    with pytest.raises(StatementError, match="time zone"), database.write() as tx:
        tx.execute(insert(moments).values(id=1, at=datetime(2026, 3, 1)))  # noqa: DTZ001 - the point of the test


def test_migrating_twice_changes_nothing(tmp_path: Path) -> None:
    database = Database(sqlite_url(tmp_path / "migrated.sqlite3"))

    database.migrate()
    database.migrate()
