"""`question.yaml` and `topic.yaml`: their fields, checked, with an error that names the line.

What is read here are the author's own words; `parse.py` joins them with the pages to a
`Question`. `field_errors.py` says what pydantic found in an author's words.
"""

import re
from collections.abc import Mapping
from datetime import date
from functools import partial
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, StringConstraints, ValidationError

from app.content import field_errors
from app.content.dialect.citation import KEY
from app.content.findings import Findings
from app.content.model import Asked, Model, Planned, Source
from app.content.yaml_lines import Document, Location, YamlProblem, read
from app.core.i18n import Language, Text

SLUG = r"[a-z0-9]+(?:-[a-z0-9]+)*"

ModelT = TypeVar("ModelT", bound=BaseModel)


def _iso_date(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value):
        return date.fromisoformat(value)
    raise ValueError("write it as 2026-11-29")


Slug = Annotated[str, StringConstraints(pattern=f"^{SLUG}$")]
SourceKey = Annotated[str, StringConstraints(pattern=f"^{KEY}$")]
Line = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Date = Annotated[date, BeforeValidator(_iso_date)]
Url = Annotated[str, StringConstraints(pattern=r"^https?://[^\s<>\"]+$")]
Order = Annotated[int, Field(ge=0, le=1_000_000)]


class Pair(Model):
    """The same text in both languages."""

    en: Line
    zh: Line

    def text(self) -> Text:
        """The pair as the app's text."""
        return Text(self.en, self.zh)


class SourceEntry(Model):
    """One of the `sources:`; its key is the mapping's."""

    title: Line
    locator: Line
    url: Url | Literal[""] = ""
    checked: Date

    def source(self, key: str) -> Source:
        """The source under `key`."""
        return Source(key=key, title=self.title, locator=self.locator, url=self.url, checked=self.checked)


class AskedEntry(Model):
    """One of `asked_by:`."""

    company: Pair
    round: Pair | None = None
    quote: Line
    language: Language = "zh"
    source: SourceKey | Literal[""] = ""

    def asked(self) -> Asked:
        """Who asked it."""
        return Asked(
            company=self.company.text(),
            round=self.round.text() if self.round else None,
            quote=self.quote,
            language=self.language,
            source=self.source,
        )


class QuestionFile(Model):
    """What stands in `question.yaml`."""

    slug: Slug
    order: Order
    short: Pair | None = None
    tags: tuple[Line, ...] = ()
    prerequisites: tuple[Slug, ...] = ()
    status: Literal["asked", "inferred"]
    experimental: Date | None = None
    verified_on: Date | None = None
    asked_by: tuple[AskedEntry, ...] = ()
    sources: Mapping[SourceKey, SourceEntry] = {}


class PlannedEntry(Model):
    """One of `planned:`."""

    slug: Slug
    title: Pair

    def planned(self) -> Planned:
        """The question that is not written yet."""
        return Planned(slug=self.slug, title=self.title.text())


class TopicFile(Model):
    """What stands in `topic.yaml`."""

    order: Order
    title: Pair
    summary: Pair
    planned: tuple[PlannedEntry, ...] = ()


def read_file(text: str, model: type[ModelT], *, findings: Findings) -> tuple[ModelT, Document] | None:
    """The file as a `model` with the lines of its fields, or None after noting what is wrong."""
    try:
        document = read(text)
    except YamlProblem as problem:
        findings.add(problem.line, problem.what, problem.remedy)
        return None
    if not isinstance(document.value, dict):
        findings.add(1, "The file holds no fields.", "Write `key: value` lines; content/README.md has an example.")
        return None
    try:
        return model.model_validate(document.value), document
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            field_errors.note(detail, document, fields_at=partial(_fields_at, model), findings=findings)
        return None


def _fields_at(model: type[BaseModel], location: Location) -> tuple[str, ...]:
    """The names a mapping at `location` may hold."""
    entries: dict[str | int, type[BaseModel]] = {
        **dict.fromkeys(("company", "round", "title", "summary", "short"), Pair),
        "asked_by": AskedEntry,
        "sources": SourceEntry,
        "planned": PlannedEntry,
    }
    for part in location:
        model = entries.get(part, model)
    return tuple(model.model_fields)
