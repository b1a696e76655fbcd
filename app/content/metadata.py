"""`question.yaml` and `topic.yaml`: their fields, checked, with an error that names the line.

What is read here are the author's own words; `parse.py` joins them with the pages to a
`Question`. Error messages are ours: pydantic's own speak of Python types.
"""

import difflib
import re
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, StringConstraints, ValidationError

from app.content.dialect.citation import KEY
from app.content.findings import Findings
from app.content.model import Asked, Model, Planned, Source
from app.content.yaml_lines import Document, YamlProblem, read
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
            _note(detail, document, model, findings)
        return None


def _note(detail: Any, document: Document, model: type[BaseModel], findings: Findings) -> None:
    location: tuple[str | int, ...] = detail["loc"]
    while location and location not in document.lines and detail["type"] not in {"missing", "extra_forbidden"}:
        location = location[:-1]  # pydantic adds the branch of a union, which the author does not see
    what, remedy = _explain(detail, _name(location), _fields(model, location[:-1]))
    findings.add(document.line(location), what, remedy)


def _name(location: tuple[str | int, ...]) -> str:
    """`asked_by 1 company` for the path of a field; items are counted from 1."""
    return " ".join(str(part + 1) if isinstance(part, int) else str(part) for part in location)


def _fields(model: type[BaseModel], location: tuple[str | int, ...]) -> tuple[str, ...]:
    entries: dict[str, type[BaseModel]] = {"asked_by": AskedEntry, "sources": SourceEntry, "planned": PlannedEntry}
    for part in location:
        if isinstance(part, str) and part in {"company", "round", "title", "summary"}:
            model = Pair
        elif isinstance(part, str) and part in entries:
            model = entries[part]
    return tuple(model.model_fields)


def _explain(detail: Any, name: str, fields: tuple[str, ...]) -> tuple[str, str]:
    given = detail["input"]
    context = detail.get("ctx", {})
    match detail["type"]:
        case "missing":
            return f"`{name}` is missing.", f"Add `{name.rsplit(maxsplit=1)[-1]}:`."
        case "extra_forbidden":
            close = difflib.get_close_matches(name.rsplit(maxsplit=1)[-1], fields, n=1)
            hint = f"Did you mean `{close[0]}`?" if close else f"The fields here are {', '.join(fields)}."
            return f"`{name}` is not a field here.", hint
        case "literal_error":
            return f"`{name}` cannot be {given!r}.", f"Write {context['expected']}."
        case "int_parsing" | "int_type" | "greater_than_equal" | "less_than_equal":
            return f"`{name}` is not a whole number from 0 to 1,000,000.", "Write one, such as 20."
        case "string_pattern_mismatch" if name.rsplit(maxsplit=1)[-1] == "url":
            return f"`{name}` is not a web address.", "Begin it with https:// and leave out spaces."
        case "string_pattern_mismatch":
            return f"`{name}` cannot be {given!r}.", "Use lower-case letters, digits and dashes."
        case "string_too_short":
            return f"`{name}` is empty.", "Write something or remove the field."
        case "string_type":
            return f"`{name}` is not a line of text.", "Write the text after the colon."
        case "tuple_type":
            return f"`{name}` is not a list.", "Write it as [one, two] or as lines that begin with a dash."
        case "value_error":
            return f"`{name}` is not a date.", "Write it as 2026-11-29."
        case "model_type" | "dict_type" | "mapping_type" | "model_attributes_type" if set(fields) == {"en", "zh"}:
            return f"`{name}` is not written in both languages.", "Write `{en: …, zh: …}`."
        case "model_type" | "dict_type" | "mapping_type":
            return f"`{name}` has no fields of its own.", "Write `key: value` lines under it."
        case _:
            return f"`{name}` is not valid: {detail['msg']}.", "See content/README.md."
