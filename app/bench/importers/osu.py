"""OSU micro-benchmarks: latencies of blocking collectives as rows, point-to-point and bandwidth tests as tables.

OSU prints a size and a latency. The size of a collective is that of one rank's message, which for all-reduce, reduce and
broadcast is the size that nccl-tests prints too; for the others it is a part of it, so their rates are left out. The rank
count is not printed.
"""

import re
from dataclasses import dataclass, field

from app.bench.importers.badges import badge
from app.bench.importers.model import Badge, Half, Import, ImportedRow, ImportedRun, Table
from app.bench.importers.reader import Log, Reader
from app.bench.importers.units import ELEMENT_BYTES, operation_name
from app.core.i18n import Text

_TITLE = re.compile(r"#\s*OSU (?P<with>[\w+-]+) (?P<what>.+?) Test(?: v(?P<version>[\w.]+))?\s*$")
_COLUMNS = re.compile(r"#\s*Size\s{2,}(?P<rest>.+)$")
_TYPE = re.compile(r"#\s*Datatype:\s*(\S+?)\.?\s*$")
_ROW = re.compile(r"\s*(\d{1,18})((?:\s+\d{1,12}(?:\.\d{1,6})?)+)\s*$")
_WHOLE = frozenset({"all_reduce", "reduce", "broadcast"})
_TYPES = {"MPI_CHAR": "int8", "MPI_FLOAT": "float", "MPI_INT": "int32", "MPI_DOUBLE": "double"}


@dataclass(slots=True)
class _Part:
    title: str
    line: int
    version: str | None
    columns: tuple[str, ...] = ()
    dtype: str | None = None
    rows: list[tuple[int, int, tuple[float, ...]]] = field(default_factory=list)


def recognise(log: Log) -> float:
    """Sure with the title line of an OSU test."""
    return 0.9 if "OSU" in log.text and any(_TITLE.match(line.text.strip()) for line in log.lines) else 0.0


def read(log: Log) -> Import:
    """A run per test."""
    parts: list[_Part] = []
    for line in log.lines:
        text = line.text.strip()
        if match := _TITLE.match(text):
            parts.append(_Part(f"{match['with']} {match['what']}", line.number, match["version"]))
        elif not parts:
            continue
        elif match := _COLUMNS.match(text):
            parts[-1].columns = tuple(re.split(r"\s{2,}", match["rest"].strip()))
        elif match := _TYPE.match(text):
            parts[-1].dtype = match[1]
        elif (match := _ROW.match(text)) and len(values := tuple(map(float, match[2].split()))) == len(
            parts[-1].columns
        ):
            parts[-1].rows.append((line.number, int(match[1]), values))
    runs = tuple(_run(part) for part in parts if part.rows)
    reason = None if runs else Text("The OSU test printed no rows.", "OSU 测试没有输出结果行。")
    return Import(tool="osu", runs=runs, reason=reason)


def _run(part: _Part) -> ImportedRun:
    parameters = {"test": part.title} | ({"version": part.version} if part.version else {})
    words = part.title.removesuffix(" Latency").split()
    operation = operation_name(words[-1])
    if not part.title.endswith("Latency") or operation is None or not part.columns[0].lower().startswith("avg"):
        return ImportedRun(tool="osu", tables=(_table(part),), parameters=parameters, badges=(badge("no-rows"),))
    dtype = _TYPES.get(part.dtype or "")
    badges: list[Badge] = []
    if operation in _WHOLE:
        badges.append(badge("derived", what=Text("algorithm bandwidth is size over latency", "算法带宽为大小除以延迟")))
    else:
        what = Text("the size is one rank's part, so no rate is derived", "大小是单个 rank 的部分，因此不推算带宽")
        badges.append(badge("unit-doubt", what=what))
    badges.append(badge("ranks-unknown", what=Text("OSU does not print it", "OSU 不打印")))
    return ImportedRun(
        tool="osu",
        operation=operation,
        operation_basis="named",
        rows=tuple(_row(row, part, dtype, operation) for row in part.rows),
        badges=tuple(badges),
        parameters=parameters,
    )


def _row(row: tuple[int, int, tuple[float, ...]], part: _Part, dtype: str | None, operation: str) -> ImportedRow:
    line, size, values = row
    time_us = values[0]
    algbw = size / time_us / 1e3 if operation in _WHOLE and time_us > 0 else None
    count = size // ELEMENT_BYTES[dtype] if dtype else None
    extra = tuple(f"{name}={value:g}" for name, value in zip(part.columns[1:], values[1:], strict=True))
    half = Half(time_us, algbw, None)
    return ImportedRow(size, count, dtype, None, None, half, None, line, flags=("unchecked",), extra=extra)


def _table(part: _Part) -> Table:
    unit = re.search(r"\(([^)]+)\)", part.columns[0]) if part.columns else None
    rows = tuple((str(size), values) for _, size, values in part.rows)
    return Table(part.title, part.title, unit[1] if unit else "", part.columns, rows, line=part.line)


reader = Reader("osu", Text("OSU micro-benchmarks", "OSU 微基准"), recognise, read)
