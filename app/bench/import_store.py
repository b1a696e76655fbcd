"""Imported logs in the database.

A log that was kept before is found again instead of kept twice. Ids are not used again, since links and profiles carry them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import IntegrityError

from app.bench.codec import plain
from app.bench.importers.document import document
from app.bench.importers.restore import restore
from app.bench.imports import Confirmed, Draft, KeptImport
from app.bench.records import clean
from app.core.db import Database
from app.core.errors import InvalidInput, NotFound
from app.core.i18n import Text
from app.core.schema.imports import bench_import

MAXIMUM_DOCUMENT = 8 * 1024 * 1024
"""Characters of JSON: some 30 000 rows."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A line of the list."""

    id: int
    created_at: datetime
    name: str
    tool: str


@dataclass(frozen=True, slots=True)
class Revision:
    """A kept log as it stands now; another confirmation is another revision."""

    id: int
    confirmed: tuple[tuple[int, Confirmed], ...]


class ImportStore:
    """The imported logs of one installation."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, draft: Draft, *, now: datetime) -> tuple[int, bool]:
        """The id of the log, and whether it is new. Raises InvalidInput for one that has nothing to keep, or too much."""
        if draft.imported.reason is not None:
            raise InvalidInput({"log": draft.imported.reason})
        body = _storable(document(draft.imported))
        size = len(json.dumps(body))
        if size > MAXIMUM_DOCUMENT:
            rows = sum(len(run.rows) for run in draft.imported.runs)
            raise InvalidInput(
                {
                    "log": Text(
                        f"This log has {rows:,} rows, too many to keep. Import the parts that you need one by one.",
                        f"这个日志有 {rows:,} 行数据，太多了，无法保存。请只导入需要的部分。",
                    )
                }
            )
        values = {
            "created_at": now,
            "name": _storable(draft.name),
            "sha256": draft.sha256,
            "is_masked": draft.is_masked,
            "tool": (draft.imported.tool or "")[:60],
            "size_bytes": draft.size_bytes,
            "document": body,
            "confirmed": {},
        }
        try:
            with self._database.write() as connection:
                there = self._known(connection, draft)
                if there is not None:
                    return there, False
                insert = bench_import.insert().values(values).returning(bench_import.c.id)
                import_id: int = connection.execute(insert).scalar_one()
                return import_id, True
        except IntegrityError:
            # Somebody else kept the same log between the look and the write, which PostgreSQL allows.
            with self._database.read() as connection:
                there = self._known(connection, draft)
            if there is None:
                raise
            return there, False

    def get(self, import_id: int) -> KeptImport:
        """The log. Raises NotFound."""
        with self._database.read() as connection:
            row = connection.execute(select(bench_import).where(bench_import.c.id == import_id)).mappings().first()
        if row is None:
            raise _no_import(import_id)
        return KeptImport(
            id=row["id"],
            created_at=row["created_at"],
            name=row["name"],
            sha256=row["sha256"],
            is_masked=row["is_masked"],
            size_bytes=row["size_bytes"],
            imported=restore(row["document"]),
            confirmed=_confirmed(row["confirmed"]),
        )

    def newest(self, *, limit: int = 50) -> list[Summary]:
        """The newest logs first."""
        columns = bench_import.c
        query = select(columns.id, columns.created_at, columns.name, columns.tool).order_by(columns.id.desc())
        with self._database.read() as connection:
            return [Summary(*row) for row in connection.execute(query.limit(limit))]

    def count(self) -> int:
        """How many logs there are."""
        with self._database.read() as connection:
            return connection.execute(select(func.count()).select_from(bench_import)).scalar_one()

    def revisions(self, *, limit: int) -> list[Revision]:
        """The newest logs first, without their contents."""
        query = select(bench_import.c.id, bench_import.c.confirmed).order_by(bench_import.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            return [_revision(row.id, row.confirmed) for row in connection.execute(query)]

    def revision(self, import_id: int) -> Revision | None:
        """One of them; None when there is no such log."""
        query = select(bench_import.c.confirmed).where(bench_import.c.id == import_id)
        with self._database.read() as connection:
            row = connection.execute(query).first()
        return None if row is None else _revision(import_id, row.confirmed)

    def confirm(self, import_id: int, number: int, confirmed: Confirmed | None) -> None:
        """Keep what a person vouched for of run `number`, or take it back. Raises NotFound."""
        query = select(bench_import.c.confirmed, bench_import.c.document).where(bench_import.c.id == import_id)
        with self._database.write() as connection:
            row = connection.execute(query.with_for_update()).first()
            if row is None or not 1 <= number <= len(row.document["runs"]):
                raise _no_import(import_id)
            known: dict[str, Any] = {**row.confirmed}
            known.pop(str(number), None)
            if confirmed is not None:
                known[str(number)] = plain(confirmed)
            connection.execute(bench_import.update().where(bench_import.c.id == import_id).values(confirmed=known))

    def delete(self, import_id: int) -> None:
        """Forget the log. Raises NotFound."""
        with self._database.write() as connection:
            if connection.execute(bench_import.delete().where(bench_import.c.id == import_id)).rowcount == 0:
                raise _no_import(import_id)

    def _known(self, connection: Connection, draft: Draft) -> int | None:
        """The id under which the same log was kept; without its masking it is another one."""
        query = select(bench_import.c.id).where(
            bench_import.c.sha256 == draft.sha256, bench_import.c.is_masked == draft.is_masked
        )
        return connection.execute(query).scalar()


def _confirmed(raw: Mapping[str, Any]) -> dict[int, Confirmed]:
    return {int(number): Confirmed(**entry) for number, entry in raw.items()}


def _revision(import_id: int, raw: Mapping[str, Any]) -> Revision:
    return Revision(import_id, tuple(sorted(_confirmed(raw).items(), key=lambda entry: entry[0])))


def _storable(value: Any) -> Any:
    """Without what a database cannot hold: NUL characters, and halves of characters that JSON escapes can spell."""
    cleaned = clean(value)
    if isinstance(cleaned, str):
        return cleaned.encode("utf-8", "replace").decode()
    if isinstance(cleaned, dict):
        return {_storable(key): _storable(item) for key, item in cleaned.items()}
    if isinstance(cleaned, list):
        return [_storable(item) for item in cleaned]
    return cleaned


def _no_import(import_id: int) -> NotFound:
    return NotFound(
        Text(f"There is no import {import_id}.", f"没有编号为 {import_id} 的导入。"),
        remedy=Text(
            "It may have been deleted; the Bench page lists all imports.", "它可能已被删除；基准测试页列出了全部导入。"
        ),
    )
