"""One line of an nccl-tests table, read by kinds of tokens and never by a column counted from the right.

A row begins with an integer, an integer and a type name. What follows is told apart by what it is: a reduction is a known
word, a root is an integer that leaves whole halves behind it, a half is time, two rates and a check. The column titles, where
the log has them, say how many columns a half has. Whatever stands after the halves (algorithm, protocol, time stamp) is kept
as text.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.bench.importers.raw import Printed, RawRow, Token
from app.bench.importers.units import ELEMENT_BYTES, REDOPS

_NUMBER = re.compile(
    r"[+-]?(?:(?:0|[1-9]\d{0,19})(?:\.\d{0,20})?|\.\d{1,20}|\d(?:\.\d{1,20})?[eE][+-]?(?:\d\d?|[1-3]\d\d))\*?"
)
"""As printf writes figures: one digit before an exponent, no needless zeros before a number."""
_INTEGER = re.compile(r"0|[1-9]\d{0,18}")
_ROOT = re.compile(r"-1|0|[1-9]\d{0,5}")
_ABSENT = frozenset({"N/A", "n/a", "-", "nan", "-nan", "inf", "-inf"})
_HEAD = re.compile(
    rf"(?<!\S)(?P<size>{_INTEGER.pattern}) +(?P<count>{_INTEGER.pattern}) +(?P<type>"
    rf"{'|'.join(sorted(ELEMENT_BYTES, key=len, reverse=True))})(?!\S)"
)
_TITLE = re.compile(r"(?<!\S)(?:size|bytes)\s+(?:count|N)(?!\S)")
_ONCE = ("time", "algbw", "busbw", "#wrong")
_BLANK_HALF = 30
"""Spaces before a lone in-place half: nccl-tests prints 32 blanks for the half it did not run."""


@dataclass(frozen=True, slots=True)
class Titles:
    """What the column titles say: `halves` lists the columns of each half, `extra` those after them."""

    has_redop: bool
    has_root: bool
    halves: tuple[tuple[str, ...], ...]
    extra: tuple[str, ...]
    second_half_at: int | None
    only_in_place: bool = False

    @property
    def check(self) -> str:
        """`#wrong` for a count, `error` or `res` for a largest difference."""
        return self.halves[0][3] if self.halves and len(self.halves[0]) > 3 else "#wrong"

    @property
    def milliseconds(self) -> bool:
        """True for the layout of 2017, whose times are milliseconds."""
        return self.check in {"res", "delta"}


def titles(line: str) -> Titles | None:
    """The column titles on a line, None if it holds none."""
    begins_at = _TITLE.search(line) if "busbw" in line and "algbw" in line else None
    if begins_at is None or line.find("busbw", begins_at.end()) < 0:
        return None
    words = [Token(match.group(), *match.span()) for match in re.finditer(r"\S+", line)]
    names = [word.text.lower() for word in words]
    begins = [index for index, name in enumerate(names) if name in {"time", "cputime"}]
    if not begins:
        return None
    halves: list[tuple[str, ...]] = []
    extra: tuple[str, ...] = ()
    for index, begin in enumerate(begins):
        end = begins[index + 1] if index + 1 < len(begins) else len(names)
        columns = names[begin:end]
        width = len(halves[0]) if halves else _width(columns)
        halves.append(tuple(columns[:width]))
        if index + 1 == len(begins):
            extra = tuple(columns[width:])
    second = words[begins[1]].end if len(begins) > 1 else None
    return Titles("redop" in names or "op" in names, "root" in names, tuple(halves[:2]), extra, second)


def row_starts(line: str) -> list[int]:
    """Where rows begin on a line: normally nowhere or at one place, at more when lines were glued."""
    return [match.start() for match in _HEAD.finditer(line)]


def read_row(line: str, known: Titles | None, *, has_root: bool | None = None) -> RawRow | None:
    """The row that a line begins with, None if it begins with none or if not one half is whole.

    `has_root` is what other rows of the table showed, for lines too short to tell.
    """
    head = _HEAD.match(line.lstrip())
    if not head:
        return None
    tokens = tuple(Token(match.group(), *match.span()) for match in re.finditer(r"\S+", line))
    rest = list(tokens[3:])
    redop = rest.pop(0).text if rest and rest[0].text in REDOPS else None
    numbers = _leading_numbers(rest)
    root = None
    if _begins_with_root(numbers, known=known, has_root=has_root):
        root = int(numbers.pop(0).text)
        rest.pop(0)
    width = _half_width(numbers, known)
    before = tokens[len(tokens) - len(rest) - 1].end
    first = _half(numbers[:width])
    if first is None:
        return None
    second = _half(numbers[width : 2 * width])
    is_lone = second is None
    used = width if is_lone else 2 * width
    if second is not None and second.time is second.algbw is second.busbw is None:
        second = None
    more = tuple(token.text for token in rest[used:])
    expected = len(known.extra) if known else 0
    return RawRow(
        size=int(head["size"]),
        count=int(head["count"]),
        dtype=head["type"],
        redop=redop,
        root=root,
        halves=(first, second) if not is_lone else _places(first, begins=numbers[0], before=before, known=known),
        extra=(*_per_iteration(numbers[:used], known), *(() if is_lone else more)),
        tokens=tokens[: len(tokens) - len(rest) + used],
        is_whole=not (is_lone and more),
        is_lone=is_lone,
        has_junk=bool(more) and (is_lone or not _is_plausible_extra(more, expected)),
    )


def figures_in(line: str, known: Titles | None, *, has_root: bool | None = None) -> int:
    """How many figures of halves stand on a line that begins with the head of a row."""
    rest = [Token(match.group(), *match.span()) for match in re.finditer(r"\S+", line)][3:]
    if rest and rest[0].text in REDOPS:
        rest.pop(0)
    numbers = _leading_numbers(rest)
    return len(numbers) - _begins_with_root(numbers, known=known, has_root=has_root)


def glued_check(word: str) -> str | None:
    """The count at the beginning of a word to which other text was glued; None if it may as well be part of that text."""
    match = re.match(r"(\d{1,12}|N/A)(?=[A-Za-z])(?![eE][+-]?\d)", word)
    return match[1] if match else None


def numbers_only(line: str) -> bool:
    """True for the rest of a row that was torn from its head: four or eight figures and nothing else."""
    words = line.split()
    return len(words) in {4, 8} and all(_is_number(word) for word in words) and "." in words[0] + words[1]


def number(text: str) -> float | None:
    """A printed figure; None for N/A, a dash and what is not finite."""
    if text in _ABSENT:
        return None
    value = float(text.rstrip("*"))
    return value if abs(value) < 1e300 else None


def _width(columns: Sequence[str]) -> int:
    """How many columns a half has, from the titles of the last or first half with whatever follows."""
    width = 3
    known = {"#wrong", "error", "res", "delta", "i_min", "i_max", "i_p99", "i_cv%", "sidebw"}
    while width < len(columns) and columns[width] in known:
        width += 1
    return width


def _leading_numbers(tokens: Sequence[Token]) -> list[Token]:
    found: list[Token] = []
    for token in tokens:
        if not _is_number(token.text):
            break
        found.append(token)
    return found


def _is_number(text: str) -> bool:
    return text in _ABSENT or _NUMBER.fullmatch(text) is not None


def _begins_with_root(numbers: Sequence[Token], *, known: Titles | None, has_root: bool | None) -> bool:
    if not numbers or not _ROOT.fullmatch(numbers[0].text):
        return False
    if numbers[0].text == "-1":
        return True
    if known is not None:
        return known.has_root
    if len(numbers) % len(_ONCE) in {0, 1}:
        return len(numbers) % len(_ONCE) == 1
    return bool(has_root)


def _half_width(numbers: Sequence[Token], known: Titles | None) -> int:
    if known and known.halves:
        return len(known.halves[0])
    return 8 if len(numbers) == 16 else len(_ONCE)


def _per_iteration(numbers: Sequence[Token], known: Titles | None) -> Iterator[str]:
    """What stands in the columns of a half after its check, with the name of the column."""
    for half, columns in enumerate(known.halves if known else ()):
        start = half * len(known.halves[0]) if known else 0
        for offset in range(len(_ONCE), len(columns)):
            if start + offset < len(numbers):
                yield f"{columns[offset]}={numbers[start + offset].text}"


def _half(tokens: Sequence[Token]) -> Printed | None:
    """A half from its first four tokens, None when they are fewer or are no time and rates."""
    if len(tokens) < len(_ONCE):
        return None
    texts = [token.text for token in tokens[:4]]
    time, algbw, busbw, check = map(number, texts)
    if any(value is not None and value < 0 for value in (time, algbw, busbw)):
        return None
    precision = (_precision(texts[0]), _precision(texts[1]), _precision(texts[2]))
    return Printed(time, algbw, busbw, check, precision)


def _precision(text: str) -> float:
    """Half a unit of the last printed digit."""
    mantissa, _, exponent = text.lower().rstrip("*").partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 0.5 * 10.0 ** (int(exponent or 0) - decimals)


def _places(
    half: Printed, *, begins: Token, before: int, known: Titles | None
) -> tuple[Printed | None, Printed | None]:
    """Which half a lone one is: in-place when it stands under the second title, or behind a blank half."""
    if known and known.only_in_place:
        return None, half
    at = known.second_half_at if known else None
    if begins.end >= at - 2 if at else begins.start - before >= _BLANK_HALF:
        return None, half
    return half, None


def _is_plausible_extra(extra: Sequence[str], expected: int) -> bool:
    """True for text that tools print after a row: as many words as titles say, else an algorithm triple or a time stamp."""
    if expected:
        return len(extra) <= expected + 1
    text = " ".join(extra)
    return bool(re.fullmatch(r"\w+ \w+ \d+|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", text))
