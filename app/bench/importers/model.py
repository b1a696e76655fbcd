"""What comes out of a log: runs of rows, with a badge for everything a reader has to know about them.

A figure that the log does not hold is None, never a guess. Sizes are bytes, times microseconds, rates decimal GB/s. Which
badges keep a run out of fits stands here too; their words are in `badges.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from app.core.i18n import Text

Kind = Literal[
    "ok",
    "elided",
    "header-shortened",
    "mixed-runs",
    "torn",
    "misaligned",
    "cut",
    "incomplete-json",
    "unknown-tool",
    "wrong-values",
    "footer-disagrees",
    "operation-guessed",
    "operation-unknown",
    "ranks-guessed",
    "ranks-unknown",
    "no-rows",
    "failed",
    "no-mpi",
    "one-rank",
    "emulated",
    "unit-doubt",
    "old-definition",
    "derived",
    "variables-dropped",
]
DOUBTS: frozenset[Kind] = frozenset(
    {
        "elided",
        "mixed-runs",
        "torn",
        "misaligned",
        "incomplete-json",
        "footer-disagrees",
        "operation-guessed",
        "operation-unknown",
        "ranks-guessed",
        "ranks-unknown",
        "unit-doubt",
        "derived",
    }
)
"""With one of these a person confirms operation and ranks first."""

EXCLUDES: frozenset[Kind] = frozenset({"wrong-values", "no-mpi", "one-rank", "emulated", "no-rows"})
"""With one of these the rows say nothing about the hardware's collectives, confirmed or not."""

Flag = Literal["half-dropped", "cut", "repaired", "misaligned", "unchecked"]
"""What is special about one row: a half that contradicted itself was dropped, a half is missing, the row was joined from
torn lines, its columns do not stand under the others, its figures could not be checked against each other."""

OperationBasis = Literal["named", "command", "numbers", "guessed", "confirmed"]
RanksBasis = Literal["rank lines", "text", "json", "count", "ratio", "about", "confirmed"]
"""How the log tells it; `confirmed` is what a person vouched for, see `app/bench/imports.py`."""


@dataclass(frozen=True, slots=True)
class Badge:
    """One thing to know about a run or a file; `line` is the 1-based line it is about."""

    kind: Kind
    text: Text
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Half:
    """One timed variant of a row. `wrong_or_error` counts wrong values, or before 2022-08 is the largest difference."""

    time_us: float | None
    algbw_gb_per_s: float | None
    busbw_gb_per_s: float | None
    wrong_or_error: float | None = None


@dataclass(frozen=True, slots=True)
class ImportedRow:
    """One size. `size_bytes`, `count` and the names are as printed; `line` is the 1-based line of the file."""

    size_bytes: int
    count: int | None
    dtype: str | None
    redop: str | None
    root: int | None
    out_of_place: Half | None
    in_place: Half | None
    line: int
    flags: tuple[Flag, ...] = ()
    extra: tuple[str, ...] = ()

    @property
    def halves(self) -> tuple[Half, ...]:
        """The halves that are there, out-of-place first."""
        return tuple(half for half in (self.out_of_place, self.in_place) if half is not None)


@dataclass(frozen=True, slots=True)
class Device:
    """What a rank line says."""

    rank: int
    group: int
    host: str | None
    index: int | None
    bus: str | None
    name: str


@dataclass(frozen=True, slots=True)
class Table:
    """A named table that is no sweep over sizes, such as the copies between devices; cells that were not measured are None."""

    name: str
    title: str
    unit: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float | None, ...]], ...]
    total: float | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """One program's output. `operation` is named as in `app/hardware/collective.py`; `ranks` counts one group."""

    tool: str
    operation: str | None = None
    operation_basis: OperationBasis | None = None
    ranks: int | None = None
    ranks_basis: RanksBasis | None = None
    hosts: tuple[str, ...] = ()
    devices: tuple[Device, ...] = ()
    rows: tuple[ImportedRow, ...] = ()
    footer_average_busbw_gb_per_s: float | None = None
    out_of_bounds: int | None = None
    badges: tuple[Badge, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()

    @property
    def needs_confirmation(self) -> bool:
        """True when a person has to confirm operation and ranks before the rows may feed a fit."""
        return self.operation is None or self.ranks is None or any(badge.kind in DOUBTS for badge in self.badges)

    @property
    def may_feed_fits(self) -> bool:
        """False when the rows describe something else than this operation on this hardware, whatever a person confirms."""
        return bool(self.rows) and not any(badge.kind in EXCLUDES for badge in self.badges)


@dataclass(frozen=True, slots=True)
class Import:
    """Everything one file holds. `reason` says why there are no rows; `dropped_variables` counts environment not kept."""

    tool: str | None
    runs: tuple[ImportedRun, ...] = ()
    reason: Text | None = None
    dropped_variables: int = 0
    badges: tuple[Badge, ...] = ()
