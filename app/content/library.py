"""All content of a folder, kept current: load, look up, hot reload, search.

STUB for the skeleton: the signatures are the contract.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from app.content.model import Problem, Question, Topic
from app.core.errors import NotFound
from app.core.i18n import Text


class Library:
    """The questions under `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def revision(self) -> int:
        """Grows whenever anything read from the folder has changed: the key for caches."""
        return 0

    @property
    def topics(self) -> tuple[Topic, ...]:
        """Topics in order."""
        return ()

    def questions(self, topic: str | None = None) -> tuple[Question, ...]:
        """Questions in reading order (topic order, then question order), of one topic or of all."""
        return ()

    def question(self, slug: str) -> Question:
        """The question with this slug. Raises NotFound."""
        raise NotFound(Text(f"There is no question {slug!r}.", f"没有名为 {slug!r} 的题目。"))

    def problems(self, slug: str | None = None) -> tuple[Problem, ...]:
        """What is wrong with the files of one question, or of all, by path and line."""
        return ()

    def refresh(self) -> bool:
        """Read changed files again; True when anything changed."""
        return False

    @asynccontextmanager
    async def watching(self, *, enabled: bool) -> AsyncIterator[None]:
        """While open, files that change are read again in the background."""
        yield
