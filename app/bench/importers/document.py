"""An import as the JSON object that `ringside import log --json` prints.

Rows have the names that every table of this program uses; figures that are absent are null.
"""

from dataclasses import asdict
from typing import Any

from app.bench.importers.model import Badge, Half, Import, ImportedRow, ImportedRun, Table


def document(imported: Import) -> dict[str, Any]:
    """The whole import. `reason` is there when there is nothing to read."""
    return {
        "tool": imported.tool,
        "runs": [_run(run) for run in imported.runs],
        "dropped_variables": imported.dropped_variables,
        "badges": [_badge(badge) for badge in imported.badges],
    } | ({"reason": imported.reason.en, "reason_zh": imported.reason.zh} if imported.reason else {})


def _run(run: ImportedRun) -> dict[str, Any]:
    return {
        "tool": run.tool,
        "operation": run.operation,
        "operation_basis": run.operation_basis,
        "ranks": run.ranks,
        "ranks_basis": run.ranks_basis,
        "rows": [_row(row) for row in run.rows],
        "footer_average_busbw_gb_per_s": run.footer_average_busbw_gb_per_s,
        "out_of_bounds": run.out_of_bounds,
        "badges": [_badge(badge) for badge in run.badges],
        "needs_confirmation": run.needs_confirmation,
        "may_feed_fits": run.may_feed_fits,
        "hosts": list(run.hosts),
        "devices": [asdict(device) for device in run.devices],
        "parameters": dict(run.parameters),
        "tables": [_table(table) for table in run.tables],
    }


def _row(row: ImportedRow) -> dict[str, Any]:
    return {
        "size_bytes": row.size_bytes,
        "count": row.count,
        "dtype": row.dtype,
        "redop": row.redop,
        "root": row.root,
        "out_of_place": _half(row.out_of_place),
        "in_place": _half(row.in_place),
        "line": row.line,
        "flags": list(row.flags),
        "extra": list(row.extra),
    }


def _half(half: Half | None) -> dict[str, float | None] | None:
    return None if half is None else asdict(half)


def _badge(badge: Badge) -> dict[str, Any]:
    return {"kind": badge.kind, "line": badge.line, "text": badge.text.en, "text_zh": badge.text.zh}


def _table(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "title": table.title,
        "unit": table.unit,
        "columns": list(table.columns),
        "rows": [{"name": name, "values": list(values)} for name, values in table.rows],
        "total": table.total,
        "line": table.line,
    }
