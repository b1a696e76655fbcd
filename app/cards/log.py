"""Lines of the review log as the rest of the app reads them; `store.py` writes them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from app.cards.model import Grade, Phase

EntryKind = Literal["answer", "suspend", "resume", "undo"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the log. `undone` tells whether a later entry took it back."""

    id: int
    card: str
    version: int
    kind: EntryKind
    grade: Grade | None
    reviewed_at: datetime
    duration_ms: int | None
    phase_before: Phase
    scheduler: str
    undone: bool


@dataclass(frozen=True, slots=True)
class Quarter:
    """Answers given in one quarter of an hour."""

    quarter_hour: int
    answers: int
    duration_ms: int
