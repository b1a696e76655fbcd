"""What a question is, once its Markdown has been read. Everything else in the app sees only this.

Text stays Markdown here (with the line it came from); `render.py` turns it into HTML. Ids are
written by the author and are the identity of cards: they survive edits, moves and translation.
"""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from app.core.i18n import Language, Text

SectionName = Literal[
    "asked", "concepts", "picture", "answer", "derivation", "compare", "worked", "must", "followups", "wrong"
]


class Model(BaseModel):
    """Base of the content models: frozen, no unknown names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(Model):
    """Where a fact was read. `locator` is the section, page, table or line."""

    key: str
    title: str
    locator: str
    url: str = ""
    checked: date


class Asked(Model):
    """Who asked it, in the asker's words. Without `source` the quote was handed to us and is not located."""

    company: Text
    round: Text | None = None
    quote: str
    language: Language = "zh"
    source: str = ""


class Prose(Model):
    """A run of Markdown without embeds; `line` is its first line in the file (1-based)."""

    markdown: str
    line: int


class Expectation(Model):
    """A value the author states for a result; `relative` is the tolerance as a share of the value."""

    value: float
    relative: float = 1e-9


class Embed(Model):
    """A live calculator or timeline in the page: ```` ```calculator <slug> {#id} ```` with YAML inside."""

    kind: Literal["calculator", "timeline"]
    id: str
    slug: str
    inputs: Mapping[str, str]
    compare: Mapping[str, str] | None = None
    """Timelines: a second set of inputs drawn on the same axis."""
    expect: Mapping[str, Expectation] = {}
    caption: str = ""
    line: int


Part = Prose | Embed


class Concept(Model):
    """A term and what it is."""

    id: str
    term: str
    body: str
    line: int


class Cloze(Model):
    """One `==hidden==` span of a must-hit point. `key` names its card; `text` is the hidden Markdown."""

    key: str
    text: str


class MustHit(Model):
    """A point a good answer makes. `markdown` still holds the `==` marks."""

    id: str
    markdown: str
    clozes: tuple[Cloze, ...]
    line: int


class FollowUp(Model):
    """What the interviewer asks next, and the answer."""

    id: str
    question: str
    answer: tuple[Part, ...]
    line: int


class Misconception(Model):
    """A wrong claim one hears, and the fact."""

    id: str
    claim: str
    fact: str
    line: int


class Page(Model):
    """One language of a question. Sections an author left out are empty."""

    language: Language
    path: Path
    title: str
    asked: tuple[str, ...] = ()
    concepts: tuple[Concept, ...] = ()
    picture: tuple[Part, ...] = ()
    answer: str = ""
    """en: the spoken answer. zh: its gloss (the answer itself is always English)."""
    derivation: tuple[Part, ...] = ()
    compare: tuple[Part, ...] = ()
    worked: tuple[Part, ...] = ()
    must: tuple[MustHit, ...] = ()
    followups: tuple[FollowUp, ...] = ()
    wrong: tuple[Misconception, ...] = ()

    def embeds(self) -> tuple[Embed, ...]:
        """Every calculator and timeline of the page, in reading order."""
        sections = (self.picture, self.derivation, self.compare, self.worked, *(f.answer for f in self.followups))
        return tuple(part for section in sections for part in section if isinstance(part, Embed))


class Question(Model):
    """A question with both languages, its provenance and its sources."""

    slug: str
    topic: str
    order: int
    short: Text | None = None
    """A few words for lists and chips, where the whole title is too long."""
    tags: tuple[str, ...] = ()
    prerequisites: tuple[str, ...] = ()
    status: Literal["asked", "inferred"]
    experimental: date | None = None
    """The date on which the subject was last seen to be experimental upstream."""
    verified_on: date | None = None
    asked_by: tuple[Asked, ...] = ()
    sources: tuple[Source, ...] = ()
    pages: Mapping[Language, Page]

    def page(self, language: Language) -> Page:
        """The page in `language`, or in the other one where that is missing or broken."""
        return self.pages.get(language) or next(iter(self.pages.values()))

    def label(self, language: Language) -> str:
        """The short name where there is one, else the title, as Markdown."""
        return self.short[language] if self.short else self.page(language).title

    def spoken_answer(self) -> str:
        """The English 30-second answer."""
        return self.pages["en"].answer if "en" in self.pages else ""


class Planned(Model):
    """A question that is not written yet but that others build on; shown grey on the map."""

    slug: str
    title: Text


class Topic(Model):
    """A folder of questions."""

    slug: str
    order: int
    title: Text
    summary: Text
    planned: tuple[Planned, ...] = ()


class Problem(Model):
    """One thing wrong with the content: where, what, and how to mend it."""

    path: Path
    line: int
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what} {self.remedy}"
