"""What the rest of the app knows of hardware: how fast a GEMM runs and how long a collective takes.

A `Profile` is a datasheet preset (`presets.py`), a measured run or a log measured elsewhere (`measured.py`). Whoever uses an
answer shows its `basis`: a number read between measured points is not the same as one beyond them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from app.core.i18n import Text

Kind = Literal["datasheet", "measured", "imported"]
Basis = Literal["datasheet", "measured", "imported", "interpolated", "extrapolated"]
"""`measured` and `imported` mean a size that was measured, here or elsewhere; interpolated and extrapolated rest on such sizes."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A duration in seconds and where it comes from. `note` is a sentence for the reader."""

    seconds: float
    basis: Basis
    note: Text


class Profile(Protocol):
    """One machine's rates. `key` stands in URLs: `h100-sxm`, `run-12`."""

    @property
    def key(self) -> str: ...
    @property
    def title(self) -> Text: ...
    @property
    def kind(self) -> Kind: ...
    @property
    def source(self) -> Text: ...
    @property
    def ranks(self) -> int | None:
        """The ranks it was measured with; None for a datasheet, which answers for any."""
        ...

    @property
    def flop_per_second(self) -> float | None:
        """Matrix-multiplication rate per rank: dense bf16 peak of a datasheet, the measured median of a run."""
        ...

    @property
    def bytes_per_second(self) -> float | None:
        """Bus bandwidth per rank, one direction: NVLink of a datasheet, the largest all-reduce that was measured."""
        ...

    @property
    def overlap(self) -> Mapping[str, float]:
        """By operation, how much of the shorter of communication and computation hid behind the other, from 0 to 1."""
        ...

    def collective(self, operation: str, message_bytes: float, ranks: int) -> Estimate:
        """Time of one collective. `message_bytes` is the full buffer, as nccl-tests counts it.

        Raises `app.core.errors.InvalidInput` when the profile has nothing to say about it.
        """
        ...
