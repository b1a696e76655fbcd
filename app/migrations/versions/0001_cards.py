"""The state of each card and the log of every answer."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

INSTANT = sa.DateTime(timezone=True)
JSON = sa.JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "card_state",
        sa.Column("learner", sa.String(64), nullable=False),
        sa.Column("card", sa.String(200), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("phase", sa.String(10)),
        sa.Column("step", sa.Integer),
        sa.Column("stability", sa.Double),
        sa.Column("difficulty", sa.Double),
        sa.Column("due_at", INSTANT),
        sa.Column("reviewed_at", INSTANT),
        sa.Column("reps", sa.Integer, nullable=False),
        sa.Column("lapses", sa.Integer, nullable=False),
        sa.Column("suspended", sa.Boolean, nullable=False),
        sa.Column("flagged", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("learner", "card", name="pk_card_state"),
    )
    op.create_table(
        "review",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("learner", sa.String(64), nullable=False),
        sa.Column("card", sa.String(200), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("grade", sa.SmallInteger),
        sa.Column("reviewed_at", INSTANT, nullable=False),
        sa.Column("quarter_hour", sa.Integer, nullable=False),
        sa.Column("duration_ms", sa.Integer),
        sa.Column("phase_before", sa.String(10)),
        sa.Column("before", JSON, nullable=False),
        sa.Column("after", JSON, nullable=False),
        sa.Column("scheduler", sa.String(40), nullable=False),
        sa.Column("undoes", sa.Integer),
        sa.PrimaryKeyConstraint("id", name="pk_review"),
        sa.ForeignKeyConstraint(["undoes"], ["review.id"], name="fk_review_undoes_review"),
        sa.UniqueConstraint("learner", "card", "version", name="uq_review_learner_card_version"),
        sa.UniqueConstraint("undoes", name="uq_review_undoes"),
    )
    op.create_index("ix_review_learner_reviewed_at", "review", ["learner", "reviewed_at"])
    op.create_index("ix_review_learner_quarter_hour", "review", ["learner", "quarter_hour"])


def downgrade() -> None:
    op.drop_table("review")
    op.drop_table("card_state")
