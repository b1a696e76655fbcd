"""What a run measures besides rows and GEMM, in a fixed order: what the machine is, then copies, pairs, overlap.

`RunSpec.extras` chooses; the latency of single calls belongs to the rows and stands in `sweep`. Each extra is a
function of one file that all ranks call together and whose events rank 0 sends.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from app.bench.events import Event, Phase, PhaseName
from app.bench.spec import RunSpec
from app.bench.worker.copies import copies
from app.bench.worker.group import Group
from app.bench.worker.links import links
from app.bench.worker.overlap import overlap
from app.bench.worker.topology import topology

_PATIENCE_SECONDS = 60.0


class Measure(Protocol):
    """Measures one extra; `beat` is called whenever something has been done."""

    def __call__(
        self, group: Group, spec: RunSpec, *, send: Callable[[Event], None], beat: Callable[[], None]
    ) -> None: ...


EXTRAS: Mapping[PhaseName, Measure] = {"topology": topology, "copies": copies, "links": links, "overlap": overlap}


def measure_extras(group: Group, spec: RunSpec, *, send: Callable[[Event], None], beat: Callable[[], None]) -> None:
    """Measure those of `spec.extras` that stand here."""
    for name, measure in EXTRAS.items():
        if name in spec.extras:
            send(Phase(name=name, patience_seconds=_PATIENCE_SECONDS + 3 * spec.extra_seconds))
            measure(group, spec, send=send, beat=beat)
