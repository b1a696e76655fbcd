"""The database: SQLite in the data folder by default, PostgreSQL by URL; migrated by Alembic.

`read()` gives a connection for queries, `write()` one transaction that commits when the
block ends, so a handler has written before it answers. On SQLite a write begins IMMEDIATE:
it takes the lock before it reads, and two writers wait for each other instead of failing.
Only `store.py` files use the connections.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url

MIGRATIONS = Path(__file__).parent.parent / "migrations"
BUSY_TIMEOUT_MS = 10_000
POOL_SIZE = 10
POOL_OVERFLOW = 40
"""Together at least the 40 threads in which handlers run, so that none waits for a connection."""


class Database:
    """An engine with two ways in. `url` is a SQLAlchemy URL: `sqlite:///file` or `postgresql://...`."""

    def __init__(self, url: str) -> None:
        parsed = make_url(url)
        if parsed.drivername in {"postgres", "postgresql"}:
            parsed = parsed.set(drivername="postgresql+psycopg")
        self._engine = create_engine(parsed, pool_size=POOL_SIZE, max_overflow=POOL_OVERFLOW, pool_pre_ping=True)
        if parsed.get_backend_name() == "sqlite":
            _configure_sqlite(self._engine)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees one snapshot; nothing done through it is kept."""
        with self._engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction: committed when the block ends, rolled back when it raises."""
        with self._engine.connect() as connection:
            writer = connection.execution_options(ringside_write=True)
            with writer.begin():
                yield writer

    def migrate(self) -> None:
        """Bring the schema to the newest version; does nothing when it is there already."""
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        with self.write() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def dispose(self) -> None:
        """Close every pooled connection."""
        self._engine.dispose()


def sqlite_url(path: Path) -> str:
    """The URL of a SQLite file; its folder is created."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{path}"


def _configure_sqlite(engine: Engine) -> None:
    """WAL, foreign keys, a busy timeout, and transactions that we begin ourselves.

    Python's sqlite3 begins a deferred transaction at the first write on its own; that fails at once
    with "database is locked" when another writer came between our read and our write.
    """

    @event.listens_for(engine, "connect")
    def on_connect(dbapi_connection: Any, _record: Any) -> None:
        dbapi_connection.isolation_level = None
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
            dbapi_connection.execute(f"PRAGMA {pragma}")
        dbapi_connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")

    @event.listens_for(engine, "begin")
    def on_begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("ringside_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
