"""Fixtures every test may use: settings in a temporary folder, an app, a client, a fixed clock."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from app.core.clock import Clock
from app.main import create_app
from app.settings import Settings

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

# A busy machine is slow now and then; that is no property of the code.
hypothesis_settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("busy")


@pytest.fixture(scope="session", autouse=True)
def device_locks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Runs of these tests wait for each other, and for no other run of this user."""
    folder = tmp_path_factory.mktemp("locks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RINGSIDE_LOCKS", str(folder))
        yield folder


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings with everything writable below the test's folder, untouched by the environment."""
    return Settings(data=tmp_path / "data", host="127.0.0.1", port=0, database_url="", watch_content=False)


@pytest.fixture
def make_client() -> Iterator[Callable[..., TestClient]]:
    """`make_client(settings, clock=...)` starts an app and gives its client; all are closed at the end."""
    opened: list[TestClient] = []

    def make(settings: Settings, *, clock: Clock = lambda: NOON) -> TestClient:
        app: FastAPI = create_app(settings, clock=clock)
        client = TestClient(app, base_url="http://127.0.0.1", headers={"Accept-Language": "en"})
        client.__enter__()
        opened.append(client)
        return client

    yield make
    for client in opened:
        client.__exit__(None, None, None)


@pytest.fixture
def client(settings: Settings, make_client: Callable[..., TestClient]) -> TestClient:
    """A client of a fresh app over the shipped content, with the clock at `NOON`."""
    return make_client(settings)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one file share a process; all that start real ranks or a cluster share one, or they would compete for the cores."""
    for item in items:
        is_heavy = item.get_closest_marker("gloo") or "slurm" in getattr(item, "fixturenames", ())
        group = "ranks" if is_heavy else item.nodeid.partition("::")[0]
        item.add_marker(pytest.mark.xdist_group(group))
