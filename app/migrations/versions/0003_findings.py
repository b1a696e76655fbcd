"""What a run measures besides rows."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "bench_finding",
        sa.Column("run_id", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("body", JSON, nullable=False),
        sa.PrimaryKeyConstraint("run_id", "position", name="pk_bench_finding"),
        sa.ForeignKeyConstraint(
            ["run_id"], ["bench_run.id"], name="fk_bench_finding_run_id_bench_run", ondelete="CASCADE"
        ),
    )


def downgrade() -> None:
    op.drop_table("bench_finding")
