"""Collects what is wrong with one file, so that an author sees every mistake at once."""

from dataclasses import dataclass, field
from pathlib import Path

from app.content.model import Problem


@dataclass(slots=True)
class Findings:
    """The problems of the file at `path`."""

    path: Path
    problems: list[Problem] = field(default_factory=list)

    def add(self, line: int, what: str, remedy: str) -> None:
        """Note a problem at a 1-based `line`."""
        self.problems.append(Problem(path=self.path, line=line, what=what, remedy=remedy))
