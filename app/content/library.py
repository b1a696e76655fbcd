"""All content of a folder, kept current: load, look up, hot reload, search.

The folder is read into an immutable snapshot; every look-up reads the snapshot of its moment, and
`refresh` swaps in a new one, having parsed again only the questions whose files changed. A file
that is wrong costs its own page and nothing else: its problems are listed here.
"""

import asyncio
import contextlib
import hashlib
import logging
import threading
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from watchfiles import Change, DefaultFilter, awatch

from app.content import graph
from app.content.model import Problem, Question, Topic
from app.content.parse import FILES, TOPIC_FILE, PlacedNumber, ReadQuestion, parse_question, parse_topic
from app.content.search import Hit, Searchable, search, searchable
from app.core.errors import AppError, NotFound
from app.core.i18n import Language, Text, same

log = logging.getLogger(__name__)

SETTLED_NS = 100_000_000
"""A file changed less than this before it was read may change again within the same time stamp."""

WATCH_STEP_MS = 20
WATCH_DEBOUNCE_MS = 100
LAST = 1_000_000
"""The order of a topic whose `topic.yaml` cannot be read."""

Stamp = tuple[tuple[str, int, int], ...]


class Broken(AppError):
    """The question is there but cannot be built from its files; `problems` says why."""

    status = 503

    def __init__(self, slug: str, topic: str, problems: tuple[Problem, ...]) -> None:
        super().__init__(
            Text(f"The files of the question {slug!r} have mistakes.", f"题目 {slug!r} 的文件有错误。"),
            remedy=Text("Mend what is listed; the page appears by itself.", "改正列出的问题后,页面会自动出现。"),
        )
        self.slug = slug
        self.topic = topic
        self.problems = problems


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A folder as it was last read."""

    stamp: Stamp
    settled: bool
    digest: bytes
    topic: Topic | None = None
    question: ReadQuestion | None = None
    searchable: Searchable | None = None
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """Everything a reader can ask for."""

    revision: int = 0
    loaded: Mapping[Path, _Loaded] = field(default_factory=dict)
    topics: tuple[Topic, ...] = ()
    questions: tuple[Question, ...] = ()
    by_slug: Mapping[str, Question] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    by_topic: Mapping[str, tuple[Question, ...]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    problems_by_slug: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict)
    numbers: tuple[PlacedNumber, ...] = ()
    searchables: tuple[Searchable, ...] = ()


class Library:
    """The questions under `root`, read when the library is made."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = threading.Lock()
        self._snapshot = _Snapshot()
        self.refresh()

    @property
    def revision(self) -> int:
        """Grows whenever anything read from the folder has changed: the key for caches."""
        return self._snapshot.revision

    @property
    def topics(self) -> tuple[Topic, ...]:
        """Topics in order."""
        return self._snapshot.topics

    @property
    def broken(self) -> Mapping[str, str]:
        """The questions that cannot be built: slug and topic."""
        return self._snapshot.broken

    @property
    def numbers(self) -> tuple[PlacedNumber, ...]:
        """Every computed number in text, for the check."""
        return self._snapshot.numbers

    def questions(self, topic: str | None = None) -> tuple[Question, ...]:
        """Questions in reading order (topic order, then question order), of one topic or of all."""
        snapshot = self._snapshot
        return snapshot.questions if topic is None else snapshot.by_topic.get(topic, ())

    def question(self, slug: str) -> Question:
        """The question with this slug. Raises NotFound, or Broken where its files cannot be read."""
        snapshot = self._snapshot
        question = snapshot.by_slug.get(slug)
        if question is not None:
            return question
        if slug in snapshot.broken:
            raise Broken(slug, snapshot.broken[slug], snapshot.problems_by_slug.get(slug, ()))
        raise NotFound(Text(f"There is no question {slug!r}.", f"没有名为 {slug!r} 的题目。"))

    def problems(self, slug: str | None = None) -> tuple[Problem, ...]:
        """What is wrong with the files of one question, or of all, by path and line."""
        snapshot = self._snapshot
        return snapshot.problems if slug is None else snapshot.problems_by_slug.get(slug, ())

    def search(self, query: str, language: Language, limit: int = 20) -> tuple[Hit, ...]:
        """The questions that hold every word of `query`, best first."""
        return search(self._snapshot.searchables, query, language=language, limit=limit)

    def refresh(self) -> bool:
        """Read changed files again; True when anything changed."""
        with self._lock:
            before = self._snapshot
            loaded = self._load(before.loaded)
            changed = loaded.keys() != before.loaded.keys() or any(
                loaded[folder].digest != before.loaded[folder].digest for folder in loaded
            )
            if changed or not before.revision:
                self._snapshot = _assemble(self.root, loaded, before.revision + 1)
            else:
                self._snapshot = _with_stamps(before, loaded)
            return changed

    def _load(self, known: Mapping[Path, _Loaded]) -> dict[Path, _Loaded]:
        loaded: dict[Path, _Loaded] = {}
        for topic in _folders(self.root):
            loaded[topic] = _read(topic, (TOPIC_FILE,), known.get(topic), is_topic=True)
            for folder in _folders(topic):
                loaded[folder] = _read(folder, FILES, known.get(folder), is_topic=False)
        return loaded

    @asynccontextmanager
    async def watching(self, *, enabled: bool) -> AsyncIterator[None]:
        """While open, files that change are read again in the background."""
        if not enabled or not self.root.is_dir():
            yield
            return
        task = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _watch(self) -> None:
        changes = awatch(self.root, watch_filter=_Filter(), step=WATCH_STEP_MS, debounce=WATCH_DEBOUNCE_MS)
        await asyncio.to_thread(self.refresh)
        async for _ in changes:
            try:
                await asyncio.to_thread(self.refresh)
            except OSError:
                log.exception("reading changed content failed; the next change tries again")


class _Filter(DefaultFilter):
    """Passes over what editors and version control write beside the files."""

    def __call__(self, change: Change, path: str) -> bool:
        return not Path(path).name.startswith(".") and super().__call__(change, path)


def _folders(parent: Path) -> list[Path]:
    try:
        return sorted(path for path in parent.iterdir() if path.is_dir() and not path.name.startswith((".", "_")))
    except FileNotFoundError:
        return []


def _read(folder: Path, names: tuple[str, ...], known: _Loaded | None, *, is_topic: bool) -> _Loaded:
    """The folder's files, parsed again only when their bytes are not those of `known`."""
    now = time.time_ns()
    stamp = _stamp(folder, names)
    settled = all(now - modified > SETTLED_NS for _, modified, _ in stamp)
    if known is not None and known.settled and known.stamp == stamp:
        return known
    files, problems = _bytes(folder, names)
    digest = hashlib.sha256()
    for name, raw in files.items():
        digest.update(f"{name}:{len(raw)}:".encode() + raw)
    digest.update(repr(problems).encode())
    if known is not None and known.digest == digest.digest():
        return _restamped(known, stamp, settled=settled)
    if is_topic:
        topic, found = _topic(folder, files)
        return _Loaded(stamp, settled, digest.digest(), topic=topic, problems=(*problems, *found))
    if not files and not problems:
        return _Loaded(stamp, settled, digest.digest())
    read = parse_question(folder, files)
    index = searchable(read.question) if read.question is not None else None
    unreadable = {problem.path for problem in problems}
    found = tuple(problem for problem in read.problems if problem.path not in unreadable)
    return _Loaded(stamp, settled, digest.digest(), None, read, index, (*problems, *found))


def _restamped(known: _Loaded, stamp: Stamp, *, settled: bool) -> _Loaded:
    return _Loaded(stamp, settled, known.digest, known.topic, known.question, known.searchable, known.problems)


def _stamp(folder: Path, names: tuple[str, ...]) -> Stamp:
    found = []
    for name in names:
        with contextlib.suppress(OSError):
            status = (folder / name).stat()
            found.append((name, status.st_mtime_ns, status.st_size))
    return tuple(found)


def _bytes(folder: Path, names: tuple[str, ...]) -> tuple[dict[str, bytes], tuple[Problem, ...]]:
    files, problems = {}, []
    for name in names:
        try:
            files[name] = (folder / name).read_bytes()
        except FileNotFoundError:
            continue
        except OSError as error:
            what = f"The file cannot be read: {error.strerror}."
            problems.append(Problem(path=folder / name, line=1, what=what, remedy="Check what it is and its rights."))
    return files, tuple(problems)


def _topic(folder: Path, files: Mapping[str, bytes]) -> tuple[Topic, tuple[Problem, ...]]:
    """The topic; one that cannot be read is stood in for, so that its questions stay reachable."""
    name = same(folder.name)
    stand_in = Topic(slug=folder.name, order=LAST, title=name, summary=name)
    if TOPIC_FILE not in files:
        remedy = "Add it; content/README.md has an example."
        return stand_in, (Problem(path=folder / TOPIC_FILE, line=1, what="This file is missing.", remedy=remedy),)
    topic, problems = parse_topic(files[TOPIC_FILE], path=folder / TOPIC_FILE)
    return topic or stand_in, problems


def _with_stamps(snapshot: _Snapshot, loaded: Mapping[Path, _Loaded]) -> _Snapshot:
    """The same content, remembering the newest time stamps."""
    values = {name: getattr(snapshot, name) for name in _Snapshot.__dataclass_fields__}
    return _Snapshot(**{**values, "loaded": loaded})


def _assemble(root: Path, loaded: Mapping[Path, _Loaded], revision: int) -> _Snapshot:
    """The snapshot of what was read, with the checks that need all questions at once."""
    entries = [entry for entry in loaded.values() if entry.topic is not None]
    topics = tuple(sorted((e.topic for e in entries if e.topic), key=lambda topic: (topic.order, topic.slug)))
    order = {topic.slug: position for position, topic in enumerate(topics)}
    reads = {folder: entry.question for folder, entry in loaded.items() if entry.question is not None}
    own = {folder: entry.problems for folder, entry in loaded.items()}
    across = graph.check(topics, reads, root=root)
    by_slug: dict[str, Question] = {}
    broken: dict[str, str] = {}
    problems_by_slug: dict[str, tuple[Problem, ...]] = {}
    for folder, read in sorted(reads.items()):
        problems_by_slug[read.slug] = (*problems_by_slug.get(read.slug, ()), *own[folder], *across.get(folder, ()))
        if read.question is None:
            broken.setdefault(read.slug, folder.parent.name)
        else:
            by_slug.setdefault(read.slug, read.question)
    questions = tuple(
        sorted(by_slug.values(), key=lambda question: (order[question.topic], question.order, question.slug))
    )
    index = {entry.searchable.slug: entry.searchable for entry in loaded.values() if entry.searchable is not None}
    everything = [problem for found in (*own.values(), *across.values()) for problem in found]
    return _Snapshot(
        revision=revision,
        loaded=loaded,
        topics=topics,
        questions=questions,
        by_slug=by_slug,
        broken={slug: topic for slug, topic in broken.items() if slug not in by_slug},
        by_topic={topic.slug: tuple(q for q in questions if q.topic == topic.slug) for topic in topics},
        problems=tuple(sorted(everything, key=lambda problem: (str(problem.path), problem.line))),
        problems_by_slug=problems_by_slug,
        numbers=tuple(number for read in reads.values() for number in read.numbers),
        searchables=tuple(index[question.slug] for question in questions if question.slug in index),
    )
