"""A row as a reader found it, before its figures have been checked against each other."""

from dataclasses import dataclass

from app.bench.importers.model import Half


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a line with the columns it covers."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Printed:
    """A half as printed: None where N/A or a dash stands. `precision` is half a unit of the last printed digit of each."""

    time: float | None
    algbw: float | None
    busbw: float | None
    check: float | None
    precision: tuple[float, float, float]

    def to_half(self, *, time_scale: float = 1.0) -> Half:
        """The half with times in microseconds; `time_scale` is microseconds per printed unit."""
        time = None if self.time is None else self.time * time_scale
        return Half(time, self.algbw, self.busbw, self.check)


@dataclass(frozen=True, slots=True)
class RawRow:
    """A row as printed.

    `halves` holds out-of-place and in-place; `is_whole` is False when a half was cut short,
    `is_lone` is True when only one was printed.
    """

    size: int
    count: int
    dtype: str
    redop: str | None
    root: int | None
    halves: tuple[Printed | None, Printed | None]
    extra: tuple[str, ...]
    tokens: tuple[Token, ...]
    line: int = 0
    is_whole: bool = True
    is_lone: bool = False
    has_junk: bool = False
    is_repaired: bool = False
