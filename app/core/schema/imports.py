"""Table of the logs that were imported: one row a log, with what was read from it and what its owner confirmed.

The text of a log is not kept. `document` is what `ringside import log --json` prints; `confirmed` maps the number of a run to the
operation and ranks that a person vouched for. Ids are not used again after a deletion, since links and profiles carry them.
"""

from sqlalchemy import Boolean, Column, Integer, String, Table, UniqueConstraint

from app.core.schema.metadata import Json, UtcInstant, metadata

bench_import = Table(
    "bench_import",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("created_at", UtcInstant, nullable=False),
    Column("name", String(200), nullable=False),
    # Of the text as it was read; the same log with its hosts masked is another import.
    Column("sha256", String(64), nullable=False),
    Column("is_masked", Boolean, nullable=False),
    Column("tool", String(60), nullable=False),
    Column("size_bytes", Integer, nullable=False),
    Column("document", Json, nullable=False),
    Column("confirmed", Json, nullable=False),
    UniqueConstraint("sha256", "is_masked"),
    sqlite_autoincrement=True,
)
