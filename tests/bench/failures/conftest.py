"""An installation in a folder of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.bench.home import home_id
from app.bench.store import RunStore
from app.core.db import Database, sqlite_url
from tests.bench.failures.scene import Scene


@contextmanager
def installation(data: Path, *, locks: Path) -> Iterator[Scene]:
    database = Database(sqlite_url(data / "ringside.sqlite3"))
    database.migrate()
    yield Scene(RunStore(database, home=home_id(data)), data, locks)
    database.dispose()


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with installation(tmp_path / "data", locks=tmp_path / "locks") as scene:
        yield scene
