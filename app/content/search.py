"""Full-text search over the questions, in both languages at once.

Text is compared as NFKC, without case and without the spaces around Chinese characters, and a
query word is looked for as a substring: two Chinese characters or a part of an identifier are
enough. A thousand questions are scanned in some milliseconds, so there is no index to keep.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from app.content.dialect.spacing import WIDE
from app.content.model import Embed, Page, Part, Question
from app.core.i18n import LANGUAGES, Language, Text

TITLE, HEADING, TEXT = 0, 1, 2
"""Where a word was found, best first."""

TAGS = "tags"

SNIPPET_CHARACTERS = 140
MAXIMUM_WORDS = 12
MAXIMUM_QUERY_CHARACTERS = 200

_MARKUP = (
    (re.compile(r"\{\{[^{}]*\}\}|\{#[^{}]*\}|\[\^[^\]]*\]|</?[a-z][^<>]*>"), ""),
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"^[ \t]*(?:```.*|~~~.*|\|?[ :|-]*-{3,}[ :|-]*)$", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*(?:#{1,6}|>|[-*+]|\d+[.)])[ \t]+", re.MULTILINE), ""),
    (re.compile(r"\*{1,3}|`+|==|\${1,2}|~~|\\(?=[^A-Za-z])"), ""),
    (re.compile(r"\|"), " "),
)
_SPACES = re.compile(rf"\s+(?=[{WIDE}])|(?<=[{WIDE}])\s+")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a snippet; `marked` where it is what was searched for."""

    text: str
    marked: bool


@dataclass(frozen=True, slots=True)
class Hit:
    """A question that holds every word of the query; `section` is where the snippet stands, `title` or `tags`."""

    slug: str
    topic: str
    title: Text
    section: str
    snippet: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Passage:
    """A run of a question's text, ready to be searched."""

    language: Language
    rank: int
    section: str
    text: str
    folded: str


@dataclass(frozen=True, slots=True)
class Searchable:
    """A question with its passages."""

    slug: str
    topic: str
    title: Text
    passages: tuple[Passage, ...]


def plain(markdown: str) -> str:
    """The text without its marks, on one line."""
    for pattern, replacement in _MARKUP:
        markdown = pattern.sub(replacement, markdown)
    return " ".join(markdown.split())


def fold(text: str) -> str:
    """The form in which texts are compared."""
    if text.isascii():
        return " ".join(text.lower().split())
    return _SPACES.sub("", " ".join(unicodedata.normalize("NFKC", text).casefold().split()))


def searchable(question: Question) -> Searchable:
    """The question's text, prepared once when it is read."""
    titles = {language: plain(question.page(language).title) for language in LANGUAGES}
    passages = tuple(
        Passage(language, rank, section, text, fold(text))
        for language, page in question.pages.items()
        for rank, section, text in _passages(page, question)
        if text
    )
    return Searchable(question.slug, question.topic, Text(titles["en"], titles["zh"]), passages)


def search(questions: Iterable[Searchable], query: str, *, language: Language, limit: int) -> tuple[Hit, ...]:
    """The questions that hold every word of `query`: titles first, then headings, then text."""
    words = _words(query)
    if not words:
        return ()
    found = []
    for order, question in enumerate(questions):
        places = [[passage for passage in question.passages if word in passage.folded] for word in words]
        if all(places):
            everywhere = [passage for passages in places for passage in passages]
            rank = min(_score(passage, language) for passage in everywhere)
            found.append((rank, order, question, min(everywhere, key=partial(_worth_showing, language=language))))
    found.sort(key=lambda entry: entry[:2])
    return tuple(
        Hit(question.slug, question.topic, question.title, passage.section, _snippet(passage.text, words))
        for _, _, question, passage in found[:limit]
    )


def _score(passage: Passage, language: Language) -> tuple[int, bool]:
    """How well a passage answers: where it stands, then whether it is in the reader's language."""
    return passage.rank, passage.language != language


def _worth_showing(passage: Passage, language: Language) -> tuple[bool, int, bool]:
    """The same for the snippet, where a sentence says more than a list of tags."""
    return passage.section == TAGS, *_score(passage, language)


def _words(query: str) -> tuple[str, ...]:
    words = (fold(word) for word in query[:MAXIMUM_QUERY_CHARACTERS].split())
    return tuple(dict.fromkeys(word for word in words if word))[:MAXIMUM_WORDS]


def _snippet(text: str, words: Sequence[str]) -> tuple[Segment, ...]:
    """About `SNIPPET_CHARACTERS` of `text` around the first word, with the words marked."""
    folded, places = _fold_with_places(text)
    spans = []
    for word in words:
        start = folded.find(word)
        while start >= 0:
            spans.append((places[start], places[start + len(word) - 1] + 1))
            start = folded.find(word, start + len(word))
    spans.sort()
    first = max(0, spans[0][0] - SNIPPET_CHARACTERS // 3) if spans else 0
    last = min(len(text), first + SNIPPET_CHARACTERS)
    segments = []
    at = first
    for start, end in spans:
        if start < at or end > last:
            continue
        if start > at:
            segments.append(Segment(text[at:start], marked=False))
        segments.append(Segment(text[start:end], marked=True))
        at = end
    if at < last:
        segments.append(Segment(text[at:last], marked=False))
    before = (Segment("…", marked=False),) if first else ()
    after = (Segment("…", marked=False),) if last < len(text) else ()
    return (*before, *segments, *after)


def _fold_with_places(text: str) -> tuple[str, list[int]]:
    """`fold(text)` for text on one line, and the place in `text` of each of its characters."""
    characters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for folded in unicodedata.normalize("NFKC", character).casefold():
            characters.append(folded)
            places.append(place)
    whole = "".join(characters)
    kept: list[str] = []
    kept_places: list[int] = []
    at = 0
    for gap in _SPACES.finditer(whole):
        kept.append(whole[at : gap.start()])
        kept_places += places[at : gap.start()]
        at = gap.end()
    kept.append(whole[at:])
    kept_places += places[at:]
    return "".join(kept), kept_places


def _passages(page: Page, question: Question) -> Iterator[tuple[int, str, str]]:
    yield TITLE, "title", plain(page.title)
    yield HEADING, TAGS, " ".join((question.slug, *question.tags))
    for text in page.asked:
        yield HEADING, "asked", plain(text)
    for concept in page.concepts:
        yield HEADING, "concepts", plain(concept.term)
        yield TEXT, "concepts", plain(concept.body)
    for name in ("picture", "answer", "derivation", "compare", "worked"):
        value: str | tuple[Part, ...] = getattr(page, name)
        yield TEXT, name, plain(value) if isinstance(value, str) else _text(value)
    for point in page.must:
        yield TEXT, "must", plain(point.markdown)
    for entry in page.followups:
        yield HEADING, "followups", plain(entry.question)
        yield TEXT, "followups", _text(entry.answer)
    for wrong in page.wrong:
        yield HEADING, "wrong", plain(wrong.claim)
        yield TEXT, "wrong", plain(wrong.fact)


def _text(parts: Iterable[Part]) -> str:
    return " ".join(
        plain(f"{part.slug} {part.caption}" if isinstance(part, Embed) else part.markdown) for part in parts
    )
