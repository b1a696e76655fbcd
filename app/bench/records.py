"""How a run stands in the database: rows of `bench_run` to snapshots, and values made fit to be stored."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from app.bench.codec import build
from app.bench.events import Environment, Gemm, Job, Problem, RankStarted
from app.bench.process import ProcessId
from app.bench.runs import Progress, Run
from app.bench.spec import RunSpec


def run_of(row: Mapping[Any, Any]) -> Run:
    """The run that a row of `bench_run` holds; `rows` counts its measured rows."""
    progress = row["progress"]
    return Run(
        id=row["id"],
        node=row["node"],
        status=row["status"],
        spec=RunSpec.from_json(row["spec"]),
        stop_requested=row["stop_requested"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        command=tuple(row["command"] or ()),
        leader=None if row["leader"] is None else ProcessId.from_json(row["leader"]),
        started=tuple(build(RankStarted, rank) for rank in row["started_ranks"]),
        progress=None if progress is None else _progress(progress),
        environment=None if row["environment"] is None else build(Environment, row["environment"]),
        gemm=None if row["gemm"] is None else build(Gemm, row["gemm"]),
        problems=tuple(build(Problem, problem) for problem in row["problems"]),
        drift_percent=row["drift_percent"],
        finished=row["finished"],
        log=tuple(row["log"].splitlines()),
        rows=row["rows"],
    )


def _progress(raw: dict[str, Any]) -> Progress:
    job = raw.get("job")
    heard_at = datetime.fromisoformat(raw["heard_at"])
    return Progress(**{**raw, "heard_at": heard_at, "job": None if job is None else build(Job, job)})


def clean(value: Any) -> Any:
    """A JSON value without NUL characters, which PostgreSQL does not store."""
    if isinstance(value, str):
        return value.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    if isinstance(value, dict):
        return {key: clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clean(item) for item in value]
    return value
