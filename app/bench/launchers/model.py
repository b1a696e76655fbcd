"""What a launcher is: a pure function from a specification to a command.

`commands(spec, folder)` says what to run once `package.prepare` has put the worker into the folder. Whoever runs it gives it a
session of its own, reads events from standard output and keeps standard error as log. Arguments are a list: no shell
ever reads them.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from app.bench.spec import RunSpec
from app.core.i18n import Text


@dataclass(frozen=True, slots=True)
class Launch:
    """A command: its arguments, and what to add to the environment."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]

    def __str__(self) -> str:
        """The command as one would type it, for people to read."""
        settings = (f"{name}={shlex.quote(value)}" for name, value in self.environment.items())
        return " ".join([*settings, shlex.join(self.arguments)])


class Commands(Protocol):
    """From what to measure, and where the worker lies, to the command."""

    def __call__(self, spec: RunSpec, folder: Path) -> Launch:
        """The command for this machine."""
        ...


@dataclass(frozen=True, slots=True)
class Launcher:
    """One way to start ranks; `slug` is its file's name."""

    slug: str
    title: Text
    commands: Commands
