"""nvbandwidth, text and JSON: copies between host and devices as named matrices. They are no sweep over sizes.

Unit and direction stand in the line above each matrix. N/A, as on the diagonal of copies between devices, is None.
"""

import re
from collections.abc import Sequence
from typing import Any

from app.bench.importers.badges import badge
from app.bench.importers.json_documents import documents
from app.bench.importers.model import Badge, Import, ImportedRun, Table
from app.bench.importers.prefixes import Line
from app.bench.importers.reader import Log, Reader
from app.core.i18n import Text, same

_VERSION = re.compile(r"nvbandwidth Version: (\S+)")
_RUNNING = re.compile(r"Running (\w+)\.")
_TITLE = re.compile(r"(?:memcpy|memory|multicast).*\((?P<unit>[^()]+)\)\s*$")
_COLUMNS = re.compile(r"\s*\d+(?:\s+\d+)*\s*$")
_ROW = re.compile(r"\s*(\d{1,6})((?:\s+(?:\d{1,12}(?:\.\d{1,6})?|N/A))+)\s*$")
_SUM = re.compile(r"SUM (\w+) (\d{1,12}(?:\.\d{1,6})?)\s*$")
_DEVICE = re.compile(r"Device (\d+): (.+?) \(([0-9A-Fa-f:]+)\)")
_ABOUT = re.compile(r"(CUDA Runtime Version|CUDA Driver Version|Driver Version): (\S+)")


def recognise(log: Log) -> float:
    """Sure with the version line or a sum of a test."""
    if '"nvbandwidth"' in log.text and '"testcases"' in log.text:
        return 0.95
    if "nvbandwidth" not in log.text and "SUM " not in log.text:
        return 0.0
    return 0.9 if any(_VERSION.match(line.text) or _SUM.match(line.text) for line in log.lines) else 0.0


def read(log: Log) -> Import:
    """One run with all its matrices."""
    tables, parameters, badges = _json(log.text) if '"testcases"' in log.text else _text(log.lines)
    if not tables:
        return Import(tool="nvbandwidth", reason=Text("nvbandwidth printed no matrix.", "nvbandwidth 没有输出矩阵。"))
    run = ImportedRun(
        tool="nvbandwidth", tables=tuple(tables), parameters=parameters, badges=tuple(badges) or (badge("ok"),)
    )
    return Import(tool="nvbandwidth", runs=(run,))


def _text(lines: Sequence[Line]) -> tuple[list[Table], dict[str, str], list[Badge]]:
    tables: list[Table] = []
    badges: list[Badge] = []
    name, begun = "", None
    for line in lines:
        if match := _RUNNING.match(line.text):
            name = match[1]
        elif match := _TITLE.match(line.text):
            begun = _Matrix(name, line.text.strip(), match["unit"], line.number)
        elif begun and (match := _SUM.match(line.text)):
            tables.append(begun.table(match[1], float(match[2])))
            if not begun.sum_fits(float(match[2])):
                what = Text(f"the sum of {match[1]} is not that of its cells", f"{match[1]} 的总和与各单元格不符")
                badges.append(badge("unit-doubt", line=line.number, what=what))
            begun = None
        elif begun:
            begun.take(line.text)
    if begun and begun.rows:
        tables.append(begun.table(begun.name, None))
        badges.append(badge("cut", what=Text("the sum of the last matrix is missing", "最后一个矩阵没有总和")))
    return tables, _about(lines), badges


def _about(lines: Sequence[Line]) -> dict[str, str]:
    """Versions and devices, and how many tests the machine could not run."""
    found: dict[str, str] = {}
    for line in lines:
        text = line.text.strip()
        if match := _VERSION.match(text):
            found["version"] = match[1]
        elif match := _ABOUT.match(text):
            found[match[1]] = match[2]
        elif match := _DEVICE.match(text):
            found[f"device {match[1]}"] = match[2]
    if waived := sum(line.text.startswith("Waived") for line in lines):
        found["waived"] = str(waived)
    return found


class _Matrix:
    """A matrix that is being read."""

    def __init__(self, name: str, title: str, unit: str, line: int) -> None:
        self.name, self.title, self.unit, self.line = name, title, unit, line
        self.columns: tuple[str, ...] | None = None
        self.rows: list[tuple[str, tuple[float | None, ...]]] = []

    def take(self, text: str) -> None:
        if self.columns is None:
            if _COLUMNS.fullmatch(text):
                self.columns = tuple(text.split())
        elif (match := _ROW.fullmatch(text)) and len(cells := match[2].split()) == len(self.columns):
            self.rows.append((match[1], tuple(None if cell == "N/A" else float(cell) for cell in cells)))

    def sum_fits(self, total: float) -> bool:
        cells = [cell for _, row in self.rows for cell in row if cell is not None]
        return abs(sum(cells) - total) <= 0.01 * len(cells) + 0.01 * total

    def table(self, name: str, total: float | None) -> Table:
        return Table(name, self.title, self.unit, self.columns or (), tuple(self.rows), total, self.line)


def _json(text: str) -> tuple[list[Table], dict[str, str], list[Badge]]:
    tables: list[Table] = []
    parameters: dict[str, str] = {}
    badges: list[Badge] = []
    for document in documents(text):
        root = document.value.get("nvbandwidth")
        if not isinstance(root, dict):
            continue
        parameters |= {key: str(value) for key, value in root.items() if isinstance(value, (str, int, float))}
        if not document.is_whole:
            badges.append(badge("incomplete-json", line=document.line))
        cases = root.get("testcases")
        found = (_case(case, document.line) for case in (cases if isinstance(cases, list) else []))
        tables += [table for table in found if table is not None]
    return tables, parameters, badges


def _case(case: Any, line: int) -> Table | None:
    matrix = case.get("bandwidth_matrix") if isinstance(case, dict) else None
    if not isinstance(matrix, list) or not all(isinstance(row, list) for row in matrix):
        return None
    title = str(case.get("bandwidth_description", ""))
    unit = _TITLE.match(title)
    rows = tuple((str(index), tuple(map(_cell, row))) for index, row in enumerate(matrix))
    columns = tuple(map(str, range(max((len(row) for row in matrix), default=0))))
    total = case.get("sum")
    return Table(
        name=str(case.get("name", "")),
        title=title,
        unit=unit["unit"] if unit else "",
        columns=columns,
        rows=rows,
        total=float(total) if isinstance(total, (int, float)) else None,
        line=line,
    )


def _cell(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


reader = Reader("nvbandwidth", same("nvbandwidth"), recognise, read)
