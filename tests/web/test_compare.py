"""The comparison page over stored runs."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.bench.home import home_id
from app.bench.store import RunStore
from app.core.db import Database
from app.settings import Settings
from tests.conftest import NOON
from tests.hardware.rows import row, spec

SIZES = [1024 * 2**power for power in range(11)]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data", watch_content=False, runner_on_demand=False)


@pytest.fixture
def store(client: TestClient, settings: Settings) -> RunStore:
    database: Database = client.app.state.services.database  # type: ignore[attr-defined]
    return RunStore(database, home=home_id(settings.data))


def ended(store: RunStore, *, factor: float = 1.0) -> int:
    run_id = store.enqueue(spec(), node="local", now=NOON)
    store.claim(run_id, now=NOON)
    for position, size in enumerate(SIZES):
        store.append_row(run_id, position, row(size, factor * (100 + size / 1e3)))
    store.finish(run_id, "done", now=NOON + timedelta(seconds=20), problems=(), log=[])
    return run_id


def test_runs_compare_by_size_with_a_datasheet_line(client: TestClient, store: RunStore) -> None:
    ended(store)
    ended(store, factor=2.0)

    page = client.get("/bench/compare?runs=1,2&datasheet=h100-sxm").text.replace("\u2009", " ")
    same = client.get("/bench/compare?runs=1&runs=2&datasheet=h100-sxm").text.replace("\u2009", " ")

    cells = re.findall(r'<td class="number">([\d.,]+)</td>', page)
    assert cells[:2] == ["101", "0.0101"]
    assert cells[2:4] == ["202", "0.00507"]
    assert "450 GB/s" in page
    assert page.count("<tr>") == same.count("<tr>")


def test_a_deleted_run_does_not_take_the_others_out_of_a_comparison(client: TestClient, store: RunStore) -> None:
    ended(store)

    answer = client.get("/bench/compare?runs=1,77")

    assert answer.status_code == 200
    assert "No longer there: run 77." in answer.text
    assert "Run 1" in answer.text
