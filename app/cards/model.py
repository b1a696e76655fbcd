"""What a card is, what a learner knows of it, and the four grades.

A card carries the Markdown of both languages and is known by an id built from the author's ids, so an edit, a move
or a translation never costs progress. `Memory` is all the schedule needs; only `schedule.py` knows how it changes.
Start reading at `cut.py` for where cards come from, at `queue.py` for which one is next.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Literal

from app.content.model import Embed, MustHit
from app.core.i18n import Language, Text

Kind = Literal["answer", "concept", "concept-reverse", "followup", "cloze", "wrong", "drill", "timeline"]
Phase = Literal["new", "learning", "review", "relearning"]

KIND_TITLES: Mapping[Kind, Text] = {
    "answer": Text("Spoken answer", "口头回答"),
    "concept": Text("Concept", "概念"),
    "concept-reverse": Text("Name the term", "说出术语"),
    "followup": Text("Follow-up", "追问"),
    "cloze": Text("Fill the gap", "填空"),
    "wrong": Text("True or false", "判断对错"),
    "drill": Text("Work it out", "计算题"),
    "timeline": Text("Read the timeline", "读时间线"),
}


class Grade(IntEnum):
    """How well it was remembered."""

    AGAIN = 1
    HARD = 2
    GOOD = 3
    EASY = 4


GRADE_TITLES: Mapping[Grade, Text] = {
    Grade.AGAIN: Text("Again", "重来"),
    Grade.HARD: Text("Hard", "困难"),
    Grade.GOOD: Text("Good", "良好"),
    Grade.EASY: Text("Easy", "简单"),
}


@dataclass(frozen=True, slots=True)
class Basic:
    """A front and a back, as Markdown. `spoken` is English in every language and stands above the back."""

    front: str
    back: str
    spoken: str = ""


@dataclass(frozen=True, slots=True)
class Hidden:
    """A must-hit point with the span `key` hidden."""

    must: MustHit
    key: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A wrong claim and the fact against it; one of them is shown, to be judged."""

    claim: str
    fact: str


@dataclass(frozen=True, slots=True)
class Exercise:
    """A calculator to be worked with fresh numbers, or a timeline to be read."""

    embed: Embed


Face = Basic | Hidden | Claim | Exercise


@dataclass(frozen=True, slots=True)
class Card:
    """One thing to remember. `group` is shared by siblings, of which one a day is enough."""

    id: str
    kind: Kind
    question: str
    topic: str
    group: str
    faces: Mapping[Language, Face]

    @property
    def anchor(self) -> str:
        """The id of the element of the study page that this card was cut from."""
        section, _, item = self.group.removeprefix(f"{self.question}/").partition("/")
        if section in {"drill", "timeline"}:
            return item
        return f"{section}-{item}" if item else section

    def face(self, language: Language) -> Face:
        """The face in `language`, or in the other one where the page is missing or broken."""
        return self.faces.get(language) or next(iter(self.faces.values()))


@dataclass(frozen=True, slots=True)
class Memory:
    """What the schedule knows of one card for one learner. Instants are UTC; stability is in days.

    `step` counts the learning steps done and is None outside (re)learning.
    """

    phase: Phase = "new"
    step: int | None = None
    stability: float | None = None
    difficulty: float | None = None
    due_at: datetime | None = None
    reviewed_at: datetime | None = None
    reps: int = 0
    lapses: int = 0


NEW = Memory()


@dataclass(frozen=True, slots=True)
class CardState:
    """A card's memory with what the learner decided about it. `version` grows with every logged change."""

    version: int = 0
    memory: Memory = NEW
    suspended: bool = False
    flagged: bool = False


UNSEEN = CardState()
