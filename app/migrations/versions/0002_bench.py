"""Benchmark runs and their rows."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

INSTANT = sa.DateTime(timezone=True)
JSON = sa.JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "bench_run",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("home", sa.String(64), nullable=False),
        sa.Column("node", sa.String(64), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("spec", JSON, nullable=False),
        sa.Column("stop_requested", sa.Boolean, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("started_at", INSTANT),
        sa.Column("ended_at", INSTANT),
        sa.Column("command", JSON),
        sa.Column("leader", JSON),
        sa.Column("started_ranks", JSON, nullable=False),
        sa.Column("progress", JSON),
        sa.Column("environment", JSON),
        sa.Column("gemm", JSON),
        sa.Column("problems", JSON, nullable=False),
        sa.Column("drift_percent", sa.Double),
        sa.Column("finished", sa.Boolean, nullable=False),
        sa.Column("log", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_bench_run"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_bench_run_home_status", "bench_run", ["home", "status"])
    op.create_table(
        "bench_row",
        sa.Column("run_id", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("row", JSON, nullable=False),
        sa.PrimaryKeyConstraint("run_id", "position", name="pk_bench_row"),
        sa.ForeignKeyConstraint(["run_id"], ["bench_run.id"], name="fk_bench_row_run_id_bench_run", ondelete="CASCADE"),
    )


def downgrade() -> None:
    op.drop_table("bench_row")
    op.drop_table("bench_run")
