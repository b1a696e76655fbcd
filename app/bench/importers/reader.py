"""The contract of a format: how sure it is that a log is its own, and what it reads from it."""

from collections.abc import Callable
from dataclasses import dataclass

from app.bench.importers.model import Import
from app.bench.importers.prefixes import Line
from app.core.i18n import Text


@dataclass(frozen=True, slots=True)
class Log:
    """A log ready to be read: its whole text, and its lines without launcher prefixes."""

    text: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Reader:
    """A format. `recognise` gives 0 for a foreign log up to 1; `read` is asked only for a log it recognised and never raises."""

    slug: str
    title: Text
    recognise: Callable[[Log], float]
    read: Callable[[Log], Import]
