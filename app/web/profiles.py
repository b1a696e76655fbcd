"""The hardware a reader can choose: datasheets, and what runs on this installation measured.

Calculators and timelines take `profiles(services)`; a `Profile` answers for itself. A finished run never changes, so
its profile is built once and kept.
"""

from functools import lru_cache
from pathlib import Path
from weakref import WeakKeyDictionary

from app.bench.home import home_id
from app.bench.store import RunStore
from app.core.db import Database
from app.core.errors import NotFound
from app.core.i18n import Text
from app.hardware.measured import MeasuredProfile, measured_profile
from app.hardware.model import Profile
from app.hardware.presets import presets
from app.web.services import Services

MAXIMUM_RUNS = 20
"""Runs offered in a list; older ones are still found by their key."""

_built: WeakKeyDictionary[Database, dict[int, MeasuredProfile]] = WeakKeyDictionary()


def run_store(services: Services) -> RunStore:
    """The benchmark runs of this installation."""
    return RunStore(services.database, home=_home(services.settings.data))


def profiles(services: Services) -> dict[str, Profile]:
    """Every profile by key: measured runs as `run-<id>`, newest first, then the datasheets."""
    store = run_store(services)
    found: dict[str, Profile] = {}
    for run_id in store.usable_ids(limit=MAXIMUM_RUNS):
        measured = _measured(services, store, run_id)
        found[measured.key] = measured
    return {**found, **presets()}


def profile(services: Services, key: str) -> Profile | None:
    """One profile by key, old runs included; None when there is no such profile."""
    preset = presets().get(key)
    if preset is not None:
        return preset
    prefix, _, number = key.partition("run-")
    if prefix or not number.isdecimal() or len(number) > 9:
        return None
    store = run_store(services)
    try:
        run = store.get(int(number))
    except NotFound:
        return None
    return _measured(services, store, run.id) if run.is_usable else None


def last_measured(services: Services) -> MeasuredProfile | None:
    """The profile of the newest usable run; None before the first."""
    store = run_store(services)
    newest = store.usable_ids(limit=1)
    return _measured(services, store, newest[0]) if newest else None


def _measured(services: Services, store: RunStore, run_id: int) -> MeasuredProfile:
    kept = _built.setdefault(services.database, {})
    if run_id not in kept:
        run = store.get(run_id)
        assert run.ended_at is not None, "a usable run has ended"
        day = run.ended_at.date().isoformat()
        backend = run.environment.backend if run.environment else run.spec.backend
        ranks = run.spec.ranks
        where = run.environment.cpu if run.environment else run.node
        kept[run_id] = measured_profile(
            store.result(run_id),
            key=run.profile_key,
            title=Text(f"Run {run_id}: {ranks} × {backend}", f"运行 {run_id}：{ranks} × {backend}"),
            source=Text(f"Measured on {day}: {where}", f"{day} 实测：{where}"),
        )
    return kept[run_id]


@lru_cache(maxsize=64)
def _home(data: Path) -> str:
    return home_id(data)
