"""A database of each kind for the store's tests: SQLite in a file, PostgreSQL in a throw-away cluster. And content to cut.

`RINGSIDE_TEST_POSTGRES_URL` names a server to use instead of starting one. Without either, the PostgreSQL half is
skipped on a developer's machine and fails in CI, where it must not be forgotten.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from app.cards.deck import Deck, deck_of
from app.content.library import Library
from app.core.db import Database, sqlite_url


def _programs() -> Path | None:
    """The newest PostgreSQL's programs; Debian keeps them out of the path."""
    found = [Path(path).parent for path in (shutil.which("initdb"),) if path]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    return next((path for path in found if (path / "initdb").exists()), None)


def _as_somebody(folder: Path) -> list[str]:
    """What to put before a command so that it does not run as root, which PostgreSQL refuses; owns `folder`."""
    if os.geteuid() != 0:
        return []
    names = {entry.pw_name for entry in pwd.getpwall()}
    name = "postgres" if "postgres" in names else "nobody"
    os.chown(folder, pwd.getpwnam(name).pw_uid, -1)
    return ["runuser", "-u", name, "--"]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a PostgreSQL server, reached by a socket in a folder of its own."""
    given = os.environ.get("RINGSIDE_TEST_POSTGRES_URL")
    if given:
        yield given
        return
    programs = _programs()
    if programs is None:
        message = "PostgreSQL is not installed: apt-get install postgresql"
        assert not os.environ.get("CI"), message
        pytest.skip(message)
    # Not pytest's own folder: it is closed to others, and the path of a socket must be short.
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    run = _as_somebody(folder)
    data = folder / "data"
    try:
        initdb = [*run, str(programs / "initdb"), "-D", str(data), "-U", "ringside", "-A", "trust", "-E", "UTF8"]
        subprocess.run([*initdb, "--no-sync"], check=True, capture_output=True, cwd="/")
        options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
        control = [*run, str(programs / "pg_ctl"), "-D", str(data), "-w"]
        subprocess.run(
            [*control, "-o", options, "-l", str(folder / "log"), "start"],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd="/",
        )
        yield f"postgresql://ringside@/postgres?host={folder}"
        subprocess.run([*control, "-m", "immediate", "stop"], check=True, capture_output=True, cwd="/")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def make_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], Database]]:
    """`make_database(kind)` gives a new, migrated database that is gone after the test."""
    opened: list[Database] = []
    dropped: list[tuple[str, str]] = []

    def make(kind: str) -> Database:
        if kind == "sqlite":
            url = sqlite_url(tmp_path / f"{uuid.uuid4().hex}.sqlite3")
        else:
            server = request.getfixturevalue("postgres_server")
            name = f"test_{uuid.uuid4().hex}"
            with psycopg.connect(server, autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name}")
            dropped.append((server, name))
            url = make_url(server).set(database=name).render_as_string(hide_password=False)
        database = Database(url)
        database.migrate()
        opened.append(database)
        return database

    yield make
    for database in opened:
        database.dispose()
    for server, name in dropped:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, make_database: Callable[[str], Database]) -> Database:
    """Each test that asks for it runs on both kinds."""
    return make_database(request.param)


CONTENT = Path(__file__).parent / "content"
"""One question with every kind of card, in both languages."""


@pytest.fixture
def content(tmp_path: Path) -> Path:
    """A copy of the test content, to be edited."""
    return Path(shutil.copytree(CONTENT, tmp_path / "content"))


@pytest.fixture
def cut(content: Path) -> Callable[[], Deck]:
    """`cut()` reads the content folder as it is now and cuts its cards."""
    library = Library(content)

    def read() -> Deck:
        library.refresh()
        assert library.problems() == ()
        return deck_of(library)

    return read
