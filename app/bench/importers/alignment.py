"""The place of columns: what betrays a changed character where figures are too small to contradict each other."""

from collections import Counter
from collections.abc import Sequence

from app.bench.importers.raw import RawRow, Token

_MAJORITY = 0.6
_SEVERAL = 3
_MANY = 8
_TIME_FIELD = 7
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
    if times < _SEVERAL:
        return []
    widths = _widths([row for row in rows if len(row.tokens) == length], length)
    return [row for row in rows if row.tokens and not (_stands_under(row, widths) and _is_printed_so(row))]


def _widths(rows: Sequence[RawRow], length: int) -> list[int | None]:
    """How far each column ends behind the one before it, by the rows whose figure does not fill its field.

    Where every time fills its field of seven characters, by where most of many rows end: printf pads, it never cuts.
    """
    found: list[int | None] = []
    for index in range(length):
        places = [_place(row, index) for row in rows]
        roomy = Counter(token.end - before for token, before in places if token.start - before > _GAP)
        width, times = roomy.most_common(1)[0] if roomy else (0, 0)
        if times >= max(_SEVERAL, _MAJORITY * roomy.total()):
            found.append(width)
            continue
        full = Counter(
            row.tokens[index].end - before
            for row, (_, before) in zip(rows, places, strict=True)
            if _fills_time(row, index)
        )
        common, number = full.most_common(1)[0] if full else (0, 0)
        found.append(common if not roomy and number >= max(_MANY, _MAJORITY * len(rows)) else None)
    return found


def _fills_time(row: RawRow, index: int) -> bool:
    """Whether a word of a row is one of its times and exactly as wide as the field that it is printed in."""
    text = row.tokens[index].text
    return len(text) == _TIME_FIELD and any(
        half is not None and half.time is not None and text == f"{half.time:.{len(text.partition('.')[2])}f}"
        for half in row.halves
    )


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
