"""Imported logs as they are kept: what was read and, for each run, what a person confirmed.

The text of a log is not kept, only what was read from it and a fingerprint by which the same log is known again. A run that a reader
had doubts about feeds nothing before its operation and ranks are confirmed. The rows of the database are `import_store.py`'s matter.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from app.bench.importers.decode import clean_lines, text_of
from app.bench.importers.masking import mask, mask_name
from app.bench.importers.model import Import, ImportedRun

MAXIMUM_NAME = 200


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What a person vouched for: the operation as in `app/hardware/collective.py`, the ranks of one group."""

    operation: str
    ranks: int


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A run of a kept log; `number` counts from 1."""

    number: int
    read: ImportedRun
    confirmed: Confirmed | None = None

    @property
    def run(self) -> ImportedRun:
        """The run with what was confirmed in the place of what was read."""
        if self.confirmed is None:
            return self.read
        return replace(
            self.read,
            operation=self.confirmed.operation,
            operation_basis="confirmed",
            ranks=self.confirmed.ranks,
            ranks_basis="confirmed",
        )

    @property
    def is_sure(self) -> bool:
        """Whether operation and ranks are beyond doubt: the log tells them, or a person confirmed them."""
        return self.confirmed is not None or not self.read.needs_confirmation


@dataclass(frozen=True, slots=True)
class KeptImport:
    """A log in the database. `sha256` is that of `fingerprint`; `size_bytes` that of the file."""

    id: int
    created_at: datetime
    name: str
    sha256: str
    is_masked: bool
    size_bytes: int
    imported: Import
    confirmed: Mapping[int, Confirmed]

    @property
    def runs(self) -> tuple[KeptRun, ...]:
        """Its runs, numbered from 1."""
        return tuple(
            KeptRun(number, run, self.confirmed.get(number)) for number, run in enumerate(self.imported.runs, start=1)
        )


@dataclass(frozen=True, slots=True)
class Draft:
    """A log that was read and may be kept: with `is_masked`, nothing in it names a machine any more."""

    imported: Import
    name: str
    sha256: str
    is_masked: bool
    size_bytes: int


def draft(imported: Import, *, name: str, data: bytes, is_masked: bool = False) -> Draft:
    """What is kept of the log `data` that was read as `imported`; masks it where that is asked for."""
    name = name.replace("\\", "/").rsplit("/", 1)[-1]
    if is_masked:
        imported, name = mask(imported), mask_name(name, imported)
    return Draft(imported, name[:MAXIMUM_NAME], fingerprint(data), is_masked, len(data))


def fingerprint(data: bytes) -> str:
    """The SHA-256 of the log as it is read, so that a pasted log is known as the file it came from."""
    lines = clean_lines(text_of(data))
    return hashlib.sha256("\n".join(lines).strip().encode("utf-8", "replace")).hexdigest()
