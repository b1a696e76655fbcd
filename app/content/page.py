"""One language file as a `Page`, with every mistake in it noted.

Each kind of section has one reader below: lists, entries under `###`, and free text with live
blocks. A page with a mistake is not built at all: cards are never cut from half a file.
"""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from app.content import inline, outline
from app.content.embeds import is_embed, parse_embed
from app.content.findings import Findings
from app.content.inline import Marks
from app.content.model import Concept, FollowUp, Misconception, MustHit, Page, Part, Problem, Prose, SectionName
from app.content.outline import Block, Section
from app.content.text import UnreadableText, decode
from app.core.i18n import Language

SECTIONS: tuple[str, ...] = get_args(SectionName)


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page, or None where the file is broken; what is wrong; and the marks for checks across files."""

    page: Page | None
    problems: tuple[Problem, ...]
    marks: Marks


def parse_page(raw: bytes, *, path: Path, language: Language) -> ReadPage:
    """The page in the bytes of `en.md` or `zh.md`. Never raises for what stands in the file."""
    findings = Findings(path)
    try:
        text = decode(raw)
    except UnreadableText as problem:
        findings.add(problem.line, problem.what, problem.remedy)
        return ReadPage(None, tuple(findings.problems), Marks())
    reader = _Reader(outline.read(text), findings)
    fields = reader.fields()
    page = None if findings.problems else Page(language=language, path=path, **fields)
    problems = sorted(findings.problems, key=lambda problem: problem.line)
    return ReadPage(page, tuple(problems), reader.marks)


class _Reader:
    """Reads the sections of one file."""

    def __init__(self, source: outline.Source, findings: Findings) -> None:
        self._source = source
        self._findings = findings
        self._ids: dict[str, int] = {}
        self.marks = Marks()

    def fields(self) -> dict[str, Any]:
        """The fields of the page by name."""
        blocks = list(outline.blocks(self._source))
        inline.collect(self._source.tokens, self.marks, self._findings)
        self._unclosed_fences(blocks)
        before, sections = outline.cut(blocks, "h2", len(self._source.lines))
        fields: dict[str, Any] = {"title": self._title(before)}
        seen: dict[str, int] = {}
        readers: dict[str, Callable[[Section], Any]] = {
            "asked": self._asked,
            "concepts": self._concepts,
            "answer": self._answer,
            "must": self._must,
            "followups": self._followups,
            "wrong": self._wrong,
        }
        for section in sections:
            name = section.name
            if name not in SECTIONS:
                self._unknown(section)
            elif name in seen:
                self._note(section.line, f"The section `{name}` stands here again.", f"It began in line {seen[name]}.")
            else:
                seen[name] = section.line
                if not section.blocks:
                    self._note(section.line, f"The section `{name}` is empty.", "Fill it or leave it out.")
                fields[name] = readers.get(name, self._parts)(section)
            for block in section.blocks:
                if block.heading == "h1":
                    self._note(block.start + 1, "A second title stands here.", "Keep one `# title`, at the top.")
        return fields

    def _note(self, line: int, what: str, remedy: str) -> None:
        self._findings.add(line, what, remedy)

    def _title(self, before: Sequence[Block]) -> str:
        titles = [block for block in before if block.heading == "h1"]
        if not titles or not titles[0].inline.strip():
            self._note(1, "The title is missing.", "Begin the file with `# the question`.")
            return ""
        for block in before:
            if block is titles[0]:
                continue
            if block.heading == "h1":
                self._note(block.start + 1, "A second title stands here.", "Keep one `# title`, at the top.")
            else:
                self._note(block.start + 1, "This stands outside the sections.", "Move it under one of the `##`.")
        return titles[0].inline

    def _unknown(self, section: Section) -> None:
        close = difflib.get_close_matches(section.name.casefold(), SECTIONS, n=1, cutoff=0.5)
        hint = f"Did you mean `## {close[0]}`?" if close else f"The sections are {', '.join(SECTIONS)}."
        self._note(section.line, f"There is no section `{section.name}`.", hint)

    def _unclosed_fences(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            for token in block.tokens:
                if token.type != "fence" or token.map is None:
                    continue
                start, end = token.map
                last = self._source.lines[end - 1].strip(" \t>") if end <= len(self._source.lines) else ""
                if end - start < 2 or not last.startswith(token.markup[0] * len(token.markup)) or last.strip(last[0]):
                    self._note(start + 1, "This code block is never closed.", f"Close it with {token.markup}.")

    def _claim(self, identity: str, line: int) -> None:
        if identity in self._ids:
            remedy = f"It is taken by line {self._ids[identity]}; every id stands once in a file."
            self._note(line, f"The id {{#{identity}}} is used twice.", remedy)
        self._ids.setdefault(identity, line)

    def _items(self, section: Section) -> list[tuple[str, int]]:
        """The points of a section that is one list: text and line of each."""
        items: list[tuple[str, int]] = []
        for block in section.blocks:
            if block.kind not in {"bullet_list_open", "ordered_list_open"}:
                self._note(block.start + 1, f"`{section.name}` holds only a list.", "Begin each point with a dash.")
                continue
            for position, token in enumerate(block.tokens):
                if token.type != "list_item_open" or token.level != 1:
                    continue
                line = token.map[0] + 1 if token.map else block.start + 1
                body = block.tokens[position + 1 : position + 5]
                if [part.type for part in body] != ["paragraph_open", "inline", "paragraph_close", "list_item_close"]:
                    self._note(line, "A point of this list is not one paragraph.", "Write it as one paragraph of text.")
                    continue
                items.append((body[1].content, line))
        return items

    def _asked(self, section: Section) -> tuple[str, ...]:
        return tuple(text for text, _ in self._items(section))

    def _must(self, section: Section) -> tuple[MustHit, ...]:
        found = []
        for text, line in self._items(section):
            named = outline.named(text, line=line, what="This point", findings=self._findings)
            if named is None:
                continue
            self._claim(named.id, line)
            clozes = inline.clozes(named.text, item=named.id, line=line, findings=self._findings)
            for cloze in clozes:
                if cloze.key != named.id or len(clozes) > 1:
                    self._claim(cloze.key, line)
            found.append(MustHit(id=named.id, markdown=named.text, clozes=clozes, line=line))
        return tuple(found)

    def _answer(self, section: Section) -> str:
        self._no_embeds(section)
        text, _ = self._source.text(section.start, section.end)
        return text

    def _concepts(self, section: Section) -> tuple[Concept, ...]:
        return tuple(
            Concept(id=identity, term=term, body=self._body(entry), line=entry.line)
            for identity, term, entry in self._entries(section, "concept")
        )

    def _wrong(self, section: Section) -> tuple[Misconception, ...]:
        return tuple(
            Misconception(id=identity, claim=claim, fact=self._body(entry), line=entry.line)
            for identity, claim, entry in self._entries(section, "claim")
        )

    def _followups(self, section: Section) -> tuple[FollowUp, ...]:
        return tuple(
            FollowUp(id=identity, question=question, answer=self._parts(entry), line=entry.line)
            for identity, question, entry in self._entries(section, "question")
        )

    def _entries(self, section: Section, what: str) -> list[tuple[str, str, Section]]:
        """The entries under `###`: id, heading and body."""
        before, entries = outline.cut(section.blocks, "h3", section.end)
        for block in before:
            remedy = f"Begin with `### the {what} {{#id}}`."
            self._note(block.start + 1, f"This stands before the first {what} of `{section.name}`.", remedy)
        found = []
        for entry in entries:
            named = outline.named(entry.name, line=entry.line, what=f"This {what}", findings=self._findings)
            if not entry.blocks:
                self._note(entry.line, f"This {what} has no text.", "Write a paragraph under it.")
            if named is not None:
                self._claim(named.id, entry.line)
                found.append((named.id, named.text, entry))
        return found

    def _body(self, entry: Section) -> str:
        self._no_embeds(entry)
        text, _ = self._source.text(entry.start, entry.end)
        return text

    def _no_embeds(self, section: Section) -> None:
        for block in section.blocks:
            for token in block.tokens:
                if token.type == "fence" and is_embed(token.info):
                    remedy = "Move it to picture, derivation, compare, worked or a follow-up."
                    self._note(block.start + 1, "A live block cannot stand here.", remedy)

    def _parts(self, section: Section) -> tuple[Part, ...]:
        parts: list[Part] = []
        start = section.start
        for block in section.blocks:
            token = block.tokens[0]
            if token.type == "fence" and is_embed(token.info):
                self._prose(start, block.start, parts)
                start = block.end
                self._embed(token.info, token.content, block.start + 1, parts)
            elif any(inner.type == "fence" and is_embed(inner.info) for inner in block.tokens):
                remedy = "Take it out of the list or quotation."
                self._note(block.start + 1, "A live block stands inside another block.", remedy)
        self._prose(start, section.end, parts)
        return tuple(parts)

    def _prose(self, start: int, end: int, parts: list[Part]) -> None:
        text, line = self._source.text(start, end)
        if text:
            parts.append(Prose(markdown=text, line=line))

    def _embed(self, info: str, content: str, line: int, parts: list[Part]) -> None:
        embed = parse_embed(info, content, line=line, findings=self._findings)
        if embed is not None:
            self._claim(embed.id, line)
            inline.scan(embed.caption, line=line, marks=self.marks, findings=self._findings)
            parts.append(embed)
