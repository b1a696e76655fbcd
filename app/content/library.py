"""All content of a folder, kept current: load, look up, hot reload, search.

The folder is read into an immutable snapshot; every look-up reads the snapshot of its moment, and
`refresh` swaps in a new one, having parsed again only the questions whose files changed. A file
that is wrong costs its own page and nothing else: its problems are listed here.
"""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from app.content.folder import Loaded, folders, read_folder
from app.content.model import Problem, Question, Topic
from app.content.parse import FILES, TOPIC_FILE, PlacedNumber
from app.content.search import Hit, search
from app.content.snapshot import Snapshot, assemble
from app.content.watching import follow
from app.core.errors import AppError, NotFound
from app.core.i18n import Language, Text


class Broken(AppError):
    """The question is there but cannot be built from its files; `problems` says why."""

    status = 503

    def __init__(self, slug: str, topic: str, problems: tuple[Problem, ...]) -> None:
        super().__init__(
            Text(f"The files of the question {slug!r} have mistakes.", f"题目 {slug!r} 的文件有错误。"),
            remedy=Text("Mend what is listed; the page appears by itself.", "改正列出的问题后，页面会自动出现。"),
        )
        self.slug = slug
        self.topic = topic
        self.problems = problems


class Library:
    """The questions under `root`, read when the library is made."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = threading.Lock()
        self._snapshot = Snapshot()
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
                self._snapshot = assemble(self.root, loaded, before.revision + 1)
            else:
                self._snapshot = replace(before, loaded=loaded)
            return changed

    def _load(self, known: Mapping[Path, Loaded]) -> dict[Path, Loaded]:
        loaded: dict[Path, Loaded] = {}
        for topic in folders(self.root):
            loaded[topic] = read_folder(topic, (TOPIC_FILE,), known.get(topic), is_topic=True)
            for folder in folders(topic):
                loaded[folder] = read_folder(folder, FILES, known.get(folder), is_topic=False)
        return loaded

    @asynccontextmanager
    async def watching(self, *, enabled: bool) -> AsyncIterator[None]:
        """While open, files that change are read again in the background."""
        if not enabled or not self.root.is_dir():
            yield
            return
        task = asyncio.create_task(follow(self.root, self.refresh))
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
