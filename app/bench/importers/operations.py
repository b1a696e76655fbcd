"""Which collective a table without a name is about, and over how many ranks, from what its columns say."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.bench.importers.checks import Rules
from app.bench.importers.model import OperationBasis
from app.bench.importers.nccl_text_row import Titles
from app.bench.importers.raw import RawRow
from app.bench.importers.units import bus_factor, ranks_between

_PARTED = frozenset({"all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"})
ROOTED = frozenset({"broadcast", "reduce", "gather", "scatter"})
_REDUCING = frozenset({"all_reduce", "reduce_scatter", "reduce", "send_recv"})
"""Operations whose reduction column holds a word; send_recv prints one although it reduces nothing."""
_UNCHECKED_IN_PLACE = frozenset({"all_to_all", "send_recv"})
_ALL = _PARTED | ROOTED | _REDUCING | {"hypercube"}


@dataclass(frozen=True, slots=True)
class Guess:
    """An operation with how it was found, or None with the operations that remain."""

    operation: str | None
    basis: OperationBasis | None
    remaining: frozenset[str]


def guess_operation(rows: Sequence[RawRow], rules: Rules, titles: Titles | None, *, ranks: int | None) -> Guess:
    """The operation that a table is about, told by reduction, root, sizes, rates and the in-place check."""
    left = set(_ALL)
    reduces = any(row.redop not in {None, "none"} for row in rows)
    left &= _REDUCING if reduces else _ALL - _REDUCING
    roots = {row.root for row in rows}
    if roots and roots <= {None, -1}:
        left -= ROOTED
    elif roots:
        left &= ROOTED
    if not reduces and all(row.redop is None and row.root == -1 for row in rows):
        left &= {"hypercube"}
    if rules.multiple is not None and ranks != 1:
        left &= _PARTED | {"hypercube"} if rules.multiple > 1 else _ALL - _PARTED - {"hypercube"}
    if titles and not reduces and roots == {None}:
        # Before 2022-08 only all-to-all and hypercube had the title of a reduction above blank cells.
        blank = {"all_to_all", "hypercube"}
        left = left & blank if titles.has_redop and all(row.redop is None for row in rows) else left - blank
    left = {operation for operation in left if _factor_fits(operation, rules, ranks)}
    if len(left) == 1:
        return Guess(next(iter(left)), "numbers", frozenset(left))
    in_place = [half.check is None for row in rows if (half := row.halves[1]) and row.halves[0]]
    checked = [half.check is not None for row in rows if (half := row.halves[0])]
    if in_place and any(checked):
        left = left & _UNCHECKED_IN_PLACE if all(in_place) else left - _UNCHECKED_IN_PLACE
    if len(left) == 1:
        return Guess(next(iter(left)), "guessed", frozenset(left))
    return Guess(None, None, frozenset(left))


def ranks_from_rates(operation: str, rows: Sequence[RawRow]) -> tuple[int, int | None] | None:
    """The least and the greatest rank count that fit every rate within rounding; None for no greatest, None if nothing is said."""
    least, most = 1.0, float("inf")
    for row in rows:
        for half in row.halves:
            if half is None or not half.algbw or half.busbw is None:
                continue
            _, algbw_error, busbw_error = half.precision
            if algbw_error > 0.2 * half.algbw:
                continue
            low = (half.busbw - busbw_error) / (half.algbw + algbw_error)
            high = (half.busbw + busbw_error) / (half.algbw - algbw_error)
            if between := ranks_between(operation, low, high):
                least, most = max(least, between[0]), min(most, between[1])
    if least <= 1.0 and most == float("inf"):
        return None
    first = int(-(-least // 1))
    if most == float("inf"):
        return first, None
    last = int(most)
    return (first, last) if first <= last else None


def _factor_fits(operation: str, rules: Rules, ranks: int | None) -> bool:
    """Whether the measured ratio of the rates can be that of the operation; always where no rate is precise enough."""
    if rules.bus is None:
        return operation == "all_reduce" or rules.least_bus <= 1.0
    if ranks is None and operation in _PARTED and rules.multiple and rules.multiple > 1:
        ranks = rules.multiple
    if ranks is not None:
        factor = bus_factor(operation, ranks)
        # Before 2020-06 these two left the own part out of both rates.
        old = operation in {"all_gather", "reduce_scatter"} and abs(rules.bus - 1) < 0.03
        return factor is None or abs(rules.bus - factor) <= 0.04 * factor + 0.005 or old
    if operation == "all_reduce":
        return 0.97 <= rules.bus <= 2.01
    if operation in _PARTED:
        return 0.48 <= rules.bus <= 1.02
    return abs(rules.bus - 1) < 0.03
