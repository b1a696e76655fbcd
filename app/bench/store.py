"""Benchmark runs in the database: the web app enqueues and asks to stop, the runner claims and reports.

Every method is one short transaction, so each row is safe as soon as it is measured and a crash loses nothing that was
stored. `home` is the data folder's own id: a store sees every run, but claims only those of its home.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, func, select

from app.bench.codec import build, plain
from app.bench.events import KINDS_OF_FINDING, Environment, Finding, Gemm, Problem, RankStarted, Row
from app.bench.process import ProcessId
from app.bench.records import clean, run_of
from app.bench.result import RunResult
from app.bench.runs import ACTIVE, USABLE, Progress, Run, Status
from app.bench.spec import RunSpec
from app.core.db import Database
from app.core.errors import Conflict, NotFound
from app.core.i18n import Text
from app.core.schema.bench import bench_finding, bench_row, bench_run

MAXIMUM_PROBLEMS = 50

_rows_of_run = bench_row.c.run_id == bench_run.c.id
_row_count = select(func.count()).where(_rows_of_run).scalar_subquery().label("rows")


class RunStore:
    """The runs of one installation. `home` names its data folder."""

    def __init__(self, database: Database, *, home: str) -> None:
        self._database = database
        self._home = home

    # --- what the web app does -------------------------------------------------------------------------------------

    def enqueue(self, spec: RunSpec, *, node: str, now: datetime) -> int:
        """A new run that waits for the runner; its id."""
        values = {
            "home": self._home,
            "node": node,
            "status": "queued",
            "spec": spec.to_json(),
            "stop_requested": False,
            "created_at": now,
            "started_ranks": [],
            "problems": [],
            "finished": False,
            "log": "",
        }
        with self._database.write() as connection:
            run_id: int = connection.execute(bench_run.insert().values(values).returning(bench_run.c.id)).scalar_one()
            return run_id

    def record(
        self,
        result: RunResult,
        status: Status,
        *,
        node: str,
        command: Sequence[str],
        began: datetime,
        ended: datetime,
        log: Sequence[str] = (),
    ) -> int:
        """Keep a run that somebody measured in the foreground, whole and ended; its id."""
        environment, gemm = result.environment, result.gemm
        values = {
            "home": self._home,
            "node": node,
            "status": status,
            "spec": result.spec.to_json(),
            "stop_requested": status == "cancelled",
            "created_at": began,
            "started_at": began,
            "ended_at": ended,
            "command": list(command),
            "started_ranks": clean(plain(result.started)),
            "environment": environment and clean(plain(environment)),
            "gemm": gemm and clean(plain(gemm)),
            "problems": [clean(plain(problem)) for problem in result.problems[:MAXIMUM_PROBLEMS]],
            "drift_percent": result.drift_percent,
            "finished": result.finished,
            "log": clean("\n".join(log)),
        }
        with self._database.write() as connection:
            run_id: int = connection.execute(bench_run.insert().values(values).returning(bench_run.c.id)).scalar_one()
            for position, row in enumerate(result.rows):
                connection.execute(bench_row.insert().values(run_id=run_id, position=position, row=clean(plain(row))))
            for position, finding in enumerate(result.findings):
                self._insert_finding(connection, run_id, position, finding)
            return run_id

    def get(self, run_id: int) -> Run:
        """The run. Raises NotFound."""
        with self._database.read() as connection:
            return self._get(connection, run_id)

    def rows(self, run_id: int) -> tuple[Row, ...]:
        """The measured rows in the order they came."""
        with self._database.read() as connection:
            found = connection.execute(
                select(bench_row.c.row).where(bench_row.c.run_id == run_id).order_by(bench_row.c.position)
            ).scalars()
            return tuple(build(Row, raw) for raw in found)

    def findings(self, run_id: int) -> tuple[Finding, ...]:
        """What was measured besides rows, in the order it came."""
        query = select(bench_finding).where(bench_finding.c.run_id == run_id).order_by(bench_finding.c.position)
        with self._database.read() as connection:
            found = connection.execute(query).mappings()
            return tuple(build(KINDS_OF_FINDING[row["kind"]], row["body"]) for row in found)

    def result(self, run_id: int) -> RunResult:
        """Everything the run brought. Raises NotFound."""
        return self.get(run_id).result(self.rows(run_id)).add_all(self.findings(run_id))

    def newest(self, *, limit: int = 100) -> list[Run]:
        """The newest runs first."""
        with self._database.read() as connection:
            found = connection.execute(select(bench_run, _row_count).order_by(bench_run.c.id.desc()).limit(limit))
            return [run_of(row) for row in found.mappings()]

    def usable_ids(self, *, limit: int = 50) -> list[int]:
        """The newest runs that ended well and measured something, newest first."""
        query = (
            select(bench_run.c.id)
            .where(bench_run.c.status.in_(USABLE), select(bench_row.c.run_id).where(_rows_of_run).exists())
            .order_by(bench_run.c.id.desc())
            .limit(limit)
        )
        with self._database.read() as connection:
            return list(connection.execute(query).scalars())

    def request_stop(self, run_id: int, *, now: datetime) -> Run:
        """Cancel a waiting run at once, ask the runner to stop a running one; an ended one stays as it is."""
        with self._database.write() as connection:
            run = self._get(connection, run_id)
            if run.status == "queued":
                self._update(connection, run_id, status="cancelled", stop_requested=True, ended_at=now)
            elif run.status == "running":
                self._update(connection, run_id, stop_requested=True)
            return self._get(connection, run_id)

    def delete(self, run_id: int) -> None:
        """Remove an ended run with its rows. Raises Conflict while it is active, NotFound when it is not there."""
        with self._database.write() as connection:
            if self._get(connection, run_id).is_active:
                raise Conflict(
                    Text("This run is still active.", "这次运行还没有结束。"),
                    remedy=Text("Cancel it first, then delete it.", "请先取消，再删除。"),
                )
            connection.execute(bench_row.delete().where(bench_row.c.run_id == run_id))
            connection.execute(bench_finding.delete().where(bench_finding.c.run_id == run_id))
            connection.execute(bench_run.delete().where(bench_run.c.id == run_id))

    def has_waiting(self) -> bool:
        """Whether this home has a run for the runner to see to."""
        query = select(bench_run.c.id).where(bench_run.c.home == self._home, bench_run.c.status.in_(ACTIVE)).limit(1)
        with self._database.read() as connection:
            return connection.execute(query).first() is not None

    # --- what the runner does --------------------------------------------------------------------------------------

    def waiting(self) -> list[Run]:
        """The waiting runs of this home, oldest first."""
        return self._with_status("queued")

    def claim(self, run_id: int, *, now: datetime) -> Run | None:
        """The run, now marked running; None when it no longer waits."""
        with self._database.write() as connection:
            still = select(bench_run.c.id).where(bench_run.c.id == run_id, bench_run.c.status == "queued")
            if connection.execute(still.with_for_update()).first() is None:
                return None
            self._update(connection, run_id, status="running", started_at=now)
            return self._get(connection, run_id)

    def running(self) -> list[Run]:
        """The runs of this home marked running, oldest first: after a restart, those to adopt or end."""
        return self._with_status("running")

    def is_stop_requested(self, run_id: int) -> bool:
        """Whether somebody asked to stop the run; also when it is no longer there."""
        with self._database.read() as connection:
            query = select(bench_run.c.stop_requested).where(bench_run.c.id == run_id)
            return connection.execute(query).scalar() is not False

    def started(self, run_id: int, *, command: Sequence[str], leader: ProcessId) -> None:
        """The launcher runs."""
        with self._database.write() as connection:
            self._update(connection, run_id, command=list(command), leader=leader.to_json())

    def set_started(self, run_id: int, started: Sequence[RankStarted]) -> None:
        """The ranks that have reported so far."""
        with self._database.write() as connection:
            self._update(connection, run_id, started_ranks=clean(plain(tuple(started))))

    def set_environment(self, run_id: int, environment: Environment) -> None:
        """What the ranks say of their machine."""
        with self._database.write() as connection:
            self._update(connection, run_id, environment=clean(plain(environment)))

    def set_progress(self, run_id: int, progress: Progress) -> None:
        """Where the run is."""
        with self._database.write() as connection:
            self._update(connection, run_id, progress={**plain(progress), "heard_at": progress.heard_at.isoformat()})

    def append_row(self, run_id: int, position: int, row: Row) -> None:
        """Keep one row; a position that is there already stays as it is, so a log may be read again."""
        with self._database.write() as connection:
            there = select(bench_row.c.position).where(bench_row.c.run_id == run_id, bench_row.c.position == position)
            if connection.execute(there).first() is None:
                connection.execute(bench_row.insert().values(run_id=run_id, position=position, row=clean(plain(row))))

    def append_finding(self, run_id: int, position: int, finding: Finding) -> None:
        """Keep one finding, like a row."""
        there = select(bench_finding.c.position).where(
            bench_finding.c.run_id == run_id, bench_finding.c.position == position
        )
        with self._database.write() as connection:
            if connection.execute(there).first() is None:
                self._insert_finding(connection, run_id, position, finding)

    def set_gemm(self, run_id: int, gemm: Gemm) -> None:
        """The matrix-multiplication rate."""
        with self._database.write() as connection:
            self._update(connection, run_id, gemm=clean(plain(gemm)))

    def finish(
        self,
        run_id: int,
        status: Status,
        *,
        now: datetime,
        problems: Sequence[Problem] = (),
        log: Sequence[str] = (),
        drift_percent: float | None = None,
        finished: bool = False,
    ) -> None:
        """The run is over."""
        with self._database.write() as connection:
            self._update(
                connection,
                run_id,
                status=status,
                ended_at=now,
                problems=[clean(plain(problem)) for problem in problems[:MAXIMUM_PROBLEMS]],
                log=clean("\n".join(log)),
                drift_percent=drift_percent,
                finished=finished,
            )

    # ---------------------------------------------------------------------------------------------------------------

    def _get(self, connection: Connection, run_id: int) -> Run:
        found = connection.execute(select(bench_run, _row_count).where(bench_run.c.id == run_id)).mappings().first()
        if found is None:
            raise NotFound(
                Text(f"There is no run {run_id}.", f"没有编号为 {run_id} 的运行。"),
                remedy=Text(
                    "It may have been deleted; the Bench page lists all runs.",
                    "它可能已被删除；基准测试页列出了所有运行。",
                ),
            )
        return run_of(found)

    def _with_status(self, status: Status) -> list[Run]:
        query = (
            select(bench_run, _row_count)
            .where(bench_run.c.home == self._home, bench_run.c.status == status)
            .order_by(bench_run.c.id)
        )
        with self._database.read() as connection:
            return [run_of(row) for row in connection.execute(query).mappings()]

    def _insert_finding(self, connection: Connection, run_id: int, position: int, finding: Finding) -> None:
        values = {"kind": type(finding).__name__, "body": clean(plain(finding))}
        connection.execute(bench_finding.insert().values(run_id=run_id, position=position, **values))

    def _update(self, connection: Connection, run_id: int, **values: object) -> None:
        connection.execute(bench_run.update().where(bench_run.c.id == run_id).values(values))
