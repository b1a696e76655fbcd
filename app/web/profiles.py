"""The hardware a reader can choose: datasheets, what runs on this installation measured, and logs that were imported.

Calculators and timelines take `profiles(services)`; a `Profile` answers for itself. A finished run never changes, so
its profile is built once and kept; those of a log are built anew when somebody confirms what it is about.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from weakref import WeakKeyDictionary

from app.bench.home import home_id
from app.bench.import_store import ImportStore, Revision
from app.bench.imports import KeptImport, KeptRun
from app.bench.store import RunStore
from app.core.db import Database
from app.core.errors import NotFound
from app.core.i18n import Text
from app.hardware.imported import belong_together, imported_profile, why_not
from app.hardware.measured import MeasuredProfile, measured_profile
from app.hardware.model import Profile
from app.hardware.presets import presets
from app.web.services import Services

MAXIMUM_RUNS = 20
"""Runs, and logs, offered in a list; older ones are still found by their key."""
MAXIMUM_OF_A_LOG = 12
"""Profiles of one log that a list offers; a log may hold thousands of runs."""
MAXIMUM_KEPT = 200
"""Logs whose profiles are kept in memory."""

_built: WeakKeyDictionary[Database, dict[int, MeasuredProfile]] = WeakKeyDictionary()
_of_logs: WeakKeyDictionary[Database, dict[Revision, dict[str, MeasuredProfile]]] = WeakKeyDictionary()


def run_store(services: Services) -> RunStore:
    """The benchmark runs of this installation."""
    return RunStore(services.database, home=_home(services.settings.data))


def import_store(services: Services) -> ImportStore:
    """The logs that were imported."""
    return ImportStore(services.database)


def profiles(services: Services) -> dict[str, Profile]:
    """Every profile by key: measured runs as `run-<id>`, newest first, then logs as `import-<id>-<n>`, then the datasheets."""
    store = run_store(services)
    found: dict[str, Profile] = {}
    for run_id in store.usable_ids(limit=MAXIMUM_RUNS):
        measured = _measured(services, store, run_id)
        found[measured.key] = measured
    for revision in import_store(services).revisions(limit=MAXIMUM_RUNS):
        found |= _of_log(services, revision)
    return {**found, **presets()}


def profile(services: Services, key: str) -> Profile | None:
    """One profile by key, old runs included; None when there is no such profile."""
    preset = presets().get(key)
    if preset is not None:
        return preset
    kind, _, rest = key.partition("-")
    number = rest.partition("-")[0]
    if not number.isdecimal() or len(number) > 9:
        return None
    if kind == "import":
        revision = import_store(services).revision(int(number))
        return None if revision is None else _of_log(services, revision, key=key).get(key)
    if kind != "run" or number != rest:
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


def runs_of_log(kept: KeptImport) -> dict[str, tuple[KeptRun, ...]]:
    """What each profile of a log is made of, by key: every run that may be computed with.

    Runs of different operations on one machine also answer together, as `import-<id>`, which stands first.
    """
    usable = [entry for entry in kept.runs if why_not(entry.run, is_sure=entry.is_sure) is None]
    alone = {f"import-{kept.id}-{entry.number}": (entry,) for entry in usable}
    together = {f"import-{kept.id}": tuple(usable)} if belong_together([entry.run for entry in usable]) else {}
    return {**together, **alone}


def _of_log(services: Services, revision: Revision, *, key: str = "") -> dict[str, MeasuredProfile]:
    """The profiles of a log that a list offers, and `key` where it has that one too."""
    built = _of_logs.setdefault(services.database, {})
    found = built.get(revision)
    if found is None or (key and key not in found):
        try:
            kept = import_store(services).get(revision.id)
        except NotFound:
            return {}
        parts = runs_of_log(kept)
        wanted = [*islice(parts, MAXIMUM_OF_A_LOG), *([key] if key in parts else [])]
        found = {name: _profile_of_log(kept, name, parts[name]) for name in dict.fromkeys(wanted)}
        built[revision] = {name: found[name] for name in islice(found, MAXIMUM_OF_A_LOG)}
        while len(built) > MAXIMUM_KEPT:
            built.pop(next(iter(built)), None)
    return found


def _profile_of_log(kept: KeptImport, key: str, entries: Sequence[KeptRun]) -> MeasuredProfile:
    day, run = kept.created_at.date().isoformat(), entries[0].run
    title = Text(f"Import {kept.id}: all operations", f"导入 {kept.id}：全部操作")
    if key != f"import-{kept.id}":
        number = entries[0].number
        title = Text(
            f"Import {kept.id}, run {number}: {run.operation}, {run.ranks} ranks",
            f"导入 {kept.id}，运行 {number}：{run.operation}，{run.ranks} 个 rank",
        )
    source = Text(f"Measured elsewhere: {kept.name}, imported on {day}", f"别处实测：{kept.name}，{day} 导入")
    return imported_profile([entry.run for entry in entries], key=key, title=title, source=source)


@lru_cache(maxsize=64)
def _home(data: Path) -> str:
    return home_id(data)
