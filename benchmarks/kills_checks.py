"""What must hold after processes were killed (`random_kills.py`): nothing runs on, nothing is lost, nothing is left."""

from app.bench import process
from app.bench.events import Row
from app.bench.home import lock_path, run_folder
from app.bench.lock import is_held
from app.bench.runs import Run
from app.bench.store import RunStore
from app.bench.supervise import EVENTS
from app.bench.wire import decode_all
from app.core.db import Database, sqlite_url
from benchmarks.kills_place import Place, happens, words


def check(here: Place, run: Run) -> list[str]:
    """What is wrong after a run has ended."""
    found = []
    if left := here.of_run(run.id):
        found.append(f"processes left: {[(each.pid, words(each)) for each in left]}")
    if run.ended_at is None:
        found.append(f"no end: {run.status}")
    if lost := lost_rows(here, run.id):
        found.append(lost)
    device = here.locks / "local.lock"
    if not happens(lambda: not is_held(device)):
        found.append("the devices are still locked")
    if files := sorted(path.name for path in here.temporary.iterdir()):
        found.append(f"temporary files left: {files}")
    if files := sorted(path.name for path in here.shared if path.exists()):
        found.append(f"shared memory left: {files}")
    return found


def lost_rows(here: Place, run_id: int) -> str:
    """What is in the run's file but not in the database, in words; empty when nothing is."""
    path = run_folder(here.data, run_id) / EVENTS
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    written = [event for line in lines for event in decode_all(line) if isinstance(event, Row)]
    stored = list(here.store.rows(run_id))
    return "" if written == stored else f"{len(written)} rows written, {len(stored)} stored"


def check_after(here: Place) -> list[str]:
    """When web server and runner were ended in good order: nothing is left of the installation but its data."""
    found = []
    if left := process.marked("RINGSIDE_DATA", str(here.data)):
        found.append(f"processes left at the end: {[(each.pid, words(each)) for each in left]}")
    held = [path.name for path in (lock_path(here.data), *here.locks.iterdir()) if is_held(path)]
    if held:
        found.append(f"locks held at the end: {held}")
    here.database = Database(sqlite_url(here.data / "ringside.sqlite3"))
    with here.database.read() as connection:
        answer = connection.exec_driver_sql("PRAGMA integrity_check").scalar()
    if answer != "ok":
        found.append(f"the database: {answer}")
    here.store = RunStore(here.database, home=here.home)
    for run in here.store.newest(limit=10_000):
        if run.is_active:
            found.append(f"run {run.id} is {run.status} at the end")
        if lost := lost_rows(here, run.id):
            found.append(f"run {run.id} at the end: {lost}")
    here.database.dispose()
    return found
