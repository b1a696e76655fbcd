"""Imported logs."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "bench_import",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("is_masked", sa.Boolean, nullable=False),
        sa.Column("tool", sa.String(60), nullable=False),
        sa.Column("size_bytes", sa.Integer, nullable=False),
        sa.Column("document", JSON, nullable=False),
        sa.Column("confirmed", JSON, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_bench_import"),
        sa.UniqueConstraint("sha256", "is_masked", name="uq_bench_import_sha256_is_masked"),
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    op.drop_table("bench_import")
