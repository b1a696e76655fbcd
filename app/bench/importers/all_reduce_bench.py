"""`all_reduce_bench.py` and `torch-dist-bench.py` of ml-engineering: Markdown tables, and the older text form.

They print a payload and two rates, bus bandwidth first. Each call is timed alone behind a barrier, so small sizes look slower
than in nccl-tests. The time of a row is not printed; it is payload over algorithm bandwidth, and a badge says so.
"""

import re
from collections.abc import Sequence

from app.bench.importers.badges import badge
from app.bench.importers.model import Badge, Half, Import, ImportedRow, ImportedRun
from app.bench.importers.operations import ranks_from_rates
from app.bench.importers.prefixes import Line
from app.bench.importers.raw import Printed, RawRow
from app.bench.importers.reader import Log, Reader
from app.bench.importers.units import operation_name
from app.core.i18n import Text

_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "KB": 2**10, "MB": 2**20, "GB": 2**30}
"""Bytes of a unit. The older form writes GB and means 2^30."""
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*(TiB|GiB|MiB|KiB|GB|MB|KB|B)")
_RATE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*GBps")
_RANKS = re.compile(r"over (\d{1,7}) ranks|(\d{1,7}) ranks\)|--nproc[_-]per[_-]node[= ](\d{1,4})")
_OF = re.compile(r"average bandwidth of (\w+)")
_PAYLOAD = re.compile(
    r"average bandwidth of (?P<op>\w+) with a (?P<size>\S+) payload \((?P<trials>\d+) trials?, (?P<ranks>\d{1,7}) ranks\)"
)
_HEADING = re.compile(r"\|\s*payload\s*\|.*\bbusbw\b.*\balgbw\b|\|\s*payload\s*\|.*\balgbw\b.*\bbusbw\b")


def recognise(log: Log) -> float:
    """Sure with the heading of the table or the sentence of the older form."""
    return (
        0.85
        if "payload" in log.text and any(_HEADING.search(line.text) or _PAYLOAD.search(line.text) for line in log.lines)
        else 0.0
    )


def read(log: Log) -> Import:
    """A run per table."""
    runs = tuple(_tables(log.lines))
    reason = (
        None if runs else Text("The table of all_reduce_bench.py has no rows.", "all_reduce_bench.py 的表格里没有行。")
    )
    return Import(tool="all_reduce_bench", runs=runs, reason=reason)


def _tables(lines: Sequence[Line]) -> list[ImportedRun]:
    runs: list[ImportedRun] = []
    columns: list[str] = []
    rows: list[ImportedRow] = []
    operation, said = "all_reduce", None
    for line in lines:
        cells = [cell.strip() for cell in line.text.strip().strip("|").split("|")]
        if _HEADING.search(line.text):
            runs += _run(rows, operation, said)
            columns, rows = [cell.lower() for cell in cells], []
        elif columns and line.text.lstrip().startswith("|"):
            if (row := _row(dict(zip(columns, cells, strict=False)), line.number)) is not None:
                rows.append(row)
        elif (match := _PAYLOAD.search(line.text)) and (size := _size(match["size"])):
            runs += _run(rows, operation, said)
            columns, rows = [], []
            if (run := _older(lines, line.number, size, operation_name(match["op"]), int(match["ranks"]))) is not None:
                runs.append(run)
        else:
            if columns and rows and (_OF.search(line.text) or _RANKS.search(line.text)):
                runs += _run(rows, operation, said)
                columns, rows = [], []
            if match := _OF.search(line.text):
                operation = operation_name(match[1]) or match[1]
            if match := _RANKS.search(line.text):
                # Processes per node are the ranks only where one node takes part.
                said = None if match[3] and "nnodes" in line.text else int(match[1] or match[2] or match[3])
    return runs + _run(rows, operation, said)


def _row(cells: dict[str, str], line: int) -> ImportedRow | None:
    size = _size(cells.get("payload", ""))
    busbw, algbw = _RATE.fullmatch(cells.get("busbw", "")), _RATE.fullmatch(cells.get("algbw", ""))
    if size is None or not busbw or not algbw:
        return None
    return _imported(size, algbw=float(algbw[1]), busbw=float(busbw[1]), line=line)


def _imported(size: int, *, algbw: float, busbw: float, line: int) -> ImportedRow:
    time_us = round(size / algbw / 1e3, 3) if algbw else None
    half = Half(time_us, algbw, busbw)
    return ImportedRow(size, size // 4, "float", None, None, None, half, line, flags=("unchecked",))


def _older(lines: Sequence[Line], number: int, size: int, operation: str | None, ranks: int) -> ImportedRun | None:
    """The older form: one payload, its rates on the lines below."""
    rates: dict[str, float] = {}
    for line in lines[number : number + 8]:
        for name in ("algbw", "busbw"):
            if match := re.search(rf"{name}: {_RATE.pattern}", line.text):
                rates.setdefault(name, float(match[1]))
    if len(rates) < 2:
        return None
    row = _imported(size, algbw=rates["algbw"], busbw=rates["busbw"], line=number)
    return _run([row], operation or "all_reduce", ranks)[0]


def _run(rows: Sequence[ImportedRow], operation: str, said: int | None) -> list[ImportedRun]:
    if not rows:
        return []
    badges: list[Badge] = [
        badge("derived", what=Text("the times are payload over algorithm bandwidth", "时间为载荷除以算法带宽"))
    ]
    ranks, basis = said, "text" if said else None
    between = ranks_from_rates(operation, [_raw(row) for row in rows])
    if between is not None and between[1] is not None:
        fits = said is not None and between[0] <= said <= between[1]
        if not fits and between[1] - between[0] <= 0.1 * between[1]:
            ranks, basis = round((between[0] + between[1]) / 2), "ratio" if between[0] == between[1] else "about"
            badges.append(badge("ranks-guessed", what=Text(f"the rates give {ranks}", f"由带宽之比得到 {ranks}")))
    if ranks is None:
        badges.append(badge("ranks-unknown", what=Text("nothing names it", "日志没有写明")))
    return [
        ImportedRun(
            tool="all_reduce_bench",
            operation=operation,
            operation_basis="named",
            ranks=ranks,
            ranks_basis=basis,  # type: ignore[arg-type]
            rows=tuple(rows),
            badges=tuple(badges),
            parameters={"timing": "blocking"},
        )
    ]


def _raw(row: ImportedRow) -> RawRow:
    half = row.in_place
    printed = Printed(None, half.algbw_gb_per_s, half.busbw_gb_per_s, None, (0.0, 0.005, 0.005)) if half else None
    return RawRow(row.size_bytes, row.size_bytes // 4, "float", None, None, (None, printed), (), (), row.line)


def _size(text: str) -> int | None:
    match = _SIZE.fullmatch(text.strip())
    return round(float(match[1]) * _UNITS[match[2]]) if match else None


reader = Reader(
    "all-reduce-bench",
    Text("all_reduce_bench.py (ml-engineering)", "all_reduce_bench.py（ml-engineering）"),
    recognise,
    read,
)
