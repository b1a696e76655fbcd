"""Tables of the benchmark: one row a run, one row a measured size, one row another finding.

A run's row is the only thing the web app and the runner share: the web app enqueues and asks for a stop, the runner
claims and reports. `home` names the data folder that holds the run's files, so that two installations on one database
never touch each other's runs. Ids are not used again after a deletion, since links and profiles carry them.
"""

from sqlalchemy import Boolean, Column, Double, ForeignKey, Index, Integer, String, Table, Text

from app.core.schema.metadata import Json, UtcInstant, metadata

bench_run = Table(
    "bench_run",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("home", String(64), nullable=False),
    Column("node", String(64), nullable=False),
    Column("status", String(20), nullable=False),
    Column("spec", Json, nullable=False),
    Column("stop_requested", Boolean, nullable=False),
    Column("created_at", UtcInstant, nullable=False),
    Column("started_at", UtcInstant),
    Column("ended_at", UtcInstant),
    Column("command", Json),
    # Process ids with their start times: the launcher's, and every rank's once it has reported.
    Column("leader", Json),
    Column("started_ranks", Json, nullable=False),
    Column("progress", Json),
    Column("environment", Json),
    Column("gemm", Json),
    Column("problems", Json, nullable=False),
    Column("drift_percent", Double),
    Column("finished", Boolean, nullable=False),
    Column("log", Text, nullable=False),
    Index("ix_bench_run_home_status", "home", "status"),
    sqlite_autoincrement=True,
)

bench_row = Table(
    "bench_row",
    metadata,
    Column("run_id", Integer, ForeignKey("bench_run.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("row", Json, nullable=False),
)

bench_finding = Table(
    "bench_finding",
    metadata,
    Column("run_id", Integer, ForeignKey("bench_run.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    # The name of the event in app/bench/events.py: Overlap, Copy, Link, Report.
    Column("kind", String(20), nullable=False),
    Column("body", Json, nullable=False),
)
