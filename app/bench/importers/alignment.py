"""The place of columns: what betrays a changed character where figures are too small to contradict each other."""

from collections import Counter
from collections.abc import Sequence

from app.bench.importers.raw import RawRow, Token

_MAJORITY = 0.6
_GAP = 2
"""Spaces that the programs print between columns at least."""
_TIME_LIMITS = ((0.04, 1e4), (0.4, 1e6))
"""From these times on, microseconds are never printed with more than one decimal, and with none."""


def misaligned(rows: Sequence[RawRow]) -> list[RawRow]:
    """Rows whose columns end elsewhere than those of most rows, where no wide figure has pushed them.

    A deleted or inserted character shifts the rest of a line even where the figures are too small to contradict each other.
    """
    lengths = Counter(len(row.tokens) for row in rows if row.tokens)
    length, times = lengths.most_common(1)[0] if lengths else (0, 0)
    if times < 3:
        return []
    widths = _widths([row for row in rows if len(row.tokens) == length], length)
    return [row for row in rows if row.tokens and not (_stands_under(row, widths) and _is_printed_so(row))]


def _widths(rows: Sequence[RawRow], length: int) -> list[int | None]:
    """How far each column ends behind the one before it, by the rows whose figure does not fill its field."""
    found: list[int | None] = []
    for index in range(length):
        roomy = Counter(
            token.end - before for row in rows for token, before in [_place(row, index)] if token.start - before > _GAP
        )
        width, times = roomy.most_common(1)[0] if roomy else (0, 0)
        found.append(width if times >= max(3, _MAJORITY * roomy.total()) else None)
    return found


def _place(row: RawRow, index: int) -> tuple[Token, int]:
    """A word of a row and the end of the word before it."""
    return row.tokens[index], row.tokens[index - 1].end if index else 0


def _is_printed_so(row: RawRow) -> bool:
    """False for figures with more digits than any version prints: seven characters of time, two decimals of a rate.

    Ringside prints four decimals below 1 GB/s.
    """
    for half in row.halves:
        if half is None:
            continue
        time_error, *errors = half.precision
        if half.time is not None and any(time_error < least and half.time >= limit for least, limit in _TIME_LIMITS):
            return False
        for figure, error in zip((half.algbw, half.busbw), errors, strict=True):
            if figure is not None and figure >= 1 and error < 0.004:
                return False
    return True


def _stands_under(row: RawRow, widths: Sequence[int | None]) -> bool:
    """Whether each column ends as far behind the one before as it usually does, or is pushed by a figure that fills its field."""
    for index, (_, width) in enumerate(zip(row.tokens, widths, strict=False)):
        token, before = _place(row, index)
        end = token.end - before
        if width is not None and end != width and (end < width or token.start - before > _GAP):
            return False
    return True
