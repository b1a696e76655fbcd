"""Which calculators and timelines take what from a hardware profile.

Nothing is listed by hand: each is filled in once with its default inputs from a profile that notes what it is asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

import app.calculators.catalog
import app.timelines.catalog
from app.core.i18n import Text, same
from app.hardware.measured import MeasuredProfile
from app.hardware.model import Estimate, Kind, Profile

_NOTE = same("asked")


@dataclass
class _Asked:
    """A profile that answers everything and remembers the question."""

    key: str = "asked"
    title: Text = _NOTE
    kind: Kind = "datasheet"
    source: Text = _NOTE
    ranks: int | None = None
    rate: bool = False
    bandwidth: bool = False
    operations: dict[str, None] = field(default_factory=dict)
    looked_at_overlap: bool = False

    @property
    def flop_per_second(self) -> float | None:
        self.rate = True
        return 1e15

    @property
    def bytes_per_second(self) -> float | None:
        self.bandwidth = True
        return 1e11

    @property
    def overlap(self) -> Mapping[str, float]:
        self.looked_at_overlap = True
        return {}

    def collective(self, operation: str, message_bytes: float, ranks: int) -> Estimate:
        del message_bytes, ranks
        self.operations[operation] = None
        return Estimate(1e-3, "datasheet", _NOTE)


@dataclass(frozen=True, slots=True)
class Use:
    """A calculator or timeline and what it takes; `href` wants `?profile=` behind it."""

    title: Text
    href: str
    takes_rate: bool
    takes_bandwidth: bool
    operations: tuple[str, ...]
    takes_overlap: bool

    def missing(self, profile: Profile) -> tuple[str, ...]:
        """The operations it asks for that a measured profile does not hold."""
        if not isinstance(profile, MeasuredProfile):
            return ()
        return tuple(name for name in self.operations if name not in profile.curves)


@cache
def uses() -> tuple[Use, ...]:
    """Every timeline, then every calculator, that a profile can fill in."""
    found = []
    for scenario in app.timelines.catalog.scenarios():
        if scenario.filling is not None:
            asked = _Asked()
            scenario.filling.durations(scenario.filling.shape(), scenario.inputs(), asked)
            found.append(_use(scenario.title, f"/timelines/{scenario.slug}", asked))
    for calculator in app.calculators.catalog.calculators().values():
        if calculator.from_profile is not None:
            asked = _Asked()
            calculator.from_profile(asked, calculator.inputs())
            found.append(_use(calculator.title, f"/calculators/{calculator.slug}", asked))
    return tuple(found)


def _use(title: Text, href: str, asked: _Asked) -> Use:
    return Use(title, href, asked.rate, asked.bandwidth, tuple(asked.operations), asked.looked_at_overlap)
