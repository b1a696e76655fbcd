"""Tables of the cards: what each learner knows of each card now, and every answer ever given.

`card_state` is one row a card a learner; `review` only grows. The text of a card is not here: a card is the id an
author wrote, and its row stays when the content drops the id (an orphan), so that it can come back with its history.
Instants are UTC; the study day they belong to is worked out by `app/cards/day.py`, never stored.
"""

from sqlalchemy import (
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    SmallInteger,
    String,
    Table,
    UniqueConstraint,
)

from app.core.schema.metadata import Json, UtcInstant, metadata

card_state = Table(
    "card_state",
    metadata,
    Column("learner", String(64), primary_key=True),
    Column("card", String(200), primary_key=True),
    Column("version", Integer, nullable=False),
    # No phase means a new card: the row is there because it was flagged, suspended or its first answer undone.
    Column("phase", String(10)),
    Column("step", Integer),
    Column("stability", Double),
    Column("difficulty", Double),
    Column("due_at", UtcInstant),
    Column("reviewed_at", UtcInstant),
    Column("reps", Integer, nullable=False),
    Column("lapses", Integer, nullable=False),
    Column("suspended", Boolean, nullable=False),
    Column("flagged", Boolean, nullable=False),
)

review = Table(
    "review",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("learner", String(64), nullable=False),
    Column("card", String(200), nullable=False),
    # The state version this was given against: with the unique key below, one state takes one answer.
    Column("version", Integer, nullable=False),
    Column("kind", String(10), nullable=False),
    Column("grade", SmallInteger),
    Column("reviewed_at", UtcInstant, nullable=False),
    # Quarters of an hour since 1970: sums per study day group by it, because every zone in use is a multiple off UTC.
    Column("quarter_hour", Integer, nullable=False),
    Column("duration_ms", Integer),
    Column("phase_before", String(10)),
    Column("before", Json, nullable=False),
    Column("after", Json, nullable=False),
    Column("scheduler", String(40), nullable=False),
    Column("undoes", Integer, ForeignKey("review.id")),
    UniqueConstraint("learner", "card", "version"),
    UniqueConstraint("undoes"),
    Index("ix_review_learner_reviewed_at", "learner", "reviewed_at"),
    Index("ix_review_learner_quarter_hour", "learner", "quarter_hour"),
)
