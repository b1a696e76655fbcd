"""What launchers and log collectors put before a line, taken off, and which process the line came from.

mpirun --tag-output, srun --label, MPICH -l, torchrun, kubectl, Compose and the common timestamps are known by their shape. Any
other text that stands before the tables of a file again and again is taken for a prefix too. The rest of the line keeps its
spaces, because the place of a column can matter.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_STAMPS = (
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?(?: UTC)? ?",
    r"\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]? ",
    r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]+ [\w./-]+(?:\[\d+\])?: ",
)
_LABELS = (
    r"\[(?P<mpirun>[\w.@-]*,?\d+(?:,\d+)?)\]<(?:stdout|stderr|stddiag)>:",
    r"\[(?P<rank>(?:rank|default|RANK)\s?\d+)\]:? ?",
    r"\[(?P<torchrun>[\w.-]+:\d+)\]: ?",
    r"\[(?P<pod>pod/[^\]\s]+)\] ",
    r"\[(?P<mpich>\d{1,6})\](?=[\s#\d]|$)",
    r"(?P<compose>[A-Za-z][\w.-]*) +\| ",
    r" {0,8}(?P<srun>\d{1,6}):(?: |$)",
)
_QUOTE = r"(?:> ?)+"
_PREFIX = re.compile("|".join(f"(?:{part})" for part in (_QUOTE, *_STAMPS, *_LABELS)))
_IN_ROW = re.compile(r"\[\d{1,6}\](?=\s|$)|\[\d+,\d+\]<std(?:out|err)>: ?")
_TABLE = re.compile(
    r"\d+ +\d+ +(?:u?int\d*|char|half|float\d*|double|b?float16|bf16|fp\d+|f8e\w+) "
    r"|#? *nThread +\d|# +(?:size|bytes|Out of bounds|Avg bus)\b|# +Rank +\d"
)
_MAXIMUM_PREFIXES = 4
_MAXIMUM_LINE = 2048
"""Characters of a line that are looked at; the widest known line of a table has some five hundred."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its 1-based number, the process that wrote it ("" where nothing says so) and its text without prefixes."""

    number: int
    source: str
    text: str


def strip_prefixes(lines: Sequence[str]) -> tuple[Line, ...]:
    """The lines with their prefixes taken off."""
    found = [Line(number, *_strip(text[:_MAXIMUM_LINE])) for number, text in enumerate(lines, start=1)]
    return tuple(_strip_repeated(found))


def without_labels(text: str) -> str:
    """A row without the labels that a launcher put between its columns, because rows are printed in three writes."""
    return _IN_ROW.sub("", text)


def _strip(text: str) -> tuple[str, str]:
    sources: list[str] = []
    for _ in range(_MAXIMUM_PREFIXES):
        match = _PREFIX.match(text)
        if not match or not match.group():
            break
        kind = match.lastgroup
        if kind and len(sources) == 2:
            break
        if kind and (name := match.group(kind)):
            sources.append(name)
        text = text[match.end() :]
    return "/".join(sources), text


def _strip_repeated(lines: Sequence[Line]) -> Iterator[Line]:
    """Take off text that stands before tables in the same shape at least three times."""
    starts = (line.text[: match.start()] for line in lines if (match := _TABLE.search(line.text)))
    known = [shape for shape, times in Counter(map(_shape, starts)).items() if times >= 3 and shape]
    if not known:
        yield from lines
        return
    longest_first = sorted(known, key=len, reverse=True)
    prefix = re.compile(" *(?:" + "|".join(re.escape(shape).replace("0", r"\d+") for shape in longest_first) + ")")
    for line in lines:
        match = prefix.match(line.text)
        yield Line(line.number, line.source, line.text[match.end() :]) if match else line


def _shape(prefix: str) -> str:
    """A prefix with its digits levelled; one of digits, signs and spaces only is part of the table, not a prefix."""
    shape = re.sub(r"\d+", "0", prefix).strip()
    return shape if re.search(r"[A-Za-z]", shape) else ""
