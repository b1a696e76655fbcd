"""Published figures beside the runs compared: examples with their sources, never a limit to pass.

They are held against the first side that measured the operation: its ranks, machines, type and largest size decide which of
them compare, and the rest say why not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.i18n import Text
from app.hardware import reference
from app.hardware.reference import Figure
from app.hardware.reference_file import System
from app.hardware.reference_file import reference as known
from app.web.compare_view import Side

OWN = ""
"""The choice of the device that the runs name themselves."""
NONE = "none"


@dataclass(frozen=True, slots=True)
class Posted:
    """What others posted of one operation on one system. `range` and `latency_range` are over comparable figures."""

    system: System
    side: Side
    is_own: bool
    """Whether the side ran on such a system."""
    figures: tuple[Figure, ...]
    latencies: tuple[Figure, ...]
    range: Text | None
    latency_range: Text | None

    @property
    def comparable(self) -> tuple[Figure, ...]:
        """The bus bandwidths that compare."""
        return reference.comparable(self.figures)


def systems() -> dict[str, System]:
    """Every system somebody posted figures of, by key."""
    return dict(known().systems)


def chosen_system(choice: str, sides: Sequence[Side]) -> str | None:
    """The key of the system to show: the one chosen, else that of the first side that ran on a known one."""
    if choice != OWN:
        return choice if choice in systems() else None
    own = (reference.system_of(side.device) for side in sides if side.device is not None)
    return next((key for key in own if key is not None), None)


def posted(choice: str, sides: Sequence[Side], operation: str) -> Posted | None:
    """What is known of the chosen system; None where none is chosen or nobody measured the operation."""
    key = chosen_system(choice, sides)
    side = next((side for side in sides if operation in side.sweeps), None)
    if key is None or side is None:
        return None
    system = systems()[key]
    cells, latencies = side.sweeps[operation], side.latencies.get(operation, ())
    smallest = min([cells[0].size_bytes, *(each.size_bytes for each in latencies)])
    device = system.devices[0]
    rates = reference.figures(
        operation, side.ranks, device=device, size_bytes=cells[-1].size_bytes, hosts=side.hosts, dtype=side.dtype
    )
    times = reference.latencies(operation, side.ranks, device=device, size_bytes=smallest, hosts=side.hosts)
    return Posted(
        system=system,
        side=side,
        is_own=side.device is not None and reference.system_of(side.device) == key,
        figures=rates,
        latencies=times,
        range=reference.range_text(reference.comparable(rates), unit="GB/s"),
        latency_range=reference.range_text(reference.comparable(times), unit="µs"),
    )
