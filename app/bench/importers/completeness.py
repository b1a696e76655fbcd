"""Whether a table holds all the rows that its header announced, and whether its sizes have a hole."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from app.bench.importers.raw import RawRow

_MAXIMUM_SIZES = 1_000_000
_JUMP = 1.9
"""A missing size doubles a step at least. Rounding to whole parts per rank stretches one by less than half."""


def expected_sizes(parameters: Mapping[str, str]) -> int | None:
    """How many sizes a sweep has by its header; None if the header does not say or the sweep would not end."""
    try:
        size, maximum = int(parameters["minimum_bytes"]), int(parameters["maximum_bytes"])
        maximum = int(parameters.get("reduced_maximum_bytes", maximum))
        factor, step = int(parameters.get("step_factor", 1)), int(parameters.get("step_bytes", 0))
    except (KeyError, ValueError):
        return None
    if factor <= 1:
        return (maximum - size) // step + 1 if step > 0 and 0 <= size <= maximum else None
    if size <= 0:
        return None
    count = 0
    while size <= maximum and count < _MAXIMUM_SIZES:
        size *= factor
        count += 1
    return count or None


def series(rows: Sequence[RawRow]) -> list[list[RawRow]]:
    """The rows by type, reduction and root: each is one sweep over the sizes."""
    found: dict[tuple[str, str | None, int | None], list[RawRow]] = {}
    for row in rows:
        found.setdefault((row.dtype, row.redop, row.root), []).append(row)
    return list(found.values())


def hole(rows: Sequence[RawRow]) -> int | None:
    """The line of the first row before which sizes are missing, by the step that most neighbours have; None for no hole."""
    for sweep in series(rows):
        sizes = [(row.size, row.line) for row in sweep if row.size > 0]
        if len(sizes) < 3:
            continue
        pairs = list(pairwise(sizes))
        for steps in (
            [round(after / before, 1) for (before, _), (after, _) in pairs],
            [float(after - before) for (before, _), (after, _) in pairs],
        ):
            usual, times = Counter(steps).most_common(1)[0]
            if usual > 0 and times >= 0.6 * len(steps) and times >= 2:
                jumps = [line for step, (_, (_, line)) in zip(steps, pairs, strict=True) if step > _JUMP * usual]
                if jumps:
                    return jumps[0]
                break
    return None
