"""An import from the JSON object that `document.py` makes of it: what was kept comes back as it was read."""

from collections.abc import Mapping
from typing import Any

from app.bench.importers.model import Badge, Device, Half, Import, ImportedRow, ImportedRun, Table
from app.core.i18n import Text


def restore(document: Mapping[str, Any]) -> Import:
    """The import. Raises KeyError or TypeError for an object that `document` did not make."""
    reason = document.get("reason")
    return Import(
        tool=document["tool"],
        runs=tuple(_run(run) for run in document["runs"]),
        reason=None if reason is None else Text(reason, document["reason_zh"]),
        dropped_variables=document["dropped_variables"],
        badges=tuple(_badge(badge) for badge in document["badges"]),
    )


def _run(raw: Mapping[str, Any]) -> ImportedRun:
    return ImportedRun(
        tool=raw["tool"],
        operation=raw["operation"],
        operation_basis=raw["operation_basis"],
        ranks=raw["ranks"],
        ranks_basis=raw["ranks_basis"],
        hosts=tuple(raw["hosts"]),
        devices=tuple(Device(**device) for device in raw["devices"]),
        rows=tuple(_row(row) for row in raw["rows"]),
        footer_average_busbw_gb_per_s=raw["footer_average_busbw_gb_per_s"],
        out_of_bounds=raw["out_of_bounds"],
        badges=tuple(_badge(badge) for badge in raw["badges"]),
        parameters=dict(raw["parameters"]),
        tables=tuple(_table(table) for table in raw["tables"]),
    )


def _row(raw: Mapping[str, Any]) -> ImportedRow:
    return ImportedRow(
        size_bytes=raw["size_bytes"],
        count=raw["count"],
        dtype=raw["dtype"],
        redop=raw["redop"],
        root=raw["root"],
        out_of_place=_half(raw["out_of_place"]),
        in_place=_half(raw["in_place"]),
        line=raw["line"],
        flags=tuple(raw["flags"]),
        extra=tuple(raw["extra"]),
    )


def _half(raw: Mapping[str, Any] | None) -> Half | None:
    return None if raw is None else Half(**raw)


def _badge(raw: Mapping[str, Any]) -> Badge:
    return Badge(raw["kind"], Text(raw["text"], raw["text_zh"]), raw["line"])


def _table(raw: Mapping[str, Any]) -> Table:
    return Table(
        name=raw["name"],
        title=raw["title"],
        unit=raw["unit"],
        columns=tuple(raw["columns"]),
        rows=tuple((row["name"], tuple(row["values"])) for row in raw["rows"]),
        total=raw["total"],
        line=raw["line"],
    )
