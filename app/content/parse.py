"""A question's folder and a topic's file, from bytes to the model. Start reading content here.

`question.yaml` is read by `metadata.py`, each language file by `page.py`. Nothing here touches
the disk and nothing raises for what stands in a file: the answer carries the problems. Checks
that need both languages are in `twins.py`, those that need other questions in `library.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.content.dialect.number import Number
from app.content.findings import Findings
from app.content.metadata import QuestionFile, TopicFile, read_file
from app.content.model import Page, Problem, Question, Topic
from app.content.page import ReadPage, parse_page
from app.content.text import UnreadableText, decode
from app.content.twins import compare
from app.content.yaml_lines import Document
from app.core.i18n import LANGUAGES, Language

QUESTION_FILE = "question.yaml"
TOPIC_FILE = "topic.yaml"
FILES = (QUESTION_FILE, *(f"{language}.md" for language in LANGUAGES))


@dataclass(frozen=True, slots=True)
class PlacedNumber:
    """A computed number in text and where it stands."""

    number: Number
    path: Path
    line: int


@dataclass(frozen=True, slots=True)
class ReadQuestion:
    """A question, or None where it cannot be built; what is wrong; what the engines have to check."""

    slug: str
    question: Question | None
    problems: tuple[Problem, ...]
    numbers: tuple[PlacedNumber, ...] = ()
    prerequisites: tuple[tuple[str, int], ...] = ()
    """Slugs and the lines of `question.yaml` they stand on."""


def parse_topic(raw: bytes, *, path: Path) -> tuple[Topic | None, tuple[Problem, ...]]:
    """The topic in the bytes of `topic.yaml`; its slug is the name of the folder around `path`."""
    findings = Findings(path)
    text = _text(raw, findings)
    read = None if text is None else read_file(text, TopicFile, findings=findings)
    if read is None:
        return None, tuple(findings.problems)
    file, _ = read
    topic = Topic(
        slug=path.parent.name,
        order=file.order,
        title=file.title.text(),
        summary=file.summary.text(),
        planned=tuple(entry.planned() for entry in file.planned),
    )
    return topic, ()


def parse_question(folder: Path, files: Mapping[str, bytes]) -> ReadQuestion:
    """The question in `folder`, from the bytes of those of its `FILES` that exist."""
    pages = {
        language: parse_page(files[f"{language}.md"], path=folder / f"{language}.md", language=language)
        for language in LANGUAGES
        if f"{language}.md" in files
    }
    findings = Findings(folder / QUESTION_FILE)
    head = _head(folder, files.get(QUESTION_FILE), findings)
    question = _build(folder, head[0], pages) if head is not None else None
    problems = [*findings.problems, *(problem for read in pages.values() for problem in read.problems)]
    problems += _missing(folder, files)
    numbers: list[PlacedNumber] = []
    for language, read in pages.items():
        path = folder / f"{language}.md"
        numbers += (PlacedNumber(number, path, line) for number, line in read.marks.numbers)
    if question is not None:
        problems += _citations(question, pages, folder)
        if len(question.pages) == len(LANGUAGES):
            problems += compare(question.pages["en"], question.pages["zh"])
    prerequisites = (
        ((slug, head[1].line(("prerequisites", place))) for place, slug in enumerate(head[0].prerequisites))
        if head is not None
        else ()
    )
    return ReadQuestion(folder.name, question, tuple(problems), tuple(numbers), tuple(prerequisites))


def _text(raw: bytes, findings: Findings) -> str | None:
    try:
        return decode(raw)
    except UnreadableText as problem:
        findings.add(problem.line, problem.what, problem.remedy)
        return None


def _head(folder: Path, raw: bytes | None, findings: Findings) -> tuple[QuestionFile, Document] | None:
    """What `question.yaml` says, or None where the question cannot be built from it."""
    text = None if raw is None else _text(raw, findings)
    read = None if text is None else read_file(text, QuestionFile, findings=findings)
    if read is None:
        return None
    file, document = read
    for position, asked in enumerate(file.asked_by):
        if asked.source and asked.source not in file.sources:
            line = document.line(("asked_by", position, "source"))
            findings.add(line, f"There is no source `{asked.source}`.", "Add it under `sources:`, or leave it out.")
    if file.status == "asked" and not file.asked_by:
        remedy = "Add `asked_by:`, or write `status: inferred`."
        findings.add(document.line(("status",)), "The status is `asked` but nobody is named.", remedy)
    if file.slug != folder.name:
        remedy = f"Write `slug: {folder.name}`, or rename the folder."
        findings.add(document.line(("slug",)), f"The slug `{file.slug}` is not the folder's name.", remedy)
        return None
    return file, document


def _build(folder: Path, file: QuestionFile, pages: Mapping[Language, ReadPage]) -> Question | None:
    built: dict[Language, Page] = {language: read.page for language, read in pages.items() if read.page is not None}
    if not built:
        return None
    return Question(
        slug=file.slug,
        topic=folder.parent.name,
        order=file.order,
        tags=file.tags,
        prerequisites=file.prerequisites,
        status=file.status,
        experimental=file.experimental,
        short=file.short.text() if file.short else None,
        verified_on=file.verified_on,
        asked_by=tuple(entry.asked() for entry in file.asked_by),
        sources=tuple(entry.source(key) for key, entry in file.sources.items()),
        pages=built,
    )


def _missing(folder: Path, files: Mapping[str, bytes]) -> list[Problem]:
    return [
        Problem(path=folder / name, line=1, what="This file is missing.", remedy="content/README.md has an example.")
        for name in FILES
        if name not in files
    ]


def _citations(question: Question, pages: Mapping[Language, ReadPage], folder: Path) -> list[Problem]:
    known = {source.key for source in question.sources}
    return [
        Problem(
            path=folder / f"{language}.md",
            line=line,
            what=f"[^{key}] names no source.",
            remedy=f"Add `{key}:` under `sources:` in {QUESTION_FILE}, or mend the key.",
        )
        for language, read in pages.items()
        for key, line in read.marks.citations
        if key not in known
    ]
