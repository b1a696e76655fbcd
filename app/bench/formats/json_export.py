"""A run as one JSON object: what `ringside bench --json` prints and the download of a run holds.

The names of a row are those of every table in this program; figures carry their unit in the name. The fits are passed in, because
they are made above this package.
"""

from collections.abc import Mapping
from typing import Any

from app.bench.codec import plain
from app.bench.result import RunResult
from app.bench.wire import SCHEMA


def document(result: RunResult, *, fits: Mapping[str, Any]) -> dict[str, Any]:
    """The run with `fits`, a JSON object per operation. Parts that are not there are empty objects."""
    return {
        "schema": SCHEMA,
        "finished": result.finished,
        "specification": result.spec.to_json(),
        "environment": plain(result.environment) if result.environment else {},
        "rows": plain(result.rows),
        "fits": dict(fits),
        "gemm": plain(result.gemm) if result.gemm else {},
        "latencies": plain(result.latencies),
        "overlaps": plain(result.overlaps),
        "copies": plain(result.copies),
        "links": plain(result.links),
        "reports": plain(result.reports),
        "drift_percent": result.drift_percent,
        "problems": plain(result.problems),
    }
